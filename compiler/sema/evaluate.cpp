// Evaluator: names, operators, conditions, per-replica regions.
#include "compiler/sema/evaluate.h"

#include "compiler/sema/builtins.h"
#include "compiler/sema/dataset.h"
#include "compiler/source/check.h"

namespace dtl::sema {

using source::Range;
using syntax::Decl;
using syntax::DeclKind;
using syntax::Expr;
using syntax::ExprKind;

Evaluator::Evaluator(Emitter& emitter, Reporter& reporter, Program& program, Shared& shared, const Options& options)
    : emitter_(emitter), reporter_(reporter), program_(program), shared_(shared), options_(options) {
  library_root = scopes_.inside(nullptr);
  file_root = scopes_.inside(nullptr);
}

std::string Evaluator::shown(const Value& value) const {
  return value.is(ValueKind::tensor) ? fmt::format("`{}`", emitter_.type(value.tensor).str()) : describe(value);
}

bool Evaluator::is_callable(const Value& value) const {
  switch (value.kind) {
    case ValueKind::declared: {
      const DeclKind kind = value.closure->decl->kind;
      return kind == DeclKind::function || kind == DeclKind::layer || kind == DeclKind::model || kind == DeclKind::optimizer ||
             kind == DeclKind::strategy;
    }
    case ValueKind::builtin:
    case ValueKind::lambda:
    case ValueKind::constant_function:
    case ValueKind::recipe:
    case ValueKind::instance:
    case ValueKind::pending:
    case ValueKind::error:
      return true;
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
      return false;
  }
  return false;
}

Value Evaluator::declared(const Decl& decl) {
  if (params && decl.kind == DeclKind::param) return params->declared(decl);
  if (auto known = declared_.find(&decl); known != declared_.end()) return known->second;
  if (shared_.cyclic.contains(&decl)) return declared_[&decl] = {};
  Closure closure;
  closure.decl = &decl;
  Value value = Value::of_closure(ValueKind::declared, std::move(closure)).at(decl.name.range);
  Scope* root = in_library(decl) ? library_root : file_root;
  if (decl.value) entered.insert(&decl);
  // Whoever asks first, it is worth the same: settings see no tensors of the body that is being built.
  BodyContext* outer = emitter_.enter(nullptr);
  if (decl.kind == DeclKind::param) {
    const Expr* expr = decl.value;
    CallTypes types;
    types.scope = root;
    if (!expr) {
      reporter_.report(decl.name.range, diag::missing_setting, "the param `" + decl.name.text + "`", "a value")
          .help("`--set " + decl.name.text + "=…` sets it");
      value = {};
    } else {
      value = evaluate_as(*expr, root, decl.type).at(expr->range);
      if (value.ok() && decl.type && !accept(value, *decl.type, types, "`" + decl.name.text + "`", expr->range, true)) value = {};
    }
  } else if (decl.value && decl.kind == DeclKind::strategy) {
    value = evaluate(*decl.value, root);
    if (value.is(ValueKind::strategy)) {
      auto named = std::make_shared<types::Strategy>(*value.strategy);
      named->name = decl.name.text;
      value.strategy = std::move(named);
    } else if (value.ok()) {
      reporter_.report(decl.value->range, diag::setting_type, "`" + decl.name.text + "`", "a strategy", shown(value));
      value = {};
    }
  }
  emitter_.enter(outer);
  return declared_[&decl] = value;
}

// ---- expressions

Value Evaluator::evaluate(const Arg& arg) { return arg.value ? *arg.value : evaluate(*arg.expr, arg.scope); }

Value Evaluator::evaluate_as(const Expr& expr, Scope* scope, const syntax::TypeExpr* type) {
  if (!type) return evaluate(expr, scope);
  std::vector<std::string_view> words;
  if (type->kind == syntax::TypeKind::words) {
    for (const syntax::TypeExpr* item : type->items) words.push_back(item->name);
  }
  const syntax::TypeExpr* inner = type->kind == syntax::TypeKind::optional ? type->items[0] : type;
  if (inner->name == "devices") words.push_back("all");
  return evaluate_word(expr, scope, words);
}

Value Evaluator::evaluate(const Expr& expr, Scope* scope) {
  // Deep nesting and endless recursion through lambdas end here, well before the stack does.
  constexpr int kDeepest = 700;
  if (depth_ > kDeepest) {
    if (!std::exchange(too_deep_, true)) reporter_.report(expr.range, diag::calls_too_deep, kDeepest);
    return {};
  }
  if (!evaluates(1, expr.range)) return {};
  ++depth_;
  Value value = within_64_bits(expr.range, [&] { return evaluate_unguarded(expr, scope); });
  --depth_;
  if (!value.origin.known()) value.origin = expr.range;
  return value;
}

Value Evaluator::evaluate_unguarded(const Expr& expr, Scope* scope) {
  switch (expr.kind) {
    case ExprKind::integer:
      return Value::of_integer(expr.integer);
    case ExprKind::number:
      return Value::of_number(expr.number);
    case ExprKind::quantity: {
      Value value = Value::of_text(ValueKind::quantity, expr.name);
      value.number = expr.number;
      value.unit = expr.unit;
      return value;
    }
    case ExprKind::string:
      return Value::of_text(ValueKind::text, expr.text);
    case ExprKind::boolean:
      return Value::of_boolean(expr.integer != 0);
    case ExprKind::name:
      return lookup(expr.name, expr.range, scope);
    case ExprKind::list:
    case ExprKind::tuple: {
      if (expr.items.empty() && expr.kind == ExprKind::tuple) return Value::unit_value();
      std::vector<Value> items;
      for (const Expr* item : expr.items) items.push_back(evaluate(*item, scope));
      for (const Value& item : items) {
        if (!item.ok()) return {};
      }
      return Value::of_items(expr.kind == ExprKind::list ? ValueKind::list : ValueKind::tuple, std::move(items));
    }
    case ExprKind::record: {
      std::vector<std::string> names;
      std::vector<Value> items;
      bool good = true;
      for (const syntax::Argument& argument : expr.arguments) {
        if (!argument.name) {
          if (argument.value) reporter_.report(argument.value->range, diag::record_needs_names).help("write `name = value`");
          good = false;
          continue;
        }
        const auto first = std::find_if(expr.arguments.begin(), expr.arguments.end(), [&](const syntax::Argument& other) {
          return other.name && other.name->text == argument.name->text;
        });
        if (&*first != &argument) {
          reporter_.report(argument.name->range, diag::set_twice, argument.name->text).note(first->name->range, "it is set here already");
          good = false;
        }
        names.push_back(argument.name->text);
        items.push_back(evaluate(*argument.value, scope));
        if (items.back().is(ValueKind::tensor)) emitter_.name(items.back().tensor, names.back());
        good &= items.back().ok();
      }
      return good ? Value::of_record(std::move(names), std::move(items)) : Value();
    }
    case ExprKind::lambda: {
      Closure closure;
      closure.lambda = &expr;
      closure.scope = scope;
      return Value::of_closure(ValueKind::lambda, std::move(closure));
    }
    case ExprKind::call:
      return call_expr(expr, scope);
    case ExprKind::index:
      return index(expr, scope);
    case ExprKind::field:
      return field(expr, scope);
    case ExprKind::unary:
      return unary(expr, scope);
    case ExprKind::binary: {
      // `and` and `or` of compile-time bools need only the side that decides.
      if (expr.op == "==" || expr.op == "!=") return comparison(expr, scope);
      const Value a = evaluate(*expr.items[0], scope);
      if (a.is(ValueKind::boolean) && (expr.op == "and" || expr.op == "or") && a.boolean == (expr.op == "or")) return a;
      const Value b = evaluate(*expr.items[1], scope);
      return binary(expr.op, {a, expr.items[0]->range}, {b, expr.items[1]->range}, expr.range);
    }
    case ExprKind::pipe:
      return pipe(expr, scope);
    case ExprKind::range: {
      std::vector<Value> ends;
      for (const Expr* end : expr.items) {
        DTL_CHECK(end, "a range without an end, outside of an index");
        ends.push_back(evaluate(*end, scope));
        if (!ends.back().ok()) return {};
        if (as_dim(ends.back())) continue;
        reporter_.report(end->range, diag::setting_type, "the end of a range", "an int", shown(ends.back()));
        return {};
      }
      return Value::of_items(ValueKind::range, std::move(ends));
    }
    case ExprKind::ellipsis:
      reporter_.report(expr.range, diag::misplaced, "`...`", "here: it stands only in types and indices");
      return {};
    case ExprKind::if_else:
      return if_else(expr, scope);
    case ExprKind::per_replica:
      return per_replica(expr, scope);
    case ExprKind::with:
      return with(expr, scope);
    case ExprKind::group:
      return evaluate(*expr.items[0], scope);
  }
  return {};
}

namespace {

std::string_view op_of(const std::string& op) {
  static const std::map<std::string, std::string_view, std::less<>> ops = {
      {"+", "add"},         {"-", "subtract"},      {"*", "multiply"},   {"/", "divide"},      {"**", "power"},
      {"==", "equal"},      {"!=", "not_equal"},    {"<", "less"},       {"<=", "less_equal"}, {">", "less"},
      {">=", "less_equal"}, {"and", "logical_and"}, {"or", "logical_or"}};
  const auto it = ops.find(op);
  DTL_CHECK(it != ops.end(), "operator `{}`", op);
  return it->second;
}

}  // namespace

/// `padding == same`: beside an enumeration its words win; a name that means nothing else is one of them, as the walk over
/// all names has seen.
Value Evaluator::comparison(const Expr& expr, Scope* scope) {
  const Expr &left = *expr.items[0], &right = *expr.items[1];
  const auto is_word = [&](const Expr& e) {
    return e.kind == ExprKind::name && !scope->find(e.name) && !globals(e.range).find(e.name) && !is_builtin_value(e.name) &&
           !find_builtin(e.name) && !is_later(e.name);
  };
  const auto word = [](const Expr& e) { return Value::of_text(ValueKind::word, e.name).at(e.range); };
  const auto side = [&](const Expr& e) { return is_word(e) ? word(e) : evaluate(e, scope); };
  Value a = side(left), b;
  b = a.is(ValueKind::word) && right.kind == ExprKind::name && !scope->find(right.name) ? word(right) : side(right);
  if (b.is(ValueKind::word) && !a.is(ValueKind::word) && left.kind == ExprKind::name && !scope->find(left.name)) a = word(left);
  return binary(expr.op, {a, left.range}, {b, right.range}, expr.range);
}

Value Evaluator::unary(const Expr& expr, Scope* scope) {
  const Value x = evaluate(*expr.items[0], scope);
  if (!x.ok()) return {};
  const Operand operand{x, expr.items[0]->range};
  if (expr.op == "not") {
    if (x.is(ValueKind::boolean)) return Value::of_boolean(!x.boolean);
    return Value::of_tensor(emitter_.logical("logical_not", {operand}, expr.range, "not"));
  }
  if (x.is(ValueKind::integer)) {
    int64_t result = 0;
    if (!__builtin_sub_overflow(int64_t{0}, x.integer, &result)) return Value::of_integer(result);
    reporter_.report(expr.range, diag::integer_overflow, fmt::format("-({})", x.integer));
    return {};
  }
  if (x.is(ValueKind::number)) return Value::of_number(-x.number);
  return Value::of_tensor(emitter_.unary("negate", operand, expr.range));
}

Value Evaluator::binary(const std::string& op, const Operand& a, const Operand& b, Range range) {
  if (!a.value.ok() || !b.value.ok()) return {};
  const bool tensors = a.value.is(ValueKind::tensor) || b.value.is(ValueKind::tensor);
  const bool comparison = op == "==" || op == "!=";
  // Whether there is a value at all is known at compile time, a tensor's too.
  if (comparison && (a.value.is(ValueKind::none) || b.value.is(ValueKind::none)))
    return Value::of_boolean((a.value.kind == b.value.kind) == (op == "=="));
  if (comparison && (a.value.is(ValueKind::row_text) || b.value.is(ValueKind::row_text))) {
    const Operand &field = a.value.is(ValueKind::row_text) ? a : b, &other = a.value.is(ValueKind::row_text) ? b : a;
    if (!other.value.is(ValueKind::text)) {
      reporter_.report(other.range, diag::setting_type, "what `" + field.value.text + "` is compared with", "a string", shown(other.value));
      return {};
    }
    const Tensor equal = text_equals(*this, field.value.text, other.value.text, range);
    return Value::of_tensor(op == "==" ? equal : emitter_.logical("logical_not", {{Value::of_tensor(equal), range}}, range, op));
  }
  if (!tensors) {
    if (a.value.is_number() && b.value.is_number()) return fold_number(op, a, b, range);
    if (a.value.is(ValueKind::boolean) && b.value.is(ValueKind::boolean)) {
      if (op == "and") return Value::of_boolean(a.value.boolean && b.value.boolean);
      if (op == "or") return Value::of_boolean(a.value.boolean || b.value.boolean);
      if (comparison) return Value::of_boolean((a.value.boolean == b.value.boolean) == (op == "=="));
    }
    if (comparison && a.value.kind == b.value.kind) {
      if (a.value.is(ValueKind::text) || a.value.is(ValueKind::word))
        return Value::of_boolean((a.value.text == b.value.text) == (op == "=="));
      if (a.value.is(ValueKind::dtype)) return Value::of_boolean((a.value.dtype == b.value.dtype) == (op == "=="));
    }
    // `axis == 0` where the axis is a list, `padding == same` where it is a number: different kinds are never equal.
    const auto either = [&](ValueKind kind) { return a.value.is(kind) || b.value.is(kind); };
    if (comparison && (either(ValueKind::list) || either(ValueKind::word)) && a.value.kind != b.value.kind)
      return Value::of_boolean(op == "!=");
    if (op == "+" && a.value.is(ValueKind::list) && b.value.is(ValueKind::list)) {
      if (!take_turns(static_cast<int64_t>(b.value.items->size()), range)) return {};
      std::vector<Value> items = *a.value.items;
      items.insert(items.end(), b.value.items->begin(), b.value.items->end());
      return Value::of_items(ValueKind::list, std::move(items));
    }
    if (op == "*" && (a.value.is(ValueKind::quantity) || b.value.is(ValueKind::quantity))) {
      const Value &q = a.value.is(ValueKind::quantity) ? a.value : b.value, &n = a.value.is(ValueKind::quantity) ? b.value : a.value;
      if (n.is(ValueKind::integer) || n.is(ValueKind::number)) {
        Value product = q;
        product.number *= n.as_number();
        return product;
      }
    }
    const Operand& wrong = a.value.is_number() ? b : a;
    if (op == "and" || op == "or") {
      reporter_.report(wrong.range, diag::needs_bool, op, describe(wrong.value));
    } else {
      emitter_.needs_tensor(wrong.value, wrong.range, op);
    }
    return {};
  }
  if (op == "and" || op == "or") return Value::of_tensor(emitter_.logical(op_of(op), {a, b}, range, op));
  // x ** 2 is x * x: exact, and cheaper than a general power.
  if (op == "**" && b.value.is(ValueKind::integer) && b.value.integer == 2)
    return Value::of_tensor(emitter_.binary("multiply", a, a, range, op));
  const bool swapped = op == ">" || op == ">=";
  return Value::of_tensor(emitter_.binary(op_of(op), swapped ? b : a, swapped ? a : b, range, op));
}

Value Evaluator::fold_number(const std::string& op, const Operand& a, const Operand& b, Range range) {
  const auto da = as_dim(a.value), db = as_dim(b.value);
  if (da && db && (!da->is_constant() || !db->is_constant())) {
    if (op == "+") return Value::of_dim(*da + *db);
    if (op == "-") return Value::of_dim(*da - *db);
    if (op == "*") return Value::of_dim(*da * *db);
    if (op == "/") {
      if (auto quotient = da->divided_by(*db)) return Value::of_dim(*quotient);
    }
    if (op == "==" && *da == *db) return Value::of_boolean(true);
    if (op == "!=" && *da == *db) return Value::of_boolean(false);
    const bool swapped = op == ">" || op == ">=";
    return Value::of_tensor(emitter_.binary(op_of(op), swapped ? b : a, swapped ? a : b, range, op));
  }
  if (!da && a.value.is(ValueKind::dim)) return {};
  if (a.value.is(ValueKind::dim) || b.value.is(ValueKind::dim)) return Value::of_tensor(emitter_.binary(op_of(op), a, b, range, op));
  const double x = a.value.as_number(), y = b.value.as_number();
  if (op == "==") return Value::of_boolean(x == y);
  if (op == "!=") return Value::of_boolean(x != y);
  if (op == "<") return Value::of_boolean(x < y);
  if (op == "<=") return Value::of_boolean(x <= y);
  if (op == ">") return Value::of_boolean(x > y);
  if (op == ">=") return Value::of_boolean(x >= y);
  if (op == "and" || op == "or") {
    reporter_.report(a.range, diag::needs_bool, op, describe(a.value));
    return {};
  }
  if (a.value.is(ValueKind::integer) && b.value.is(ValueKind::integer)) {
    const int64_t i = a.value.integer, j = b.value.integer;
    int64_t result = 0;
    bool overflow = false;
    if (op == "+") overflow = __builtin_add_overflow(i, j, &result);
    if (op == "-") overflow = __builtin_sub_overflow(i, j, &result);
    if (op == "*") overflow = __builtin_mul_overflow(i, j, &result);
    if (op == "**") {
      if (j < 0) return Value::of_number(std::pow(x, y));
      result = 1;
      for (int64_t k = 0; k < j && !overflow && result != 0 && (i > 1 || i < -1 || k < 1); ++k)
        overflow = __builtin_mul_overflow(result, i, &result);
      if (i == -1) result = j % 2 == 0 ? 1 : -1, overflow = false;
    }
    if (op == "/") {
      if (j == -1) return fold_number("-", {Value::of_integer(0), a.range}, a, range);
      if (j == 0 || i % j != 0) {
        auto reported = reporter_.report(range, diag::not_exact_division, i, j);
        if (j != 0) reported.help(fmt::format("`floor_div({}, {})` rounds down; `{}.0 / {}` is a float", i, j, i, j));
        return {};
      }
      result = i / j;
    }
    if (overflow) {
      reporter_.report(range, diag::integer_overflow, fmt::format("{} {} {}", i, op, j));
      return {};
    }
    return Value::of_integer(result);
  }
  if (op == "+") return Value::of_number(x + y);
  if (op == "-") return Value::of_number(x - y);
  if (op == "*") return Value::of_number(x * y);
  if (op == "/") return Value::of_number(x / y);
  return Value::of_number(std::pow(x, y));
}

std::optional<int64_t> Evaluator::integer(const Value& value, Range range, const std::string& what) {
  if (value.is(ValueKind::integer)) return value.integer;
  if (value.ok()) reporter_.report(range, diag::setting_type, what, "an int", shown(value));
  return std::nullopt;
}

Value Evaluator::field(const Expr& expr, Scope* scope) {
  const Value base = evaluate(*expr.items[0], scope);
  if (!base.ok()) return {};
  if (base.is(ValueKind::declared) && base.closure->decl->kind == DeclKind::import_file) {
    const Decl* decl = member(*base.closure->decl, expr.name, expr.name_range);
    return decl ? declared(*decl) : Value();
  }
  if (base.is(ValueKind::record)) {
    if (const Value* found = base.find(expr.name)) return *found;
    auto reported =
        reporter_.report(expr.name_range.known() ? expr.name_range : expr.range, diag::unknown_field, text_of(*expr.items[0]), expr.name);
    if (auto near = nearest(expr.name, *base.names)) {
      reported.meant(*near);
    } else if (!base.names->empty()) {
      reported.help("it has " + enumerate(*base.names));
    }
    return {};
  }
  if (base.is(ValueKind::declared) && base.closure->decl->kind == DeclKind::dataset) {
    if (auto vocabulary = vocabulary_of(*this, *base.closure->decl, expr.name)) return *vocabulary;
    for (const syntax::Item* item : base.closure->decl->body->items) {
      if (!item->names.empty() && item->names[0].text == expr.name) {
        reporter_.report(expr.range, diag::not_supported_yet, "`" + text_of(expr) + "`");
        return {};
      }
    }
  }
  auto reported =
      reporter_.report(expr.name_range.known() ? expr.name_range : expr.range, diag::unknown_field, text_of(*expr.items[0]), expr.name);
  reported.note(expr.items[0]->range, "this is " + shown(base));
  if (base.is(ValueKind::tensor) && expr.name == "shape") reported.help("write `shape(" + text_of(*expr.items[0]) + ")`");
  return {};
}

// ---- control

std::optional<bool> Evaluator::condition(const Expr& expr, Scope* scope) {
  const Value value = evaluate(expr, scope);
  if (value.is(ValueKind::boolean)) return value.boolean;
  if (value.is(ValueKind::tensor)) {
    reporter_.report(expr.range, diag::compile_time_needed, "a condition", shown(value))
        .help("`select(condition, a, b)` chooses element by element");
  } else if (value.ok()) {
    reporter_.report(expr.range, diag::setting_type, "a condition", "a bool", shown(value));
  }
  return std::nullopt;
}

Value Evaluator::if_else(const Expr& expr, Scope* scope) {
  const auto truth = condition(*expr.items[0], scope);
  if (!truth) return {};
  const syntax::Body* body = *truth ? expr.bodies[0] : (expr.bodies.size() > 1 ? expr.bodies[1] : nullptr);
  return body ? run_items(*body, scopes_.inside(scope), true) : Value::unit_value();
}

Value Evaluator::to_local(const Value& value, Range range) {
  if (value.is(ValueKind::list) || value.is(ValueKind::tuple) || value.is(ValueKind::record)) {
    Value result = value;
    std::vector<Value> items;
    for (const Value& item : *value.items) items.push_back(to_local(item, range));
    result.items = std::make_shared<const std::vector<Value>>(std::move(items));
    return result;
  }
  if (value.is_number())
    return Value::of_tensor(emitter_.share(emitter_.materialise({value, range}, emitter_.float_dtype(), {}, "per_replica"), range));
  if (!value.is(ValueKind::tensor) || emitter_.local(value.tensor)) return value;
  return Value::of_tensor(emitter_.share(value.tensor, range));
}

Value Evaluator::per_replica(const Expr& expr, Scope* scope) {
  if (!emitter_.has_context()) {
    reporter_.report(expr.range, diag::misplaced, "`per_replica`", "here: it stands in a step, a model or a layer");
    return {};
  }
  BodyContext& context = emitter_.context();
  if (context.region_start || context.per_example || context.initial || context.optimizer) {
    reporter_.report(expr.range, diag::misplaced, "`per_replica`",
                     context.region_start ? "inside another `per_replica`" : "here: it stands in a step, a model or a layer");
    return {};
  }
  context.region_start = static_cast<int32_t>(context.body->values.size());
  const std::string path = instance_ ? instance_->path + "/per_replica" : "per_replica";
  emitter_.statement(StatementKind::enter, expr.range).path = path;
  Value result = run_items(*expr.bodies[0], scopes_.inside(scope), true);
  if (result.ok()) result = to_local(result, expr.range);
  emitter_.statement(StatementKind::leave, expr.range).path = path;
  context.region_start.reset();
  context.shares.clear();
  return result;
}

}  // namespace dtl::sema
