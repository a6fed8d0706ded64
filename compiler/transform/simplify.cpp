// The walk of simplify: rules first, then nodes made before, then new ones.
#include "compiler/transform/simplify.h"

#include <unordered_map>

#include "compiler/graph/rewriter.h"
#include "compiler/graph/signature.h"
#include "compiler/source/check.h"
#include "compiler/transform/dead_nodes.h"
#include "compiler/transform/simplify_rules.h"

namespace dtl::transform {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

std::optional<Node> Site::made_by(ValueId value, std::string_view op_name) const {
  const auto node = builder.graph()[value].node;
  if (!node || builder.ops()[builder.graph()[*node].op].name() != op_name) return std::nullopt;
  return builder.graph()[*node];
}

std::optional<double> Site::constant(ValueId value) const {
  const auto node = made_by(value, "constant");
  return node ? std::optional(node->attrs.get<double>("value")) : std::nullopt;
}

ValueId Site::filled(double number, const types::TensorType& like) const {
  return make("constant", {}, {{"value", number}, {"dtype", like.dtype}, {"shape", like.dims}});
}

namespace {

/// Equal keys, equal values: ops have no effects, and random numbers are named by their stream.
std::string key(std::string_view op, std::span<const ValueId> operands, const types::Attrs& attrs) {
  std::string text(op);
  for (const ValueId operand : operands) text += fmt::format(" {}", operand.index);
  return text + " " + attrs.str();
}

class Simplifier {
 public:
  explicit Simplifier(graph::Builder& builder) : builder_(builder) {}

  std::vector<ValueId> make(const graph::OpRecord& op, std::vector<ValueId> operands, const types::Attrs& attrs,
                            const std::vector<std::string>& names) {
    if (op.signature->results == 1) {
      if (const auto simpler = by_rule(op, operands, attrs, names)) return {*simpler};
    }
    const std::string text = key(op.name(), operands, attrs);
    if (const auto known = made_.find(text); known != made_.end()) return known->second;
    return made_[text] = builder_.add_named(op.name(), std::move(operands), attrs, names);
  }

 private:
  std::optional<ValueId> by_rule(const graph::OpRecord& op, const std::vector<ValueId>& operands, const types::Attrs& attrs,
                                 const std::vector<std::string>& names) {
    std::vector<types::TensorType> types;
    for (const ValueId operand : operands) types.push_back(builder_.type(operand));
    const auto results = graph::result_types(builder_.graph(), op, types, attrs);
    DTL_CHECK(results && results->size() == 1, "`{}` does not type after a rule: {}", op.name(),
              results ? "several results" : results.error().text);
    const std::function<ValueId(std::string_view, std::vector<ValueId>, types::Attrs)> make_one =
        [&](std::string_view name, std::vector<ValueId> over, types::Attrs with) {
          const auto id = builder_.ops().find(name);
          DTL_CHECK(id.has_value(), "there is no op `{}`", name);
          return make(builder_.ops()[*id], std::move(over), with, {})[0];
        };
    const Site site{builder_, op, operands, attrs, (*results)[0], make_one};
    const auto first_new = static_cast<int32_t>(builder_.graph().values.size());
    for (const auto* rules : {&arithmetic_rules(), &shape_rules()}) {
      for (const Rule& rule : *rules) {
        const auto simpler = rule.apply(site);
        if (!simpler) continue;
        DTL_CHECK(builder_.type(*simpler) == site.type, "rule {} makes {} of {}", rule.name, builder_.type(*simpler).str(),
                  site.type.str());
        // The last of several made is what the node was; names become unique when dead nodes are left out.
        if (simpler->index >= first_new && !names.empty()) builder_.graph()[*simpler].name = names[0];
        return simpler;
      }
    }
    return std::nullopt;
  }

  graph::Builder& builder_;
  std::unordered_map<std::string, std::vector<ValueId>> made_;
};

/// Placed already, or not yet differentiated: not for this pass.
bool stays(const Graph& graph, const graph::OpTable& ops, graph::FunctionId function) {
  for (const graph::Port& port : graph[function].params) {
    if (!graph[port.value].placements.empty()) return true;
  }
  for (const NodeId node : graph[function].nodes) {
    if (ops[graph[node].op].name() == "gradient") return true;
    for (const ValueId result : graph[node].results) {
      if (!graph[result].placements.empty()) return true;
    }
  }
  return false;
}

}  // namespace

Graph simplify(const Graph& graph, const graph::OpTable& ops) {
  graph::Rewriter rewriter(graph, ops);
  for (size_t f = 0; f < graph.functions.size(); ++f) {
    const graph::FunctionId function{static_cast<int32_t>(f)};
    if (stays(graph, ops, function)) {
      rewriter.copy_function(function);
      continue;
    }
    rewriter.begin(function);
    Simplifier simplifier(rewriter.builder());
    const std::vector<bool> live = graph::live_nodes(graph, function);
    for (const NodeId id : graph[function].nodes) {
      if (!live[static_cast<size_t>(id.index)]) continue;
      const Node& node = graph[id];
      rewriter.at(id);
      std::vector<std::string> names;
      for (const ValueId result : node.results) names.push_back(graph[result].name);
      const auto results = simplifier.make(ops[node.op], rewriter.map(node.operands), node.attrs, names);
      for (size_t i = 0; i < results.size(); ++i) rewriter.set(node.results[i], results[i]);
    }
    rewriter.finish();
  }
  return without_dead_nodes(rewriter.take(), ops);
}

std::string simplify_broken(const Graph& graph, const graph::OpTable& ops) {
  for (size_t f = 0; f < graph.functions.size(); ++f) {
    const graph::FunctionId function{static_cast<int32_t>(f)};
    if (stays(graph, ops, function)) continue;
    const std::vector<bool> live = graph::live_nodes(graph, function);
    std::unordered_map<std::string, std::string> seen;
    for (const NodeId id : graph[function].nodes) {
      const Node& node = graph[id];
      const std::string& name = graph[node.results[0]].name;
      if (!live[static_cast<size_t>(id.index)]) return fmt::format("%{} is dead", name);
      if (ops[node.op].name() == "stop_gradient") return fmt::format("%{} still stops a gradient", name);
      const auto [first, fresh] = seen.emplace(key(ops[node.op].name(), node.operands, node.attrs), name);
      if (!fresh) return fmt::format("%{} repeats %{}", name, first->second);
    }
  }
  return {};
}

}  // namespace dtl::transform
