// Calls: which argument goes to which parameter, and what each kind of callee does with them. The callee's declaration
// decides how a call binds, never the types of its arguments.
#include <cmath>

#include "compiler/sema/builtins.h"
#include "compiler/sema/evaluate.h"
#include "compiler/sema/strategy.h"

namespace dtl::sema {

using source::Range;
using syntax::Decl;
using syntax::DeclKind;
using syntax::Expr;
using syntax::ExprKind;
using syntax::Parameter;

namespace {

Args arguments_of(const Expr& expr, Scope* scope) {
  Args args;
  for (const syntax::Argument& argument : expr.arguments) {
    if (!argument.value) continue;
    args.push_back({argument.name, argument.value, std::nullopt, argument.value->range, scope});
  }
  return args;
}

std::vector<std::string> names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name.text);
  return names;
}

/// `name` of `decl` where a value is copied: its argument, as it was bound.
Arg bound_argument(const Parameter& parameter, Scope& scope, Range range) {
  Arg arg;
  arg.name = parameter.name;
  if (const Binding* binding = scope.find_here(parameter.name.text)) arg.value = binding->value;
  arg.range = range;
  return arg;
}

std::string text_of(const Arg& arg) {
  const std::string value = arg.expr ? sema::text_of(*arg.expr) : std::string("…");
  return arg.name ? arg.name->text + " = " + value : value;
}

/// Whether a tensor cannot be what is meant for this parameter.
bool takes_no_tensor(const Parameter& parameter) {
  return parameter.type && parameter.type->kind == syntax::TypeKind::named && !parameter.type->has_dims && parameter.type->name != "any";
}

bool is_layer(const Value& value) { return value.is(ValueKind::declared) && value.closure->decl->kind == DeclKind::layer; }

}  // namespace

std::optional<std::vector<const Arg*>> Evaluator::bind(const std::vector<std::string>& names, const Args& args, const std::string& callee,
                                                       Range range, Range declared) {
  std::vector<const Arg*> slots(names.size());
  bool good = true;
  size_t next = 0, given = 0;
  for (const Arg& arg : args) {
    if (!arg.name) {
      ++given;
      if (next < names.size()) {
        if (slots[next]) {
          reporter_.report(arg.range, diag::argument_twice, names[next], callee).note(slots[next]->range, "it is given here already");
          good = false;
        }
        slots[next] = &arg;
      }
      ++next;
      continue;
    }
    const auto it = std::find(names.begin(), names.end(), arg.name->text);
    if (it == names.end()) {
      if (reporter_.first(diag::unknown_argument, arg.name->range)) {
        auto reported = reporter_.report(arg.name->range, diag::unknown_argument, callee, arg.name->text);
        if (auto near = nearest(arg.name->text, names)) {
          reported.meant(*near);
        } else if (!names.empty()) {
          reported.help("it takes " + enumerate(names));
        }
      }
      good = false;
      continue;
    }
    const Arg*& slot = slots[static_cast<size_t>(it - names.begin())];
    if (slot) {
      reporter_.report(arg.name->range, diag::argument_twice, arg.name->text, callee).note(slot->range, "it is given here already");
      good = false;
    }
    slot = &arg;
  }
  if (next > names.size()) {
    auto reported =
        reporter_.report(range, diag::too_many_arguments, callee, static_cast<int64_t>(names.size()), static_cast<int64_t>(given));
    if (declared.known() && !reporter_.in_library(declared)) reported.note(declared, "`" + callee + "` is declared here");
    if (callee == "where") {
      reported.help("it chooses rows of data; between tensors write `select(condition, a, b)`");
    } else if (!names.empty()) {
      reported.help("it takes " + enumerate(names));
    }
    good = false;
  }
  if (good) return slots;
  // The arguments are looked at all the same: their own mistakes are independent.
  for (const Arg& arg : args) evaluate(arg);
  return std::nullopt;
}

