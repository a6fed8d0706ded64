// Gemm: cuts C into tiles and runs libxsmm's small products over packed panels (the scheme of Goto and van de Geijn 2008,
// with tiles of C as the unit that threads share).
#include "runtime/device/gemm.h"

#include <libxsmm.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "runtime/device/pack.h"
#include "runtime/plan/slice.h"

namespace dtl::device {
namespace {

constexpr int64_t kVectorBytes = 64;   ///< rows of packed panels are whole vectors
constexpr int64_t kPanelBytes = 256;   ///< of a row of C's tile: 4 vectors, so that 6 rows fill the registers
constexpr int64_t kDepthBytes = 2048;  ///< of k: a packed panel is at most 512 deep in f32, 128 KB
constexpr int64_t kStrip = 64;         ///< rows of C's tile
constexpr int64_t kGroup = 8;          ///< strips that meet all panels together: a depth of them, 1 MB, stays in the second cache
constexpr int64_t kFewTiles = 16;      ///< strips get thinner until there are as many, for the threads' sake
constexpr int64_t kThinStrip = 16;
/// Rows of a transposed A that lie a multiple of this apart meet in the same sets of the first cache.
constexpr int64_t kBadStride = 4096;
constexpr int64_t kDeepBytes = 512;  ///< and from this depth of k on they drive each other out
/// From this many rows of C on a panel of B is read often enough to be worth a packed copy.
constexpr int64_t kRowsToPack = 32;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Gemm::Cut Gemm::Cut::of(int64_t n, int64_t most, int64_t multiple) {
  if (n == 0) return {};
  const int64_t parts = ceil_div(n, most);
  const int64_t size = std::min(n, ceil_div(ceil_div(n, parts), multiple) * multiple);
  const int64_t count = ceil_div(n, size);
  return {.count = count, .size = size, .last = n - (count - 1) * size};
}

Gemm::Gemm(const GemmShape& shape) : shape_(shape) {
  assert(is_float(shape.dtype));
  assert(shape.batch >= 0 && shape.m >= 0 && shape.n >= 0 && shape.k >= 0);
  if (shape.n == 1 && shape.m > 1) {
    // A column is computed as a row, C' = B' · A': vectors lie along the longer side.
    swapped_ = true;
    shape_.m = 1;
    shape_.n = shape.m;
    shape_.transpose_a = false;  // a vector is the same memory either way
    shape_.transpose_b = !shape.transpose_a;
  }
  const int64_t width = is_narrow(shape.dtype) ? size_of(DType::f32) : size_of(shape.dtype), lanes = kVectorBytes / width;
  panels_ = Cut::of(shape_.n, kPanelBytes / width, lanes);
  int64_t strip = kStrip;
  while (strip > kThinStrip && shape.batch * panels_.count * ceil_div(shape_.m, strip) < kFewTiles) strip /= 2;
  strips_ = Cut::of(shape_.m, strip, 1);
  groups_ = Cut::of(strips_.count, kGroup, 1);
  depths_ = Cut::of(shape.k, kDepthBytes / width, 4);
  pack_b_ = shape_.transpose_b || (shape_.m >= kRowsToPack && panels_.count > 1);
  panel_stride_ = pack_b_ ? ceil_div(panels_.size, lanes) * lanes : shape_.n;
  pack_a_ = shape_.transpose_a && panels_.count > 1 && shape_.m * width % kBadStride == 0 && depths_.size * width > kDeepBytes;
  strip_stride_ = pack_a_ ? ceil_div(strips_.size, lanes) * lanes : shape_.transpose_a ? shape_.m : shape_.k;
  c_stride_ = shape_.n;
  if (is_narrow(shape.dtype)) plan_narrow();
  if (tiles() > 0 && shape_.k > 0) prepare_kernels();
}

void Gemm::prepare_kernels() {
  libxsmm_init();
  kernels_.resize(16);
  for (unsigned i = 0; i < 16; ++i) {
    const auto m = static_cast<libxsmm_blasint>((i & 8u) != 0 ? strips_.last : strips_.size);
    const auto n = static_cast<libxsmm_blasint>((i & 4u) != 0 ? panels_.last : panels_.size);
    const auto k = static_cast<libxsmm_blasint>((i & 2u) != 0 ? depths_.last : depths_.size);
    const bool adds = (i & 1u) != 0;
    // libxsmm is column-major: the row-major C = A · B is its C' = B' · A', so that it sees B first and n as its m.
    const int flags = shape_.transpose_a ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
    const int prefetch = LIBXSMM_PREFETCH_NONE;
    const auto b_stride = static_cast<libxsmm_blasint>(panel_stride_);
    const auto a_stride = static_cast<libxsmm_blasint>(strip_stride_);
    const auto c_stride = static_cast<libxsmm_blasint>(c_stride_);
    if (shape_.dtype != DType::f64) {
      const float alpha = 1, beta = adds ? 1 : 0;
      kernels_[i] =
          reinterpret_cast<Kernel>(libxsmm_smmdispatch(n, m, k, &b_stride, &a_stride, &c_stride, &alpha, &beta, &flags, &prefetch));
    } else {
      const double alpha = 1, beta = adds ? 1 : 0;
      kernels_[i] =
          reinterpret_cast<Kernel>(libxsmm_dmmdispatch(n, m, k, &b_stride, &a_stride, &c_stride, &alpha, &beta, &flags, &prefetch));
    }
    assert(kernels_[i] != nullptr && "libxsmm compiles no kernel for this machine");
  }
}

int64_t Gemm::scratch_bytes() const {
  if (is_narrow(shape_.dtype)) return narrow_scratch().total * size_of(DType::f32);
  const int64_t panel = pack_b_ ? panel_stride_ : 0, group = pack_a_ ? groups_.size * strip_stride_ : 0;
  return depths_.size * (panel + group) * size_of(shape_.dtype);
}

void Gemm::run(const void* a, const void* b, void* c, int thread, int threads, std::byte* scratch) const {
  if (swapped_) std::swap(a, b);
  const plan::Slice mine = plan::slice(tiles(), thread, threads, 1);
  const int64_t width = size_of(shape_.dtype), tiles_of_product = panels_.count * strips_.count;
  // Tiles are counted by strip of a group, then panel, then group, then product: neighbours share a packed panel.
  for (int64_t tile = mine.begin; tile < mine.end;) {
    const int64_t product = tile / tiles_of_product, group = tile % tiles_of_product / (panels_.count * groups_.size);
    const int64_t first = product * tiles_of_product + group * panels_.count * groups_.size;
    const int64_t end = std::min(mine.end, first + panels_.count * groups_.at(group));
    run_group({static_cast<const std::byte*>(a) + product * shape_.m * shape_.k * width,
               static_cast<const std::byte*>(b) + product * shape_.k * shape_.n * width,
               static_cast<std::byte*>(c) + product * shape_.m * shape_.n * width, scratch},
              group, tile - first, end - first);
    tile = end;
  }
}

void Gemm::run_group(const Operands& operands, int64_t group, int64_t first_tile, int64_t end_tile) const {
  if (is_narrow(shape_.dtype)) return run_group_narrow(operands, group, first_tile, end_tile);
  const int64_t strips = groups_.at(group);
  // All depths of a tile are added by one thread, in order. k = 0 has one depth, in which there is nothing to add.
  for (int64_t depth = 0; depth < std::max<int64_t>(depths_.count, 1); ++depth) {
    if (pack_a_) pack_strips(operands, depth, group);
    for (int64_t tile = first_tile; tile < end_tile;) {
      const int64_t panel = tile / strips, strip = tile % strips, end_strip = std::min(strips, strip + (end_tile - tile));
      const int64_t before = group * groups_.size;
      if (shape_.k == 0) {
        zero(operands.c, panel, before + strip, before + end_strip);
      } else {
        run_panel(operands, depth, panel, before + strip, before + end_strip);
      }
      tile += end_strip - strip;
    }
  }
}

std::byte* Gemm::packed_strip(const Operands& operands, int64_t strip) const {
  const int64_t width = size_of(shape_.dtype), panel = pack_b_ ? panel_stride_ : 0;
  return operands.scratch + depths_.size * (panel + strip % groups_.size * strip_stride_) * width;
}

void Gemm::pack_strips(const Operands& operands, int64_t depth, int64_t group) const {
  const int64_t width = size_of(shape_.dtype);
  for (int64_t i = 0; i < groups_.at(group); ++i) {
    const int64_t strip = group * groups_.size + i;
    pack_rows(packed_strip(operands, strip), strip_stride_, operands.a + (depth * depths_.size * shape_.m + strip * strips_.size) * width,
              shape_.m, depths_.at(depth), strips_.at(strip), width);
  }
}

void Gemm::zero(std::byte* c, int64_t panel, int64_t first_strip, int64_t end_strip) const {
  if (shape_.accumulate) return;
  const int64_t width = size_of(shape_.dtype);
  for (int64_t row = first_strip * strips_.size; row < std::min(shape_.m, end_strip * strips_.size); ++row) {
    std::memset(c + (row * shape_.n + panel * panels_.size) * width, 0, static_cast<size_t>(panels_.at(panel) * width));
  }
}

void Gemm::run_panel(const Operands& operands, int64_t depth, int64_t panel, int64_t first_strip, int64_t end_strip) const {
  const int64_t width = size_of(shape_.dtype);
  const int64_t column = panel * panels_.size, columns = panels_.at(panel);
  const int64_t begin = depth * depths_.size, deep = depths_.at(depth);
  const std::byte* panel_of_b = operands.b + (begin * shape_.n + column) * width;
  if (pack_b_ && shape_.transpose_b) {
    pack_transposed(operands.scratch, panel_stride_, operands.b + (column * shape_.k + begin) * width, shape_.k, columns, deep, width);
    panel_of_b = operands.scratch;
  } else if (pack_b_) {
    pack_rows(operands.scratch, panel_stride_, panel_of_b, shape_.n, deep, columns, width);
    panel_of_b = operands.scratch;
  }
  for (int64_t strip = first_strip; strip < end_strip; ++strip) {
    const int64_t row = strip * strips_.size;
    const std::byte* strip_of_a = pack_a_ ? packed_strip(operands, strip)
                                          : operands.a + (shape_.transpose_a ? begin * shape_.m + row : row * shape_.k + begin) * width;
    kernel(strip + 1 == strips_.count, panel + 1 == panels_.count, depth + 1 == depths_.count, shape_.accumulate || depth > 0)(
        panel_of_b, strip_of_a, operands.c + (row * shape_.n + column) * width);
  }
}

}  // namespace dtl::device
