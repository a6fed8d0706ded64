// Casts around products, one product after the other.
#include "compiler/transform/precision.h"

#include <algorithm>

#include "compiler/graph/rewriter.h"
#include "compiler/transform/dead_nodes.h"

namespace dtl::transform {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

bool is_product(const Graph& graph, const graph::OpTable& ops, const Node& node) {
  if (node.results.size() != 1 || graph[node.results[0]].type.dtype != DType::f32) return false;
  std::vector<types::TensorType> operands;
  for (const ValueId operand : node.operands) operands.push_back(graph[operand].type);
  const std::vector<types::TensorType> results = {graph[node.results[0]].type};
  return std::holds_alternative<graph::GemmRule>((*ops[node.op].lower)({operands, results, node.attrs}));
}

/// First values of weights are f32, however few have been computed by products.
bool is_changed(const Graph& graph, const graph::Function& function) { return is_narrow(graph.products) && function.name != "init"; }

class Narrower {
 public:
  Narrower(graph::Builder& builder, DType to) : builder_(builder), to_(to) {}

  /// `value` in the narrow type: its own cast undone, or a transpose or reshape of what is narrow, or a cast. Not shared
  /// between products: on the way back the contributions of each are then added in f32.
  ValueId narrow(ValueId value) {
    const graph::Value at = builder_.graph()[value];  // copies: building moves the stores
    if (at.node) {
      const Node node = builder_.graph()[*at.node];
      const std::string& op = builder_.ops()[node.op].name();
      if (op == "cast" && builder_.type(node.operands[0]).dtype == to_) return node.operands[0];
      if (op == "transpose" || op == "reshape") return builder_.add(op, {narrow(node.operands[0])}, node.attrs, narrow_name(at.name));
    }
    return builder_.add("cast", {value}, {{"to", to_}}, narrow_name(at.name));
  }

  std::string narrow_name(const std::string& name) const { return fmt::format("{}.{}", name, name_of(to_)); }

 private:
  graph::Builder& builder_;
  DType to_;
};

}  // namespace

Graph precision(const Graph& graph, const graph::OpTable& ops) {
  graph::Rewriter rewriter(graph, ops);
  for (size_t f = 0; f < graph.functions.size(); ++f) {
    const graph::FunctionId function{static_cast<int32_t>(f)};
    if (!is_changed(graph, graph[function])) {
      rewriter.copy_function(function);
      continue;
    }
    rewriter.begin(function);
    for (const NodeId id : graph[function].nodes) {
      const Node& node = graph[id];
      if (!is_product(graph, ops, node)) {
        rewriter.copy(id);
        continue;
      }
      rewriter.at(id);
      graph::Builder& builder = rewriter.builder();
      Narrower narrower(builder, graph.products);
      std::vector<ValueId> operands;
      for (const ValueId operand : rewriter.map(node.operands)) operands.push_back(narrower.narrow(operand));
      const std::string& name = graph[node.results[0]].name;
      const ValueId product = builder.add(ops[node.op].name(), std::move(operands), node.attrs, narrower.narrow_name(name));
      rewriter.set(node.results[0], builder.add("cast", {product}, {{"to", DType::f32}}, name));
    }
    rewriter.finish();
  }
  // Transposes whose only readers were products.
  return is_narrow(graph.products) ? without_dead_nodes(rewriter.take(), ops) : rewriter.take();
}

std::string precision_broken(const Graph& graph, const graph::OpTable& ops) {
  for (const graph::Function& function : graph.functions) {
    if (!is_changed(graph, function)) continue;
    for (const NodeId id : function.nodes) {
      if (is_product(graph, ops, graph[id]))
        return fmt::format("%{} in `{}` is a product of f32", graph[graph[id].results[0]].name, function.name);
    }
  }
  return {};
}

}  // namespace dtl::transform
