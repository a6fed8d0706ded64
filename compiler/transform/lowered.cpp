// What lowering says of each node of a function.
#include "compiler/ops/body.h"
#include "compiler/source/check.h"
#include "compiler/transform/fusion.h"
#include "compiler/transform/pass.h"

namespace dtl::transform {

using graph::NodeId;
using types::TensorType;

namespace {

/// A member's part of what it holds whole moves nothing: its elements begin further on in the operand.
graph::KernelRule local_slice_rule(const TensorType& type, int64_t dim) {
  ops::Body body;
  std::vector<int32_t> index = body.loops(0, type.rank());
  index[static_cast<size_t>(dim)] = body.global(static_cast<size_t>(dim));
  const int32_t element = body.load(0, type.dtype, index);
  return std::move(body).done(element);
}

}  // namespace

bool is_global(const graph::Graph& graph, graph::ValueId value) {
  const auto& axes = graph.strategy.mesh.axes;
  const types::Placements& placements = graph[value].placements;
  for (size_t axis = 0; axis < placements.size(); ++axis) {
    if (axes[axis].size > 1 && placements[axis].kind != types::PlacementKind::broadcast) return false;
  }
  return true;
}

bool is_own(const graph::Graph& graph, const graph::Port& port) {
  const bool of_rows = port.role == graph::Role::output || port.role == graph::Role::least || port.role == graph::Role::most;
  return of_rows || port.role == graph::Role::pending || !is_global(graph, port.value);
}

Lowered::Lowered(const graph::Graph& graph, const graph::OpTable& ops, graph::FunctionId function_id, Locals& locals)
    : graph(graph), function(graph[function_id]), locals(locals), ops_(ops) {
  for (const NodeId id : function.nodes) {
    const graph::Node& node = graph[id];
    std::vector<TensorType> operands, results, own_operands, own_results;
    for (const graph::ValueId value : node.operands) {
      operands.push_back(graph[value].type);
      own_operands.push_back(locals.type(graph[value]));
    }
    for (const graph::ValueId value : node.results) {
      results.push_back(graph[value].type);
      own_results.push_back(locals.type(graph[value]));
    }
    const graph::Lower& lower = *ops[node.op].lower;
    const graph::Lowering whole = lower({operands, results, node.attrs}), own = lower({own_operands, own_results, node.attrs});
    if (const auto* rule = std::get_if<graph::KernelRule>(&whole)) {
      kinds_[id] = rule->combine ? NodeKind::reduction : NodeKind::map;
      graph::KernelRule& kept = rules_[id] = *rule;
      kept.reduced = std::get<graph::KernelRule>(own).reduced;
    } else if (std::holds_alternative<graph::GemmRule>(whole)) {
      kinds_[id] = NodeKind::product;
      products_[id] = std::get<graph::GemmRule>(own);
    } else if (std::holds_alternative<graph::ScatterRule>(whole)) {
      kinds_[id] = NodeKind::scatter;
      scatters_[id] = std::get<graph::ScatterRule>(own);
    } else if (std::holds_alternative<graph::ViewRule>(whole)) {
      kinds_[id] = NodeKind::view;
    } else if (std::holds_alternative<graph::CollectiveRule>(whole)) {
      const bool alone = graph.strategy.mesh.axes[static_cast<size_t>(node.attrs.get<int64_t>("axis"))].size == 1;
      if (alone) {
        kinds_[id] = NodeKind::view;
        identities_.insert(id);
      } else if (op(id) == "local_slice") {
        kinds_[id] = NodeKind::map;
        rules_[id] = local_slice_rule(results[0], node.attrs.get<int64_t>("dim"));
      } else {
        kinds_[id] = NodeKind::collective;
      }
    } else {
      throw PlaceError{node.range,
                       fmt::format("`{}` has no plan before `{}` has replaced it", op(id), std::get<graph::ExpandedRule>(whole).by)};
    }
  }
}

const std::string& Lowered::op(NodeId node) const { return ops_[graph[node].op].name(); }

std::optional<plan::Extent> Lowered::begin(NodeId node, size_t dim) const {
  const graph::Node& at = graph[node];
  const graph::Value& result = graph[at.results[0]];
  return op(node) == "local_slice" ? locals.begin_along(result, dim, static_cast<size_t>(at.attrs.get<int64_t>("axis")))
                                   : locals.begin(result, dim);
}

std::optional<graph::ValueId> Lowered::viewed(graph::ValueId value) const {
  const std::optional<NodeId> node = maker(value);
  if (!node || kind(*node) != NodeKind::view) return std::nullopt;
  return graph[*node].operands[static_cast<size_t>(graph[value].result)];
}

graph::ValueId Lowered::base(graph::ValueId value) const {
  while (const auto under = viewed(value)) value = *under;
  return value;
}

std::optional<std::vector<int32_t>> Lowered::squeezed(graph::ValueId value) const {
  const auto from = locals.dims(graph[*viewed(value)]), to = locals.dims(graph[value]);
  std::vector<int32_t> result;
  const plan::Extent one{1, -1};
  size_t at = 0;
  for (const plan::Extent& dim : from) {
    if (dim == one) {
      result.push_back(-1);
      continue;
    }
    while (at < to.size() && to[at] == one) ++at;
    if (at == to.size() || to[at] != dim) return std::nullopt;
    result.push_back(static_cast<int32_t>(at++));
  }
  for (; at < to.size(); ++at) {
    if (to[at] != one) return std::nullopt;
  }
  return result;
}

}  // namespace dtl::transform
