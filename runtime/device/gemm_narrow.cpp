// Gemm of bf16 and f16: operands become f32 on their way into packed panels and strips, a panel of C is summed in scratch over
// all depths, and rounded into C once.
#include "runtime/device/gemm.h"

#include <algorithm>

#include "runtime/device/convert.h"
#include "runtime/device/pack.h"

namespace dtl::device {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kBytes = 2;  ///< of an element as it is stored

int64_t whole_vectors(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

}  // namespace

/// Both operands and C are copies with rows of whole vectors.
void Gemm::plan_narrow() {
  pack_a_ = pack_b_ = true;
  panel_stride_ = c_stride_ = whole_vectors(panels_.size);
  strip_stride_ = whole_vectors(shape_.transpose_a ? strips_.size : depths_.size);
}

Gemm::NarrowScratch Gemm::narrow_scratch() const {
  NarrowScratch at;
  at.raw_b = at.b + depths_.size * panel_stride_;
  at.a = at.raw_b + (shape_.transpose_b ? panels_.size * whole_vectors(depths_.size) : 0);
  at.c = at.a + (shape_.transpose_a ? depths_.size : strips_.size) * strip_stride_;
  at.total = at.c + groups_.size * strips_.size * c_stride_;
  return at;
}

void Gemm::run_group_narrow(const Operands& operands, int64_t group, int64_t first_tile, int64_t end_tile) const {
  const int64_t strips = groups_.at(group), before = group * groups_.size;
  for (int64_t tile = first_tile; tile < end_tile;) {
    const int64_t panel = tile / strips, strip = tile % strips, end_strip = std::min(strips, strip + (end_tile - tile));
    run_panel_narrow(operands, panel, before + strip, before + end_strip);
    tile += end_strip - strip;
  }
}

void Gemm::run_panel_narrow(const Operands& operands, int64_t panel, int64_t first_strip, int64_t end_strip) const {
  const NarrowScratch at = narrow_scratch();
  auto* const scratch = reinterpret_cast<float*>(operands.scratch);
  float *const b = scratch + at.b, *const raw_b = scratch + at.raw_b, *const a = scratch + at.a, *const c = scratch + at.c;
  const int64_t column = panel * panels_.size, columns = panels_.at(panel), first_row = first_strip * strips_.size;
  const int64_t rows = std::min(shape_.m, end_strip * strips_.size) - first_row;
  std::byte* const to = operands.c + (first_row * shape_.n + column) * kBytes;
  if (shape_.accumulate) {
    widen_rows(shape_.dtype, c, c_stride_, to, shape_.n, rows, columns);
  } else if (shape_.k == 0) {
    std::fill_n(c, rows * c_stride_, 0.0F);
  }
  for (int64_t depth = 0; depth < depths_.count; ++depth) {
    const int64_t begin = depth * depths_.size, deep = depths_.at(depth);
    if (shape_.transpose_b) {
      const int64_t stride = whole_vectors(depths_.size);
      widen_rows(shape_.dtype, raw_b, stride, operands.b + (column * shape_.k + begin) * kBytes, shape_.k, columns, deep);
      pack_transposed(reinterpret_cast<std::byte*>(b), panel_stride_, reinterpret_cast<const std::byte*>(raw_b), stride, columns, deep,
                      size_of(DType::f32));
    } else {
      widen_rows(shape_.dtype, b, panel_stride_, operands.b + (begin * shape_.n + column) * kBytes, shape_.n, deep, columns);
    }
    for (int64_t strip = first_strip; strip < end_strip; ++strip) {
      const int64_t row = strip * strips_.size, high = strips_.at(strip);
      if (shape_.transpose_a) {
        widen_rows(shape_.dtype, a, strip_stride_, operands.a + (begin * shape_.m + row) * kBytes, shape_.m, deep, high);
      } else {
        widen_rows(shape_.dtype, a, strip_stride_, operands.a + (row * shape_.k + begin) * kBytes, shape_.k, high, deep);
      }
      kernel(strip + 1 == strips_.count, panel + 1 == panels_.count, depth + 1 == depths_.count, shape_.accumulate || depth > 0)(
          b, a, c + (row - first_row) * c_stride_);
    }
  }
  narrow_rows(shape_.dtype, to, shape_.n, c, c_stride_, rows, columns);
}

}  // namespace dtl::device
