// Declared types against values: dimensions' names are bound by unification, numbers take the types they are given.
#include "compiler/sema/builtins.h"
#include "compiler/sema/evaluate.h"

namespace dtl::sema {

using source::Range;
using syntax::Expr;
using syntax::ExprKind;
using syntax::TypeExpr;
using syntax::TypeKind;
using types::Dim;
using types::TensorType;

namespace {

constexpr std::string_view kPlainTypes[] = {
    "int",         "float", "bool",     "string",    "size",   "duration", "percent", "count",   "devices", "any",  "schedule", "model",
    "initializer", "layer", "function", "optimizer", "update", "strategy", "none",    "dataset", "dtype",   "axes", "shape"};

}  // namespace

bool Evaluator::is_plain_type(std::string_view name) {
  return name != "none" && std::find(std::begin(kPlainTypes), std::end(kPlainTypes), name) != std::end(kPlainTypes);
}

std::optional<DType> Evaluator::dtype_named(const std::string& name) const {
  const auto dtype = parse_dtype(name);
  // `precision = f64` reads every f32 as f64.
  if (dtype == DType::f32) return emitter_.float_dtype();
  return dtype;
}

/// Of other libraries: `None`, `-1`.
void Evaluator::not_a_dimension(const Expr& expr) {
  if (!reporter_.first(diag::not_a_dimension, expr.range)) return;
  reporter_.report(expr.range, diag::not_a_dimension, text_of(expr))
      .help("a dimension of any size has a name: `batch` that of the examples, `n` another; `...` stands for any number of dimensions");
}

std::optional<Dim> Evaluator::declared_dim(const Expr& expr, CallTypes& types, bool* fresh) {
  switch (expr.kind) {
    case ExprKind::integer:
      return Dim(expr.integer);
    case ExprKind::group:
      return declared_dim(*expr.items[0], types, fresh);
    case ExprKind::name: {
      if (expr.name == "None" || expr.name == "none") {
        not_a_dimension(expr);
        return std::nullopt;
      }
      if (const auto bound = types.dims.find(expr.name); bound != types.dims.end()) return bound->second.dim;
      if (Binding* binding = types.scope->find(expr.name)) {
        if (auto dim = as_dim(binding->value)) return dim;
      } else if (const syntax::Decl* decl = expr.name == "batch" ? nullptr : globals(expr.range).find(expr.name);
                 decl && decl->kind == syntax::DeclKind::param) {
        // `batch` in a type is the dimension that a dataset makes, whatever params are called.
        if (auto dim = as_dim(declared(*decl))) return dim;
      }
      if (fresh) *fresh = true;
      return std::nullopt;
    }
    case ExprKind::binary: {
      bool unknown = false;
      const auto a = declared_dim(*expr.items[0], types, &unknown), b = declared_dim(*expr.items[1], types, &unknown);
      if (unknown && fresh) *fresh = true;
      if (!a || !b) return std::nullopt;
      if (expr.op == "+") return *a + *b;
      if (expr.op == "-") return *a - *b;
      if (expr.op == "*") return *a * *b;
      if (expr.op == "/") {
        if (auto quotient = a->divided_by(*b)) return quotient;
        reporter_.report(expr.range, diag::dimension_not_exact, a->str(), b->str());
        return std::nullopt;
      }
      break;
    }
    case ExprKind::number:
    case ExprKind::quantity:
    case ExprKind::string:
    case ExprKind::boolean:
    case ExprKind::list:
    case ExprKind::record:
    case ExprKind::tuple:
    case ExprKind::lambda:
    case ExprKind::call:
    case ExprKind::index:
    case ExprKind::field:
    case ExprKind::unary:
    case ExprKind::pipe:
    case ExprKind::range:
    case ExprKind::ellipsis:
    case ExprKind::if_else:
    case ExprKind::per_replica:
    case ExprKind::with:
      break;
  }
  const Value value = evaluate(expr, types.scope);
  if (auto dim = as_dim(value)) {
    if (dim->constant().value_or(0) >= 0) return dim;
    not_a_dimension(expr);
    return std::nullopt;
  }
  if (value.ok()) reporter_.report(expr.range, diag::setting_type, "a dimension", "an int", shown(value));
  return std::nullopt;
}

bool Evaluator::unify(const TensorType& actual, const TypeExpr& type, CallTypes& types, const std::string& from) {
  const std::string& name = type.name;
  if (name == "float") {
    if (!is_float(actual.dtype) || (types.real && *types.real != actual.dtype)) return false;
    types.real = actual.dtype;
  } else if (name == "int") {
    if (!is_integer(actual.dtype) || (types.whole && *types.whole != actual.dtype)) return false;
    types.whole = actual.dtype;
  } else if (name == "number") {
    if (actual.dtype == DType::boolean) return false;
  } else if (name != "any" && dtype_named(name) != actual.dtype) {
    return false;
  }
  const std::vector<syntax::DimExpr>& dims = type.dims;
  size_t dots_at = dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].ellipsis) dots_at = i;
  }
  const bool dots = dots_at < dims.size();
  const size_t written = dims.size() - (dots ? 1 : 0);
  if (dots ? actual.rank() < written : actual.rank() != written) return false;
  const size_t skipped = actual.rank() - written;  // how many `...` stands for
  if (dots) {
    const auto begin = actual.dims.begin() + static_cast<std::ptrdiff_t>(dots_at);
    const types::Dims covered(begin, begin + static_cast<std::ptrdiff_t>(skipped));
    if (types.dots && *types.dots != covered) return false;
    if (!types.dots) types.dots_from = from;
    types.dots = covered;
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].ellipsis || !dims[i].value) continue;
    const Dim& dim = actual.dims[i > dots_at ? i - 1 + skipped : i];
    bool fresh = false;
    const Expr& written_dim = *dims[i].value;
    const auto declared = declared_dim(written_dim, types, &fresh);
    if (declared && *declared != dim) return no_solution(written_dim, dim);
    if (declared) continue;
    if (!fresh || !solve(written_dim, dim, types, from)) return fresh && no_solution(written_dim, dim);
  }
  return true;
}

