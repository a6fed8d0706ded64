// The fields of a strategy: mesh, placements by role, update, communication.
#include "compiler/sema/strategy.h"

#include "compiler/sema/builtins.h"
#include "compiler/sema/placement_reader.h"

namespace dtl::sema {

using source::Range;
using syntax::Decl;
using syntax::Expr;
using syntax::ExprKind;
using syntax::Item;
using syntax::ItemKind;
using types::Placement;
using types::Placements;

namespace {

class StrategyReader {
 public:
  StrategyReader(Evaluator& evaluator, const Decl& decl, Scope* scope)
      : evaluator_(evaluator), reporter_(evaluator.reporter()), decl_(decl), scope_(scope) {}

  std::optional<types::Strategy> read(const std::vector<syntax::Argument>& changes) {
    const int errors = reporter_.errors();
    for (const Item* item : decl_.body->items) collect(*item);
    for (const syntax::Argument& change : changes) {
      if (change.name && is_field(*change.name)) fields_[change.name->text] = change.value;
    }
    result_.name = decl_.name.text;
    const bool has_mesh = needs("mesh"), has_batch = needs("batch");
    if (has_mesh) read_mesh(*fields_["mesh"]);
    const size_t axes = result_.mesh.axes.size();
    if (axes == 0) return std::nullopt;
    const auto role = [&](const char* name, const Placements& otherwise) {
      const auto it = fields_.find(name);
      if (it == fields_.end()) return otherwise;
      PlacementReader reader(evaluator_, scope_, result_.mesh, mesh_range());
      const auto placements = reader.read(*it->second, name);
      if (reader.later()) result_.later.push_back(fmt::format("`{} = {}`", name, text_of(*it->second)));
      return placements.value_or(otherwise);
    };
    const Placements everywhere(axes, Placement::broadcast());
    if (has_batch) result_.batch = role("batch", everywhere);
    result_.weights = role("weights", everywhere);
    result_.gradients = role("gradients", result_.weights);
    result_.optimizer = role("optimizer", result_.weights);
    if (const auto it = fields_.find("update"); it != fields_.end()) read_update(*it->second);
    if (const auto it = fields_.find("communication"); it != fields_.end()) read_communication(*it->second);
    if (reporter_.errors() != errors) return std::nullopt;
    return std::move(result_);
  }

 private:
  void collect(const Item& item) {
    switch (item.kind) {
      case ItemKind::let:
      case ItemKind::require:
        evaluator_.run_item(item, scope_);
        return;
      case ItemKind::assign: {
        const syntax::Ident& name = item.names[0];
        const std::vector<std::string>& known = strategy_fields();
        if (std::find(known.begin(), known.end(), name.text) == known.end()) {
          if (!reporter_.first(diag::unknown_setting, name.range)) return;
          auto reported = reporter_.report(name.range, diag::unknown_setting, name.text, "a strategy");
          if (auto near = nearest(name.text, known)) {
            reported.meant(*near);
          } else {
            reported.help("it has " + enumerate(known));
          }
          return;
        }
        if (const auto [first, fresh] = fields_.emplace(name.text, item.value); !fresh)
          reporter_.report(name.range, diag::set_twice, name.text).note(first->second->range, "it is set here already");
        return;
      }
      case ItemKind::weight:
      case ItemKind::state:
      case ItemKind::update:
      case ItemKind::for_each:
      case ItemKind::if_else:
      case ItemKind::block:
      case ItemKind::expression:
        reporter_.report(item.range, diag::misplaced, "this", "in a strategy, which has settings only");
    }
  }

