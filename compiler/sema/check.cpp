// Check: declarations of file and library made known, names resolved, the chosen train block instantiated, and then every
// other declaration on its own.
#include <algorithm>

#include "compiler/sema/builtins.h"
#include "compiler/sema/dataset.h"
#include "compiler/sema/effective.h"
#include "compiler/sema/record_setting.h"
#include "compiler/sema/resolve.h"
#include "compiler/sema/sema.h"
#include "compiler/sema/session.h"
#include "compiler/sema/strategy.h"
#include "compiler/sema/train.h"

namespace dtl::sema {
namespace {

using syntax::Ast;
using syntax::Decl;
using syntax::DeclKind;

/// Opens no file: for what is checked without a use.
const DataCatalogue kNothing = {[](const SourceSpec&, source::Sink&) { return std::nullopt; },
                                [](const VocabularySpec&, source::Sink&) { return std::nullopt; }};

/// The train block that is meant; null after a report, or where none is needed.
const Decl* the_train(const Ast& file, const Options& options, Reporter& reporter) {
  std::vector<const Decl*> trains;
  std::vector<std::string> names;
  for (const Decl* decl : file.decls) {
    if (decl->kind != DeclKind::train) continue;
    trains.push_back(decl);
    if (!decl->name.text.empty() && decl->name.range.known()) names.push_back(decl->name.text);
  }
  if (trains.empty()) {
    if (options.needs_train || options.train)
      reporter.report({file.file, 0, 0}, diag::no_train).help("add `train { model = …, data = …, loss = …, optimizer = …, epochs = … }`");
    return nullptr;
  }
  if (const Decl* chosen = chosen_train(file, options.train)) return chosen;
  if (options.train) {
    auto reported = reporter.report({file.file, 0, 0}, diag::unknown_train, *options.train);
    if (auto near = nearest(*options.train, names)) {
      reported.help("did you mean `--train " + *near + "`?");
    } else if (!names.empty()) {
      reported.help("it has " + enumerate(names));
    }
    return nullptr;
  }
  reporter.report(trains[1]->range, diag::many_trains, static_cast<int64_t>(trains.size()))
      .help(names.empty() ? "name them, `train Long { … }`, and choose one: `--train NAME`"
                          : "choose one of " + enumerate(names) + ": `--train " + names[0] + "`");
  return nullptr;
}

/// A tensor type with numbers for dimensions, and one free name, which stands for the batch; nothing for all others.
std::optional<types::TensorType> sample_type(Evaluator& evaluator, const syntax::TypeExpr& type, Scope* scope, std::string& batch) {
  if (type.kind != syntax::TypeKind::named || !type.has_dims) return std::nullopt;
  auto dtype = evaluator.dtype_named(type.name);
  if (type.name == "float") dtype = evaluator.emitter().float_dtype();
  if (!dtype) return std::nullopt;
  types::TensorType result{*dtype, {}};
  for (size_t i = 0; i < type.dims.size(); ++i) {
    const syntax::Expr* expr = type.dims[i].value;
    if (!expr) return std::nullopt;
    if (expr->kind == syntax::ExprKind::integer) {
      result.dims.emplace_back(expr->integer);
      continue;
    }
    if (expr->kind != syntax::ExprKind::name) return std::nullopt;
    if (Binding* binding = scope->find(expr->name)) {
      const auto dim = as_dim(binding->value);
      if (!dim) return std::nullopt;
      result.dims.push_back(*dim);
      continue;
    }
    if (const Decl* decl = expr->name == "batch" ? nullptr : evaluator.globals(expr->range).find(expr->name);
        decl && decl->kind == DeclKind::param) {
      const auto dim = as_dim(evaluator.declared(*decl));
      if (!dim) return std::nullopt;
      result.dims.push_back(*dim);
      continue;
    }
    if (i > 0 || (!batch.empty() && batch != expr->name)) return std::nullopt;
    batch = expr->name;
    result.dims.push_back(types::Dim::symbol("batch"));
  }
  return result;
}

/// Instantiates a layer, model or fn whose parameters' types say enough, with no program around it.
void check_callable(Evaluator& evaluator, const Decl& decl) {
  const auto has_defaults = [](const syntax::Parameter& parameter) { return parameter.value != nullptr; };
  if (!std::all_of(decl.hyper.begin(), decl.hyper.end(), has_defaults)) return;
  Body body;
  BodyContext context;
  context.body = &body;
  context.training = true;
  Emitter& emitter = evaluator.emitter();
  BodyContext* outer = emitter.enter(&context);
  Instance instance;
  instance.path = instance.model = decl.name.text;
  Instance* outer_instance = evaluator.enter_instance(decl.kind == DeclKind::layer ? &instance : nullptr);

  Value callee = evaluator.declared(decl);
  if (decl.kind == DeclKind::layer) callee = evaluator.call(callee, {}, decl.name.range, evaluator.file_root);
  Args args;
  std::string batch;
  bool known = callee.ok();
  for (const syntax::Parameter& parameter : decl.parameters) {
    if (!known || parameter.value) continue;
    Scope* scope = decl.kind == DeclKind::layer ? callee.closure->scope : evaluator.file_root;
    const auto type = parameter.type ? sample_type(evaluator, *parameter.type, scope, batch) : std::nullopt;
    known &= type.has_value();
    if (!type) break;
    const Tensor x = emitter.value(parameter.name.text, *type, parameter.name.range);
    args.push_back({parameter.name, nullptr, Value::of_tensor(x).at(parameter.name.range), parameter.name.range, evaluator.file_root});
  }
  if (known) evaluator.call(callee, std::move(args), decl.name.range, evaluator.file_root);
  evaluator.enter_instance(outer_instance);
  emitter.enter(outer);
}

/// Runs an optimizer's rule for one small weight.
void check_optimizer(Evaluator& evaluator, const Decl& decl) {
  for (const syntax::Parameter& parameter : decl.hyper) {
    if (!parameter.value) return;
  }
  const Value optimizer = evaluator.call(evaluator.declared(decl), {}, decl.name.range, evaluator.file_root);
  if (!optimizer.ok()) return;
  Variable weight;
  weight.path = weight.model = "w";
  weight.type = {evaluator.emitter().float_dtype(), {types::Dim(2), types::Dim(3)}};
  evaluator.program().weights.push_back(std::move(weight));
  MinimizeSite site;
  evaluator.instantiate_optimizer(optimizer, 0, site, decl.name.range);
}

void check_alone(Session& session, const Decl& decl, const DataCatalogue& catalogue) {
  Evaluator& evaluator = session.evaluator;
  const Settings settings;
  switch (decl.kind) {
    case DeclKind::import_file:
      return;
    case DeclKind::param:
      evaluator.declared(decl);
      return;
    case DeclKind::dataset: {
      // Not opened: what is wrong with its files matters to those who use it.
      read_dataset(evaluator, decl, settings, kNothing);
      return;
    }
    case DeclKind::layer:
    case DeclKind::model:
    case DeclKind::function:
      check_callable(evaluator, decl);
      return;
    case DeclKind::optimizer:
      check_optimizer(evaluator, decl);
      return;
    case DeclKind::strategy: {
      const bool complete =
          std::all_of(decl.hyper.begin(), decl.hyper.end(), [](const syntax::Parameter& p) { return p.value != nullptr; });
      if (decl.value) {
        evaluator.declared(decl);
      } else if (complete) {
        evaluate_strategy(evaluator, decl, {}, decl.name.range);
      }
      return;
    }
    case DeclKind::train:
      check_train(evaluator, decl, settings, catalogue);
      return;
  }
}

}  // namespace

std::optional<Program> check(const Ast& file, const Library& library, const graph::OpTable& ops, const DataCatalogue& catalogue,
                             const Options& options, source::Sink& sink) {
  Shared shared(library);
  Session session(library, shared, ops, options, sink);
  const std::vector<const Ast*> files = session.declare_all(file, options);
  shared.cyclic = resolve(session.evaluator, files);
  session.evaluator.catalogue = &catalogue;
  session.evaluator.predict = options.predict;
  const Decl* train = the_train(file, options, session.reporter);
  if (train && train->body) check_train(session.evaluator, *train, Settings(), catalogue);

  // What the train block does not use is checked as far as it can be without a use. What is not supported yet matters only
  // where it is used, and a train block of an imported file where that file is trained.
  source::Sink params_sink;
  Session params(library, shared, ops, options, params_sink);
  params.evaluator.catalogue = &kNothing;
  const auto add = [&](const source::Sink& from) {
    for (const source::Diagnostic* diagnostic : from.all()) {
      if (diagnostic->code != diag::not_supported_yet.code) sink.add(*diagnostic);
    }
  };
  for (const Ast* each : files) {
    for (const Decl* decl : each->decls) {
      if (decl == train || session.evaluator.entered.contains(decl)) continue;
      if (decl->kind == DeclKind::train && (each != &file || !decl->body)) continue;
      source::Sink alone_sink;
      Session alone(library, shared, ops, options, alone_sink);
      alone.program.updates_per_epoch = std::max<int64_t>(1, session.program.updates_per_epoch);
      alone.evaluator.params = &params.evaluator;
      alone.evaluator.catalogue = decl->kind == DeclKind::train ? &catalogue : &kNothing;
      check_alone(alone, *decl, catalogue);
      add(alone_sink);
    }
  }
  add(params_sink);
  if (sink.has_errors()) return std::nullopt;
  return std::move(session.program);
}

std::optional<std::string> checkpoint_directory(const Ast& file, const Library& library, const graph::OpTable& ops,
                                                const Options& options) {
  source::Sink ignored;
  Shared shared(library);
  Session session(library, shared, ops, options, ignored);
  Evaluator& evaluator = session.evaluator;
  shared.cyclic = resolve(evaluator, session.declare_all(file, options));
  evaluator.catalogue = &kNothing;
  const Decl* train = the_train(file, options, session.reporter);
  if (!train || !train->body) return std::nullopt;
  Scope* scope = evaluator.scopes().inside(evaluator.file_root);
  for (const syntax::Item* item : train->body->items) {
    if (item->kind == syntax::ItemKind::let) evaluator.run_item(*item, scope);
  }
  const Settings settings;
  const RecordSetting record(evaluator, settings, *train, "checkpoint", scope);
  const RecordSetting::Entry* entry = record.find("directory");
  if (!entry) return std::nullopt;
  const Value value = entry->expr ? evaluator.evaluate(*entry->expr, scope) : entry->value;
  if (!value.is(ValueKind::text) || value.text.empty()) return std::nullopt;
  return value.text;
}

}  // namespace dtl::sema
