// Leaving out what no result of a function needs.
#pragma once

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::transform {

/// The same graph without dead nodes; parameters stay. Equal names become unique, in order.
graph::Graph without_dead_nodes(const graph::Graph& graph, const graph::OpTable& ops);

}  // namespace dtl::transform
