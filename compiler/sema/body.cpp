// Items of a body: let, weight, state, updates, loops and conditions known at compile time.
#include <set>

#include "compiler/sema/evaluate.h"
#include "compiler/sema/placement_reader.h"

namespace dtl::sema {

using source::Range;
using syntax::DeclKind;
using syntax::Item;
using syntax::ItemKind;
using types::TensorType;

namespace {

/// Where a body inside a loop wants to go on from what the turn before made.
constexpr std::string_view kLoopHelp =
    "a `for` makes nothing: `let x = fold(0 .. 3, x, (x, i) => …)` goes on from turn to turn, `x |> repeat(3, …)` applies a layer again "
    "and "
    "again";

}  // namespace

Value Evaluator::run_items(const syntax::Body& body, Scope* scope, bool wants_result) {
  Value result = Value::unit_value();
  bool unmet = false;
  for (size_t i = 0; i < body.items.size(); ++i) {
    const Item& item = *body.items[i];
    const bool last = i + 1 == body.items.size();
    // What follows a requirement was written for values that meet it; further requirements are looked at all the same.
    if (unmet && item.kind != ItemKind::require) return {};
    // A name given anew begins a scope: a function that speaks of the earlier one keeps it.
    Scope* into = scope;
    const bool hides = item.kind == ItemKind::let && std::any_of(item.names.begin(), item.names.end(),
                                                                 [&](const syntax::Ident& name) { return scope->find_here(name.text); });
    if (hides) into = scopes_.inside(scope);
    Value value = run_item(item, scope, into);
    scope = into;
    unmet |= item.kind == ItemKind::require && !value.ok();
    if (item.kind != ItemKind::expression && item.kind != ItemKind::if_else) {
      if (last && wants_result) result = item.kind == ItemKind::assign ? Value() : Value::unit_value();
      continue;
    }
    if (last && wants_result) {
      result = std::move(value);
    } else if (value.ok() && !value.is(ValueKind::unit) && reporter_.first(diag::unused_value, item.range)) {
      reporter_.report(item.range, diag::unused_value).help(loops_ > 0 ? std::string(kLoopHelp) : "name it with `let`, or remove it");
    }
  }
  return unmet ? Value() : result;
}

Value Evaluator::run_item(const Item& item, Scope* scope) { return run_item(item, scope, scope); }

Value Evaluator::run_item(const Item& item, Scope* scope, Scope* into) {
  // What is declared is known afterwards, if only as a mistake.
  const auto declare = [&](auto run) {
    Value done = within_64_bits(item.range, run);
    if (done.ok()) return done;
    for (const syntax::Ident& name : item.names) into->bind(name.text, {}, name.range);
    return Value::unit_value();
  };
  switch (item.kind) {
    case ItemKind::let:
      return declare([&] { return let(item, scope, into); });
    case ItemKind::weight:
      return declare([&] { return weight(item, scope); });
    case ItemKind::state:
      return declare([&] { return optimizer_ ? optimizer_state(item, scope) : state(item, scope); });
    case ItemKind::update:
      return update(item, scope);
    case ItemKind::for_each:
      return for_each(item, scope);
    case ItemKind::if_else: {
      const auto truth = condition(*item.value, scope);
      if (!truth) return {};
      const syntax::Body* body = *truth ? item.body : item.other;
      return body ? run_items(*body, scopes_.inside(scope), true) : Value::unit_value();
    }
    case ItemKind::require:
      return require(item, scope) ? Value::unit_value() : Value();
    case ItemKind::assign:
      report_assignment(item, scope);
      return {};
    case ItemKind::block:
      reporter_.report(item.range, diag::misplaced, "`" + item.names[0].text + " (…) { … }`", "in this body");
      return {};
    case ItemKind::expression:
      return evaluate(*item.value, scope);
  }
  return {};
}

void Evaluator::report_assignment(const Item& item, Scope* scope) {
  const std::string& name = item.names[0].text;
  const Binding* binding = scope->find(name);
  // What changes is written with an arrow, and forgotten where it is only named anew.
  const bool changes = binding && (binding->kind == Binding::Kind::state || (optimizer_ && binding == optimizer_->weight));
  reporter_.report(item.range, diag::misplaced, "`" + name + " = …`", "in this body")
      .help(changes      ? fmt::format("write `{} <- …`", name)
            : loops_ > 0 ? std::string(kLoopHelp)
                         : fmt::format("write `let {} = …`", name));
}

bool Evaluator::require(const Item& item, Scope* scope) {
  const auto truth = condition(*item.value, scope);
  if (!truth || *truth) return true;
  auto reported = reporter_.report(item.value->range, diag::requirement_failed, item.text.empty() ? "a requirement is not met" : item.text);
  // The values that the condition speaks of, each with its origin.
  std::vector<const syntax::Expr*> left{item.value};
  std::set<std::string> told;
  while (!left.empty()) {
    const syntax::Expr* expr = left.back();
    left.pop_back();
    for (const syntax::Expr* part : expr->items) {
      if (part) left.push_back(part);
    }
    if (expr->kind != syntax::ExprKind::name || !told.insert(expr->name).second) continue;
    Binding* binding = scope->find(expr->name);
    const syntax::Decl* decl = binding ? nullptr : globals(expr->range).find(expr->name);
    const Value value = binding ? binding->value : decl && decl->kind == DeclKind::param ? declared(*decl) : Value();
    if (value.is_number() || value.is(ValueKind::boolean) || value.is(ValueKind::text)) {
      reported.note(value.origin, fmt::format("`{}` is {}", expr->name, describe(value)));
    }
  }
  return false;
}

Value Evaluator::let(const Item& item, Scope* scope, Scope* into) {
  Value value = evaluate_as(*item.value, scope, item.type);
  if (value.is(ValueKind::unit)) {
    reporter_.report(item.value->range, diag::no_value);
    value = {};
  }
  if (value.ok() && item.type) {
    CallTypes local;
    CallTypes& types = activation_ ? activation_->types : local;
    Scope* outer = std::exchange(types.scope, scope);
    if (!accept(value, *item.type, types, "`" + item.names[0].text + "`", item.value->range, false)) value = {};
    types.scope = outer;
  }
  if (item.names.size() == 1) {
    const syntax::Ident& name = item.names[0];
    if (value.is(ValueKind::tensor)) emitter_.name(value.tensor, name.text);
    if (value.is(ValueKind::recipe) && instance_) {
      // Bound once: all calls of this name are one instance, which bears the name.
      Closure closure = *value.closure;
      closure.instance = std::make_shared<Instance>();
      const int use = instance_->counters["let " + name.text]++;
      closure.instance->path = fmt::format("{}/{}{}", instance_->path, name.text, use == 0 ? std::string() : fmt::format(".{}", use));
      closure.instance->model = instance_->model;
      value = Value::of_closure(ValueKind::instance, std::move(closure)).at(value.origin);
    }
    into->bind(name.text, std::move(value), name.range);
    return Value::unit_value();
  }
  const bool fits = value.is(ValueKind::tuple) || value.is(ValueKind::list);
  if (value.ok() && (!fits || value.items->size() != item.names.size())) {
    reporter_.report(item.value->range, diag::tuple_size, static_cast<int64_t>(item.names.size()), shown(value));
    value = {};
  }
  for (size_t i = 0; i < item.names.size(); ++i) {
    Value part = value.ok() ? (*value.items)[i] : Value();
    if (part.is(ValueKind::tensor)) emitter_.name(part.tensor, item.names[i].text);
    into->bind(item.names[i].text, std::move(part), item.names[i].range);
  }
  return Value::unit_value();
}

// ---- weights and states

Tensor Evaluator::initial_value(const Value& value, const TensorType& type, Range range) {
  Value made = value;
  if (is_callable(value) && value.ok()) {
    std::vector<Value> dims;
    for (const types::Dim& dim : type.dims) dims.push_back(Value::of_dim(dim));
    Arg shape;
    shape.value = Value::of_items(ValueKind::list, std::move(dims));
    shape.range = range;
    made = call(value, {shape}, range, file_root);
  }
  if (!made.ok()) return {};
  Tensor x = emitter_.materialise({made, range}, type.dtype, type.dims, "an initial value");
  if (!x.ok()) return {};
  const types::Dims dims = emitter_.type(x).dims;
  const bool same_element = emitter_.type(x).dtype == type.dtype;
  if (dims.empty() && same_element) return emitter_.broadcast(x, type.dims, range);
  if (dims != type.dims || !same_element) {
    reporter_.report(range, diag::type_mismatch, "the initial value", type.str(), "`" + emitter_.type(x).str() + "`");
    return {};
  }
  return x;
}

void Evaluator::init_body(Variable& variable, const syntax::Expr* expr, Scope* scope, Range range) {
  BodyContext context;
  context.body = &variable.init;
  context.initial = true;
  context.stream_path = variable.path;
  BodyContext* outer = emitter_.enter(&context);
  const Value value = expr ? evaluate(*expr, scope) : Value::of_integer(0);
  const Tensor x = initial_value(value, variable.type, expr ? expr->range : range);
  if (x.ok() && x.body == &variable.init) variable.init_value = x.id;
  emitter_.enter(outer);
}

Value Evaluator::weight(const Item& item, Scope* scope) {
  const syntax::Ident& name = item.names[0];
  Value result;
  if (!activation_ || (activation_->decl->kind != DeclKind::layer && activation_->decl->kind != DeclKind::model)) {
    reporter_.report(item.range, diag::misplaced, "a weight", "declared here: only layers and models have weights");
  } else if (emitter_.context().initial || !instance_ || instance_->model.empty()) {
    reporter_.report(item.range, diag::weight_outside_model, name.text).help("call the layer in the body of a model");
  } else {
    Scope* outer = std::exchange(activation_->types.scope, scope);
    const auto type = tensor_type(*item.type, activation_->types);
    activation_->types.scope = outer;
    bool constant = type.has_value();
    if (type) {
      for (const types::Dim& dim : type->dims) {
        if (dim.is_constant()) continue;
        reporter_.report(item.type->range, diag::weight_depends_on_batch, name.text, type->str());
        constant = false;
        break;
      }
    }
    types::OwnPlacement placement;
    if (item.type->placement && type) {
      auto read = own_placement(*this, *item.type->placement, scope, *type);
      constant = constant && read;
      if (read) placement = std::move(*read);
    }
    if (constant) {
      const int use = instance_->counters["weight " + name.text]++;
      const std::string path = fmt::format("{}/{}{}", instance_->path, name.text, use == 0 ? std::string() : fmt::format(".{}", use));
      auto [known, fresh] = weight_index_.emplace(path, static_cast<int32_t>(program_.weights.size()));
      const int32_t index = known->second;
      if (fresh) {
        Variable variable;
        variable.path = path;
        variable.type = *type;
        variable.range = item.range;
        variable.model = instance_->model;
        variable.placement = std::move(placement);
        program_.weights.push_back(std::move(variable));
        // The vector may grow while the initial value is made; bodies are referred to by address.
        Variable filled = program_.weights[static_cast<size_t>(index)];
        init_body(filled, item.value, scope, item.range);
        program_.weights[static_cast<size_t>(index)] = std::move(filled);
      } else if (program_.weights[static_cast<size_t>(index)].type != *type) {
        reporter_
            .report(item.range, diag::shared_weight_differs, path, program_.weights[static_cast<size_t>(index)].type.str(), type->str())
            .help("calls that share weights need arguments of the same shape");
      }
      const Tensor x = emitter_.value(name.text, *type, item.range);
      emitter_.name(x, name.text);
      Statement& read = emitter_.statement(StatementKind::read_weight, item.range);
      read.index = index;
      read.results = {x.id};
      read.path = path;
      result = Value::of_tensor(emitter_.context().region_start ? emitter_.share(x, item.range) : x);
    }
  }
  Binding& binding = scope->bind(name.text, std::move(result), name.range);
  binding.kind = Binding::Kind::weight;
  return Value::unit_value();
}

void Evaluator::warn_unused_weights(Scope* scope) {
  for (const Binding& binding : scope->bindings()) {
    if (binding.kind == Binding::Kind::weight && !binding.used && reporter_.first(diag::unused_weight, binding.range)) {
      reporter_.report(binding.range, diag::unused_weight, binding.name).help("remove it, or use it in the result");
    }
  }
}

Value Evaluator::state(const Item& item, Scope* scope) {
  const syntax::Ident& name = item.names[0];
  Value result;
  int32_t index = -1;
  TensorType bound;
  if (!activation_ || (activation_->decl->kind != DeclKind::layer && activation_->decl->kind != DeclKind::model)) {
    reporter_.report(item.range, diag::misplaced, "a state", "declared here: layers, models and optimizers have states");
  } else if (!instance_ || emitter_.context().initial) {
    reporter_.report(item.range, diag::weight_outside_model, name.text).help("call the layer in the body of a model");
  } else if (!item.type) {
    reporter_.report(item.range, diag::missing_setting, "the state `" + name.text + "`", "a type");
  } else {
    Scope* outer = std::exchange(activation_->types.scope, scope);
    const auto type = tensor_type(*item.type, activation_->types);
    activation_->types.scope = outer;
    if (type) {
      const std::string path = instance_->path + "/" + name.text;
      auto [known, fresh] = state_index_.emplace(path, static_cast<int32_t>(program_.states.size()));
      index = known->second;
      bound = *type;
      if (fresh) {
        Variable variable;
        variable.path = path;
        variable.type = *type;
        variable.range = item.range;
        variable.model = instance_->model;
        init_body(variable, item.value, scope, item.range);
        program_.states.push_back(std::move(variable));
      }
      const Tensor x = emitter_.value(name.text, *type, item.range);
      emitter_.name(x, name.text);
      Statement& read = emitter_.statement(StatementKind::read_state, item.range);
      read.index = index;
      read.results = {x.id};
      read.path = path;
      result = Value::of_tensor(emitter_.context().region_start ? emitter_.share(x, item.range) : x);
    }
  }
  Binding& binding = scope->bind(name.text, std::move(result), name.range);
  binding.kind = Binding::Kind::state;
  binding.index = index;
  binding.type = bound;
  return Value::unit_value();
}

Value Evaluator::update(const Item& item, Scope* scope) {
  const syntax::Ident& name = item.names[0];
  const Value value = evaluate(*item.value, scope);
  Binding* binding = scope->find(name.text);
  if (!binding) {
    unknown_name(name.text, name.range, scope);
    return Value::unit_value();
  }
  const bool is_rule_weight = optimizer_ && binding == optimizer_->weight;
  if (binding->kind != Binding::Kind::state && !is_rule_weight) {
    auto reported = reporter_.report(name.range, diag::not_a_state, name.text);
    reported.note(binding->range, "`" + name.text + "` is made here");
    reported.help("declare `state " + name.text + ": … = …`; a `let` is never changed");
    return Value::unit_value();
  }
  if (emitter_.context().region_start) {
    reporter_.report(item.range, diag::misplaced, "`<-`", "inside `per_replica`: a state takes one value for all replicas")
        .help("`reduce` the value and update after the region");
    return Value::unit_value();
  }
  if (!value.ok() || !binding->value.ok()) {
    binding->value = {};
    if (is_rule_weight) optimizer_->updated = true;
    return Value::unit_value();
  }
  const TensorType wanted = is_rule_weight ? optimizer_->type : binding->type;
  Tensor x;
  if (value.is_number()) {
    x = emitter_.materialise({value, item.value->range}, wanted.dtype, wanted.dims, "`<-`");
    if (value.is(ValueKind::dim)) x = emitter_.broadcast(x, wanted.dims, item.value->range);
  } else if (value.is(ValueKind::tensor)) {
    x = emitter_.use(value.tensor, item.value->range, "`<-`");
  } else {
    reporter_.report(item.value->range, diag::needs_tensor, "<-", describe(value));
  }
  if (x.ok() && emitter_.type(x) != wanted) {
    // An optimizer's rule meets one weight after the other; the first clash says enough.
    if (reporter_.first(diag::update_type, item.value->range)) {
      auto reported = reporter_.report(item.value->range, diag::update_type, name.text, wanted.str(), emitter_.type(x).str());
      reported.note(binding->range, "`" + name.text + "` is declared here");
    }
    x = {};
  }
  if (!x.ok()) {
    binding->value = {};
    if (is_rule_weight) optimizer_->updated = true;
    return Value::unit_value();
  }
  binding->value = Value::of_tensor(x);
  if (is_rule_weight) optimizer_->updated = true;
  if (!optimizer_ && emitter_.context().training) {
    Statement& write = emitter_.statement(StatementKind::write_state, item.range);
    write.index = binding->index;
    write.operands = {x.id};
    write.path = program_.states[static_cast<size_t>(binding->index)].path;
  }
  return Value::unit_value();
}

bool Evaluator::take_turns(int64_t count, Range range) {
  constexpr int64_t kMost = 100'000;
  turns_ += std::min(count, kMost + 1);
  if (turns_ <= kMost) return evaluates(count, range);
  reporter_.report(range, diag::loop_too_long, kMost);
  return false;
}

bool Evaluator::evaluates(int64_t count, Range range) {
  constexpr int64_t kMost = 2'000'000;
  const bool told = shared_.evaluations > kMost;
  shared_.evaluations += count;
  if (shared_.evaluations <= kMost) return true;
  if (!told)
    reporter_.report(range, diag::too_much_to_evaluate, kMost)
        .help("calls within calls multiply; a result that is used twice can have a name");
  return false;
}

Value Evaluator::for_each(const Item& item, Scope* scope) {
  const Value over = evaluate(*item.value, scope);
  if (!over.ok()) return Value::unit_value();
  std::vector<Value> values;
  if (over.is(ValueKind::list) || over.is(ValueKind::tuple)) {
    values = *over.items;
  } else if (over.is(ValueKind::range) && (*over.items)[0].is(ValueKind::integer) && (*over.items)[1].is(ValueKind::integer)) {
    for (int64_t i = (*over.items)[0].integer; i < (*over.items)[1].integer; ++i) {
      values.push_back(Value::of_integer(i));
      if (!take_turns(1, item.value->range)) return Value::unit_value();
    }
  } else {
    reporter_.report(item.value->range, diag::setting_type, "`for`", "a range or a list", shown(over));
    return Value::unit_value();
  }
  for (const Value& value : values) {
    Scope* inner = scopes_.inside(scope);
    inner->bind(item.names[0].text, value, item.names[0].range).used = true;
    ++loops_;
    run_items(*item.body, inner, false);
    --loops_;
    for (const Binding& binding : inner->bindings()) {
      if (binding.used || binding.kind != Binding::Kind::value || !binding.value.ok() || !scope->find(binding.name)) continue;
      if (reporter_.first(diag::let_ends_with_turn, binding.range))
        reporter_.report(binding.range, diag::let_ends_with_turn, binding.name).help(std::string(kLoopHelp));
    }
    if (reporter_.has_errors()) break;
  }
  return Value::unit_value();
}

}  // namespace dtl::sema
