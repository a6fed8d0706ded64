// Graph text: stable, readable, and parsed back by parse.h.
//
//   mesh data = 2
//   strategy {batch = split(0), gradients = broadcast, optimizer = broadcast, weights = broadcast}
//   bounds batch = 128
//
//   func train_step(
//     %image: u8[batch, 28, 28] @ split(0) {input "image"},
//     %loss.0: f64[] {metric "train/loss.0", identity = 0.0}
//   ) {
//     in "Classifier/dense.0"
//     %logits: f32[batch, 10] @ split(0) = matmul(%x, %kernel) {transpose_a = false, transpose_b = false}
//     return
//       %kernel {weight "Classifier/dense.0/kernel"}
//   }
//
// Absent where there is nothing to say: header lines, `@ placement`, `{role}`, `{attributes}`, `in` while the scope stays.
// `//` starts a comment. Source ranges are not part of the text.
#pragma once

#include <string>
#include <string_view>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::graph {

/// The whole graph, or its header and one function.
std::string print(const Graph& graph, const OpTable& ops, std::string_view only_function = {});

/// One node's line, without its scope.
std::string print(const Graph& graph, const OpTable& ops, NodeId node);

}  // namespace dtl::graph
