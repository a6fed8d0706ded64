// dslc config: every value that `--set` can name, as a program has it once overrides are in place, and who said so.
//
// Each line is an argument of `--set`: PATH=VALUE given again changes nothing. Settings of the train block that runs have
// their own names as paths, all others start with their declaration's.
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "compiler/driver/one_line.h"
#include "compiler/driver/options.h"
#include "compiler/driver/pipeline.h"
#include "compiler/sema/builtins.h"
#include "compiler/sema/overrides.h"
#include "compiler/sema/settings.h"
#include "compiler/sema/value.h"

namespace dtl::driver {
namespace {

using source::Range;
using syntax::Decl;
using syntax::DeclKind;
using syntax::Expr;
using syntax::ExprKind;

/// What is true where a program does not say so. Records: only where the record is there.
struct Default {
  DeclKind kind;
  const char* path;
  const char* value;
};
constexpr Default kDefaults[] = {
    {DeclKind::dataset, "shuffle", "none"},
    {DeclKind::dataset, "on_error", "stop"},
    {DeclKind::train, "strategy", "one_device()"},
    {DeclKind::train, "seed", "0"},
    {DeclKind::train, "precision", "f32"},
    {DeclKind::train, "evaluate_every", "1 epoch"},
    {DeclKind::train, "gradients.accumulate", "1"},
    {DeclKind::train, "stop_early.minimum_change", "0.0"},
    {DeclKind::train, "stop_early.restore_best", "false"},
    {DeclKind::train, "checkpoint.every", "1 epoch"},
    {DeclKind::train, "checkpoint.keep", "3"},
};

/// Which parts of a value are shown besides it.
enum class Parts : uint8_t {
  none,   ///< those of records alone: a formula is one value
  given,  ///< arguments of sources, and of what they are piped through
  all,    ///< arguments, and the defaults of those that are not given
};

Parts parts_of(DeclKind kind, const std::string& setting) {
  if (kind == DeclKind::dataset) return Parts::given;
  return kind == DeclKind::train && (setting == "optimizer" || setting == "strategy") ? Parts::all : Parts::none;
}

class Printer {
 public:
  Printer(Compilation& compilation, const Options& options, std::ostream& out)
      : compilation_(compilation),
        sources_(compilation.sources),
        files_(*compilation.ast, compilation.imports, compilation.library(), compilation.effective),
        options_(options),
        out_(out),
        chosen_(sema::chosen_train(*compilation.ast, options.train)) {}

  void file(const syntax::Ast& ast, const std::string& prefix) {
    if (!done_.insert(&ast).second) return;
    for (const Decl* decl : ast.decls) declaration(*decl, prefix);
    for (const Decl* decl : ast.decls) {
      if (decl->kind == DeclKind::import_file) file(*compilation_.imports.at(decl), prefix + sema::alias_of(*decl) + ".");
    }
  }

 private:
  void declaration(const Decl& decl, const std::string& prefix) {
    const std::string name = prefix + decl.name.text;
    if (decl.kind == DeclKind::param && decl.value) return value(name, *decl.value, Parts::none);
    if (decl.kind == DeclKind::strategy && decl.value) return value(name, *decl.value, Parts::all);
    if (!decl.body || (decl.kind != DeclKind::dataset && decl.kind != DeclKind::train && decl.kind != DeclKind::strategy)) return;
    const bool runs = &decl == chosen_;
    // A block without a name that does not run cannot be spoken of.
    if (!runs && (decl.name.text.empty() || (decl.kind == DeclKind::train && !decl.name.range.known()))) return;
    const auto path_of = [&](const std::string& setting) { return runs && !taken(setting) ? setting : name + "." + setting; };
    std::set<std::string> said;
    for (const syntax::Item* item : decl.body->items) {
      if (item->kind != syntax::ItemKind::assign) continue;
      const std::string& setting = item->names[0].text;
      const std::string path = path_of(setting);
      if (path.starts_with('.')) continue;  // of a block without a name, and hidden by a declaration
      said.insert(setting);
      if (item->value->kind == ExprKind::record) {
        for (const syntax::Argument& argument : item->value->arguments) {
          if (argument.name) said.insert(setting + "." + argument.name->text);
        }
      }
      value(path, *item->value, parts_of(decl.kind, setting));
    }
    for (const Default& each : kDefaults) {
      if (each.kind != decl.kind || said.contains(each.path)) continue;
      const std::string whole = each.path, outer = whole.substr(0, whole.find('.'));
      if (outer != whole && outer != "gradients" && !said.contains(outer)) continue;
      if (const std::string path = path_of(outer); !path.starts_with('.'))
        line(path + whole.substr(outer.size()), each.value, {"language", "a default of the language", {}});
    }
  }

  /// Whether `--set NAME=…` means a declaration.
  bool taken(const std::string& name) const {
    const Decl* decl = sema::ProgramFiles::find(*compilation_.ast, name);
    return decl && (decl->kind == DeclKind::param || decl->kind == DeclKind::dataset || decl->kind == DeclKind::strategy ||
                    decl->kind == DeclKind::train || decl->kind == DeclKind::import_file);
  }

  struct Origin {
    std::string kind, text;
    Range range;
  };

  Origin origin_of(Range range) const {
    const std::string& file = sources_.file(range.file).name;
    if (file == "<--strategy>") return {"strategy", "--strategy", {}};
    if (file.starts_with("<--")) return {"set", file.substr(1, file.size() - 2), {}};
    const source::Position at = sources_.position(range.file, range.begin);
    return {"file", fmt::format("{}:{}:{}", file, at.line, at.column), range};
  }