bool Evaluator::is_learning_rate(const Value& value, Range range) {
  if (!value.is(ValueKind::integer) && !value.is(ValueKind::number)) return true;
  const double rate = value.as_number();
  if (rate >= 0 && std::isfinite(rate)) return true;
  reporter_.report(range, diag::bad_learning_rate, std::isnan(rate) ? std::string("nan") : fmt::format("{}", rate));
  return false;
}

bool Evaluator::separates_input(const Decl& decl, Args& args) {
  for (Arg& arg : args) {
    if (arg.name || !arg.expr) continue;
    if (arg.expr->kind != ExprKind::name) {
      // A word of an enumeration is a name: all else means the same whatever the parameter's type.
      arg.value = evaluate(*arg.expr, arg.scope);
    }
    const Binding* binding = arg.expr->kind == ExprKind::name ? arg.scope->find(arg.expr->name) : nullptr;
    const Value& value = arg.value ? *arg.value : binding ? binding->value : Value();
    const auto position = static_cast<size_t>(&arg - args.data());
    if (!value.is(ValueKind::tensor) || (position < decl.hyper.size() && !takes_no_tensor(decl.hyper[position]))) return true;
    std::string others;
    for (const Arg& other : args) {
      if (&other != &arg) others += (others.empty() ? "" : ", ") + text_of(other);
    }
    const std::string layer = fmt::format("{}({})", decl.name.text, others), input = text_of(arg);
    reporter_.report(arg.range, diag::input_among_hyperparameters, decl.name.text)
        .help(fmt::format("write `{} |> {}` or `{}({})`: first what the layer is like, then what it is given", input, layer, layer, input));
    return false;
  }
  return true;
}

bool Evaluator::bind_parameters(const std::vector<Parameter>& parameters, const std::vector<const Arg*>& slots, CallTypes& types,
                                bool hyper, const Decl& decl, Range range, bool* pending) {
  Reporter::Call call(reporter_, decl.name.text, range);
  bool good = true;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const std::string& name = parameter.name.text;
    Value value;
    Range at = range;
    if (slots[i]) {
      value = slots[i]->value ? *slots[i]->value : evaluate_as(*slots[i]->expr, slots[i]->scope, parameter.type);
      at = slots[i]->range;
    } else if (parameter.value) {
      value = evaluate_as(*parameter.value, types.scope, parameter.type);
      at = parameter.value->range;
    } else if (pending && parameter.type && parameter.type->kind == syntax::TypeKind::named && parameter.type->name == "shape") {
      *pending = true;
      continue;
    } else {
      auto reported = reporter_.report(range, diag::missing_argument, decl.name.text, name);
      if (!in_library(decl)) reported.note(parameter.name.range, "`" + name + "` is declared here");
      const bool applied =
          decl.kind == DeclKind::function && i == 0 && std::any_of(slots.begin(), slots.end(), [](const Arg* arg) { return arg; });
      if (applied) {
        // What a call with some of its arguments would be elsewhere.
        reported.help(fmt::format("as a function of `{0}` it is written `{0} => {1}({0}, …)`", name, decl.name.text));
      } else if (parameter.type) {
        reported.help("it is of type `" + text_of(*parameter.type) + "`");
      }
      good = false;
      continue;
    }
    if (!value.ok()) {
      good = false;
      types.scope->bind(name, {}, parameter.name.range);
      continue;
    }
    if (name == "learning_rate" && !is_learning_rate(value, at)) good = false;
    // A layer without hyperparameters is no function yet.
    if (is_layer(value)) {
      reporter_.report(at, diag::layer_not_called, value.closure->decl->name.text)
          .help("write `" + value.closure->decl->name.text + "(…)`");
      good = false;
      continue;
    }
    if (parameter.type && !accept(value, *parameter.type, types, fmt::format("`{}` of `{}`", name, decl.name.text), at, hyper)) {
      good = false;
      value = {};
    }
    if (value.is(ValueKind::tensor) && !in_library(decl)) emitter_.name(value.tensor, name);
    if (value.is(ValueKind::lambda) || !value.origin.known()) value.origin = at;
    types.scope->bind(name, std::move(value), parameter.name.range);
  }
  return good;
}

