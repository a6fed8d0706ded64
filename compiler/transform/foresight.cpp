// Costs ahead, by dynamic programming from the results of a function to its parameters.
#include "compiler/transform/foresight.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "compiler/graph/placement_rows.h"
#include "compiler/transform/reshard.h"

namespace dtl::transform {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::PlacementRow;
using graph::ValueId;
using types::Placement;
using types::PlacementKind;

namespace {

/// More than any sum of bytes, and far from overflow when added up.
constexpr int64_t kNoWay = int64_t{1} << 50;

/// Elements at the bounds of the dimensions.
int64_t elements_of(const Graph& graph, const types::TensorType& type) {
  std::map<std::string, int64_t> sizes;
  for (const auto& [name, bound] : graph.bounds) sizes[name] = sizes[types::share_of(name)] = bound;
  int64_t elements = 1;
  for (const types::Dim& dim : type.dims) {
    for (const std::string& symbol : dim.symbols()) sizes.emplace(symbol, 1);
    elements *= dim.evaluate(sizes);
  }
  return elements;
}

}  // namespace

int64_t work_of(const Graph& graph, const graph::OpTable& ops, const Node& node) {
  constexpr int64_t kOperations = 16;
  if (ops[node.op].name() != "matmul") return 0;
  const types::TensorType& left = graph[node.operands[0]].type;
  const bool transposed = node.attrs.get_or<bool>("transpose_a", false);
  const int64_t depth = elements_of(graph, {left.dtype, {left.dims[left.rank() - (transposed ? 2 : 1)]}});
  return 2 * elements_of(graph, graph[node.results[0]].type) * depth / kOperations;
}

bool divides(const std::vector<Placement>& operands, const std::vector<Placement>& results) {
  const auto split = [](const Placement& placement) { return placement.kind == PlacementKind::split; };
  return std::any_of(operands.begin(), operands.end(), split) || std::any_of(results.begin(), results.end(), split);
}

int64_t Foresight::work(const Node& node, const PlacementRow& row, size_t axis) const {
  int64_t work = work_of(graph_, ops_, node);
  if (divides(row.operands, row.results)) work /= 2;
  for (size_t other = 0; other < graph_.strategy.mesh.axes.size(); ++other) {
    if (other == axis) continue;
    std::vector<Placement> placed;
    for (const auto* values : {&node.operands, &node.results}) {
      for (const ValueId value : *values) placed.push_back(last_.placements[static_cast<size_t>(value.index)][other]);
    }
    if (divides(placed, {})) work /= graph_.strategy.mesh.axes[other].size;
  }
  return work;
}

/// A node that reads a value: its rows along each axis.
struct Foresight::Reader {
  const Node* node;
  int64_t operands = 1;                            ///< different ones that a node makes: each answers for its share of what follows
  std::vector<std::vector<PlacementRow>> rows;     ///< by axis
  std::vector<std::vector<int>> whole_batches;     ///< by axis and row
  std::vector<std::vector<int64_t>> after_result;  ///< by axis and row: the work, and what follows from the row's results
};

int64_t Foresight::whole_bytes(ValueId value, size_t axis) const {
  const auto at = static_cast<size_t>(value.index);
  const types::Placements& placements = last_.placements[at];
  const bool parts = axis < placements.size() && placements[axis].kind == PlacementKind::split;
  return std::max<int64_t>(1, last_.bytes[at]) * (parts ? graph_.strategy.mesh.axes[axis].size : 1);
}

int64_t Foresight::change(ValueId value, size_t axis, const Placement& from, const Placement& to) const {
  const auto kind = change_of(from, to);
  if (!kind) return kNoWay;
  const int64_t cost = moved_by(*kind, whole_bytes(value, axis));
  return cost == 0 ? 0 : cost + kStart;
}

int64_t Foresight::following(ValueId value, size_t axis, const Placement& placement, const std::vector<const Reader*>& readers,
                             const std::vector<Placement>& ends) const {
  int64_t sum = 0;
  std::vector<Placement> changed;
  const auto pay = [&](const Placement& to) {
    if (to == placement || std::find(changed.begin(), changed.end(), to) != changed.end()) return;
    changed.push_back(to);
    sum += change(value, axis, placement, to);
  };
  for (const Reader* reader : readers) {
    const std::vector<PlacementRow>& rows = reader->rows[axis];
    std::optional<std::pair<int, int64_t>> best;
    size_t chosen = 0;
    int64_t rest = 0;
    for (size_t r = 0; r < rows.size(); ++r) {
      int64_t own = 0, others = reader->after_result[axis][r] / reader->operands;
      std::set<int32_t> seen;
      for (size_t i = 0; i < reader->node->operands.size(); ++i) {
        const ValueId operand = reader->node->operands[i];
        if (operand == value) {
          own += change(value, axis, placement, rows[r].operands[i]);
        } else if ((!free_ || !has_choice_[static_cast<size_t>(operand.index)]) && seen.insert(operand.index).second) {
          others += change(operand, axis, last_.placements[static_cast<size_t>(operand.index)][axis], rows[r].operands[i]);
        }
      }
      const std::pair<int, int64_t> rank{reader->whole_batches[axis][r], own + others};
      if (best && !(rank < *best)) continue;
      best = rank;
      chosen = r;
      rest = others;
    }
    if (!best) continue;
    sum += rest;
    for (size_t i = 0; i < reader->node->operands.size(); ++i) {
      if (reader->node->operands[i] == value) pay(rows[chosen].operands[i]);
    }
  }
  for (const Placement& end : ends) pay(end);
  return std::min(sum, kNoWay);
}

Foresight::Foresight(const Graph& graph, const graph::OpTable& ops, const graph::Function& function, Placed last,
                     const std::vector<Wanted>& wanted, const WholeBatches& whole_batches, Others others)
    : graph_(graph), ops_(ops), last_(std::move(last)), free_(others == Others::follow), costs_(graph.values.size()) {
  const size_t axes = graph.strategy.mesh.axes.size();
  has_choice_.resize(graph.values.size());
  for (const NodeId id : function.nodes) {
    const bool pin = ops[graph[id].op].name() == "pin";
    for (const ValueId result : graph[id].results) has_choice_[static_cast<size_t>(result.index)] = !pin;
  }
  std::map<ValueId, std::vector<const Reader*>> readers;
  std::map<ValueId, std::vector<types::Placements>> ends;
  for (const Wanted& want : wanted) ends[want.value].push_back(want.placements);
  std::vector<std::unique_ptr<Reader>> made;
  for (auto it = function.nodes.rbegin(); it != function.nodes.rend(); ++it) {
    const Node& node = graph[*it];
    auto reader = std::make_unique<Reader>();
    reader->node = &node;
    reader->rows.resize(axes);
    reader->whole_batches.resize(axes);
    reader->after_result.resize(axes);
    std::vector<types::TensorType> operand_types, result_types;
    for (const ValueId operand : node.operands) operand_types.push_back(graph[operand].type);
    for (const ValueId result : node.results) result_types.push_back(graph[result].type);
    const bool pin = ops[node.op].name() == "pin";
    for (size_t axis = 0; axis < axes; ++axis) {
      std::vector<PlacementRow>& rows = reader->rows[axis];
      // A pin is an end of what it reads, and a beginning that has no choice.
      if (!pin) rows = graph::placement_rows(ops[node.op], {operand_types, result_types, node.attrs, static_cast<int>(axis)});
      for (size_t i = 0; i < node.results.size(); ++i) {
        const ValueId result = node.results[i];
        std::vector<Costs>& of = costs_[static_cast<size_t>(result.index)];
        of.resize(axes);
        std::vector<Placement> stops;
        for (const types::Placements& end : ends[result]) stops.push_back(end[axis]);
        for (const PlacementRow& row : rows) {
          const Placement& placement = row.results[i];
          const bool known = std::any_of(of[axis].begin(), of[axis].end(), [&](const auto& cost) { return cost.first == placement; });
          if (!known) of[axis].emplace_back(placement, following(result, axis, placement, readers[result], stops));
        }
      }
      for (const PlacementRow& row : rows) {
        int64_t sum = work(node, row, axis);
        for (size_t i = 0; i < node.results.size(); ++i) sum += after(node.results[i], axis, row.results[i]);
        reader->after_result[axis].push_back(std::min(sum, kNoWay));
        reader->whole_batches[axis].push_back(whole_batches(row, result_types, axis));
      }
    }
    if (pin) continue;
    std::set<int32_t> seen;
    for (const ValueId operand : node.operands) {
      if (graph[operand].node && seen.insert(operand.index).second) readers[operand].push_back(reader.get());
    }
    reader->operands = std::max<int64_t>(1, static_cast<int64_t>(seen.size()));
    made.push_back(std::move(reader));
  }
}

int64_t Foresight::after(ValueId value, size_t axis, const Placement& placement) const {
  const std::vector<Costs>& of = costs_[static_cast<size_t>(value.index)];
  if (axis >= of.size()) return 0;
  for (const auto& [known, cost] : of[axis]) {
    if (known == placement) return cost;
  }
  return 0;
}

}  // namespace dtl::transform