/// Says so where the dimension is written as more than a name or number.
bool Evaluator::no_solution(const Expr& expr, const Dim& dim) {
  if (expr.kind == ExprKind::binary) unsolved_ = fmt::format("{} is not `{}`", dim.str(), text_of(expr));
  return false;
}

/// Finds the one name in `expr` that is not bound yet, so that `expr` is `dim`: each operator is undone, exactly or not at all.
bool Evaluator::solve(const Expr& expr, const Dim& dim, CallTypes& types, const std::string& from) {
  if (expr.kind == ExprKind::group) return solve(*expr.items[0], dim, types, from);
  if (expr.kind == ExprKind::name) {
    if (const auto known = types.dims.find(expr.name); known != types.dims.end()) return known->second.dim == dim;
    if (dim.constant().value_or(0) < 0) return false;
    types.dims[expr.name] = {dim, from};
    if (!types.scope->find_here(expr.name)) types.scope->bind(expr.name, Value::of_dim(dim).at(expr.range), expr.range);
    return true;
  }
  if (expr.kind != ExprKind::binary) return false;
  bool left_open = false, right_open = false;
  const Expr &left = *expr.items[0], &right = *expr.items[1];
  const auto a = declared_dim(left, types, &left_open), b = declared_dim(right, types, &right_open);
  if (!a && !b && left_open && right_open) {
    reporter_.report(expr.range, diag::dimension_not_determined, text_of(expr))
        .help("an earlier dimension or parameter that is one of the names alone fixes it");
    return false;
  }
  if (a) {
    if (expr.op == "+") return solve(right, dim - *a, types, from);
    if (expr.op == "-") return solve(right, *a - dim, types, from);
    const auto other = expr.op == "*" ? dim.divided_by(*a) : expr.op == "/" ? a->divided_by(dim) : std::nullopt;
    return other && solve(right, *other, types, from);
  }
  if (!b) return false;
  if (expr.op == "+") return solve(left, dim - *b, types, from);
  if (expr.op == "-") return solve(left, dim + *b, types, from);
  if (expr.op == "/") return solve(left, dim * *b, types, from);
  const auto other = expr.op == "*" ? dim.divided_by(*b) : std::nullopt;
  return other && solve(left, *other, types, from);
}

