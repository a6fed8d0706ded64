// Checks of graph promises, from cheap to dear.
#include "compiler/graph/verify.h"

#include <algorithm>
#include <set>

#include "compiler/graph/placement_rows.h"
#include "compiler/graph/print.h"
#include "compiler/graph/signature.h"

namespace dtl::graph {
namespace {

using types::Placement;
using types::PlacementKind;

bool is_kept(Role role) {
  switch (role) {
    case Role::weight:
    case Role::state:
    case Role::optimizer:
    case Role::metric:
    case Role::pending:
    case Role::updates:
      return true;
    case Role::input:
    case Role::seed:
    case Role::report:
    case Role::output:
    case Role::least:
    case Role::most:
    case Role::none:
      return false;
  }
  __builtin_unreachable();
}

class Verifier {
 public:
  Verifier(const Graph& graph, const OpTable& ops) : graph_(graph), ops_(ops) {}

  std::string run() {
    std::set<std::string_view> names;
    for (size_t i = 0; i < graph_.functions.size(); ++i) {
      const Function& function = graph_.functions[i];
      if (!names.insert(function.name).second) return fmt::format("there are two functions `{}`", function.name);
      std::string broken = check_function({static_cast<int32_t>(i)});
      if (!broken.empty()) return fmt::format("function `{}`: {}", function.name, broken);
    }
    return {};
  }

 private:
  bool in_range(ValueId id) const { return id.index >= 0 && static_cast<size_t>(id.index) < graph_.values.size(); }
  bool in_range(NodeId id) const { return id.index >= 0 && static_cast<size_t>(id.index) < graph_.nodes.size(); }

  std::string define(FunctionId function, ValueId id, std::optional<NodeId> node, size_t place) {
    if (!in_range(id)) return "a value's id is out of range";
    const Value& value = graph_[id];
    if (value.function != function || value.node != node || value.result != static_cast<int32_t>(place)) {
      return fmt::format("`%{}` does not say where it is defined", value.name);
    }
    for (const types::Dim& dim : value.type.dims) {
      if (dim.constant().value_or(0) < 0) return fmt::format("`%{}` is {}, and {} is no size", value.name, value.type.str(), dim.str());
    }
    if (value.name.empty() || !names_.insert(value.name).second) return fmt::format("two values are called `%{}`", value.name);
    defined_[static_cast<size_t>(id.index)] = true;
    return {};
  }

  bool is_defined(ValueId id) const { return in_range(id) && defined_[static_cast<size_t>(id.index)]; }

  std::string check_function(FunctionId id) {
    const Function& function = graph_[id];
    names_.clear();
    sizes_ = {"batch", types::share_of("batch")};
    for (const auto& [name, largest] : graph_.bounds) sizes_.insert({name, types::share_of(name)});
    for (const Port& port : function.params) {
      if (!in_range(port.value)) continue;
      for (const types::Dim& dim : graph_[port.value].type.dims) {
        for (const std::string& symbol : dim.symbols()) sizes_.insert({symbol, types::share_of(symbol)});
      }
    }
    defined_.assign(graph_.values.size(), false);
    for (size_t i = 0; i < function.params.size(); ++i) {
      if (auto broken = define(id, function.params[i].value, std::nullopt, i); !broken.empty()) return broken;
    }
    for (const NodeId node : function.nodes) {
      if (!in_range(node)) return "a node's id is out of range";
      if (auto broken = check_node(id, node); !broken.empty()) return broken;
    }
    for (const Port& port : function.results) {
      if (!is_defined(port.value)) return "a result is not defined in the function";
    }
    if (auto broken = check_ports(function); !broken.empty()) return broken;
    return check_placements(id);
  }

  std::string check_node(FunctionId function, NodeId id) {
    const Node& node = graph_[id];
    if (node.op.index < 0 || static_cast<size_t>(node.op.index) >= ops_.records().size()) return "an op's id is out of range";
    const OpRecord& op = ops_[node.op];
    if (node.function != function) return fmt::format("a node `{}` belongs to another function", op.name());
    std::vector<types::TensorType> operands;
    for (const ValueId operand : node.operands) {
      if (!is_defined(operand)) {
        return fmt::format("`{}` reads `%{}` before it is defined", op.name(), in_range(operand) ? graph_[operand].name : "?");
      }
      operands.push_back(graph_[operand].type);
    }
    if (auto mismatch = signature_mismatch(*op.signature, node.operands.size(), node.attrs); !mismatch.empty()) return mismatch;
    for (const auto& [name, value] : node.attrs.values()) {
      const auto* dims = std::get_if<types::Dims>(&value);
      for (const types::Dim& dim : dims ? *dims : types::Dims()) {
        for (const std::string& symbol : dim.symbols()) {
          if (!sizes_.contains(symbol))
            return fmt::format("`{}` of `{}` is {}, and no parameter says what `{}` is", name, op.name(), dim.str(), symbol);
        }
      }
    }
    const auto types = result_types(graph_, op, operands, node.attrs);
    if (!types) return fmt::format("`{}` does not type: {}", op.name(), types.error().text);
    if (types->size() != node.results.size())
      return fmt::format("`{}` gives {} results, not {}", op.name(), types->size(), node.results.size());
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (auto broken = define(function, node.results[i], id, i); !broken.empty()) return broken;
      const Value& value = graph_[node.results[i]];
      if (value.type != (*types)[i]) return fmt::format("`%{}` is {} by infer, not {}", value.name, (*types)[i].str(), value.type.str());
    }
    return {};
  }

