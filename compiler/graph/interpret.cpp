// The interpreter: values per member, nodes in order.
#include "compiler/graph/interpret.h"

#include <algorithm>

#include "compiler/graph/members.h"
#include "compiler/graph/print.h"
#include "compiler/graph/rewriter.h"
#include "compiler/graph/signature.h"
#include "compiler/source/check.h"

namespace dtl::graph {
namespace {

/// One array for each member.
using Held = std::vector<Array>;

bool is_placed(const Graph& graph, const Function& function) {
  for (const Port& port : function.params) {
    if (!graph[port.value].placements.empty()) return true;
  }
  for (const NodeId node : function.nodes) {
    for (const ValueId result : graph[node].results) {
      if (!graph[result].placements.empty()) return true;
    }
  }
  return false;
}

class Run {
 public:
  Run(const Graph& graph, const OpTable& ops, const Members& members) : graph_(graph), ops_(ops), members_(members) {}

  std::vector<Held> function(FunctionId id, std::vector<Held> params) {
    const Function& function = graph_[id];
    DTL_CHECK(params.size() == function.params.size(), "`{}` has {} parameters, {} arrays are given", function.name, function.params.size(),
              params.size());
    std::vector<Held> values(graph_.values.size());
    std::vector<int> left = use_counts(graph_, id);
    for (size_t i = 0; i < params.size(); ++i) values[index(function.params[i].value)] = std::move(params[i]);
    for (const NodeId node_id : function.nodes) {
      const Node& node = graph_[node_id];
      std::vector<const Held*> operands;
      for (const ValueId operand : node.operands) operands.push_back(&values[index(operand)]);
      std::vector<Held> results = this->node(node_id, operands);
      for (size_t i = 0; i < results.size(); ++i) values[index(node.results[i])] = std::move(results[i]);
      for (const ValueId operand : node.operands) {
        if (--left[index(operand)] == 0) values[index(operand)].clear();
      }
    }
    std::vector<Held> results;
    for (const Port& port : function.results) results.push_back(values[index(port.value)]);
    return results;
  }

 private:
  static size_t index(ValueId value) { return static_cast<size_t>(value.index); }

  std::vector<Held> node(NodeId id, const std::vector<const Held*>& operands) {
    const Node& node = graph_[id];
    const OpRecord& op = ops_[node.op];
    std::vector<Held> results;
    if (calls_function(*op.signature)) {
      const auto callee = graph_.find_function(node.attrs.get<std::string>("function"));
      DTL_CHECK(callee.has_value(), "`{}` runs a function that is not there", print(graph_, ops_, id));
      std::vector<Held> params;
      for (const Held* operand : operands) params.push_back(*operand);
      results = function(*callee, std::move(params));
    } else if (op.evaluate->collective) {
      results = collective(node, op, operands);
    } else {
      DTL_CHECK(static_cast<bool>(op.evaluate->local), "`{}` is replaced by a pass before a graph can run", op.name());
      results = local(node, op, operands);
    }
    check(id, results);
    return results;
  }

  std::vector<Held> local(const Node& node, const OpRecord& op, const std::vector<const Held*>& operands) {
    std::vector<Held> results(node.results.size());
    std::vector<types::TensorType> types;
    for (const ValueId result : node.results) types.push_back(graph_[result].type);
    for (size_t member = 0; member < members_.count(); ++member) {
      std::vector<Array> own;
      for (const Held* operand : operands) own.push_back((*operand)[member]);
      std::vector<std::vector<int64_t>> shapes, offsets;
      for (const ValueId result : node.results) {
        Part part = members_.part(graph_[result].type, graph_[result].placements, member);
        shapes.push_back(std::move(part.shape));
        offsets.push_back(std::move(part.offset));
      }
      std::vector<Array> arrays = op.evaluate->local({types, shapes, offsets, members_.dims(member)}, node.attrs, own);
      DTL_CHECK(arrays.size() == results.size(), "`{}` evaluates to {} results, not {}", op.name(), arrays.size(), results.size());
      for (size_t i = 0; i < arrays.size(); ++i) results[i].push_back(std::move(arrays[i]));
    }
    return results;
  }

  std::vector<Held> collective(const Node& node, const OpRecord& op, const std::vector<const Held*>& operands) {
    DTL_CHECK(operands.size() == node.results.size(), "`{}` changes the placement of each operand", op.name());
    std::vector<Held> results(operands.size(), Held(members_.count()));
    for (size_t i = 0; i < operands.size(); ++i) {
      const Value& value = graph_[node.results[i]];
      for (const std::vector<size_t>& group : members_.groups(node.attrs.get<int64_t>("axis"))) {
        Held own;
        std::vector<std::vector<int64_t>> shapes, offsets;
        for (const size_t member : group) {
          own.push_back((*operands[i])[member]);
          Part part = members_.part(value.type, value.placements, member);
          shapes.push_back(std::move(part.shape));
          offsets.push_back(std::move(part.offset));
        }
        Held arrays = op.evaluate->collective({shapes, offsets}, node.attrs, own);
        DTL_CHECK(arrays.size() == group.size(), "`{}` evaluates to {} members' results, not {}", op.name(), arrays.size(), group.size());
        for (size_t m = 0; m < group.size(); ++m) results[i][group[m]] = std::move(arrays[m]);
      }
    }
    return results;
  }

  void check(NodeId id, const std::vector<Held>& results) const {
    for (size_t i = 0; i < results.size(); ++i) {
      const Value& value = graph_[graph_[id].results[i]];
      for (size_t member = 0; member < members_.count(); ++member) {
        const Array& array = results[i][member];
        const std::vector<int64_t> shape = members_.part(value.type, value.placements, member).shape;
        DTL_CHECK(array.shape == shape, "`{}` evaluates to shape [{}] in member {}, not [{}]", print(graph_, ops_, id),
                  fmt::join(array.shape, ", "), member, fmt::join(shape, ", "));
        int64_t elements = 1;
        for (const int64_t size : shape) elements *= size;
        DTL_CHECK(static_cast<int64_t>(array.data.size()) == elements, "`{}` evaluates to {} elements, not {}", print(graph_, ops_, id),
                  array.data.size(), elements);
        DTL_CHECK(array.dtype == value.type.dtype, "`{}` evaluates to {}", print(graph_, ops_, id), name_of(array.dtype));
      }
    }
  }

  const Graph& graph_;
  const OpTable& ops_;
  const Members& members_;
};

}  // namespace

std::vector<Array> interpret(const Graph& graph, const OpTable& ops, FunctionId id, std::span<const Array> params,
                             const std::map<std::string, int64_t>& dims) {
  const Function& function = graph[id];
  DTL_CHECK(params.size() == function.params.size(), "`{}` has {} parameters, {} arrays are given", function.name, function.params.size(),
            params.size());
  const Members members(graph, is_placed(graph, function), dims);
  std::vector<Held> held;
  for (size_t i = 0; i < params.size(); ++i) held.push_back(members.cut(params[i], graph[function.params[i].value]));
  std::vector<Held> results = Run(graph, ops, members).function(id, std::move(held));
  std::vector<Array> joined;
  for (size_t i = 0; i < results.size(); ++i) joined.push_back(members.join(std::move(results[i]), graph[function.results[i].value]));
  return joined;
}

}  // namespace dtl::graph
