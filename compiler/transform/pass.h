// Passes: a graph becomes another one, and what each promises is checked after it.
//
// takes:    the lowered graph (global meaning, no placements)
// gives:    the replicated graph: every value placed, collectives explicit and in buckets
// promises: each pass's own sentence, and the verifier's (compiler/graph/verify.h)
// print it: `dslc emit --stage gradients|optimized|replicated`, `--stop-after PASS`, `--list-passes`
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"
#include "compiler/types/expected.h"

namespace dtl::transform {

/// Why a program cannot be placed as its strategy asks: a sentence as in diagnostics, and the expression it is about.
/// Thrown inside `place`, caught in run_pass; the only mistake of a user that shows as late as here.
struct PlaceError {
  source::Range range;
  std::string text;
};

struct Pass {
  std::string_view name;     ///< what `--stop-after` takes
  std::string_view promise;  ///< one sentence
  graph::Graph (*run)(const graph::Graph&, const graph::OpTable&);
  /// How a graph breaks the promise; empty if it keeps it.
  std::string (*broken)(const graph::Graph&, const graph::OpTable&);
};

/// All passes in the order they run: the only place where it is written.
const std::vector<Pass>& pipeline();

/// One pass; then the verifier and its promise. A broken promise is our fault: the graph goes to a file, and the process ends.
Expected<graph::Graph, PlaceError> run_pass(const Pass& pass, const graph::Graph& graph, const graph::OpTable& ops);

/// The passes up to and including `stop_after` (empty: all).
Expected<graph::Graph, PlaceError> run_pipeline(graph::Graph graph, const graph::OpTable& ops, std::string_view stop_after = {});

}  // namespace dtl::transform