  std::string check_ports(const Function& function) const {
    std::set<std::pair<Role, std::string>> params, results;
    for (const Port& port : function.params) {
      const types::TensorType& type = graph_[port.value].type;
      const bool counter = port.role == Role::updates || port.role == Role::seed;
      if (port.role == Role::report || port.role == Role::output || port.role == Role::least || port.role == Role::most)
        return fmt::format("{} `{}` is a result, never a parameter", name_of(port.role), port.path);
      if (port.role == Role::input && (type.dims.empty() || type.dims[0] != types::Dim::symbol("batch"))) {
        return fmt::format("input `{}` is {}, but its first dimension must be `batch`", port.path, type.str());
      }
      if (counter && type != types::TensorType{DType::i64, {}})
        return fmt::format("parameter {} is i64[], not {}", name_of(port.role), type.str());
      if (port.role != Role::none && !params.emplace(port.role, port.path).second) {
        return fmt::format("two parameters are {} `{}`", name_of(port.role), port.path);
      }
    }
    for (const Port& port : function.results) {
      const types::TensorType& type = graph_[port.value].type;
      if (port.role == Role::output && (type.dims.empty() || type.dims[0] != types::Dim::symbol("batch")))
        return fmt::format("output `{}` is {}, but its first dimension must be `batch`", port.path, type.str());
      if (port.role != Role::none && !results.emplace(port.role, port.path).second) {
        return fmt::format("two results are {} `{}`", name_of(port.role), port.path);
      }
    }
    // A report function only reads what others accumulate.
    const bool reports =
        std::any_of(function.results.begin(), function.results.end(), [](const Port& port) { return port.role == Role::report; });
    for (const Port& param : function.params) {
      if (!is_kept(param.role) || reports) continue;
      const auto next = std::find_if(function.results.begin(), function.results.end(),
                                     [&](const Port& port) { return port.role == param.role && port.path == param.path; });
      if (next == function.results.end()) return fmt::format("{} `{}` has no next value", name_of(param.role), param.path);
      const types::TensorType &before = graph_[param.value].type, &after = graph_[next->value].type;
      if (before != after)
        return fmt::format("{} `{}` is {}, its next value {}", name_of(param.role), param.path, before.str(), after.str());
    }
    return {};
  }

  std::string check_placement(const Value& value) const {
    if (value.placements.size() != graph_.strategy.mesh.axes.size()) {
      return fmt::format("`%{}` has {} placements on a mesh of {} axes", value.name, value.placements.size(),
                         graph_.strategy.mesh.axes.size());
    }
    for (const Placement& placement : value.placements) {
      if (placement.kind == PlacementKind::split && (placement.dim < 0 || static_cast<size_t>(placement.dim) >= value.type.rank())) {
        return fmt::format("`%{}` is {}, and has no dimension {} to split", value.name, value.type.str(), placement.dim);
      }
    }
    return {};
  }

  std::string check_placements(FunctionId id) const {
    const Function& function = graph_[id];
    std::vector<ValueId> all;
    for (const Port& port : function.params) all.push_back(port.value);
    for (const NodeId node : function.nodes) all.insert(all.end(), graph_[node].results.begin(), graph_[node].results.end());
    const bool any = std::any_of(all.begin(), all.end(), [&](ValueId value) { return !graph_[value].placements.empty(); });
    if (!any) return {};
    for (const ValueId value : all) {
      if (auto broken = check_placement(graph_[value]); !broken.empty()) return broken;
    }
    for (const NodeId node : function.nodes) {
      if (auto broken = check_rows(graph_[node]); !broken.empty()) return broken;
    }
    return {};
  }

  /// A collective leaves each value as it is along other axes than its own, whatever the others in its bucket are.
  bool passes_by(const OpRecord& op, const Node& node, size_t axis) const {
    if (!op.evaluate->collective || node.attrs.get<int64_t>("axis") == static_cast<int64_t>(axis)) return false;
    if (node.operands.size() != node.results.size()) return false;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (graph_[node.operands[i]].placements[axis] != graph_[node.results[i]].placements[axis]) return false;
    }
    return true;
  }

  std::string check_rows(const Node& node) const {
    const OpRecord& op = ops_[node.op];
    // The body of a function is checked by itself.
    if (calls_function(*op.signature)) return {};
    std::vector<types::TensorType> operands, results;
    for (const ValueId value : node.operands) operands.push_back(graph_[value].type);
    for (const ValueId value : node.results) results.push_back(graph_[value].type);
    for (size_t axis = 0; axis < graph_.strategy.mesh.axes.size(); ++axis) {
      if (passes_by(op, node, axis)) continue;
      const auto on_axis = [&](const std::vector<ValueId>& values) {
        std::vector<Placement> placements;
        for (const ValueId value : values) placements.push_back(graph_[value].placements[axis]);
        return placements;
      };
      const std::vector<Placement> from = on_axis(node.operands), to = on_axis(node.results);
      const auto rows = placement_rows(op, {operands, results, node.attrs, static_cast<int>(axis)});
      const bool fits =
          std::any_of(rows.begin(), rows.end(), [&](const PlacementRow& row) { return row.operands == from && row.results == to; });
      if (!fits) {
        std::string shown;
        for (const ValueId value : node.operands) {
          shown += fmt::format("{}%{} @ {}", shown.empty() ? "" : ", ", graph_[value].name, graph_[value].placements[axis].str());
        }
        return fmt::format("no placement row of `{}` along mesh axis {} takes ({}) to {}", op.name(), graph_.strategy.mesh.axes[axis].name,
                           shown, types::str(to));
      }
    }
    return {};
  }

  const Graph& graph_;
  const OpTable& ops_;
  std::set<std::string_view> names_;
  std::set<std::string> sizes_;  ///< names of dimensions that are known in the function
  std::vector<bool> defined_;
};

}  // namespace

std::string verify(const Graph& graph, const OpTable& ops) { return Verifier(graph, ops).run(); }

}  // namespace dtl::graph
