// Reverse-mode differentiation over the graph as rebuilt so far, so that a gradient node may stand behind another one.
#include "compiler/transform/gradient.h"

#include <map>
#include <set>

#include "compiler/graph/rewriter.h"
#include "compiler/source/check.h"
#include "compiler/transform/dead_nodes.h"

namespace dtl::transform {
namespace {

using graph::Builder;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

size_t index_of(ValueId value) { return static_cast<size_t>(value.index); }

class Reverse {
 public:
  Reverse(Builder& builder, ValueId loss, const std::vector<ValueId>& by)
      : builder_(builder),
        nodes_(graph()[builder.function()].nodes),
        reached_(graph().values.size()),
        contributions_(graph().values.size()) {
    for (const ValueId value : by) reached_[index_of(value)] = true;
    for (const NodeId id : nodes_) {
      const Node& node = graph()[id];
      bool any = false;
      for (const ValueId operand : node.operands) any = any || reached_[index_of(operand)];
      for (const ValueId result : node.results) reached_[index_of(result)] = reached_[index_of(result)] || any;
    }
    if (!reached_[index_of(loss)]) return;
    contributions_[index_of(loss)] = {builder_.add("constant", {}, filled_like(loss, 1), "d." + graph()[loss].name)};
    for (auto id = nodes_.rbegin(); id != nodes_.rend(); ++id) step(*id);
  }

  /// The derivative of the loss by `value`: zeros if none has reached it.
  ValueId by(ValueId value) {
    if (const auto found = cotangent(value)) return *found;
    return builder_.add("constant", {}, filled_like(value, 0), "d." + graph()[value].name);
  }

 private:
  Graph& graph() { return builder_.graph(); }

  types::Attrs filled_like(ValueId value, double number) {
    const types::TensorType type = graph()[value].type;
    return {{"value", number}, {"dtype", type.dtype}, {"shape", type.dims}};
  }

  /// The sum of what has come to `value` so far.
  std::optional<ValueId> cotangent(ValueId value) {
    auto& parts = contributions_[index_of(value)];
    join_pieces(value, parts);
    while (parts.size() > 1) {
      const ValueId sum = builder_.add("add", {parts[0], parts[1]}, {}, "d." + graph()[value].name);
      parts.erase(parts.begin(), parts.begin() + 2);
      parts.insert(parts.begin(), sum);
    }
    return parts.empty() ? std::nullopt : std::optional(parts[0]);
  }

  /// A tensor that is read piece by piece, as `scan` reads, gets a piece from each reader: those that tile it along one axis
  /// are put together in one go, where adding them up, each padded with zeros, would take the square of their number.
  void join_pieces(ValueId value, std::vector<ValueId>& parts) {
    const types::Dims whole = graph()[value].type.dims;
    if (parts.size() < 2 || whole.empty()) return;
    std::optional<size_t> axis;
    std::map<int64_t, ValueId> pieces;  // by begin
    for (const ValueId part : parts) {
      const auto maker = graph()[part].node;
      if (!maker || builder_.ops()[graph()[*maker].op].name() != "pad") return;
      const Node& pad = graph()[*maker];
      const types::Dims& dims = graph()[pad.operands[0]].type.dims;
      const auto& before = pad.attrs.get<types::Ints>("before");
      for (size_t d = 0; d < whole.size(); ++d) {
        if (dims[d] == whole[d]) continue;
        if (axis && *axis != d) return;
        axis = d;
      }
      if (!axis || !pieces.emplace(before[*axis], pad.operands[0]).second) return;
    }
    std::vector<ValueId> operands;
    int64_t end = 0;
    for (const auto& [begin, piece] : pieces) {
      const auto size = graph()[piece].type.dims[*axis].constant();
      if (begin != end || !size) return;
      end += *size;
      operands.push_back(piece);
    }
    if (whole[*axis] != types::Dim(end)) return;
    parts = {builder_.add("concat", operands, {{"axis", static_cast<int64_t>(*axis)}}, "d." + graph()[value].name)};
  }

  void step(NodeId id) {
    const Node node = graph()[id];  // a copy: building moves the stores
    bool wanted = false, given = false;
    for (const ValueId operand : node.operands) wanted = wanted || reached_[index_of(operand)];
    for (const ValueId result : node.results) given = given || !contributions_[index_of(result)].empty();
    if (!wanted || !given) return;

    const graph::OpRecord& op = builder_.ops()[node.op];
    if (std::holds_alternative<graph::Zero>(*op.gradient)) return;
    const auto* refused = std::get_if<graph::NotDifferentiable>(&*op.gradient);
    DTL_CHECK(!refused, "a gradient goes through `{}` (%{}), which has none: {}", op.name(), graph()[node.results[0]].name,
              refused->reason);

    builder_.at(node.range, node.scope);
    std::vector<std::optional<ValueId>> cotangents;
    for (const ValueId result : node.results) cotangents.push_back(cotangent(result));
    const auto first_new = static_cast<int32_t>(graph().values.size());
    graph::GradientContext context{builder_, node.attrs, node.operands, node.results, cotangents};
    const auto parts = std::get<graph::GradientRule>(*op.gradient)(context);
    DTL_CHECK(parts.size() == node.operands.size(), "the gradient of `{}` has {} parts for {} operands", op.name(), parts.size(),
              node.operands.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      const ValueId operand = node.operands[i];
      if (!parts[i] || !reached_[index_of(operand)]) continue;
      const std::string name = graph()[operand].name;
      DTL_CHECK(graph()[*parts[i]].type == graph()[operand].type, "the gradient of `{}` by %{} is {}, not {}", op.name(), name,
                graph()[*parts[i]].type.str(), graph()[operand].type.str());
      contributions_[index_of(operand)].push_back(*parts[i]);
      // A made value is called after what it is the cotangent of; names become unique when dead nodes are left out.
      if (parts[i]->index >= first_new && renamed_.insert(*parts[i]).second) graph()[*parts[i]].name = "d." + name;
    }
  }

  Builder& builder_;
  const std::vector<NodeId> nodes_;  ///< as they stand before the gradient's own
  std::vector<bool> reached_;        ///< depends on one of the w's
  std::vector<std::vector<ValueId>> contributions_;
  std::set<ValueId> renamed_;
};

}  // namespace

Graph gradient(const Graph& graph, const graph::OpTable& ops) {
  graph::Rewriter rewriter(graph, ops);
  for (size_t f = 0; f < graph.functions.size(); ++f) {
    rewriter.begin({static_cast<int32_t>(f)});
    for (const NodeId id : graph.functions[f].nodes) {
      const Node& node = graph[id];
      if (ops[node.op].name() != "gradient") {
        rewriter.copy(id);
        continue;
      }
      const std::vector<ValueId> operands = rewriter.map(node.operands);
      const std::vector<ValueId> by(operands.begin() + 1, operands.end());
      rewriter.at(id);
      Reverse reverse(rewriter.builder(), operands[0], by);
      for (size_t i = 0; i < by.size(); ++i) {
        rewriter.at(id);
        rewriter.set(node.results[i], reverse.by(by[i]));
      }
    }
    rewriter.finish();
  }
  // Rules give cotangents for all operands, wanted or not.
  return without_dead_nodes(rewriter.take(), ops);
}

std::string gradient_broken(const Graph& graph, const graph::OpTable& ops) {
  for (const Node& node : graph.nodes) {
    if (ops[node.op].name() == "gradient") return fmt::format("%{} is still a gradient node's", graph[node.results[0]].name);
  }
  return {};
}

}  // namespace dtl::transform
