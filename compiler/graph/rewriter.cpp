// Rewriter: copying and mapping.
#include "compiler/graph/rewriter.h"

#include "compiler/source/check.h"

namespace dtl::graph {

Rewriter::Rewriter(const Graph& old, const OpTable& ops) : old_(&old), ops_(&ops), map_(old.values.size()) {
  graph_.strategy = old.strategy;
  graph_.bounds = old.bounds;
  graph_.products = old.products;
  graph_.values.reserve(old.values.size());
  graph_.nodes.reserve(old.nodes.size());
}

void Rewriter::begin(FunctionId old_function) {
  const Function& function = (*old_)[old_function];
  begin_new(function.name);
  old_function_ = old_function;
  for (const Port& port : function.params) {
    const Value& value = (*old_)[port.value];
    const ValueId param = builder_->param(value.name, value.type, port.role, port.path, port.identity);
    graph_[param].placements = value.placements;
    set(port.value, param);
  }
}

void Rewriter::begin_new(std::string name) {
  const FunctionId id{static_cast<int32_t>(graph_.functions.size())};
  graph_.functions.push_back({std::move(name), {}, {}, {}});
  old_function_.reset();
  builder_.emplace(*ops_, graph_, id);
}

Builder& Rewriter::builder() {
  DTL_CHECK(builder_.has_value(), "no function was begun");
  return *builder_;
}

ValueId Rewriter::map(ValueId old_value) const {
  const auto& mapped = map_[static_cast<size_t>(old_value.index)];
  DTL_CHECK(mapped.has_value(), "`%{}` has no value in the new graph yet", (*old_)[old_value].name);
  return *mapped;
}

std::vector<ValueId> Rewriter::map(std::span<const ValueId> old_values) const {
  std::vector<ValueId> values;
  values.reserve(old_values.size());
  for (const ValueId value : old_values) values.push_back(map(value));
  return values;
}

bool Rewriter::has(ValueId old_value) const { return map_[static_cast<size_t>(old_value.index)].has_value(); }

void Rewriter::set(ValueId old_value, ValueId new_value) { map_[static_cast<size_t>(old_value.index)] = new_value; }

void Rewriter::at(NodeId node) { builder().at((*old_)[node].range, (*old_)[node].scope); }

std::vector<ValueId> Rewriter::copy(NodeId node) { return copy(node, map((*old_)[node].operands), (*old_)[node].attrs); }

std::vector<ValueId> Rewriter::copy(NodeId id, std::vector<ValueId> operands, types::Attrs attrs) {
  const Node& node = (*old_)[id];
  at(id);
  std::vector<std::string> names;
  for (const ValueId result : node.results) names.push_back((*old_)[result].name);
  const std::vector<ValueId> results = builder().add_named((*ops_)[node.op].name(), std::move(operands), std::move(attrs), names);
  DTL_CHECK(results.size() == node.results.size(), "`{}` gives {} results after rewriting, {} before", (*ops_)[node.op].name(),
            results.size(), node.results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    graph_[results[i]].placements = (*old_)[node.results[i]].placements;
    set(node.results[i], results[i]);
  }
  return results;
}

void Rewriter::finish() {
  DTL_CHECK(old_function_.has_value(), "finish ends a function that begin began");
  for (const Port& port : (*old_)[*old_function_].results) builder_->result(map(port.value), port.role, port.path, port.identity);
  builder_.reset();
  old_function_.reset();
}

void Rewriter::copy_function(FunctionId old_function) {
  begin(old_function);
  for (const NodeId node : (*old_)[old_function].nodes) copy(node);
  finish();
}

Graph Rewriter::take() { return std::move(graph_); }

std::vector<bool> live_nodes(const Graph& graph, FunctionId function) {
  std::vector<bool> live_values(graph.values.size()), live(graph.nodes.size());
  for (const Port& port : graph[function].results) live_values[static_cast<size_t>(port.value.index)] = true;
  const auto& nodes = graph[function].nodes;
  for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
    const Node& node = graph[*id];
    bool used = false;
    for (const ValueId result : node.results) used = used || live_values[static_cast<size_t>(result.index)];
    if (!used) continue;
    live[static_cast<size_t>(id->index)] = true;
    for (const ValueId operand : node.operands) live_values[static_cast<size_t>(operand.index)] = true;
  }
  return live;
}

std::vector<int> use_counts(const Graph& graph, FunctionId function) {
  std::vector<int> counts(graph.values.size());
  for (const NodeId id : graph[function].nodes) {
    for (const ValueId operand : graph[id].operands) ++counts[static_cast<size_t>(operand.index)];
  }
  for (const Port& port : graph[function].results) ++counts[static_cast<size_t>(port.value.index)];
  return counts;
}

}  // namespace dtl::graph
