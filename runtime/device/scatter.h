// Rows added to a table of zeros: the gradient of an embedding.
//
// takes:    indices, one update of `width` elements for each, a table of `rows` × `width`
// gives:    the table: row r is the sum of the updates whose index is r, an index outside means the nearest end
// promises: every element adds its updates in their order: the bits are equal for every number of threads
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/plan/dtype.h"

namespace dtl::device {

/// `dtype` is f32, f64, i32 or i64 (which wrap); `index` is an integer type. Any size but `rows` may be 0.
struct ScatterShape {
  DType dtype = DType::f32, index = DType::i64;
  int64_t updates = 0, rows = 0, width = 0;
};

/// Computes the part of thread `thread` of `threads`: columns of the table where it is wide, else rows. Allocates nothing.
void scatter_add(const ScatterShape& shape, const void* index, const void* update, void* table, int thread, int threads);

}  // namespace dtl::device
