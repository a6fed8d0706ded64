// Index loops and the arithmetic of element types.
#include "compiler/ops/array.h"

#include <cmath>
#include <limits>

#include "runtime/plan/half.h"

namespace dtl::ops {

int64_t count(std::span<const int64_t> shape) {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

Array zeros(DType dtype, Shape shape) {
  const auto elements = static_cast<size_t>(count(shape));
  return {dtype, std::move(shape), std::vector<double>(elements, 0.0)};
}

int64_t flat(std::span<const int64_t> shape, std::span<const int64_t> index) {
  int64_t position = 0;
  for (size_t d = 0; d < shape.size(); ++d) position = position * shape[d] + index[d];
  return position;
}

bool advance(std::span<const int64_t> shape, Shape& index) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++index[d] < shape[d]) return true;
    index[d] = 0;
  }
  return false;
}

double wrapped(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::i64:
      return static_cast<double>(value);
    case DType::i32:
      return static_cast<int32_t>(value);
    case DType::i8:
      return static_cast<int8_t>(value);
    case DType::u8:
      return static_cast<uint8_t>(value);
    case DType::boolean:
      return value != 0 ? 1 : 0;
    case DType::f64:
    case DType::f32:
    case DType::bf16:
    case DType::f16:
      return static_cast<double>(value);
  }
  __builtin_unreachable();
}

int64_t lowest(DType dtype) {
  switch (dtype) {
    case DType::i32:
      return std::numeric_limits<int32_t>::min();
    case DType::i8:
      return std::numeric_limits<int8_t>::min();
    case DType::u8:
    case DType::boolean:
      return 0;
    case DType::i64:
    case DType::f64:
    case DType::f32:
    case DType::bf16:
    case DType::f16:
      return std::numeric_limits<int64_t>::min();
  }
  __builtin_unreachable();
}

int64_t highest(DType dtype) {
  switch (dtype) {
    case DType::i32:
      return std::numeric_limits<int32_t>::max();
    case DType::i8:
      return std::numeric_limits<int8_t>::max();
    case DType::u8:
      return std::numeric_limits<uint8_t>::max();
    case DType::boolean:
      return 1;
    case DType::i64:
    case DType::f64:
    case DType::f32:
    case DType::bf16:
    case DType::f16:
      return std::numeric_limits<int64_t>::max();
  }
  __builtin_unreachable();
}

double cast_value(DType from, DType to, double value) {
  if (to == DType::boolean) return value != 0 ? 1 : 0;  // NaN is not 0
  if (!is_integer(to)) return plan::narrowed(to, value);
  if (!is_float(from)) return wrapped(to, static_cast<int64_t>(value));
  if (std::isnan(value)) return 0;
  const double whole = std::trunc(value);
  const auto low = static_cast<double>(lowest(to)), high = static_cast<double>(highest(to));
  return whole < low ? low : whole > high ? high : whole;
}

double neutral(ReduceOp op, DType dtype) {
  const bool exact = !is_float(dtype);
  switch (op) {
    case ReduceOp::sum:
      return 0;
    case ReduceOp::product:
      return 1;
    case ReduceOp::max:
      return exact ? static_cast<double>(lowest(dtype)) : -std::numeric_limits<double>::infinity();
    case ReduceOp::min:
      return exact ? static_cast<double>(highest(dtype)) : std::numeric_limits<double>::infinity();
  }
  __builtin_unreachable();
}

double combined(ReduceOp op, DType dtype, double a, double b) {
  if (is_float(dtype) || op == ReduceOp::max || op == ReduceOp::min) {
    // Either NaN stays, whatever the order.
    if (std::isnan(b)) return b;
    return combine(op, a, b);
  }
  const auto x = static_cast<uint64_t>(static_cast<int64_t>(a)), y = static_cast<uint64_t>(static_cast<int64_t>(b));
  return wrapped(dtype, static_cast<int64_t>(op == ReduceOp::sum ? x + y : x * y));
}

}  // namespace dtl::ops
