// Placement forward over the nodes, mesh axis by mesh axis, again with a look ahead as long as that saves bytes.
#include "compiler/transform/place.h"

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>

#include "compiler/graph/placement_rows.h"
#include "compiler/graph/rewriter.h"
#include "compiler/source/check.h"
#include "compiler/transform/dead_nodes.h"
#include "compiler/transform/foresight.h"
#include "compiler/transform/pass.h"
#include "compiler/transform/reshard.h"

namespace dtl::transform {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::PlacementRow;
using graph::Role;
using graph::ValueId;
using types::Placement;
using types::PlacementKind;
using types::Placements;

bool has_batch(const types::Dim& dim) {
  for (const std::string& symbol : dim.symbols()) {
    if (symbol == "batch") return true;
  }
  return false;
}

/// What the strategy says of a role, for a value of this type.
Placements fitted(const Graph& graph, const Placements& asked, const types::TensorType& type) {
  Placements placements(graph.strategy.mesh.axes.size());
  for (size_t axis = 0; axis < placements.size() && axis < asked.size(); ++axis) {
    const bool lacking = asked[axis].kind == PlacementKind::split && static_cast<size_t>(asked[axis].dim) >= type.rank();
    if (!lacking) placements[axis] = asked[axis];
  }
  return placements;
}

/// What waits for a reduction is partial over the axes that divide the batch.
Placements pending(const Graph& graph, double identity) {
  Placements placements(graph.strategy.mesh.axes.size());
  for (size_t axis = 0; axis < placements.size() && axis < graph.strategy.batch.size(); ++axis) {
    if (graph.strategy.batch[axis].kind == PlacementKind::split) placements[axis] = Placement::partial(reduction_from(identity));
  }
  return placements;
}

/// What a weight's own placement says in place of its role's: a split holds for its gradient and its optimizer's state too.
Placements with_own(const Graph& graph, Placements role, const std::string& path, bool of_weight) {
  const auto own = graph.strategy.own.find(path.substr(0, path.find(':')));
  if (own == graph.strategy.own.end()) return role;
  for (size_t axis = 0; axis < role.size() && axis < own->second.size(); ++axis) {
    const auto& placement = own->second[axis];
    if (placement && (of_weight || placement->kind == PlacementKind::split)) role[axis] = *placement;
  }
  return role;
}

/// What a pin asks of its value.
Placements asked_by_pin(const Graph& graph, const Node& node) {
  const std::string& role = node.attrs.get<std::string>("role");
  const Placements& asked = role == "batch"       ? graph.strategy.batch
                            : role == "weights"   ? graph.strategy.weights
                            : role == "gradients" ? graph.strategy.gradients
                                                  : graph.strategy.optimizer;
  return fitted(graph, with_own(graph, asked, node.attrs.get_or<std::string>("of", {}), role == "weights"), graph[node.results[0]].type);
}

/// How many results have the batch as a dimension, and would not be split along it although the strategy splits the batch.
int whole_batches(const Graph& graph, const PlacementRow& row, const std::vector<types::TensorType>& types, size_t axis) {
  const Placements& batch = graph.strategy.batch;
  if (axis >= batch.size() || batch[axis].kind != PlacementKind::split) return 0;
  int count = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    const auto& dims = types[i].dims;
    if (std::none_of(dims.begin(), dims.end(), has_batch)) continue;
    const bool split = row.results[i].kind == PlacementKind::split && has_batch(dims[static_cast<size_t>(row.results[i].dim)]);
    count += split ? 0 : 1;
  }
  return count;
}

/// Where a parameter or result lives; nothing where its role leaves it open.
std::optional<Placements> asked_of(const Graph& graph, const graph::Port& port, const types::TensorType& type) {
  switch (port.role) {
    case Role::input:
    case Role::output:
      return fitted(graph, graph.strategy.batch, type);
    case Role::weight:
      return fitted(graph, with_own(graph, graph.strategy.weights, port.path, true), type);
    case Role::optimizer:
      return fitted(graph, with_own(graph, graph.strategy.optimizer, port.path, false), type);
    case Role::pending:
      return pending(graph, port.identity);
    case Role::state:
    case Role::metric:
    case Role::updates:
    case Role::seed:
    case Role::report:
      return fitted(graph, {}, type);
    case Role::least:  // each member looks at its own
    case Role::most:
    case Role::none:
      return std::nullopt;
  }
  __builtin_unreachable();
}

