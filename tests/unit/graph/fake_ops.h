// A handful of ops for the tests of the graph room, so that they depend on no op of the real table.
#pragma once

#include "compiler/graph/op.h"

namespace dtl::graph::test {

/// constant{value, dtype, shape}, index{shape} (global row-major index, f64), negate, add, multiply, sum{axis}, halves (two
/// results), share (split → varying), all_reduce{op, axis}, all_gather{axis, dim}, call{function}, mystery (no meaning).
const OpTable& fake_ops();

}  // namespace dtl::graph::test
