// Ways out for mistakes in a train block.
#include "compiler/sema/train_advice.h"

#include <algorithm>

#include "compiler/source/foreign_names.h"

namespace dtl::sema {

using syntax::Decl;
using syntax::DeclKind;
using syntax::Expr;
using syntax::ExprKind;

namespace {

void add_names(const Globals& globals, DeclKind kind, std::vector<std::string>& names) {
  for (const auto& [name, decl] : globals.decls) {
    if (decl->kind == kind && !name.empty()) names.push_back(name);
  }
}

/// `name` itself, or what it is called here.
std::optional<std::string> among(const std::string& name, const std::vector<std::string>& names) {
  const bool has = std::find(names.begin(), names.end(), name) != names.end();
  return has ? std::optional(name) : source::counterpart(name, names);
}

}  // namespace

std::vector<std::string> names_of(const Evaluator& evaluator, source::Range file, DeclKind kind) {
  std::vector<std::string> names;
  add_names(evaluator.globals(file), kind, names);
  std::sort(names.begin(), names.end());
  return names;
}

std::string declaration_help(const Evaluator& evaluator, source::Range file, DeclKind kind, const std::string& name) {
  const bool model = kind == DeclKind::model;
  const std::vector<std::string> names = names_of(evaluator, file, kind);
  if (!names.empty()) return fmt::format("write `{} = {}`", model ? "model" : "data", names[0]);
  const std::string called = name.empty() ? (model ? "Net" : "Data") : name;
  return model ? fmt::format("declare it: `model {} (x: f32[batch, 4]) -> f32[batch, 3] {{ x |> dense(3) }}`", called)
               : fmt::format("declare it: `dataset {} {{ train = csv(\"train.csv\"), batch = 32 }}`", called);
}

DeclKind kind_of_setting(const std::string& name) { return name == "model" ? DeclKind::model : DeclKind::dataset; }

bool is_undeclared(Evaluator& evaluator, const Expr& value, DeclKind kind, Scope* scope) {
  if (value.kind != ExprKind::name || evaluator.is_known(value.name, value.range, scope)) return false;
  if (!names_of(evaluator, value.range, kind).empty()) return false;
  Reporter& reporter = evaluator.reporter();
  if (reporter.first(diag::unknown_name, value.range))
    reporter.report(value.range, diag::unknown_name, value.name).help(declaration_help(evaluator, value.range, kind, value.name));
  return true;
}

std::string within_setting(const Evaluator& evaluator, const Settings& settings, const Decl& train, const std::string& name) {
  for (const std::string& setting : train_fields()) {
    if (const auto entry = among(name, record_fields(setting))) return setting + " = { " + *entry + " = … }";
  }
  const Expr* expr = settings.find(train, "optimizer");
  if (expr && expr->kind == ExprKind::call) expr = expr->items[0];
  const Decl* decl = expr && expr->kind == ExprKind::name ? evaluator.globals(expr->range).find(expr->name) : nullptr;
  if (!decl || decl->kind != DeclKind::optimizer) return {};
  std::vector<std::string> hyper;
  for (const syntax::Parameter& parameter : decl->hyper) hyper.push_back(parameter.name.text);
  const auto parameter = among(name, hyper);
  return parameter ? fmt::format("optimizer = {}({} = …)", decl->name.text, *parameter) : "";
}

std::optional<std::string> declaration_called(const Evaluator& evaluator, source::Range file, DeclKind kind, const std::string& text) {
  std::vector<std::string> names;
  for (const Globals* globals = &evaluator.globals(file); globals; globals = globals->outer) add_names(*globals, kind, names);
  std::sort(names.begin(), names.end());
  return std::find(names.begin(), names.end(), text) != names.end() ? std::optional(text) : nearest(text, names);
}

bool calls_nothing(Evaluator& evaluator, const Expr& value, DeclKind kind, Scope* scope) {
  const Expr& callee = value.kind == ExprKind::call ? *value.items[0] : value;
  if (callee.kind != ExprKind::name || evaluator.is_known(callee.name, callee.range, scope)) return false;
  evaluator.unknown_declaration(callee.name, callee.range, kind);
  return true;
}

void advise_loss(Evaluator& evaluator, source::Reported& reported, const Value& value, source::Range range) {
  const Decl* decl = value.is(ValueKind::declared) ? value.closure->decl : nullptr;
  if (value.is(ValueKind::text)) {
    const auto name = declaration_called(evaluator, range, DeclKind::function, value.text);
    if (!name) {
      reported.help("a loss is an expression, such as `mean(squared_error(prediction, target))`");
      return;
    }
    for (const Globals* globals = &evaluator.globals(range); globals && !decl; globals = globals->outer) decl = globals->find(*name);
  }
  if (!decl || decl->kind != DeclKind::function || decl->parameters.size() < 2 || !decl->type) return;
  const std::string call = fmt::format("{}(prediction, {})", decl->name.text, decl->parameters[1].name.text);
  const std::string loss = decl->type->dims.empty() ? call : "mean(" + call + ")";
  reported.help(fmt::format("write `loss = {}`: an expression, in which a field of the example stands for `{}`", loss,
                            decl->parameters[1].name.text));
}

void advise_count(const Evaluator& evaluator, source::Reported& reported, const Value& value, source::Range range) {
  if (!value.is(ValueKind::quantity) || value.text != "count") return;
  const bool command_line = evaluator.options().spoken_in.contains(range.file.index);
  const char* setting = value.unit.starts_with("epoch") ? "epochs" : "steps";
  reported.help(command_line ? fmt::format("write `--set {}={}`", setting, value.number)
                             : fmt::format("write `{} = {}`", setting, value.number));
}

}  // namespace dtl::sema