class Placer {
 public:
  /// Without `ahead`, each node takes what is cheapest now.
  Placer(const Graph& old, const graph::OpTable& ops, graph::Rewriter& rewriter, graph::FunctionId function, const Foresight* ahead)
      : old_(old),
        ops_(ops),
        rewriter_(rewriter),
        function_(old[function]),
        ahead_(ahead),
        builder_(rewriter.builder()),
        resharder_(builder_) {
    for (const graph::Port& port : function_.results) defers_ = defers_ || port.role == Role::pending;
  }

  void run() {
    for (size_t i = 0; i < function_.params.size(); ++i) {
      const graph::Port& port = function_.params[i];
      const types::TensorType& type = old_[port.value].type;
      const bool rows = type.rank() > 0 && has_batch(type.dims[0]);
      const auto asked = asked_of(old_, port, type);
      placements_of(rewriter_.map(port.value)) = asked ? *asked : fitted(old_, rows ? old_.strategy.batch : Placements{}, type);
    }
    for (const NodeId id : function_.nodes) {
      rewriter_.at(id);
      if (ops_[old_[id].op].name() == "pin") {
        pin(id);
      } else {
        node(id);
      }
    }
    for (const graph::Port& port : function_.results) result(port);
  }

  /// After run: where the values of the function are, as their nodes give them.
  void note(Placed& placed) {
    placed.placements.resize(old_.values.size());
    placed.bytes.resize(old_.values.size());
    const auto add = [&](ValueId value) {
      const auto at = static_cast<size_t>(value.index);
      placed.placements[at] = placements_of(rewriter_.map(value));
      placed.bytes[at] = member_bytes(builder_.graph(), rewriter_.map(value));
    };
    for (const graph::Port& port : function_.params) add(port.value);
    for (const NodeId id : function_.nodes) {
      for (const ValueId value : old_[id].results) add(value);
    }
  }

 private:
  Placements& placements_of(ValueId value) { return builder_.graph()[value].placements; }
  size_t axes() const { return old_.strategy.mesh.axes.size(); }

  void pin(NodeId id) {
    const Node& node = old_[id];
    const ValueId value = rewriter_.map(node.operands[0]);
    const Placements to = asked_by_pin(old_, node);
    if (!resharder_.reachable(value, to))
      refuse(node, fmt::format("a value that is {} cannot become {}, as the strategy asks of its {}", types::str(placements_of(value)),
                               types::str(to), node.attrs.get<std::string>("role")));
    rewriter_.set(node.results[0], resharder_.reshard(value, to, old_[node.results[0]].name));
  }

  void node(NodeId id) {
    const Node& node = old_[id];
    std::vector<ValueId> operands = rewriter_.map(node.operands);
    if (defers_ && ops_[node.op].name() == "add") keep_partial(operands);
    std::vector<Placements> needed(operands.size(), Placements(axes())), given(node.results.size(), Placements(axes()));
    for (size_t axis = 0; axis < axes(); ++axis) {
      const PlacementRow row = choose(node, operands, axis);
      for (size_t i = 0; i < operands.size(); ++i) needed[i][axis] = row.operands[i];
      for (size_t i = 0; i < given.size(); ++i) given[i][axis] = row.results[i];
    }
    for (size_t i = 0; i < operands.size(); ++i) operands[i] = resharder_.reshard(operands[i], needed[i]);
    const auto results = rewriter_.copy(id, std::move(operands), node.attrs);
    for (size_t i = 0; i < results.size(); ++i) placements_of(results[i]) = given[i];
  }