  bool is_field(const syntax::Ident& name) {
    const std::vector<std::string>& known = strategy_fields();
    if (std::find(known.begin(), known.end(), name.text) != known.end()) return true;
    if (!reporter_.first(diag::unknown_setting, name.range)) return false;
    auto reported = reporter_.report(name.range, diag::unknown_setting, name.text, "a strategy");
    const auto is_hyper = [&](const syntax::Parameter& parameter) { return parameter.name.text == name.text; };
    if (std::any_of(decl_.hyper.begin(), decl_.hyper.end(), is_hyper)) {
      reported.help(fmt::format("write `{}({} = …)`", decl_.name.text, name.text));
    } else if (auto near = nearest(name.text, known)) {
      reported.help("did you mean `" + *near + "`?");
    } else {
      reported.help("it has " + enumerate(known));
    }
    return false;
  }

  bool needs(const char* name) {
    if (fields_.contains(name)) return true;
    reporter_.report(decl_.name.range, diag::missing_setting, "the strategy `" + decl_.name.text + "`", fmt::format("`{}`", name));
    return false;
  }

  /// 1 after a report.
  int64_t axis_size(const std::string& name, const Value& value, Range range) {
    if (!value.ok()) return 1;
    if (value.is(ValueKind::word)) {
      evaluator_.program().devices_of_all.emplace_back(value.origin, evaluator_.options().devices);
      return evaluator_.options().devices;
    }
    const auto size = evaluator_.integer(value, range, "the mesh axis `" + name + "`");
    constexpr int64_t kMost = 4096;
    if (!size) return 1;
    if (*size < 1) {
      auto reported = reporter_.report(range, diag::no_devices, name, *size);
      if (value.origin.known() && value.origin != range && !reporter_.in_library(value.origin))
        reported.note(value.origin, fmt::format("{} comes from here", *size));
      reported.help("the smallest is 1; `all` takes every device of this machine");
      return 1;
    }
    if (*size <= kMost) return *size;
    reporter_.report(range, diag::too_many_devices, name, *size, kMost);
    return 1;
  }

  void read_mesh(const Expr& expr) {
    static constexpr std::string_view kWords[] = {"all"};
    // An axis of a wrong size is an axis all the same: placements may name it.
    const auto axis = [&](const std::string& name, const Value& value, Range range) {
      result_.mesh.axes.push_back({name, axis_size(name, value, range)});
    };
    if (expr.kind == ExprKind::record) {
      for (const syntax::Argument& argument : expr.arguments) {
        if (!argument.name || !argument.value) continue;
        Value value = evaluator_.evaluate_word(*argument.value, scope_, kWords);
        axis(argument.name->text, value, argument.value->range);
      }
      return;
    }
    const Value value = evaluator_.evaluate(expr, scope_);
    if (value.is(ValueKind::record)) {
      for (size_t i = 0; i < value.items->size(); ++i) axis((*value.names)[i], (*value.items)[i], expr.range);
    } else if (value.ok()) {
      reporter_.report(expr.range, diag::setting_type, "`mesh`", "a record of axes", evaluator_.shown(value));
    }
  }

  Range mesh_range() { return fields_.contains("mesh") ? fields_.at("mesh")->range : decl_.name.range; }

  void read_update(const Expr& expr) {
    const Value value = evaluator_.evaluate(expr, scope_);
    if (!value.ok()) return;
    if (!value.is(ValueKind::update)) {
      reporter_.report(expr.range, diag::setting_type, "`update`", "`synchronous`, `periodic(…)` or `asynchronous(…)`",
                       evaluator_.shown(value));
    } else if (value.text != "synchronous") {
      result_.later.push_back("the update `" + value.text + "`");
    }
  }

  /// A record written here, or one that a hyperparameter holds.
  void read_communication(const Expr& expr) {
    if (expr.kind == ExprKind::record) {
      for (const syntax::Argument& argument : expr.arguments) {
        if (!argument.name) {
          reporter_.report(argument.value->range, diag::record_needs_names).help("write `name = value`");
          continue;
        }
        read_communication(argument.name->text, argument.name->range, evaluator_.evaluate(*argument.value, scope_), argument.value->range);
      }
      return;
    }
    const Value value = evaluator_.evaluate(expr, scope_);
    const Range at = value.origin.known() ? value.origin : expr.range;
    if (value.is(ValueKind::record)) {
      for (size_t i = 0; i < value.items->size(); ++i) {
        const Value& item = (*value.items)[i];
        const Range range = item.origin.known() ? item.origin : at;
        read_communication((*value.names)[i], range, item, range);
      }
    } else if (value.ok()) {
      reporter_.report(at, diag::setting_type, "`communication`", "a record", evaluator_.shown(value));
    }
  }

