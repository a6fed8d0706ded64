// The verifier: what every pass may assume of a graph, checked after each of them.
#pragma once

#include <string>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::graph {

/// The first broken promise, or empty:
/// - ids are in range; no dimension is a negative number; names of dimensions
///   are those of parameters, `batch`, and those with bounds; each value is where its node or parameter list says; names are unique in a
///   function, functions in a graph
/// - operands are defined before their use, in the same function; ops fit their signatures; types are what infer says
/// - roles: reports are results only, inputs, seeds and updates have the types they must; no two ports share role and path;
///   a weight, state, optimizer, metric or updates parameter has a result of the same role, path and type
/// - placements: none in a function, or one for each mesh axis on each of its values, and each node follows one of its op's rows
///   (placement_rows.h) along each axis; splits name a dimension
std::string verify(const Graph& graph, const OpTable& ops);

}  // namespace dtl::graph