namespace {

/// Whether a declared dimension can be of that size, as far as that is seen at once.
bool can_be(const syntax::DimExpr& dim, const Dim& size, const CallTypes& types) {
  if (!dim.value) return true;
  if (dim.value->kind == ExprKind::integer) return size == Dim(dim.value->integer);
  if (dim.value->kind != ExprKind::name) return true;
  if (const auto bound = types.dims.find(dim.value->name); bound != types.dims.end()) return bound->second.dim == size;
  const Binding* binding = types.scope->find(dim.value->name);
  const auto known = binding ? as_dim(binding->value) : std::nullopt;
  return !known || *known == size;
}

bool has_dots(const TypeExpr& type) {
  return std::any_of(type.dims.begin(), type.dims.end(), [](const syntax::DimExpr& dim) { return dim.ellipsis; });
}

/// The last axis is called −1: so it is whatever the rank.
int axis_from_end(size_t axis, size_t rank) { return axis + 1 == rank ? -1 : static_cast<int>(axis); }

/// The axis of `type` at which a dimension of 1 makes a tensor fit that has one dimension less; the last one, unless a 1 is declared
/// elsewhere, or one example lacks the batch.
std::optional<int> lacking_axis(const TypeExpr& type, const TensorType& actual, const CallTypes& types) {
  if (has_dots(type)) return -1;
  const size_t rank = type.dims.size();
  std::optional<size_t> found;
  bool sure = false;
  for (size_t axis = 0; axis < rank; ++axis) {
    bool fits = can_be(type.dims[axis], Dim(1), types);
    for (size_t i = 0; i + 1 < rank && fits; ++i) fits = can_be(type.dims[i < axis ? i : i + 1], actual.dims[i], types);
    if (!fits || sure) continue;
    found = axis;
    const Expr* dim = type.dims[axis].value;
    const bool one = dim && dim->kind == ExprKind::integer;
    const bool batch = axis == 0 && dim && dim->kind == ExprKind::name && dim->name == "batch";
    sure = one || (batch && std::all_of(actual.dims.begin(), actual.dims.end(), [](const Dim& d) { return d.constant().has_value(); }));
  }
  return found ? std::optional(axis_from_end(*found, rank)) : std::nullopt;
}

/// The axis of a tensor whose 1 has to go for it to fit.
std::optional<int> extra_axis(const TypeExpr& type, const TensorType& actual, const CallTypes& types) {
  const size_t rank = actual.rank();
  if (has_dots(type)) return actual.dims.back() == Dim(1) ? std::optional(-1) : std::nullopt;
  for (size_t axis = rank; axis-- > 0;) {
    bool fits = actual.dims[axis] == Dim(1);
    for (size_t i = 0; i + 1 < rank && fits; ++i) fits = can_be(type.dims[i], actual.dims[i < axis ? i : i + 1], types);
    if (fits) return axis_from_end(axis, rank);
  }
  return std::nullopt;
}

std::string what_dots_are(const CallTypes& types) {
  if (!types.dots) return "`...` stands for any dimensions, or none";
  std::string dims;
  for (const Dim& dim : *types.dots) dims += (dims.empty() ? "" : ", ") + dim.str();
  return fmt::format("`...` is {} here, from {}", dims.empty() ? "no dimension" : "`" + dims + "`", types.dots_from);
}

/// What to say where labels are those of the other of two losses: numbers of classes, or a weight for each class.
std::string_view other_loss(const TensorType& actual, const CallTypes& types) {
  if (!types.dots) return {};
  const size_t examples = types.dots->size();
  if (types.callee == "cross_entropy" && is_integer(actual.dtype) && actual.rank() == examples)
    return "`sparse_cross_entropy` takes labels that are numbers of classes; `one_hot(…, classes)` makes weights of them";
  if (types.callee == "sparse_cross_entropy" && is_float(actual.dtype) && actual.rank() == examples + 1)
    return "`cross_entropy` takes a weight for each class, such as `one_hot` makes; `argmax(…)` makes numbers of classes of them";
  return {};
}

/// A word of an enumeration that a text in quotes is near to.
std::optional<std::string> word_meant(const TypeExpr& type, const std::string& text) {
  if (type.kind != TypeKind::words) return std::nullopt;
  std::vector<std::string> words;
  for (const TypeExpr* item : type.items) {
    if (item->kind == TypeKind::named && !item->has_dims && !Evaluator::is_plain_type(item->name)) words.push_back(item->name);
  }
  return nearest(text, words);
}

}  // namespace