  void read_communication(const std::string& name, Range name_range, const Value& value, Range range) {
    static const std::vector<std::string> fields = {"first_bucket", "bucket", "overlap", "compress", "timeout"};
    if (std::find(fields.begin(), fields.end(), name) == fields.end()) {
      auto reported = reporter_.report(name_range, diag::unknown_setting, name, "`communication`");
      if (auto near = nearest(name, fields)) {
        reported.meant(*near);
      } else {
        reported.help("it has " + enumerate(fields));
      }
      return;
    }
    if (!value.ok()) return;
    types::Communication& communication = result_.communication;
    const std::string what = "`" + name + "`";
    if (name == "overlap") {
      if (value.is(ValueKind::boolean)) {
        communication.overlap = value.boolean;
      } else {
        reporter_.report(range, diag::setting_type, what, "a bool", evaluator_.shown(value));
      }
    } else if (name == "compress") {
      if (!value.is(ValueKind::none)) result_.later.emplace_back("compressed communication");
    } else {
      const std::string unit = name == "timeout" ? "duration" : "size";
      if (!value.is(ValueKind::quantity) || value.text != unit) {
        reporter_.report(range, diag::setting_type, what, name == "timeout" ? "a duration such as `30s`" : "a size such as `25MB`",
                         evaluator_.shown(value));
      } else if (name == "timeout") {
        communication.timeout_seconds = value.number;
      } else {
        (name == "bucket" ? communication.bucket : communication.first_bucket) = static_cast<int64_t>(value.number);
      }
    }
  }

  Evaluator& evaluator_;
  Reporter& reporter_;
  const Decl& decl_;
  Scope* scope_;
  std::map<std::string, const Expr*> fields_;
  types::Strategy result_;
};

Value read_strategy(Evaluator& evaluator, Closure closure, Range range) {
  Reporter::Call call(evaluator.reporter(), closure.decl->name.text, range);
  auto strategy = StrategyReader(evaluator, *closure.decl, closure.scope).read(closure.changes);
  if (!strategy) return {};
  Value value = Value::of_closure(ValueKind::strategy, std::move(closure)).at(range);
  value.strategy = std::make_shared<const types::Strategy>(std::move(*strategy));
  return value;
}

}  // namespace

types::Strategy default_strategy() {
  types::Strategy strategy;
  strategy.name = "default";
  strategy.mesh.axes = {{"data", 1}};
  strategy.batch = {Placement::split(0)};
  strategy.weights = strategy.gradients = strategy.optimizer = {Placement::broadcast()};
  return strategy;
}

const std::vector<std::string>& strategy_fields() {
  static const std::vector<std::string> fields = {"mesh", "batch", "weights", "gradients", "optimizer", "update", "communication"};
  return fields;
}

Value evaluate_strategy(Evaluator& evaluator, const Decl& decl, const Args& args, Range range) {
  if (!decl.body) {
    evaluator.reporter().report(range, diag::not_callable, "the strategy `" + decl.name.text + "`");
    return {};
  }
  Scope* scope = evaluator.bind_hyper(decl, args, range);
  if (!scope) return {};
  Closure closure;
  closure.decl = &decl;
  closure.scope = scope;
  return read_strategy(evaluator, std::move(closure), range);
}

Value strategy_with(Evaluator& evaluator, const Value& base, const std::vector<syntax::Argument>& changes, Range range) {
  Closure closure = *base.closure;
  closure.changes.insert(closure.changes.end(), changes.begin(), changes.end());
  return read_strategy(evaluator, std::move(closure), range);
}

}  // namespace dtl::sema
