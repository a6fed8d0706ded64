// Copies the live nodes of each function.
#include "compiler/transform/dead_nodes.h"

#include "compiler/graph/rewriter.h"

namespace dtl::transform {

graph::Graph without_dead_nodes(const graph::Graph& graph, const graph::OpTable& ops) {
  graph::Rewriter rewriter(graph, ops);
  for (size_t f = 0; f < graph.functions.size(); ++f) {
    const graph::FunctionId function{static_cast<int32_t>(f)};
    const std::vector<bool> live = graph::live_nodes(graph, function);
    rewriter.begin(function);
    for (const graph::NodeId node : graph[function].nodes) {
      if (live[static_cast<size_t>(node.index)]) rewriter.copy(node);
    }
    rewriter.finish();
  }
  return rewriter.take();
}

}  // namespace dtl::transform