void Evaluator::mismatch(const Value& value, const TypeExpr& type, const CallTypes& types, const std::string& what, Range range) {
  auto reported = reporter_.report(range, diag::type_mismatch, what, text_of(type), shown(value));
  if (type.range.known() && !reporter_.in_library(type.range)) reported.note(type.range, "declared here");
  std::string known;
  for (const syntax::DimExpr& dim : type.dims) {
    if (!dim.value || dim.value->kind != ExprKind::name) continue;
    if (const auto bound = types.dims.find(dim.value->name); bound != types.dims.end()) {
      if (bound->second.dim.str() == dim.value->name) continue;
      known += fmt::format("{}`{}` is {}{}", known.empty() ? "" : ", ", dim.value->name, bound->second.dim.str(),
                           bound->second.from.empty() ? "" : " from " + bound->second.from);
    } else if (Binding* binding = types.scope->find(dim.value->name);
               binding && as_dim(binding->value) && as_dim(binding->value)->str() != dim.value->name) {
      known += fmt::format("{}`{}` is {}", known.empty() ? "" : ", ", dim.value->name, as_dim(binding->value)->str());
    }
  }
  if (!known.empty()) reported.note({}, known);
  if (!unsolved_.empty()) reported.note({}, std::exchange(unsolved_, {}));
  // Elsewhere functions are named by strings.
  if (value.is(ValueKind::text) && !type.has_dims && (find_builtin(value.text) || globals(range).find(value.text)))
    reported.help(fmt::format("write `{}`, without quotes", value.text));
  if (const auto word = value.is(ValueKind::text) ? word_meant(type, value.text) : std::nullopt)
    reported.help(fmt::format("write `{}`, without quotes", *word));
  // `dense(features in, features out)` of other libraries.
  const auto& bound = types.scope->bindings();
  if (value.is(ValueKind::integer) && type.name == "function" && bound.size() == 1 && bound.front().value.is(ValueKind::integer))
    reported.help(fmt::format("write `{}({})`: how many come in is known from what it is given", types.callee, value.integer));
  if (!value.is(ValueKind::tensor)) return;
  const bool any_dims = std::any_of(type.dims.begin(), type.dims.end(), [](const syntax::DimExpr& dim) { return dim.ellipsis; });
  if (any_dims) reported.note({}, what_dots_are(types));
  const Tensor x = value.tensor;
  const Range made = emitter_.range(x);
  const TensorType actual = emitter_.type(x);
  if (const std::string_view other = other_loss(actual, types); !other.empty()) {
    reported.help(std::string(other));
    return;
  }
  if (made != range && made.known() && !reporter_.in_library(made)) reported.note(made, fmt::format("`{}` comes from here", actual.str()));
  const bool wants_float = type.name == "float" || (parse_dtype(type.name) && is_float(*parse_dtype(type.name)));
  if (type.has_dims && wants_float && !is_float(actual.dtype)) {
    reported.help("`cast(…, f32)` converts it");
  } else if (type.has_dims && type.name == "int" && is_float(actual.dtype)) {
    reported.help("`cast(…, i64)` converts it, and drops what is behind the point");
  } else if (const auto dtype = dtype_named(type.name); dtype && *dtype != actual.dtype) {
    reported.help(fmt::format("`cast(…, {})` converts it", type.name));
  } else if (type.has_dims && actual.rank() + 1 == type.dims.size() && !type.dims.back().ellipsis) {
    if (const auto axis = lacking_axis(type, actual, types))
      reported.help(fmt::format("`expand(…, axis = {})` adds a dimension of 1", *axis));
  } else if (type.has_dims && actual.rank() == type.dims.size() + 1) {
    if (const auto axis = extra_axis(type, actual, types))
      reported.help(fmt::format("`squeeze(…, axis = {})` drops the dimension of 1", *axis));
  } else if (type.has_dims && type.dims.size() == 2 && actual.rank() > 2) {
    reported.help("`flatten(…)` keeps the batch and joins the rest");
  }
}

