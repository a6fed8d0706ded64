// The simplify pass: dead nodes and repetitions go, and what a table of small rules can make smaller.
#pragma once

#include <string>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::transform {

/// One walk: each node is made again by the first rule that fits (simplify_rules.h), or is an equal one made before, or is
/// copied. Comes after `gradient` and before `place`: a function with gradient nodes or placements stays as it is.
///
///   %y = multiply(%x, %one)   %z = add(%y, %b)    becomes    %z = add(%x, %b)
graph::Graph simplify(const graph::Graph& graph, const graph::OpTable& ops);
/// A node that is dead, or the repetition of another; or empty.
std::string simplify_broken(const graph::Graph& graph, const graph::OpTable& ops);

}  // namespace dtl::transform
