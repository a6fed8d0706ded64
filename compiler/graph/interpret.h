// The reference interpreter: runs any graph, whole or replicated, in f64 over the ops' `evaluate`. Slow and obvious.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::graph {

/// Runs `function` on global arrays and gives global arrays. `dims` gives each run-time dimension (`batch`); a member's
/// share (`batch/share`) follows from the strategy's batch placement.
///
/// A function without placements is run by one member. One with placements is run by all members of the mesh, in lockstep,
/// node by node. Parameters are cut as they are placed: split parts (the first n mod N one larger, empty ones included), copies
/// where broadcast, the value and identities where partial, the entries of a leading axis where varying. Results are put
/// together the same way back; copies of a broadcast result must hold equal bits.
std::vector<Array> interpret(const Graph& graph, const OpTable& ops, FunctionId function, std::span<const Array> params,
                             const std::map<std::string, int64_t>& dims);

}  // namespace dtl::graph
