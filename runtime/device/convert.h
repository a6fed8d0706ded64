// Rows of bf16 and f16 as f32, and back, rounded to nearest even.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/plan/dtype.h"

namespace dtl::device {

/// to[r * to_stride + c] = from[r * from_stride + c], for r < rows, c < columns; strides in elements; `dtype` is bf16 or f16.
void widen_rows(DType dtype, float* to, int64_t to_stride, const std::byte* from, int64_t from_stride, int64_t rows, int64_t columns);
void narrow_rows(DType dtype, std::byte* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows, int64_t columns);

}  // namespace dtl::device