  /// Where sums wait for their reduction, one term that every member knows must not ask for it.
  void keep_partial(std::vector<ValueId>& operands) {
    for (size_t axis = 0; axis < axes(); ++axis) {
      for (size_t i = 0; i < 2; ++i) {
        const Placement one = placements_of(operands[i])[axis], other = placements_of(operands[1 - i])[axis];
        const bool known = one.kind == PlacementKind::broadcast || one.kind == PlacementKind::split;
        if (known && other == Placement::partial(ReduceOp::sum)) operands[i] = counted_once(whole(operands[i], axis), axis);
      }
    }
  }

  /// A value that members hold whole or in parts along `axis`, held whole.
  ValueId whole(ValueId value, size_t axis) {
    Placements to = placements_of(value);
    to[axis] = Placement::broadcast();
    return resharder_.reshard(value, to);
  }

  /// A broadcast value as a partial one, where that can be.
  ValueId in_parts(ValueId value, size_t axis, const Placement& partial) {
    const auto id = builder_.graph()[value].node;
    if (id && ops_[builder_.graph()[*id].op].name() == "constant") {
      const Node node = builder_.graph()[*id];
      const std::vector<types::TensorType> types = {builder_.type(value)};
      for (const PlacementRow& row : graph::placement_rows(ops_[node.op], {{}, types, node.attrs, static_cast<int>(axis)})) {
        if (row.results[0] != partial) continue;
        const ValueId made = builder_.add("constant", {}, node.attrs, builder_.graph()[value].name);
        placements_of(made) = placements_of(value);
        placements_of(made)[axis] = partial;
        return made;
      }
    }
    return partial == Placement::partial(ReduceOp::sum) ? counted_once(value, axis) : value;
  }

  /// A broadcast value as a sum over the members of `axis`: the first has it, the others have zeros.
  ValueId counted_once(ValueId value, size_t axis) {
    const types::TensorType type = builder_.type(value);
    const Placements around = placements_of(value);
    const auto placed = [&](ValueId made, const Placement& placement, bool scalar) {
      placements_of(made) = scalar ? Placements(axes()) : around;
      placements_of(made)[axis] = placement;
      return made;
    };
    const types::Dims members = {types::Dim(old_.strategy.mesh.axes[axis].size)};
    const auto add = [&](const char* op, std::vector<ValueId> operands, const types::Attrs& attrs, const Placement& placement,
                         bool scalar) { return placed(builder_.add(op, std::move(operands), attrs, "first"), placement, scalar); };
    const Placement split = Placement::split(0), sum = Placement::partial(ReduceOp::sum);
    const ValueId member = add("iota", {}, {{"shape", members}, {"axis", int64_t{0}}, {"dtype", DType::i32}}, split, true);
    const ValueId zero = add("constant", {}, {{"shape", members}, {"value", 0.0}, {"dtype", DType::i32}}, split, true);
    const ValueId first = add("cast", {add("equal", {member, zero}, {}, split, true)}, {{"to", type.dtype}}, split, true);
    ValueId mask = add("reduce", {first}, {{"axes", types::Ints{0}}, {"op", ReduceOp::sum}}, sum, true);
    if (type.rank() > 0) {
      mask = add("broadcast", {mask}, {{"dims", types::Ints{}}, {"shape", type.dims}}, sum, true);
      // Where members of another axis hold parts of the value, they make the same parts of the mask.
      for (size_t other = 0; other < axes(); ++other) {
        if (other != axis && around[other].kind == PlacementKind::split) placements_of(mask)[other] = around[other];
      }
    }
    return add("multiply", {value, mask}, {}, sum, false);
  }

