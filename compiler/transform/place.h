// The place pass: a placement for every value, and the changes of placement between them as collectives.
#pragma once

#include <string>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::transform {

/// Forward over each function, for each mesh axis: a node follows the cheapest row of its op (placement_rows.h), and operands
/// are resharded to it. In order:
///   1. a result that has the batch as a dimension is split along it, if the strategy splits the batch over this axis
///   2. fewest bytes over the links now (reshard.h), with what is expected of later ones and of the work (foresight.h)
///   3. fewest operands to slice
///   4. broadcast before split before partial results: what comes from broadcast values stays broadcast
///   5. the order of the rows
/// A partial value therefore stays partial through linear ops, and is reduced before the first that is not:
///
///   %mean = divide(%sum, %n)    becomes    %sum.1: … @ broadcast = all_reduce(%sum) …   %mean = divide(%sum.1, %n)
///
/// A function is placed without that look ahead, then with it, twice; the first of the cheapest is taken: bytes over the links, and work.
/// Where strategies hold weights whole everywhere nothing is weighed, since how the batch is divided decides all.
///
/// Parameters and results are placed by their roles, pins by theirs, from graph.strategy; a role's split of a dimension that a
/// value lacks means broadcast. Without a mesh only pins go. A function that is placed already stays as it is.
/// Throws PlaceError (pass.h).
graph::Graph place(const graph::Graph& graph, const graph::OpTable& ops);
/// A value without placement, a pin, a result that is not placed as its role says; or empty. Rows are the verifier's.
std::string place_broken(const graph::Graph& graph, const graph::OpTable& ops);

}  // namespace dtl::transform
