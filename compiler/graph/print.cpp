// Printing of graphs.
#include "compiler/graph/print.h"

#include "compiler/types/scan.h"

namespace dtl::graph {
namespace {

std::string header(const Graph& graph) {
  const types::Strategy& strategy = graph.strategy;
  std::string text;
  if (!strategy.mesh.axes.empty()) {
    text += "mesh ";
    for (size_t i = 0; i < strategy.mesh.axes.size(); ++i) {
      text += fmt::format("{}{} = {}", i ? ", " : "", strategy.mesh.axes[i].name, strategy.mesh.axes[i].size);
    }
    text += "\n";
  }
  types::Attrs attrs;
  if (!strategy.name.empty()) attrs.set("name", strategy.name);
  if (!strategy.batch.empty()) attrs.set("batch", strategy.batch);
  if (!strategy.weights.empty()) attrs.set("weights", strategy.weights);
  if (!strategy.gradients.empty()) attrs.set("gradients", strategy.gradients);
  if (!strategy.optimizer.empty()) attrs.set("optimizer", strategy.optimizer);
  const types::Communication& communication = strategy.communication;
  const types::Communication usual;
  if (communication.first_bucket != usual.first_bucket) attrs.set("first_bucket", communication.first_bucket);
  if (communication.bucket != usual.bucket) attrs.set("bucket", communication.bucket);
  if (communication.overlap != usual.overlap) attrs.set("overlap", communication.overlap);
  if (communication.timeout_seconds != usual.timeout_seconds) attrs.set("timeout", communication.timeout_seconds);
  if (!attrs.empty()) text += "strategy " + attrs.str() + "\n";
  for (const auto& [path, placement] : strategy.own) {
    text += "place " + types::quote(path);
    const char* before = " ";
    for (size_t axis = 0; axis < placement.size(); ++axis) {
      if (!placement[axis]) continue;
      text += fmt::format("{}{} = {}", before, strategy.mesh.axes[axis].name, placement[axis]->str());
      before = ", ";
    }
    text += "\n";
  }
  if (!graph.bounds.empty()) {
    text += "bounds ";
    for (size_t i = 0; i < graph.bounds.size(); ++i)
      text += fmt::format("{}{} = {}", i ? ", " : "", graph.bounds[i].first, graph.bounds[i].second);
    text += "\n";
  }
  if (graph.products != DType::f32) text += fmt::format("products {}\n", name_of(graph.products));
  return text;
}

std::string declared(const Value& value) {
  std::string text = fmt::format("%{}: {}", value.name, value.type.str());
  if (!value.placements.empty()) text += " @ " + types::str(value.placements);
  return text;
}

std::string role_text(const Port& port) {
  if (port.role == Role::none && port.path.empty()) return {};
  std::string text = fmt::format(" {{{}", name_of(port.role));
  if (!port.path.empty()) text += " " + types::quote(port.path);
  // An accumulator's start is part of what it is; elsewhere there is none.
  if (port.identity != 0) text += ", identity = " + types::number_text(port.identity);
  return text + "}";
}

std::string function_text(const Graph& graph, const OpTable& ops, const Function& function) {
  std::string text = "func " + function.name + "(";
  for (size_t i = 0; i < function.params.size(); ++i) {
    text += (i ? ",\n  " : "\n  ") + declared(graph[function.params[i].value]) + role_text(function.params[i]);
  }
  text += function.params.empty() ? ") {\n" : "\n) {\n";
  std::string_view scope;
  for (const NodeId id : function.nodes) {
    const Node& node = graph[id];
    if (node.scope != scope) {
      text += "  in " + types::quote(node.scope) + "\n";
      scope = node.scope;
    }
    text += "  " + print(graph, ops, id) + "\n";
  }
  text += "  return";
  for (size_t i = 0; i < function.results.size(); ++i) {
    text += (i ? ",\n    %" : "\n    %") + graph[function.results[i].value].name + role_text(function.results[i]);
  }
  return text + "\n}\n";
}

}  // namespace

std::string print(const Graph& graph, const OpTable& ops, NodeId id) {
  const Node& node = graph[id];
  std::string text;
  for (size_t i = 0; i < node.results.size(); ++i) text += (i ? ", " : "") + declared(graph[node.results[i]]);
  text += (text.empty() ? "= " : " = ") + ops[node.op].name() + "(";
  for (size_t i = 0; i < node.operands.size(); ++i) text += (i ? ", %" : "%") + graph[node.operands[i]].name;
  text += ")";
  if (!node.attrs.empty()) text += " " + node.attrs.str();
  return text;
}

std::string print(const Graph& graph, const OpTable& ops, std::string_view only_function) {
  std::string text = header(graph);
  for (const Function& function : graph.functions) {
    if (!only_function.empty() && function.name != only_function) continue;
    if (!text.empty()) text += "\n";
    text += function_text(graph, ops, function);
  }
  return text;
}

}  // namespace dtl::graph
