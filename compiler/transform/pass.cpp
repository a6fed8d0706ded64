// The pipeline and its checks.
#include "compiler/transform/pass.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "compiler/graph/print.h"
#include "compiler/graph/verify.h"
#include "compiler/source/check.h"
#include "compiler/transform/bucket.h"
#include "compiler/transform/gradient.h"
#include "compiler/transform/place.h"
#include "compiler/transform/precision.h"
#include "compiler/transform/simplify.h"

namespace dtl::transform {
namespace {

using graph::Graph;

/// Where a graph that breaks a promise can be read.
std::string dump(const Pass& pass, const Graph& graph, const graph::OpTable& ops) {
  std::error_code ignored;
  const auto path = std::filesystem::temp_directory_path(ignored) / fmt::format("dslc-{}-{}.graph", pass.name, getpid());
  std::ofstream(path) << graph::print(graph, ops);
  return path.string();
}

void check(const Pass& pass, const Graph& graph, const graph::OpTable& ops) {
  std::string broken = graph::verify(graph, ops);
  if (broken.empty()) broken = pass.broken(graph, ops);
  // Printing needs a graph in order; one that is not may end the process in the dump, with this note.
  const ContextNote note(fmt::format("pass `{}` has broken a promise: {}", pass.name, broken.empty() ? "none" : broken));
  DTL_CHECK(broken.empty(), "pass `{}` ({}): {}; the graph is in {}", pass.name, pass.promise, broken, dump(pass, graph, ops));
}

}  // namespace

const std::vector<Pass>& pipeline() {
  static const std::vector<Pass> passes = {
      {"precision", "no product of f32 is left where products are bf16 or f16", precision, precision_broken},
      {"gradient", "no gradient node is left", gradient, gradient_broken},
      {"simplify", "no node is dead, no two nodes are equal, and no stop_gradient is left", simplify, simplify_broken},
      {"place", "every value has a placement, every node follows a row of its op, and results are placed as their roles say", place,
       place_broken},
      {"bucket", "every all-reduce is in a bucket, and none waits before it must", bucket, bucket_broken},
  };
  return passes;
}

Expected<Graph, PlaceError> run_pass(const Pass& pass, const Graph& graph, const graph::OpTable& ops) {
  const ContextNote note(fmt::format("running pass `{}`", pass.name));
  try {
    Graph result = pass.run(graph, ops);
    check(pass, result, ops);
    return result;
  } catch (PlaceError& error) {
    return Unexpected{std::move(error)};
  }
}

Expected<Graph, PlaceError> run_pipeline(Graph graph, const graph::OpTable& ops, std::string_view stop_after) {
  DTL_CHECK(
      stop_after.empty() || std::any_of(pipeline().begin(), pipeline().end(), [&](const Pass& pass) { return pass.name == stop_after; }),
      "there is no pass `{}`", stop_after);
  for (const Pass& pass : pipeline()) {
    auto result = run_pass(pass, graph, ops);
    if (!result) return result;
    graph = std::move(*result);
    if (pass.name == stop_after) break;
  }
  return graph;
}

}  // namespace dtl::transform