bool Evaluator::accept_tensor(Value& value, const TypeExpr& type, CallTypes& types, const std::string& what, Range range) {
  if (value.is_number() || value.is(ValueKind::boolean)) {
    // A number where a tensor stands: a scalar of the declared element type.
    const auto dtype = type.name == "float" || type.name == "number" || type.name == "any"
                           ? (types.real ? *types.real : emitter_.float_dtype())
                           : (type.name == "int" ? DType::i64 : dtype_named(type.name).value_or(emitter_.float_dtype()));
    if (!emitter_.has_context() || value.is(ValueKind::boolean) != (dtype == DType::boolean)) {
      mismatch(value, type, types, what, range);
      return false;
    }
    value = Value::of_tensor(emitter_.materialise({value, range}, dtype, {}, what)).at(range);
    if (!value.ok()) return false;
  }
  if (!value.is(ValueKind::tensor)) {
    mismatch(value, type, types, what, range);
    return false;
  }
  const Tensor used = emitter_.use(value.tensor, range, what);
  if (!used.ok()) return false;
  value.tensor = used;
  // Unification may bind names before it fails; what was bound then must not colour the report.
  CallTypes before = types;
  const int errors = reporter_.errors();
  unsolved_.clear();
  if (unify(emitter_.type(used), type, types, what)) return true;
  types = std::move(before);
  if (reporter_.errors() == errors) mismatch(value, type, types, what, range);
  return false;
}

bool Evaluator::accept_named(Value& value, const TypeExpr& type, bool hyper) {
  const std::string& name = type.name;
  const auto scalar = [&](auto fits) {
    return !hyper && value.is(ValueKind::tensor) && emitter_.type(value.tensor).rank() == 0 && fits(emitter_.type(value.tensor).dtype);
  };
  if (name == "any") return value.ok();
  if (name == "int") return value.is(ValueKind::integer) || value.is(ValueKind::dim) || scalar(is_integer);
  if (name == "float") {
    if (value.is(ValueKind::integer)) {
      const Range origin = value.origin;
      value = Value::of_number(static_cast<double>(value.integer)).at(origin);
    }
    return value.is(ValueKind::number) || (value.is(ValueKind::dim) && !hyper) || scalar(is_float);
  }
  if (name == "bool") return value.is(ValueKind::boolean) || scalar([](DType d) { return d == DType::boolean; });
  if (name == "string") return value.is(ValueKind::text);
  if (name == "size" || name == "duration" || name == "percent" || name == "count")
    return value.is(ValueKind::quantity) && value.text == name;
  if (name == "devices") {
    if (value.is(ValueKind::word) && value.text == "all") {
      program_.devices_of_all.emplace_back(value.origin, options_.devices);
      value = Value::of_integer(options_.devices).at(value.origin);
    }
    return value.is(ValueKind::integer);
  }
  if (name == "schedule") {
    if (value.is(ValueKind::integer) || value.is(ValueKind::number)) {
      const Range origin = value.origin;
      value = Value::of_items(ValueKind::constant_function, {Value::of_number(value.as_number())}).at(origin);
    }
    return is_callable(value);
  }
  if (name == "initializer") return is_callable(value) || value.is_number();
  if (name == "function" || name == "layer") return is_callable(value);
  if (name == "optimizer") return value.is(ValueKind::optimizer);
  if (name == "strategy") return value.is(ValueKind::strategy);
  if (name == "model") return value.is(ValueKind::declared) && value.closure->decl->kind == syntax::DeclKind::model;
  if (name == "dataset") return value.is(ValueKind::declared) && value.closure->decl->kind == syntax::DeclKind::dataset;
  if (name == "dtype") return value.is(ValueKind::dtype);
  if (name == "update") return value.is(ValueKind::update);
  if (name == "axes") {
    if (value.is(ValueKind::list))
      return std::all_of(value.items->begin(), value.items->end(), [](const Value& v) { return v.is(ValueKind::integer); });
    return value.is(ValueKind::integer) || value.is(ValueKind::none);
  }
  if (name == "shape")
    return value.is(ValueKind::list) &&
           std::all_of(value.items->begin(), value.items->end(), [](const Value& v) { return as_dim(v).has_value(); });
  if (name == "none") return value.is(ValueKind::none);
  return value.is(ValueKind::word) && value.text == name;
}

