// The gradient pass: `gradient` nodes become the nodes that compute them.
#pragma once

#include <string>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::transform {

/// Reverse mode, along paths from the w's to the loss only:
///
///   %g = gradient(%loss, %w)    becomes    %d.loss = constant() {value = 1.0 …} … %d.w = matmul(%x, %d.y) {transpose_a = true}
///
/// Contributions are summed in the reverse order of their uses. A w that does not reach the loss gets a zero constant.
graph::Graph gradient(const graph::Graph& graph, const graph::OpTable& ops);
/// A `gradient` node that is left, or empty.
std::string gradient_broken(const graph::Graph& graph, const graph::OpTable& ops);

}  // namespace dtl::transform