  PlacementRow choose(const Node& node, const std::vector<ValueId>& operands, size_t axis) {
    std::vector<types::TensorType> operand_types, result_types;
    for (const ValueId value : operands) operand_types.push_back(builder_.type(value));
    for (const ValueId value : node.results) result_types.push_back(old_[value].type);
    const auto rows = graph::placement_rows(ops_[node.op], {operand_types, result_types, node.attrs, static_cast<int>(axis)});

    using Rank = std::tuple<int, int64_t, int, int>;
    std::optional<Rank> best;
    const PlacementRow* chosen = nullptr;
    for (const PlacementRow& row : rows) {
      const auto [bytes, slices] = reaching(row, operands, axis);
      if (bytes < 0) continue;
      int64_t later = ahead_ ? ahead_->work(node, row, axis) : 0;
      for (size_t i = 0; ahead_ && i < node.results.size(); ++i) later += ahead_->after(node.results[i], axis, row.results[i]);
      const Rank rank{whole_batches(old_, row, result_types, axis), bytes + later, slices, spread(row)};
      if (!best || rank < *best) {
        best = rank;
        chosen = &row;
      }
    }
    if (!chosen) refuse(node, no_row(node, operands, axis));
    check_share(node, axis);
    return *chosen;
  }

  /// Bytes over the links and slices for the operands to be as the row wants them; −1 bytes: there is no way.
  std::pair<int64_t, int> reaching(const PlacementRow& row, const std::vector<ValueId>& operands, size_t axis) const {
    int64_t bytes = 0;
    int slices = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      bool counted = false;
      for (size_t j = 0; j < i; ++j) counted = counted || (operands[j] == operands[i] && row.operands[j] == row.operands[i]);
      if (counted) continue;
      const auto cost = resharder_.cost(operands[i], axis, row.operands[i], ahead_ ? moved_by : cost_of);
      if (!cost) return {-1, 0};
      bytes += *cost + (ahead_ && *cost > 0 ? kStart : 0);
      slices += *cost == 0 && !resharder_.has(operands[i], axis, row.operands[i]) ? 1 : 0;
    }
    return {bytes, slices};
  }

  static int spread(const PlacementRow& row) {
    int sum = 0;
    for (const Placement& result : row.results) {
      switch (result.kind) {
        case PlacementKind::broadcast:
          break;
        case PlacementKind::split:
          sum += 1;
          break;
        case PlacementKind::partial:
          sum += 2;
          break;
        case PlacementKind::varying:
          sum += 3;
          break;
        case PlacementKind::at:
          sum += 4;
          break;
      }
    }
    return sum;
  }

  /// A replica's share is divided over the axes that divide the batch; another axis would divide it again.
  void check_share(const Node& node, size_t axis) const {
    const bool shares =
        std::any_of(node.results.begin(), node.results.end(), [&](ValueId value) { return graph::names_share(old_[value].type); });
    const Placements& batch = old_.strategy.batch;
    if (!shares || (axis < batch.size() && batch[axis].kind == PlacementKind::split)) return;
    refuse(node, fmt::format("`per_replica` needs the batch to be split over every mesh axis, but over `{}` it is broadcast",
                             old_.strategy.mesh.axes[axis].name));
  }

  std::string no_row(const Node& node, const std::vector<ValueId>& operands, size_t axis) {
    std::string placed;
    for (const ValueId value : operands) placed += fmt::format("{}{}", placed.empty() ? "" : ", ", placements_of(value)[axis].str());
    return fmt::format("`{}` cannot be placed on mesh axis `{}`: its operands are {}", ops_[node.op].name(),
                       old_.strategy.mesh.axes[axis].name, placed.empty() ? "none" : placed);
  }

  void result(const graph::Port& port) {
    ValueId value = rewriter_.map(port.value);
    if (const auto node = old_[port.value].node) rewriter_.at(*node);
    Placements to = placements_of(value);
    if (const auto asked = asked_of(old_, port, builder_.type(value))) {
      to = *asked;
    } else if (port.role == Role::none) {
      for (Placement& placement : to) {
        if (placement.kind == PlacementKind::partial) placement = Placement::broadcast();
      }
    }
    for (size_t axis = 0; axis < axes(); ++axis) {
      const PlacementKind now = placements_of(value)[axis].kind;
      const bool known = now == PlacementKind::broadcast || now == PlacementKind::split;
      if (known && to[axis].kind == PlacementKind::partial) value = in_parts(whole(value, axis), axis, to[axis]);
    }
    if (!resharder_.reachable(value, to)) {
      const auto node = old_[port.value].node;
      throw PlaceError{node ? old_[*node].range : source::Range{},
                       fmt::format("{} `{}` is {}, and cannot become {}", name_of(port.role), port.path, types::str(placements_of(value)),
                                   types::str(to))};
    }
    builder_.result(resharder_.reshard(value, to), port.role, port.path, port.identity);
  }

  [[noreturn]] void refuse(const Node& node, std::string text) const { throw PlaceError{node.range, std::move(text)}; }

  const Graph& old_;
  const graph::OpTable& ops_;
  graph::Rewriter& rewriter_;
  const graph::Function& function_;
  const Foresight* ahead_;
  graph::Builder& builder_;
  Resharder resharder_;
  bool defers_ = false;  ///< some of its sums wait for a reduction in another function
};

