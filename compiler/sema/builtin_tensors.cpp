// Built-in functions of tensors: how each name's arguments become operands and attributes of an op.
#include "compiler/ops/array.h"
#include "compiler/sema/builtin_rows.h"
#include "compiler/source/check.h"
#include "runtime/plan/half.h"

namespace dtl::sema {
namespace {

using source::Range;
using types::Dim;
using types::Dims;

// ---- arguments

const Operand& at(const BuiltinCall& call, size_t i) { return *call.arguments[i]; }
bool given(const BuiltinCall& call, size_t i) { return call.arguments[i] && !call.arguments[i]->value.is(ValueKind::none); }

/// Argument `i` as a tensor; a report and none otherwise.
Tensor tensor(BuiltinCall& call, size_t i) {
  const Operand& operand = at(call, i);
  Emitter& emitter = call.evaluator.emitter();
  if (operand.value.is(ValueKind::tensor)) return emitter.use(operand.value.tensor, operand.range, fmt::format("`{}`", call.builtin.name));
  if (operand.value.is_number() && emitter.has_context()) {
    const DType dtype = operand.value.is(ValueKind::number) ? emitter.float_dtype() : DType::i64;
    return emitter.materialise(operand, dtype, {}, call.builtin.name);
  }
  emitter.needs_tensor(operand.value, operand.range, call.builtin.name);
  return {};
}

std::optional<int64_t> integer(BuiltinCall& call, size_t i, int64_t otherwise) {
  if (!given(call, i)) return otherwise;
  return call.evaluator.integer(at(call, i).value, at(call, i).range,
                                fmt::format("`{}` of `{}`", call.builtin.parameter_names()[i], call.builtin.name));
}

bool boolean(BuiltinCall& call, size_t i) {
  if (!given(call, i)) return false;
  const Operand& operand = at(call, i);
  if (operand.value.is(ValueKind::boolean)) return operand.value.boolean;
  call.evaluator.reporter().report(operand.range, diag::setting_type,
                                   fmt::format("`{}` of `{}`", call.builtin.parameter_names()[i], call.builtin.name), "a bool",
                                   call.evaluator.shown(operand.value));
  return false;
}

/// The axes to reduce: all, one, or a list; each once.
std::optional<std::vector<int64_t>> axes(BuiltinCall& call, size_t i, Tensor x) {
  Emitter& emitter = call.evaluator.emitter();
  const size_t rank = emitter.type(x).rank();
  std::vector<int64_t> result;
  if (!given(call, i)) {
    for (size_t axis = 0; axis < rank; ++axis) result.push_back(static_cast<int64_t>(axis));
    return result;
  }
  const Operand& operand = at(call, i);
  std::vector<Value> written{operand.value};
  if (operand.value.is(ValueKind::list)) written = *operand.value.items;
  for (const Value& value : written) {
    const auto number = call.evaluator.integer(value, operand.range, "an axis");
    if (!number) return std::nullopt;
    const auto axis = emitter.axis(*number, rank, x, operand.range);
    if (!axis) return std::nullopt;
    if (std::find(result.begin(), result.end(), *axis) == result.end()) result.push_back(*axis);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::optional<Dims> dims(BuiltinCall& call, size_t i, bool* infers = nullptr) {
  const Operand& operand = at(call, i);
  std::vector<Value> items;
  if (operand.value.is(ValueKind::list)) {
    items = *operand.value.items;
  } else if (as_dim(operand.value)) {
    items = {operand.value};
  }
  Dims result;
  for (const Value& item : items) {
    const auto dim = as_dim(item);
    const auto constant = dim ? dim->constant() : std::nullopt;
    if (!dim || (constant && *constant < 0 && !(infers && *constant == -1))) {
      call.evaluator.reporter().report(operand.range, diag::setting_type, fmt::format("a dimension in `{}`", call.builtin.name),
                                       "an int from 0", call.evaluator.shown(item));
      return std::nullopt;
    }
    if (infers && constant == -1) *infers = true;
    result.push_back(*dim);
  }
  if (operand.value.is(ValueKind::list) || !items.empty()) return result;
  call.evaluator.reporter().report(operand.range, diag::setting_type, fmt::format("the shape of `{}`", call.builtin.name), "a list of ints",
                                   call.evaluator.shown(operand.value));
  return std::nullopt;
}

std::optional<DType> dtype(BuiltinCall& call, size_t i, DType otherwise) {
  if (!given(call, i)) return otherwise;
  if (at(call, i).value.is(ValueKind::dtype)) return at(call, i).value.dtype;
  call.evaluator.reporter().report(at(call, i).range, diag::setting_type, fmt::format("`{}`", call.builtin.name),
                                   "an element type such as f32", call.evaluator.shown(at(call, i).value));
  return std::nullopt;
}

bool all_numbers(const BuiltinCall& call) {
  return std::all_of(call.arguments.begin(), call.arguments.end(),
                     [](const auto& o) { return o && (o->value.is(ValueKind::integer) || o->value.is(ValueKind::number)); });
}

/// Integers known at compile time stay integers, exactly.
Value fold_integers(const BuiltinCall& call) {
  const std::string_view op = call.builtin.op;
  const int64_t a = call.arguments[0]->value.integer, b = call.arguments.size() > 1 ? call.arguments[1]->value.integer : 0;
  int64_t result = 0;
  bool overflow = false;
  if (op == "negate" || (op == "abs" && a < 0)) {
    overflow = __builtin_sub_overflow(int64_t{0}, a, &result);
  } else if (op == "abs") {
    result = a;
  } else if (op == "sign") {
    result = a > 0 ? 1 : a < 0 ? -1 : 0;
  } else if (op == "maximum" || op == "minimum") {
    result = op == "maximum" ? std::max(a, b) : std::min(a, b);
  } else if (b == 0) {
    call.evaluator.reporter().report(call.range, diag::division_by_zero, std::string(call.builtin.name));
    return {};
  } else if (b == -1) {
    overflow = op == "floor_div" && __builtin_sub_overflow(int64_t{0}, a, &result);
  } else {
    const int64_t rest = a % b, below = rest != 0 && (rest < 0) != (b < 0) ? 1 : 0;
    result = op == "floor_div" ? a / b - below : rest + below * b;
  }
  if (!overflow) return Value::of_integer(result);
  call.evaluator.reporter().report(
      call.range, diag::integer_overflow,
      b == 0 ? fmt::format("{}({})", call.builtin.name, a) : fmt::format("{}({}, {})", call.builtin.name, a, b));
  return {};
}

/// The op's own meaning over numbers known at compile time.
Value fold(const BuiltinCall& call, bool keeps_integers) {
  const graph::OpTable& ops = call.evaluator.emitter().ops();
  const auto id = ops.find(call.builtin.op);
  DTL_CHECK(id, "sema uses the op `{}`, which the table lacks", call.builtin.op);
  bool whole = keeps_integers;
  for (const auto& operand : call.arguments) whole &= operand->value.is(ValueKind::integer);
  if (whole) return fold_integers(call);
  std::vector<graph::Array> arrays;
  for (const auto& operand : call.arguments) arrays.push_back({DType::f64, {}, {operand->value.as_number()}});
  const types::TensorType type{DType::f64, {}};
  const std::vector<int64_t> shape, offset;
  const std::map<std::string, int64_t> no_dims;
  const graph::EvaluateContext context{std::span(&type, 1), std::span(&shape, 1), std::span(&offset, 1), no_dims};
  const double result = ops[*id].evaluate->local(context, {}, arrays)[0].data[0];
  return call.builtin.op == "is_nan" ? Value::of_boolean(result != 0) : Value::of_number(result);
}

// ---- rows

Value run_unary(BuiltinCall& call) {
  const bool keeps = call.builtin.op == "negate" || call.builtin.op == "abs" || call.builtin.op == "sign";
  if (all_numbers(call)) return fold(call, keeps);
  return Value::of_tensor(call.evaluator.emitter().unary(call.builtin.op, at(call, 0), call.range));
}

Value run_binary(BuiltinCall& call) {
  if (all_numbers(call)) return fold(call, call.builtin.op != "divide" && call.builtin.op != "power");
  return Value::of_tensor(call.evaluator.emitter().binary(call.builtin.op, at(call, 0), at(call, 1), call.range, call.builtin.name));
}

Value run_operator(BuiltinCall& call) { return call.evaluator.binary(std::string(call.builtin.op), at(call, 0), at(call, 1), call.range); }

Value run_logical_not(BuiltinCall& call) {
  return Value::of_tensor(call.evaluator.emitter().logical("logical_not", {at(call, 0)}, call.range, "logical_not"));
}

Value run_select(BuiltinCall& call) {
  // A condition known at compile time chooses before anything is computed.
  if (at(call, 0).value.is(ValueKind::boolean)) return at(call, at(call, 0).value.boolean ? 1 : 2).value;
  return Value::of_tensor(call.evaluator.emitter().select(at(call, 0), at(call, 1), at(call, 2), call.range));
}

/// Numbers known at compile time stay known: they become what a tensor's elements would, and stay weak.
Value cast_known(const Value& x, DType to) {
  const bool truth = x.is(ValueKind::boolean);
  const double number = truth ? (x.boolean ? 1 : 0) : x.as_number();
  if (to == DType::boolean) return Value::of_boolean(number != 0);
  if (to == DType::f32) return Value::of_number(static_cast<double>(static_cast<float>(number)));
  if (is_float(to)) return Value::of_number(plan::narrowed(to, number));
  if (x.is(ValueKind::number)) {
    // The bounds of i64 as floats are one too high: 2⁶³ itself saturates.
    if (number >= 0x1p63) return Value::of_integer(ops::highest(to));
    return Value::of_integer(static_cast<int64_t>(ops::cast_value(DType::f64, to, number)));
  }
  const int64_t whole = truth ? (x.boolean ? 1 : 0) : x.integer;
  return Value::of_integer(to == DType::i64 ? whole : static_cast<int64_t>(ops::wrapped(to, whole)));
}

Value run_cast(BuiltinCall& call) {
  const auto to = dtype(call, 1, DType::f32);
  if (!to) return {};
  const Value& x = at(call, 0).value;
  if (x.is(ValueKind::boolean) || x.is(ValueKind::integer) || x.is(ValueKind::number)) return cast_known(x, *to);
  if (x.is(ValueKind::dim)) return Value::of_tensor(call.evaluator.emitter().size(x.dim, *to, call.range));
  return Value::of_tensor(call.evaluator.emitter().cast(tensor(call, 0), *to, call.range));
}

Value run_reduce(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  if (!x.ok()) return {};
  const auto over = axes(call, 1, x);
  if (!over) return {};
  const ReduceOp op = call.builtin.name == "prod" ? ReduceOp::product : *parse_reduce_op(call.builtin.name);
  return Value::of_tensor(call.evaluator.emitter().reduce(op, x, *over, boolean(call, 2), call.range));
}

Value run_argmax(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  const auto written = integer(call, 1, -1);
  if (!x.ok() || !written) return {};
  const auto axis = call.evaluator.emitter().axis(*written, call.evaluator.emitter().type(x).rank(), x, call.range);
  return axis ? Value::of_tensor(call.evaluator.emitter().argmax(x, *axis, call.range)) : Value();
}

Value run_count(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  if (!x.ok()) return {};
  const auto over = axes(call, 1, x);
  if (!over) return {};
  Dim product(1);
  const types::TensorType type = call.evaluator.emitter().type(x);
  for (const int64_t axis : *over) product = product * type.dims[static_cast<size_t>(axis)];
  return Value::of_dim(product);
}

Value run_matmul(BuiltinCall& call) {
  return Value::of_tensor(call.evaluator.emitter().matmul(at(call, 0), at(call, 1), boolean(call, 2), boolean(call, 3), call.range));
}

Value run_reshape(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  bool infers = false;
  auto to = dims(call, 1, &infers);
  if (!x.ok() || !to) return {};
  if (infers) {
    // The one -1 is what is left of the elements.
    const Dim all = call.evaluator.emitter().type(x).elements();
    Dim rest(1);
    Dim* open = nullptr;
    for (Dim& dim : *to) {
      if (dim == Dim(-1) && !open) {
        open = &dim;
      } else {
        rest = rest * dim;
      }
    }
    const auto left = all.divided_by(rest);
    if (!left) {
      call.evaluator.reporter().report(call.range, diag::elements_differ, call.evaluator.emitter().type(x).str(), types::str(*to),
                                       all.str(), rest.str());
      return {};
    }
    *open = *left;
  }
  return Value::of_tensor(call.evaluator.emitter().reshape(x, *to, call.range));
}

Value run_flatten(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  if (!x.ok()) return {};
  const Dims from = call.evaluator.emitter().type(x).dims;
  // The first dimension is the batch, unless it is unseen.
  const size_t kept = x.lead || from.empty() ? 0 : 1;
  Dims to(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(kept));
  Dim rest(1);
  for (size_t i = kept; i < from.size(); ++i) rest = rest * from[i];
  to.push_back(rest);
  return Value::of_tensor(call.evaluator.emitter().reshape(x, to, call.range));
}

Value run_expand(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  const auto written = integer(call, 1, -1);
  if (!x.ok() || !written) return {};
  Dims to = call.evaluator.emitter().type(x).dims;
  const auto axis = call.evaluator.emitter().axis(*written, to.size() + 1, x, call.range);
  if (!axis) return {};
  to.insert(to.begin() + *axis, Dim(1));
  return Value::of_tensor(call.evaluator.emitter().reshape(x, to, call.range));
}

Value run_squeeze(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  if (!x.ok()) return {};
  const types::TensorType type = call.evaluator.emitter().type(x);
  Dims to = type.dims;
  if (given(call, 1)) {
    const auto over = axes(call, 1, x);
    if (!over) return {};
    for (auto axis = over->rbegin(); axis != over->rend(); ++axis) {
      if (to[static_cast<size_t>(*axis)] != Dim(1)) {
        call.evaluator.reporter().report(call.range, diag::not_one, *axis, type.str(), to[static_cast<size_t>(*axis)].str());
        return {};
      }
      to.erase(to.begin() + *axis);
    }
  } else {
    std::erase(to, Dim(1));
  }
  return Value::of_tensor(call.evaluator.emitter().reshape(x, to, call.range));
}

Value run_transpose(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  if (!x.ok()) return {};
  const size_t rank = call.evaluator.emitter().type(x).rank();
  std::vector<int64_t> permutation;
  if (given(call, 1)) {
    const Operand& operand = at(call, 1);
    const std::vector<Value> items = operand.value.is(ValueKind::list) ? *operand.value.items : std::vector<Value>{operand.value};
    for (const Value& item : items) {
      const auto number = call.evaluator.integer(item, operand.range, "an axis");
      const auto axis = number ? call.evaluator.emitter().axis(*number, rank, x, operand.range) : std::nullopt;
      if (!axis) return {};
      permutation.push_back(*axis);
    }
  } else {
    for (size_t i = rank; i > 0; --i) permutation.push_back(static_cast<int64_t>(i) - 1);
  }
  return Value::of_tensor(call.evaluator.emitter().transpose(x, permutation, call.range));
}

Value run_broadcast(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  const auto to = dims(call, 1);
  if (!x.ok() || !to) return {};
  const types::TensorType type = call.evaluator.emitter().type(x);
  const auto joined = types::broadcast_dims(type.dims, *to);
  if (!joined || *joined != *to) {
    call.evaluator.reporter().report(call.range, diag::shapes_differ, "broadcast", type.str(), types::TensorType{type.dtype, *to}.str());
    return {};
  }
  return Value::of_tensor(call.evaluator.emitter().broadcast(x, *to, call.range));
}

Value run_concat(BuiltinCall& call) {
  const Operand& list = at(call, 0);
  if ((!list.value.is(ValueKind::list) && !list.value.is(ValueKind::tuple)) || list.value.items->empty()) {
    call.evaluator.reporter().report(list.range, diag::setting_type, "`concat`", "a list of tensors", call.evaluator.shown(list.value));
    return {};
  }
  std::vector<Operand> xs;
  for (const Value& item : *list.value.items) {
    xs.push_back({item, list.range});
    if (item.is(ValueKind::tensor)) continue;
    call.evaluator.emitter().needs_tensor(item, list.range, "concat");
    return {};
  }
  const Tensor first = xs[0].value.tensor;
  const auto written = integer(call, 1, 0);
  const auto axis =
      written ? call.evaluator.emitter().axis(*written, call.evaluator.emitter().type(first).rank(), first, call.range) : std::nullopt;
  return axis ? Value::of_tensor(call.evaluator.emitter().concat(xs, *axis, call.range)) : Value();
}

Value run_pad(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  const auto before = dims(call, 1), after = dims(call, 2);
  if (!x.ok() || !before || !after) return {};
  Dims to = call.evaluator.emitter().type(x).dims;
  std::vector<int64_t> starts;
  for (size_t i = 0; i < to.size(); ++i) {
    if (before->size() != to.size() || after->size() != to.size() || !(*before)[i].constant()) {
      call.evaluator.reporter().report(call.range, diag::tuple_size, static_cast<int64_t>(to.size()),
                                       "a padding for another number of dimensions");
      return {};
    }
    starts.push_back(*(*before)[i].constant());
    to[i] = to[i] + (*before)[i] + (*after)[i];
  }
  return Value::of_tensor(call.evaluator.emitter().pad(x, starts, to, call.range));
}

Value run_iota(BuiltinCall& call) {
  const auto shape = dims(call, 0);
  const auto axis = integer(call, 1, 0);
  const auto to = dtype(call, 2, DType::i32);
  if (!shape || !axis || !to) return {};
  return Value::of_tensor(call.evaluator.emitter().iota(*shape, *axis, *to, call.range));
}

Value run_full(BuiltinCall& call) {
  const auto shape = dims(call, 0);
  const auto to = dtype(call, 2, call.evaluator.emitter().float_dtype());
  if (!shape || !to) return {};
  const Tensor x = call.evaluator.emitter().materialise(at(call, 1), *to, *shape, "full");
  return x.ok() ? Value::of_tensor(call.evaluator.emitter().broadcast(x, *shape, call.range)) : Value();
}

/// The library says itself where an index that is none must be a fault.
Tensor checked_by_user(BuiltinCall& call, Tensor index, const Dim& size) {
  return call.evaluator.reporter().in_library(call.range) ? index : checked_index(call, index, size);
}

Value run_gather(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  Tensor index = tensor(call, 1);
  if (x.ok() && index.ok() && call.evaluator.emitter().type(x).rank() > 0)
    index = checked_by_user(call, index, call.evaluator.emitter().type(x).dims[0]);
  return Value::of_tensor(call.evaluator.emitter().gather(x, index, call.range));
}

Value run_gather_along(BuiltinCall& call) {
  const Tensor x = tensor(call, 0), index = tensor(call, 1);
  const auto written = integer(call, 2, -1);
  if (!x.ok() || !index.ok() || !written) return {};
  const std::vector<Dim> dims = call.evaluator.emitter().type(x).dims;
  const auto axis = call.evaluator.emitter().axis(*written, dims.size(), x, call.range);
  if (!axis) return {};
  const Tensor checked = checked_by_user(call, index, dims[static_cast<size_t>(*axis)]);
  return Value::of_tensor(call.evaluator.emitter().gather_along(x, checked, *axis, call.range));
}

/// One int for each dimension of a window: a list, or one for all. Nothing given is `otherwise`.
std::optional<types::Ints> ints(BuiltinCall& call, size_t i, size_t count, int64_t otherwise) {
  if (!given(call, i)) return types::Ints(count, otherwise);
  const Operand& operand = at(call, i);
  const std::string what = fmt::format("`{}` of `{}`", call.builtin.parameter_names()[i], call.builtin.name);
  if (!operand.value.is(ValueKind::list)) {
    const auto one = call.evaluator.integer(operand.value, operand.range, what);
    return one ? std::optional(types::Ints(count, *one)) : std::nullopt;
  }
  types::Ints result;
  for (const Value& item : *operand.value.items) {
    const auto number = call.evaluator.integer(item, operand.range, "an element of " + what);
    if (!number) return std::nullopt;
    result.push_back(*number);
  }
  return result;
}

/// The shared start of both: the list, or one number, that says how many spatial axes there are.
size_t spatial_axes(const Operand& operand) { return operand.value.is(ValueKind::list) ? operand.value.items->size() : 1; }

Value run_patches(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  const size_t count = spatial_axes(at(call, 1));
  const auto window = ints(call, 1, count, 1), stride = ints(call, 2, count, 1), dilation = ints(call, 3, count, 1);
  const auto before = ints(call, 4, count, 0), after = ints(call, 5, count, 0);
  double fill = 0;
  if (given(call, 6)) {
    const Operand& operand = at(call, 6);
    if (!operand.value.is(ValueKind::integer) && !operand.value.is(ValueKind::number)) {
      call.evaluator.reporter().report(operand.range, diag::setting_type, "`fill` of `patches`", "a number",
                                       call.evaluator.shown(operand.value));
      return {};
    }
    fill = operand.value.as_number();
  }
  if (!x.ok() || !window || !stride || !dilation || !before || !after) return {};
  types::Attrs attrs{{"window", *window}, {"stride", *stride}, {"dilation", *dilation},
                     {"before", *before}, {"after", *after},   {"fill", fill}};
  return Value::of_tensor(call.evaluator.emitter().windows("patches", x, std::move(attrs), call.range));
}

Value run_overlap_add(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  const size_t count = spatial_axes(at(call, 1));
  const auto size = ints(call, 1, count, 1), stride = ints(call, 2, count, 1), dilation = ints(call, 3, count, 1);
  const auto before = ints(call, 4, count, 0);
  if (!x.ok() || !size || !stride || !dilation || !before) return {};
  types::Attrs attrs{{"size", *size}, {"stride", *stride}, {"dilation", *dilation}, {"before", *before}};
  return Value::of_tensor(call.evaluator.emitter().windows("overlap_add", x, std::move(attrs), call.range));
}

Value run_uniform(BuiltinCall& call) {
  const auto shape = dims(call, 0);
  const auto to = dtype(call, 1, call.evaluator.emitter().float_dtype());
  if (!shape || !to) return {};
  const Instance* instance = call.evaluator.instance();
  return Value::of_tensor(call.evaluator.emitter().uniform(*shape, *to, instance ? instance->path : std::string("step"), call.range));
}

Value run_stop_gradient(BuiltinCall& call) {
  // Numbers have no gradient anyway.
  if (at(call, 0).value.is_number()) return at(call, 0).value;
  return Value::of_tensor(call.evaluator.emitter().stop_gradient(tensor(call, 0), call.range));
}

Value run_shape(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  if (!x.ok()) return {};
  std::vector<Value> items;
  for (const Dim& dim : call.evaluator.emitter().type(x).dims) items.push_back(Value::of_dim(dim));
  return Value::of_items(ValueKind::list, std::move(items));
}

Value run_size(BuiltinCall& call) {
  if (at(call, 0).value.is(ValueKind::vocabulary) && !given(call, 1)) return Value::of_integer(at(call, 0).value.integer);
  if (!at(call, 0).value.is(ValueKind::tensor)) {
    call.evaluator.reporter().report(at(call, 0).range, diag::needs_tensor, "size", call.evaluator.shown(at(call, 0).value));
    return {};
  }
  const Tensor x = tensor(call, 0);
  if (!given(call, 1)) return run_count(call);
  const auto written = integer(call, 1, 0);
  if (!x.ok() || !written) return {};
  const types::TensorType type = call.evaluator.emitter().type(x);
  const auto axis = call.evaluator.emitter().axis(*written, type.rank(), x, call.range);
  return axis ? Value::of_dim(type.dims[static_cast<size_t>(*axis)]) : Value();
}

Value run_rank(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  return x.ok() ? Value::of_integer(static_cast<int64_t>(call.evaluator.emitter().type(x).rank())) : Value();
}

Value run_dtype(BuiltinCall& call) {
  const Tensor x = tensor(call, 0);
  return x.ok() ? Value::of_dtype(call.evaluator.emitter().type(x).dtype) : Value();
}

constexpr Builtin kRows[] = {
    // One number to one number.
    {"negate", "x", run_unary, "negate"},
    {"abs", "x", run_unary, "abs"},
    {"exp", "x", run_unary, "exp"},
    {"log", "x", run_unary, "log"},
    {"log1p", "x", run_unary, "log1p"},
    {"sqrt", "x", run_unary, "sqrt"},
    {"rsqrt", "x", run_unary, "rsqrt"},
    {"tanh", "x", run_unary, "tanh"},
    {"sigmoid", "x", run_unary, "sigmoid"},
    {"erf", "x", run_unary, "erf"},
    {"sin", "x", run_unary, "sin"},
    {"cos", "x", run_unary, "cos"},
    {"floor", "x", run_unary, "floor"},
    {"ceil", "x", run_unary, "ceil"},
    {"round", "x", run_unary, "round"},
    {"sign", "x", run_unary, "sign"},
    {"is_nan", "x", run_unary, "is_nan"},
    {"logical_not", "x", run_logical_not, "logical_not"},
    // Two numbers to one; those with an operator mean what the operator means.
    {"maximum", "x y", run_binary, "maximum"},
    {"minimum", "x y", run_binary, "minimum"},
    {"mod", "x y", run_binary, "mod"},
    {"floor_div", "x y", run_binary, "floor_div"},
    {"add", "x y", run_operator, "+"},
    {"subtract", "x y", run_operator, "-"},
    {"multiply", "x y", run_operator, "*"},
    {"divide", "x y", run_operator, "/"},
    {"power", "x y", run_operator, "**"},
    {"equal", "x y", run_operator, "=="},
    {"not_equal", "x y", run_operator, "!="},
    {"less", "x y", run_operator, "<"},
    {"less_equal", "x y", run_operator, "<="},
    {"logical_and", "x y", run_operator, "and"},
    {"logical_or", "x y", run_operator, "or"},
    {"select", "condition then otherwise", run_select, "select"},
    {"cast", "x to", run_cast, "cast"},
    {"stop_gradient", "x", run_stop_gradient, "stop_gradient"},
    // Over axes.
    {"sum", "x axis? keep?", run_reduce, "reduce"},
    {"max", "x axis? keep?", run_reduce, "reduce"},
    {"min", "x axis? keep?", run_reduce, "reduce"},
    {"prod", "x axis? keep?", run_reduce, "reduce"},
    {"argmax", "x axis?", run_argmax, "argmax"},
    {"count", "x axis?", run_count, "size"},
    {"matmul", "a b transpose_a? transpose_b?", run_matmul, "matmul"},
    // Shapes.
    {"reshape", "x shape", run_reshape, "reshape"},
    {"flatten", "x", run_flatten, "reshape"},
    {"expand", "x axis?", run_expand, "reshape"},
    {"squeeze", "x axis?", run_squeeze, "reshape"},
    {"transpose", "x permutation?", run_transpose, "transpose"},
    {"broadcast", "x shape", run_broadcast, "broadcast"},
    {"concat", "tensors axis?", run_concat, "concat"},
    {"pad", "x before after", run_pad, "pad"},
    // Made from nothing, or looked up.
    {"iota", "shape axis? dtype?", run_iota, "iota"},
    {"full", "shape value dtype?", run_full, "constant"},
    {"gather", "x index", run_gather, "gather"},
    {"gather_along", "x index axis?", run_gather_along, "gather_along"},
    // Windows.
    {"patches", "x window stride? dilation? before? after? fill?", run_patches, "patches"},
    {"overlap_add", "x size stride? dilation? before?", run_overlap_add, "overlap_add"},
    // Random numbers.
    {"random_uniform", "shape dtype?", run_uniform, "uniform"},
    // Asked at compile time.
    {"shape", "x", run_shape, ""},
    {"size", "x axis?", run_size, ""},
    {"rank", "x", run_rank, ""},
    {"dtype_of", "x", run_dtype, ""},
};

}  // namespace

std::span<const Builtin> tensor_builtins() { return kRows; }

}  // namespace dtl::sema