Scope* Evaluator::bind_hyper(const Decl& decl, const Args& args, Range range) {
  entered.insert(&decl);
  const auto slots = bind(names_of(decl.hyper), args, decl.name.text, range, decl.name.range);
  if (!slots) return nullptr;
  CallTypes types;
  types.callee = decl.name.text;
  types.scope = scopes_.inside(in_library(decl) ? library_root : file_root);
  return bind_parameters(decl.hyper, *slots, types, true, decl, range, nullptr) ? types.scope : nullptr;
}

Value Evaluator::with(const Expr& expr, Scope* scope) {
  Value base = evaluate(*expr.items[0], scope);
  if (base.is(ValueKind::declared) && (base.closure->decl->kind == DeclKind::strategy || base.closure->decl->kind == DeclKind::optimizer))
    base = call(base, {}, expr.items[0]->range, scope);
  if (!base.ok()) return {};
  if (base.is(ValueKind::strategy)) return strategy_with(*this, base, expr.arguments, expr.range);
  if (base.is(ValueKind::optimizer)) {
    const Decl& decl = *base.closure->decl;
    Args args = arguments_of(expr, scope);
    for (const Parameter& parameter : decl.hyper) {
      const auto changed = [&](const Arg& arg) { return arg.name && arg.name->text == parameter.name.text; };
      if (std::none_of(args.begin(), args.end(), changed)) args.push_back(bound_argument(parameter, *base.closure->scope, expr.range));
    }
    return call(declared(decl), std::move(args), expr.range, scope);
  }
  if (!base.is(ValueKind::record)) {
    reporter_.report(expr.items[0]->range, diag::not_a_copy, text_of(*expr.items[0]),
                     "a record, strategy, optimizer, dataset or train block");
    return {};
  }
  std::vector<Value> items = *base.items;
  bool good = true;
  for (const syntax::Argument& argument : expr.arguments) {
    if (!argument.name) continue;
    const auto at = std::find(base.names->begin(), base.names->end(), argument.name->text);
    Value value = evaluate(*argument.value, scope);
    if (at == base.names->end()) {
      auto reported = reporter_.report(argument.name->range, diag::unknown_field, text_of(*expr.items[0]), argument.name->text);
      if (auto near = nearest(argument.name->text, *base.names)) {
        reported.help("did you mean `" + *near + "`?");
      } else {
        reported.help("`with` changes fields: " + enumerate(*base.names));
      }
      good = false;
      continue;
    }
    Value& old = items[static_cast<size_t>(at - base.names->begin())];
    const bool numbers = old.is_number() && value.is_number() && !(old.is(ValueKind::integer) && value.is(ValueKind::number));
    const bool same = old.kind == value.kind || numbers || (is_callable(old) && is_callable(value));
    if (value.ok() && !same) {
      reporter_
          .report(argument.value->range, diag::setting_type, "`" + argument.name->text + "`", "of the type it has, " + shown(old),
                  shown(value))
          .note(old.origin, "it is set here first");
    }
    good &= value.ok() && same;
    old = std::move(value);
  }
  return good ? Value::of_record(*base.names, std::move(items)) : Value();
}

Value Evaluator::callee_of(const Expr& expr, Scope* scope) {
  return expr.kind == ExprKind::name ? lookup(expr.name, expr.range, scope, true) : evaluate(expr, scope);
}

Value Evaluator::call_expr(const Expr& expr, Scope* scope) {
  const Value callee = callee_of(*expr.items[0], scope);
  const Args args = arguments_of(expr, scope);
  if (!callee.ok()) {
    for (const Arg& arg : args) {
      if (arg.expr->kind != ExprKind::name && arg.expr->kind != ExprKind::record) evaluate(arg);
    }
    return {};
  }
  return call(callee, args, expr.range, scope);
}