std::vector<ValueId> values_of(const Graph& graph, const graph::Function& function) {
  std::vector<ValueId> values;
  for (const graph::Port& port : function.params) values.push_back(port.value);
  for (const NodeId node : function.nodes) values.insert(values.end(), graph[node].results.begin(), graph[node].results.end());
  return values;
}

bool is_placed(const Graph& graph, const graph::Function& function) {
  const std::vector<ValueId> values = values_of(graph, function);
  return std::any_of(values.begin(), values.end(), [&](ValueId value) { return !graph[value].placements.empty(); });
}

/// Bytes over the links of a function that is placed (reshard.h, moved_by), and the work of its nodes (foresight.h).
int64_t cost_of_function(const Graph& graph, const graph::OpTable& ops, const graph::Function& function) {
  int64_t sum = 0;
  for (const NodeId id : function.nodes) {
    const Node& node = graph[id];
    const std::string& op = ops[node.op].name();
    if (op != "all_reduce" && op != "reduce_scatter" && op != "all_gather" && op != "all_to_all") {
      int64_t work = work_of(graph, ops, node);
      for (size_t axis = 0; axis < graph.strategy.mesh.axes.size(); ++axis) {
        std::vector<Placement> operands, results;
        for (const ValueId value : node.operands) operands.push_back(graph[value].placements[axis]);
        for (const ValueId value : node.results) results.push_back(graph[value].placements[axis]);
        if (divides(operands, results)) work /= 2;
      }
      sum += work;
      continue;
    }
    const auto axis = static_cast<size_t>(node.attrs.get<int64_t>("axis"));
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const graph::Value &from = graph[node.operands[i]], &to = graph[node.results[i]];
      const auto change = change_of(from.placements[axis], to.placements[axis]);
      if (!change) continue;  // written in the program, of values that each member has for itself
      const int64_t members = from.placements[axis].kind == PlacementKind::split ? graph.strategy.mesh.axes[axis].size : 1;
      const int64_t cost = moved_by(*change, std::max<int64_t>(1, member_bytes(graph, node.operands[i])) * members);
      sum += cost == 0 ? 0 : cost + kStart;
    }
  }
  return sum;
}

/// Is there anything to weigh? Where weights are whole on every member, the batch's division decides all.
bool has_choice(const types::Strategy& strategy) {
  const auto splits = [](const Placements& placements) {
    return std::any_of(placements.begin(), placements.end(), [](const Placement& p) { return p.kind == PlacementKind::split; });
  };
  return !strategy.own.empty() || splits(strategy.weights) || splits(strategy.gradients) || splits(strategy.optimizer);
}

std::vector<Wanted> ends_of(const Graph& graph, const graph::OpTable& ops, const graph::Function& function) {
  std::vector<Wanted> ends;
  for (const NodeId id : function.nodes) {
    if (ops[graph[id].op].name() == "pin") ends.push_back({graph[id].operands[0], asked_by_pin(graph, graph[id])});
  }
  for (const graph::Port& port : function.results) {
    if (const auto asked = asked_of(graph, port, graph[port.value].type)) ends.push_back({port.value, *asked});
  }
  return ends;
}