bool Evaluator::accept(Value& value, const TypeExpr& type, CallTypes& types, const std::string& what, Range range, bool hyper) {
  if (!value.ok()) return false;
  switch (type.kind) {
    case TypeKind::named: {
      // A bare `bool` is a flag; `bool[]` is a tensor.
      if (type.has_dims || (dtype_named(type.name) && type.name != "bool")) {
        if (!type.has_dims || type.name == "float" || type.name == "int" || type.name == "number" || type.name == "any" ||
            dtype_named(type.name)) {
          return accept_tensor(value, type, types, what, range);
        }
      } else if (is_plain_type(type.name) || type.name == "none") {
        if (accept_named(value, type, hyper)) return true;
        mismatch(value, type, types, what, range);
        return false;
      }
      if (!reporter_.first(diag::unknown_type, type.range)) return false;
      auto reported = reporter_.report(type.range, diag::unknown_type, type.name);
      std::vector<std::string> known(std::begin(kPlainTypes), std::end(kPlainTypes));
      for (const char* dtype : {"f64", "f32", "i64", "i32", "u8", "i8", "bf16", "f16"}) known.emplace_back(dtype);
      if (auto near = nearest(type.name, known)) reported.help("did you mean `" + *near + "`?");
      return false;
    }
    case TypeKind::optional:
      return value.is(ValueKind::none) || accept(value, *type.items[0], types, what, range, hyper);
    case TypeKind::function:
      if (is_callable(value)) return true;
      break;
    case TypeKind::list:
      if (value.is(ValueKind::list)) {
        std::vector<Value> items = *value.items;
        bool good = true;
        for (Value& item : items) good &= accept(item, *type.items[0], types, "an element of " + what, range, hyper);
        value.items = std::make_shared<const std::vector<Value>>(std::move(items));
        return good;
      }
      break;
    case TypeKind::tuple:
      if (value.is(ValueKind::tuple) && value.items->size() == type.items.size()) {
        std::vector<Value> items = *value.items;
        bool good = true;
        for (size_t i = 0; i < items.size(); ++i)
          good &= accept(items[i], *type.items[i], types, fmt::format("element {} of {}", i, what), range, hyper);
        value.items = std::make_shared<const std::vector<Value>>(std::move(items));
        return good;
      }
      break;
    case TypeKind::record:
      if (value.is(ValueKind::record) && value.items->size() == type.items.size()) {
        std::vector<Value> items = *value.items;
        bool good = true;
        for (size_t i = 0; i < type.items.size(); ++i) {
          const auto at = std::find(value.names->begin(), value.names->end(), type.names[i].text);
          if (at == value.names->end()) {
            good = false;
            continue;
          }
          Value& item = items[static_cast<size_t>(at - value.names->begin())];
          good &= accept(item, *type.items[i], types, fmt::format("`{}` of {}", type.names[i].text, what), range, hyper);
        }
        if (!good) break;
        value.items = std::make_shared<const std::vector<Value>>(std::move(items));
        return true;
      }
      break;
    case TypeKind::words: {
      for (const TypeExpr* item : type.items) {
        if (item->kind != TypeKind::named || item->has_dims || (dtype_named(item->name) && item->name != "bool")) {
          if (value.is(ValueKind::list) || value.is(ValueKind::tensor)) return accept(value, *item, types, what, range, hyper);
        } else if (accept_named(value, *item, hyper)) {
          return true;
        }
      }
      break;
    }
  }
  mismatch(value, type, types, what, range);
  return false;
}

std::optional<TensorType> Evaluator::tensor_type(const TypeExpr& type, CallTypes& types) {
  std::optional<DType> dtype = dtype_named(type.name);
  if (type.name == "float") dtype = types.real ? *types.real : emitter_.float_dtype();
  if (type.name == "int") dtype = types.whole ? *types.whole : DType::i64;
  if (type.kind != TypeKind::named || !dtype) {
    reporter_.report(type.range, diag::not_a_tensor_type, text_of(type)).help("an element type and dimensions, such as `f32[10]`");
    return std::nullopt;
  }
  TensorType result{*dtype, {}};
  bool good = true;
  for (const syntax::DimExpr& dim : type.dims) {
    if (dim.ellipsis) {
      if (types.dots) {
        result.dims.insert(result.dims.end(), types.dots->begin(), types.dots->end());
        continue;
      }
      reporter_.report(type.range, diag::not_a_tensor_type, text_of(type));
      return std::nullopt;
    }
    bool fresh = false;
    const auto known = declared_dim(*dim.value, types, &fresh);
    if (known) result.dims.push_back(*known);
    if (!known && fresh) unknown_name(text_of(*dim.value), dim.value->range, types.scope);
    good &= known.has_value();
  }
  return good ? std::optional(result) : std::nullopt;
}

}  // namespace dtl::sema