Value Evaluator::pipe(const Expr& expr, Scope* scope) {
  const Expr& right = *expr.items[1];
  Arg left;
  left.value = evaluate(*expr.items[0], scope);
  left.range = expr.items[0]->range;
  left.scope = scope;
  if (right.kind != ExprKind::call) {
    const Value callee = callee_of(right, scope);
    if (!callee.ok()) return {};
    if (is_layer(callee)) {
      reporter_.report(right.range, diag::layer_not_called, callee.closure->decl->name.text)
          .help("write `" + callee.closure->decl->name.text + "()`");
      return {};
    }
    if (!left.value->ok()) return {};
    return call(callee, {left}, right.range, scope);
  }
  const Value callee = callee_of(*right.items[0], scope);
  Args args = arguments_of(right, scope);
  if (!callee.ok()) return {};
  if (is_layer(callee)) {
    const Value recipe = call(callee, std::move(args), right.range, scope);
    if (!recipe.ok() || !left.value->ok()) return {};
    return call(recipe, {left}, right.range, scope);
  }
  if (!left.value->ok()) {
    for (const Arg& arg : args) {
      if (arg.expr && arg.expr->kind != ExprKind::name) evaluate(arg);
    }
    return {};
  }
  args.insert(args.begin(), std::move(left));
  return call(callee, std::move(args), right.range, scope);
}

Value Evaluator::call(const Value& callee, Args args, Range range, Scope* scope) {
  return within_64_bits(range, [&] { return call_unguarded(callee, std::move(args), range, scope); });
}

Value Evaluator::call_unguarded(const Value& callee, Args args, Range range, Scope* scope) {
  switch (callee.kind) {
    case ValueKind::declared: {
      const Decl& decl = *callee.closure->decl;
      switch (decl.kind) {
        case DeclKind::function:
          return call_function(decl, args, range);
        case DeclKind::model:
          return call_model(decl, std::move(args), range);
        case DeclKind::layer:
        case DeclKind::optimizer: {
          if (decl.kind == DeclKind::layer && !separates_input(decl, args)) return {};
          Closure closure;
          closure.decl = &decl;
          closure.scope = bind_hyper(decl, args, range);
          if (!closure.scope) return {};
          return Value::of_closure(decl.kind == DeclKind::layer ? ValueKind::recipe : ValueKind::optimizer, std::move(closure)).at(range);
        }
        case DeclKind::strategy: {
          return evaluate_strategy(*this, decl, args, range);
        }
        case DeclKind::import_file:
        case DeclKind::param:
        case DeclKind::dataset:
        case DeclKind::train:
          break;
      }
      break;
    }
    case ValueKind::builtin:
      return call_builtin(*this, *callee.closure->builtin, args, range, scope);
    case ValueKind::lambda:
      return call_lambda(*callee.closure, args, range);
    case ValueKind::constant_function:
      return (*callee.items)[0];
    case ValueKind::recipe:
    case ValueKind::instance:
      return call_layer(*callee.closure, args, range);
    case ValueKind::pending:
      return call_pending(*callee.closure, args, range);
    case ValueKind::error:
      return {};
    case ValueKind::unit:
    case ValueKind::none:
    case ValueKind::integer:
    case ValueKind::number:
    case ValueKind::boolean:
    case ValueKind::text:
    case ValueKind::quantity:
    case ValueKind::dim:
    case ValueKind::dtype:
    case ValueKind::word:
    case ValueKind::vocabulary:
    case ValueKind::row_text:
    case ValueKind::list:
    case ValueKind::tuple:
    case ValueKind::record:
    case ValueKind::range:
    case ValueKind::tensor:
    case ValueKind::optimizer:
    case ValueKind::strategy:
    case ValueKind::update:
      break;
  }
  auto reported = reporter_.report(range, diag::not_callable, shown(callee));
  if (callee.is(ValueKind::dtype)) reported.help(fmt::format("write `cast(x, {})`", name_of(callee.dtype)));
  if (callee.origin.known() && callee.origin != range && !reporter_.in_library(callee.origin))
    reported.note(callee.origin, "it comes from here");
  return {};
}