struct Round {
  Graph graph;
  std::vector<Placed> placed;  ///< by function; empty where it came placed
  std::vector<int64_t> costs;  ///< by function
  bool came_placed = false;    ///< some function
};

using Foresights = std::vector<std::shared_ptr<const Foresight>>;

Round place_all(const Graph& graph, const graph::OpTable& ops, const Foresights& ahead) {
  Round round;
  graph::Rewriter rewriter(graph, ops);
  round.placed.resize(graph.functions.size());
  for (size_t f = 0; f < graph.functions.size(); ++f) {
    const graph::FunctionId function{static_cast<int32_t>(f)};
    if (is_placed(graph, graph[function])) {
      round.came_placed = true;
      rewriter.copy_function(function);
      continue;
    }
    rewriter.begin(function);
    Placer placer(graph, ops, rewriter, function, ahead[f].get());
    placer.run();
    placer.note(round.placed[f]);
  }
  // A value that every reader wants in parts, made in parts, is not wanted whole.
  round.graph = without_dead_nodes(rewriter.take(), ops);
  for (const graph::Function& function : round.graph.functions) round.costs.push_back(cost_of_function(round.graph, ops, function));
  return round;
}

}  // namespace

Graph place(const Graph& graph, const graph::OpTable& ops) {
  const size_t functions = graph.functions.size();
  Foresights best(functions);
  Round round = place_all(graph, ops, best);
  Graph placed = std::move(round.graph);
  if (has_choice(graph.strategy)) {
    std::vector<int64_t> costs = round.costs;
    bool better = false, last_is_best = false;
    // First what each node would have if all went along, then what it has as things stand.
    for (const Foresight::Others others : {Foresight::Others::follow, Foresight::Others::stay}) {
      Foresights ahead(functions);
      for (size_t f = 0; f < functions; ++f) {
        if (round.placed[f].placements.empty() || costs[f] == 0) continue;
        const auto whole = [&graph](const PlacementRow& row, const std::vector<types::TensorType>& types, size_t axis) {
          return whole_batches(graph, row, types, axis);
        };
        ahead[f] = std::make_shared<Foresight>(graph, ops, graph.functions[f], round.placed[f], ends_of(graph, ops, graph.functions[f]),
                                               whole, others);
      }
      round = place_all(graph, ops, ahead);
      last_is_best = true;
      for (size_t f = 0; f < functions; ++f) {
        if (round.costs[f] < costs[f]) {
          costs[f] = round.costs[f];
          best[f] = ahead[f];
          better = true;
        } else {
          last_is_best = last_is_best && ahead[f] == best[f];
        }
      }
    }
    if (better) placed = last_is_best ? std::move(round.graph) : place_all(graph, ops, best).graph;
  }
  if (round.came_placed) {
    if (const std::string broken = place_broken(placed, ops); !broken.empty())
      throw PlaceError{{}, "a function comes placed otherwise than the strategy asks: " + broken};
  }
  return placed;
}

std::string place_broken(const Graph& graph, const graph::OpTable& ops) {
  const size_t axes = graph.strategy.mesh.axes.size();
  for (const graph::Function& function : graph.functions) {
    for (const ValueId value : values_of(graph, function)) {
      if (graph[value].placements.size() != axes)
        return fmt::format("%{} in `{}` has {} placements", graph[value].name, function.name, graph[value].placements.size());
    }
    for (const NodeId node : function.nodes) {
      if (ops[graph[node].op].name() == "pin")
        return fmt::format("%{} in `{}` is still a pin", graph[graph[node].results[0]].name, function.name);
    }
    for (const auto* ports : {&function.params, &function.results}) {
      for (const graph::Port& port : *ports) {
        const graph::Value& value = graph[port.value];
        const auto asked = asked_of(graph, port, value.type);
        if (asked && *asked != value.placements) {
          return fmt::format("{} `{}` in `{}` is {}, not {}", name_of(port.role), port.path, function.name, types::str(value.placements),
                             types::str(*asked));
        }
      }
    }
  }
  return {};
}

}  // namespace dtl::transform
