// The precision pass: products of f32 are computed in the graph's product type.
#pragma once

#include <string>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::transform {

/// Where `Graph::products` is bf16 or f16, each product of f32 takes narrow operands, and its narrow result is an f32 again:
///
///   %y = matmul(%x, %w)    becomes    %y.bf16 = matmul(cast(%x), cast(%w))    %y = cast(%y.bf16) {to = f32}
///
/// All else stays as it is: sums, losses, norms, weights and their updates. It runs before `gradient`, so that products on the
/// way back are narrow too, and what comes to a weight passes the gradient of its cast: it is f32 before it is reduced. A cast
/// goes behind transposes and reshapes, to which narrow numbers are all the same. `init` is left in f32.
graph::Graph precision(const graph::Graph& graph, const graph::OpTable& ops);
/// A product of f32 that is left, or empty.
std::string precision_broken(const graph::Graph& graph, const graph::OpTable& ops);

}  // namespace dtl::transform