Value Evaluator::call_function(const Decl& decl, const Args& args, Range range) {
  const auto slots = bind(names_of(decl.parameters), args, decl.name.text, range, decl.name.range);
  if (!slots) return {};
  Activation activation;
  activation.decl = &decl;
  activation.types.callee = decl.name.text;
  activation.types.scope = scopes_.inside(in_library(decl) ? library_root : file_root);
  bool pending = false;
  if (!bind_parameters(decl.parameters, *slots, activation.types, false, decl, range, &pending)) return {};
  if (pending) {
    Closure closure;
    closure.decl = &decl;
    closure.scope = activation.types.scope;
    return Value::of_closure(ValueKind::pending, std::move(closure)).at(range);
  }
  return run_declared(decl, activation, range);
}

Value Evaluator::call_pending(const Closure& closure, const Args& args, Range range) {
  const Decl& decl = *closure.decl;
  if (args.size() != 1 || args[0].name) {
    reporter_.report(range, diag::too_many_arguments, decl.name.text, 1, static_cast<int64_t>(args.size()));
    return {};
  }
  Activation activation;
  activation.decl = &decl;
  activation.types.callee = decl.name.text;
  activation.types.scope = scopes_.inside(closure.scope);
  for (const Parameter& parameter : decl.parameters) {
    if (parameter.type && parameter.type->kind == syntax::TypeKind::named && parameter.type->name == "shape" &&
        !closure.scope->find_here(parameter.name.text)) {
      activation.types.scope->bind(parameter.name.text, evaluate(args[0]), parameter.name.range);
      break;
    }
  }
  return run_declared(decl, activation, range);
}

Value Evaluator::call_lambda(const Closure& closure, const Args& args, Range range) {
  const Expr& lambda = *closure.lambda;
  const auto slots = bind(names_of(lambda.parameters), args, "this function", range, lambda.range);
  if (!slots) return {};
  Scope* scope = scopes_.inside(closure.scope);
  for (size_t i = 0; i < lambda.parameters.size(); ++i) {
    const Parameter& parameter = lambda.parameters[i];
    if (!(*slots)[i]) {
      reporter_.report(range, diag::missing_argument, "this function", parameter.name.text).note(lambda.range, "it is written here");
      return {};
    }
    scope->bind(parameter.name.text, evaluate(*(*slots)[i]), parameter.name.range);
  }
  Reporter::Call call(reporter_, "a function", range);
  return evaluate(*lambda.items[0], scope);
}

Value Evaluator::call_model(const Decl& decl, Args args, Range range) {
  if (!emitter_.has_context() || emitter_.context().initial || emitter_.context().optimizer || emitter_.context().per_example) {
    reporter_.report(range, diag::misplaced, "a model", "called here: models are called in a step, or by another model");
    return {};
  }
  const auto slots = bind(names_of(decl.parameters), args, decl.name.text, range, decl.name.range);
  if (!slots) return {};
  Activation activation;
  activation.decl = &decl;
  activation.types.callee = decl.name.text;
  activation.types.scope = scopes_.inside(in_library(decl) ? library_root : file_root);
  if (!bind_parameters(decl.parameters, *slots, activation.types, false, decl, range, nullptr)) return {};
  // Weights are known by their model's name; two files may declare models of one name, but not in one program.
  const auto [owner, fresh] = models_.emplace(decl.name.text, &decl);
  if (owner->second != &decl) {
    reporter_.report(decl.name.range, diag::declared_twice, decl.name.text)
        .note(owner->second->name.range, "this program uses this model of the same name too");
    return {};
  }
  // A model is one instance in the program: each call numbers its callees afresh, so it meets the same weights.
  Instance instance;
  instance.path = instance.model = decl.name.text;
  Instance* outer = std::exchange(instance_, &instance);
  emitter_.statement(StatementKind::enter, range).path = instance.path;
  Value result = run_declared(decl, activation, range);
  emitter_.statement(StatementKind::leave, range).path = instance.path;
  if (layer_results) layer_results->emplace_back(instance.path, result);
  instance_ = outer;
  return result;
}

