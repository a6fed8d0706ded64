// The table of primitive ops: what sema may call by name, what graphs are made of.
//
// takes:    nothing
// gives:    one record per op, all eight parts (compiler/graph/op.h says what each part means)
// promises: the seven laws of tests/unit/ops/op_laws_test.cpp hold for every record
// print it: `dslc ops`, kept as docs/ops.md
#pragma once

#include <string>

#include "compiler/graph/op.h"

namespace dtl::ops {

/// The one table, made at the first call.
const graph::OpTable& table();

/// Markdown: op × {signature, axes, gradient, placements, lowering}.
std::string ops_table();

}  // namespace dtl::ops