  /// A value, then the parts that have paths of their own.
  void value(const std::string& path, const Expr& expr, Parts parts) {
    const Expr* inner = &expr;
    while (inner->kind == ExprKind::group) inner = inner->items[0];
    if (inner->kind == ExprKind::record && !inner->arguments.empty()) {
      for (const syntax::Argument& argument : inner->arguments) {
        if (argument.name) value(path + "." + argument.name->text, *argument.value, parts == Parts::all ? parts : Parts::none);
      }
      return;
    }
    line(path, text(*inner), origin_of(inner->range));
    if (parts == Parts::none) return;
    const Decl* decl = declared(*inner);
    const bool use = decl && !decl->value && (decl->kind == DeclKind::strategy || decl->kind == DeclKind::optimizer);
    if (inner->kind == ExprKind::call || use) return arguments(path, *inner, false, parts, {});
    if (inner->kind != ExprKind::pipe) return;
    std::map<std::string, int> count;
    pipe(*inner, [&](const Expr& call, bool /*piped*/) {
      for (const std::string& name : parameters(call)) ++count[name];
    });
    pipe(*inner, [&](const Expr& call, bool piped) { arguments(path, call, piped, parts, count); });
  }

  template <class Visit>
  void pipe(const Expr& expr, const Visit& visit, bool piped = false) {
    if (expr.kind == ExprKind::pipe) {
      pipe(*expr.items[0], visit, piped);
      pipe(*expr.items[1], visit, true);
    } else if (expr.kind == ExprKind::call) {
      visit(expr, piped);
    }
  }

  const Decl* declared(const Expr& expr) const {
    const Expr& callee = expr.kind == ExprKind::call ? *expr.items[0] : expr;
    return callee.kind == ExprKind::name || callee.kind == ExprKind::field ? files_.named_by(callee) : nullptr;
  }

  std::vector<std::string> parameters(const Expr& call) const {
    std::vector<std::string> names;
    if (const Decl* decl = declared(call)) {
      for (const syntax::Parameter& parameter : decl->has_hyper ? decl->hyper : decl->parameters) names.push_back(parameter.name.text);
      return names;
    }
    const sema::Builtin* builtin = call.items[0]->kind == ExprKind::name ? sema::find_builtin(call.items[0]->name) : nullptr;
    return builtin ? builtin->parameter_names() : names;
  }

  /// Those given, and the defaults of those that are not. `count`: how many functions of a pipe take a name; of several none
  /// can be meant.
  void arguments(const std::string& path, const Expr& call, bool piped, Parts parts, const std::map<std::string, int>& count) {
    const std::vector<std::string> names = parameters(call);
    std::set<std::string> given;
    size_t position = piped ? 1 : 0;
    const auto told = [&](const std::string& name) {
      const auto several = count.find(name);
      return several == count.end() || several->second == 1;
    };
    if (call.kind == ExprKind::call) {
      for (const syntax::Argument& argument : call.arguments) {
        if (!argument.name && position >= names.size()) continue;
        const std::string& name = argument.name ? argument.name->text : names[position++];
        given.insert(name);
        if (argument.value && told(name)) value(path + "." + name, *argument.value, parts == Parts::all ? parts : Parts::none);
      }
    }
    const Decl* decl = declared(call);
    if (!decl || parts != Parts::all) return;
    for (const syntax::Parameter& parameter : decl->has_hyper ? decl->hyper : decl->parameters) {
      if (!parameter.value || given.contains(parameter.name.text) || !told(parameter.name.text)) continue;
      Origin origin = origin_of(parameter.value->range);
      origin = {"default", fmt::format("the default of `{}` ({})", decl->name.text, origin.text), origin.range};
      line(path + "." + parameter.name.text, text(*parameter.value), origin);
    }
  }

  std::string text(const Expr& expr) const { return one_line(sema::edited(sources_, expr.range, compilation_.effective.edits)); }

  void line(const std::string& path, const std::string& value, const Origin& origin) {
    if (options_.json) {
      nlohmann::ordered_json object = {{"path", path}, {"value", value}, {"origin", origin.kind}};
      if (origin.range.known()) {
        const source::Position at = sources_.position(origin.range.file, origin.range.begin);
        object["file"] = sources_.file(origin.range.file).name;
        object["line"] = at.line;
        object["column"] = at.column;
      } else if (origin.kind == "set") {
        object["set"] = origin.text.substr(std::string_view("--set ").size());
      }
      out_ << object.dump() << "\n";
    } else {
      out_ << path << " = " << value << (options_.origin ? "  // " + origin.text : "") << "\n";
    }
  }

  Compilation& compilation_;
  const source::SourceSet& sources_;
  const sema::ProgramFiles files_;
  const Options& options_;
  std::ostream& out_;
  const Decl* chosen_;
  std::set<const syntax::Ast*> done_;
};

}  // namespace

int config(const Options& options, std::ostream& out, std::ostream& err) {
  Compilation compilation(options);
  const bool good = compilation.parse() && compilation.check(false);
  compilation.print_diagnostics(err);
  if (!good) return compilation.failure_status();
  Printer(compilation, options, out).file(*compilation.ast, "");
  return 0;
}

}  // namespace dtl::driver
