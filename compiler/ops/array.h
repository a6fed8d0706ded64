// Index loops over arrays, for the evaluate parts. Nothing here is used by lower.
#pragma once

#include <span>
#include <vector>

#include "compiler/graph/op.h"

namespace dtl::ops {

using graph::Array;

using Shape = std::vector<int64_t>;

int64_t count(std::span<const int64_t> shape);
/// All zero.
Array zeros(DType dtype, Shape shape);
/// Position of `index` in row-major order.
int64_t flat(std::span<const int64_t> shape, std::span<const int64_t> index);
/// Every index of `shape` in row-major order: start with zeros, `advance` until it gives false. For an empty shape
/// test `count` first.
bool advance(std::span<const int64_t> shape, Shape& index);

template <class Visit>
void each_index(std::span<const int64_t> shape, Visit visit) {
  if (count(shape) == 0) return;
  Shape index(shape.size(), 0);
  do visit(index);
  while (advance(shape, index));
}

/// What a variable of `dtype` holds after `value` is put there: integers wrap around, a bool is 0 or 1, floats stay.
double wrapped(DType dtype, int64_t value);
/// The value of a cast: f64 is not rounded to f32, but all is to bf16 and f16, by way of f32; to integers it truncates towards zero and saturates,
/// and NaN gives 0.
double cast_value(DType from, DType to, double value);

/// The smallest and largest number of an integer type.
int64_t lowest(DType dtype);
int64_t highest(DType dtype);

/// Neutral element and combination as `dtype` knows them: an integer has no infinity, and wraps.
double neutral(ReduceOp op, DType dtype);
double combined(ReduceOp op, DType dtype, double a, double b);

}  // namespace dtl::ops
