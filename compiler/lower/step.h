// Lowering of a step: weights, states and counters threaded through its body in SSA.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"
#include "compiler/lower/report.h"
#include "compiler/sema/program.h"

namespace dtl::lower {

/// Adds `<prefix>_step` (`<prefix>_accumulate` for `adds`, which changes no weight and has no report) and, if the body reports anything,
/// `<prefix>_report`. Variables that the step touches become parameters and results, in the program's order: inputs, weights, states,
/// optimizer states, metrics, updates, seed. `outputs`, names and values of the body, are results for each example.
void add_step(graph::Graph& graph, const graph::OpTable& ops, const sema::Program& program, const sema::Body& body,
              const std::string& prefix, Batches batches = Batches::one, std::span<const std::pair<std::string, int32_t>> outputs = {});

}  // namespace dtl::lower
