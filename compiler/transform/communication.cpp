// Collectives found in a placed graph.
#include "compiler/transform/communication.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/transform/reshard.h"

namespace dtl::transform {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Role;
using graph::ValueId;

bool is_collective(const std::string& op) {
  static const std::set<std::string> kCollectives = {"all_reduce", "reduce_scatter", "all_gather", "all_to_all"};
  return kCollectives.contains(op);
}

/// `Net/dense.0/kernel` of the value that lowering called `Net/dense.0/kernel/gradient`; empty: it is no gradient.
std::string gradient_of(const std::string& name) {
  const size_t at = name.rfind("/gradient");
  return at == std::string::npos ? std::string() : name.substr(0, at);
}

/// What a value is to the program.
std::string what_of(const Graph& graph, const graph::OpTable& ops, const graph::Function& function, ValueId from, ValueId to) {
  for (const graph::Port& port : function.params) {
    if (port.value != from) continue;
    return (port.role == Role::weight ? "weight " : "") + port.path;
  }
  for (const graph::Port& port : function.results) {
    if (port.value != to || port.path.empty()) continue;
    if (port.role == Role::weight) return "new " + port.path;
    return port.path;
  }
  for (const ValueId value : {from, to}) {
    if (const std::string weight = gradient_of(graph[value].name); !weight.empty()) return "gradient of " + weight;
  }
  const Node& node = graph[*graph[from].node];
  const std::string& op = ops[node.op].name();
  // Of what went over another axis before: what that was.
  if (is_collective(op)) return what_of(graph, ops, function, node.operands[static_cast<size_t>(graph[from].result)], from);
  return op == "reduce" ? std::string(name_of(node.attrs.get<ReduceOp>("op"))) : op;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

int64_t Collective::bytes() const {
  int64_t sum = 0;
  for (const Moved& moved : values) sum += moved.bytes;
  return sum;
}

double Collective::sent(int64_t members) const {
  const auto n = static_cast<double>(members);
  const double share = static_cast<double>(bytes()) * (n - 1) / n;
  if (kind == "all_reduce") return 2 * share;
  return kind == "all_to_all" ? share / n : share;
}

std::vector<Collective> collectives(const Graph& graph, const graph::OpTable& ops, std::string_view name) {
  std::vector<Collective> result;
  const auto id = graph.find_function(name);
  if (!id) return result;
  const graph::Function& function = graph[*id];
  for (const NodeId node_id : function.nodes) {
    const Node& node = graph[node_id];
    const std::string& op = ops[node.op].name();
    if (!is_collective(op)) continue;
    Collective collective;
    collective.kind = op;
    collective.axis = static_cast<size_t>(node.attrs.get<int64_t>("axis"));
    if (op == "all_reduce" || op == "reduce_scatter") collective.op = node.attrs.get<ReduceOp>("op");
    if (op == "all_reduce" && node.attrs.find("bucket")) collective.bucket = node.attrs.get<int64_t>("bucket");
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const ValueId from = node.operands[i], to = node.results[i];
      const graph::Value& value = graph[from];
      // Where a member holds a part, before or after, the whole is the larger of the two.
      int64_t bytes = std::max(member_bytes(graph, from), member_bytes(graph, to));
      if (op == "all_to_all") bytes *= graph.strategy.mesh.axes[collective.axis].size;
      const Node& made = value.node ? graph[*value.node] : node;
      collective.values.push_back({what_of(graph, ops, function, from, to), value.type.str(), value.placements, graph[to].placements, bytes,
                                   made.range, made.scope});
    }
    result.push_back(std::move(collective));
  }
  return result;
}

std::string dot(const Graph& graph, const graph::OpTable& ops, std::string_view name) {
  const auto id = graph.find_function(name);
  if (!id) return {};
  const graph::Function& function = graph[*id];
  std::string text = fmt::format("digraph {} {{\n  rankdir = TB; node [shape = box, fontname = \"sans-serif\", fontsize = 10];\n", name);
  std::map<ValueId, std::string> makers;
  for (const graph::Port& port : function.params) {
    const std::string key = fmt::format("p{}", port.value.index);
    makers[port.value] = key;
    text += fmt::format("  {} [style = rounded, label = \"{}\\n{}\\n{}\"];\n", key, escaped(graph[port.value].name),
                        escaped(graph[port.value].type.str()), escaped(types::str(graph[port.value].placements)));
  }
  for (const NodeId node_id : function.nodes) {
    const Node& node = graph[node_id];
    const std::string key = fmt::format("n{}", node_id.index);
    const std::string& op = ops[node.op].name();
    std::string label = op;
    for (const ValueId result : node.results) {
      makers[result] = key;
      label += fmt::format("\\n{}: {} @ {}", escaped(graph[result].name), escaped(graph[result].type.str()),
                           escaped(types::str(graph[result].placements)));
    }
    text += fmt::format("  {} [label = \"{}\"{}];\n", key, label, is_collective(op) ? ", style = filled, fillcolor = gold" : "");
    std::set<std::string> drawn;
    for (const ValueId operand : node.operands) {
      if (const auto maker = makers.find(operand); maker != makers.end() && drawn.insert(maker->second).second)
        text += fmt::format("  {} -> {};\n", maker->second, key);
    }
  }
  return text + "}\n";
}

}  // namespace dtl::transform