Value Evaluator::call_layer(const Closure& closure, const Args& args, Range range) {
  const Decl& decl = *closure.decl;
  const auto slots = bind(names_of(decl.parameters), args, decl.name.text, range, decl.name.range);
  Instance instance;
  if (closure.instance) {
    instance.path = closure.instance->path;
    instance.model = closure.instance->model;
  } else if (instance_) {
    instance.path = fmt::format("{}/{}.{}", instance_->path, decl.name.text, instance_->counters[decl.name.text]++);
    instance.model = instance_->model;
  } else {
    instance.path = decl.name.text;
  }
  if (!slots) return {};
  if (!emitter_.has_context()) {
    reporter_.report(range, diag::misplaced, "a layer", "applied here: no data flows through settings");
    return {};
  }
  Activation activation;
  activation.decl = &decl;
  activation.types.callee = decl.name.text;
  activation.types.scope = scopes_.inside(closure.scope);
  if (!bind_parameters(decl.parameters, *slots, activation.types, false, decl, range, nullptr)) return {};
  Instance* outer = std::exchange(instance_, &instance);
  emitter_.statement(StatementKind::enter, range).path = instance.path;
  Value result = run_declared(decl, activation, range);
  emitter_.statement(StatementKind::leave, range).path = instance.path;
  if (layer_results) layer_results->emplace_back(instance.path, result);
  instance_ = outer;
  return result;
}

Value Evaluator::run_declared(const Decl& decl, Activation& activation, Range range) {
  entered.insert(&decl);
  if (shared_.cyclic.contains(&decl)) return {};
  Reporter::Call call(reporter_, decl.name.text, range);
  Activation* outer = std::exchange(activation_, &activation);
  Value result = run_items(*decl.body, activation.types.scope, true);
  if (result.ok() && (decl.kind == DeclKind::layer || decl.kind == DeclKind::model)) warn_unused_weights(activation.types.scope);
  if (result.is(ValueKind::unit) && decl.type) {
    reporter_.report(decl.name.range, diag::missing_result, decl.name.text).help("the last expression of a body is its result");
    result = {};
  }
  if (result.ok() && decl.type && !check_result(result, decl, activation.types, range)) result = {};
  activation_ = outer;
  if (!result.ok() && decl.kind == DeclKind::model && decl.type) return promised(*decl.type, activation.types, range);
  return result;
}

Value Evaluator::promised(const syntax::TypeExpr& type, CallTypes& types, Range range) {
  const auto dtype = dtype_named(type.name);
  if (type.kind != syntax::TypeKind::named || !type.has_dims || !dtype) return {};
  std::vector<types::Dim> dims;
  for (const syntax::DimExpr& dim : type.dims) {
    bool fresh = false;
    const auto known = dim.ellipsis ? std::nullopt : declared_dim(*dim.value, types, &fresh);
    if (!known) return {};
    dims.push_back(*known);
  }
  stands_in = true;
  return Value::of_tensor(emitter_.constant(0, *dtype, std::move(dims), range)).at(range);
}

bool Evaluator::check_result(Value& result, const Decl& decl, CallTypes& types, Range range) {
  // The last expression is where a wrong result is made.
  Range at = range;
  if (!decl.body->items.empty()) at = decl.body->items.back()->range;
  return accept(result, *decl.type, types, fmt::format("the result of `{}`", decl.name.text), at, false);
}

}  // namespace dtl::sema
