// Collective: how the replicas of a job combine their values.
//
// takes:    a slice of the same tensor from every replica
// gives:    the combined slice
// promises: operands are combined in rank order, whoever computes the slice and whenever: the bits depend on the values only
// print it: the reduce steps of `dslc emit --stage plan`
#pragma once

#include <cstdint>
#include <span>

#include "runtime/plan/dtype.h"

namespace dtl::collective {

/// Elements [begin, end) of an all-reduce. max and min propagate NaN; sums of bf16 and f16 are taken in f32 and rounded
/// once; a bool has no sum.
struct ReduceSlice {
  ReduceOp op;
  DType dtype;
  std::span<const void* const> sources;  ///< one a replica, in rank order; at least one, each of `end` elements or more
  void* to;                              ///< may be one of the sources, but not overlap one otherwise
  int64_t begin, end;
  int64_t first = 0;  ///< the element with which `to` begins: a part of the result is all that it has room for
};

class Collective {
 public:
  virtual ~Collective() = default;

  /// Combines one slice. All workers call it at once with slices of their own (plan::slice); the caller places the
  /// barriers before and after. Allocates nothing.
  virtual void reduce(const ReduceSlice& slice) const = 0;
};

}  // namespace dtl::collective
