// make_plan: a replicated graph to a Plan for the replicas of one address space.
//
// takes:    the graph after all passes: every value placed, collectives explicit
// gives:    buffers with offsets, kernels, and each entry point's steps in order
// promises: plan.h's; weights, optimizer state and reduced gradients are stored once and updated in place
// print it: `dslc emit --stage plan`
#pragma once

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"
#include "compiler/transform/pass.h"
#include "compiler/types/expected.h"
#include "runtime/plan/plan.h"

namespace dtl::transform {

/// An all-reduce becomes: a barrier of all, each thread adds its slice of every replica's operand into shared memory, and what
/// is computed from the result element by element goes on with that slice. An error for placements that have no plan yet.
Expected<plan::Plan, PlaceError> make_plan(const graph::Graph& graph, const graph::OpTable& ops);

}  // namespace dtl::transform
