// What the tests of passes share: running passes by name, parameters to run graphs on, comparing runs; a training step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/graph/interpret.h"
#include "compiler/graph/parse.h"
#include "compiler/graph/print.h"
#include "compiler/ops/registry.h"
#include "compiler/transform/pass.h"

namespace dtl::transform::test {

using Sizes = std::map<std::string, int64_t>;

graph::Graph parsed(const std::string& text);
/// The graph after these passes; an error of place fails the test.
graph::Graph after(graph::Graph graph, const std::vector<std::string>& passes);
/// The text of place's error, or empty.
std::string place_error(const graph::Graph& graph);

/// Numbers for the parameters of function `name`: floats in [−1, 1), integers in [0, 4), counters small.
std::vector<graph::Array> some_params(const graph::Graph& graph, const std::string& name, const Sizes& dims);
std::vector<graph::Array> run(const graph::Graph& graph, const std::string& name, const std::vector<graph::Array>& params,
                              const Sizes& dims);
/// The largest difference, relative to the norm of the expected array.
double difference(const std::vector<graph::Array>& expected, const std::vector<graph::Array>& actual);

/// The graph under another strategy: sizes of the mesh axes and placements by role; communication of small buckets.
struct Placing {
  std::vector<int64_t> mesh;
  types::Placements batch, weights, gradients, optimizer;
};
graph::Graph under(graph::Graph graph, const Placing& placing);
/// All the placements that tests go through: one axis of 1, 2, 3, 4 and 8 members, two axes; copies, ZeRO, weights in parts.
std::vector<Placing> placings();
std::string str(const Placing& placing);

/// A training step of a two-layer classifier: dropout, softmax cross-entropy, momentum, metrics of sum and max, everything f64.
graph::Graph classifier_step();

}  // namespace dtl::transform::test
