// Gemm: products of matrices of one shape, prepared once and run by a team of threads.
//
// takes:    a shape (sizes, transposes, dtype)
// gives:    C = op(A) · op(B), or C += with `accumulate`, row-major and dense; op(A) is m × k, op(B) is k × n
// promises: tiles are cut, and their sums ordered, by the shape alone: the bits are equal for every number of threads
// print it: the gemm steps of `dslc emit --stage plan`
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/plan/dtype.h"

namespace dtl::device {

/// `batch` products of equal shape, the matrices of each operand one after another. A is stored k × m with `transpose_a`,
/// B n × k with `transpose_b`. dtype is f32 or f64. Any size may be 0: with k = 0 the product is zero.
struct GemmShape {
  DType dtype = DType::f32;
  bool transpose_a = false, transpose_b = false, accumulate = false;
  int64_t batch = 1, m = 0, n = 0, k = 0;

  auto operator<=>(const GemmShape&) const = default;
};

/// The inner kernels come from libxsmm, compiled for the machine at hand when a Gemm is made (about 30 µs each, once per
/// process and kernel); after that it is read only, and any number of threads may run it.
class Gemm {
 public:
  explicit Gemm(const GemmShape& shape);

  /// Tiles of C, over the whole batch: what is divided among threads.
  int64_t tiles() const { return shape_.batch * panels_.count * strips_.count; }
  /// Bytes of scratch that each thread needs, 64-byte aligned.
  int64_t scratch_bytes() const;

  /// Computes the tiles of thread `thread` of `threads`. Returns when they are written; allocates nothing.
  void run(const void* a, const void* b, void* c, int thread, int threads, std::byte* scratch) const;

 private:
  /// A size cut into `count` parts of `size`, the last one of `last`.
  struct Cut {
    int64_t count = 0, size = 0, last = 0;
    static Cut of(int64_t n, int64_t most, int64_t multiple);
    int64_t at(int64_t part) const { return part + 1 == count ? last : size; }
  };
  /// C's tile of full or last size, by full or last depth of k, that overwrites C or adds to it.
  using Kernel = void (*)(const void*, const void*, void*);

  Kernel kernel(bool last_strip, bool last_panel, bool last_depth, bool adds) const {
    return kernels_[(last_strip ? 8u : 0u) + (last_panel ? 4u : 0u) + (last_depth ? 2u : 0u) + (adds ? 1u : 0u)];
  }
  void prepare_kernels();
  /// The matrices of one product of the batch.
  struct Operands {
    const std::byte *a, *b;
    std::byte *c, *scratch;
  };
  void run_group(const Operands& operands, int64_t group, int64_t first_tile, int64_t end_tile) const;
  void run_panel(const Operands& operands, int64_t depth, int64_t panel, int64_t first_strip, int64_t end_strip) const;
  void pack_strips(const Operands& operands, int64_t depth, int64_t group) const;
  std::byte* packed_strip(const Operands& operands, int64_t strip) const;
  void zero(std::byte* c, int64_t panel, int64_t first_strip, int64_t end_strip) const;

  // gemm_narrow.cpp: bf16 and f16.
  void plan_narrow();
  void run_group_narrow(const Operands& operands, int64_t group, int64_t first_tile, int64_t end_tile) const;
  void run_panel_narrow(const Operands& operands, int64_t panel, int64_t first_strip, int64_t end_strip) const;
  /// Where in the scratch, in elements of f32.
  struct NarrowScratch {
    int64_t b = 0, raw_b = 0, a = 0, c = 0, total = 0;
  };
  NarrowScratch narrow_scratch() const;

  GemmShape shape_;  ///< with m and n, A and B exchanged if `swapped_`
  bool swapped_ = false;
  Cut strips_;  ///< of m: rows of C
  Cut groups_;  ///< of the strips
  Cut panels_;  ///< of n: columns of C
  Cut depths_;  ///< of k
  bool pack_a_ = false, pack_b_ = false;
  int64_t panel_stride_ = 0;  ///< elements between rows of op(B) as the kernels read it
  int64_t strip_stride_ = 0;  ///< elements between rows of A, as stored, as the kernels read it
  int64_t c_stride_ = 0;      ///< elements between rows of C as the kernels write it
  std::vector<Kernel> kernels_;
};

}  // namespace dtl::device
