// The reshard table, and orders of changes over several mesh axes.
#include "compiler/transform/reshard.h"

#include <algorithm>

#include "compiler/graph/placement_rows.h"
#include "compiler/source/check.h"

namespace dtl::transform {

using graph::ValueId;
using types::Placement;
using types::PlacementKind;
using types::Placements;

std::optional<Change> change_of(const Placement& from, const Placement& to) {
  if (from == to) return Change::none;
  switch (from.kind) {
    case PlacementKind::partial:
      if (to.kind == PlacementKind::broadcast) return Change::all_reduce;
      if (to.kind == PlacementKind::split) return Change::reduce_scatter;
      return std::nullopt;
    case PlacementKind::split:
      if (to.kind == PlacementKind::broadcast) return Change::all_gather;
      if (to.kind == PlacementKind::split) return Change::all_to_all;
      return std::nullopt;
    case PlacementKind::broadcast:
      if (to.kind == PlacementKind::split) return Change::local_slice;
      return std::nullopt;
    case PlacementKind::varying:
    case PlacementKind::at:
      return std::nullopt;
  }
  __builtin_unreachable();
}

int64_t cost_of(Change change, int64_t bytes) {
  switch (change) {
    case Change::none:
    case Change::local_slice:
      return 0;
    case Change::all_to_all:
      return (bytes + 1) / 2;
    case Change::all_gather:
      return bytes;
    case Change::reduce_scatter:
    case Change::all_reduce:
      return 2 * bytes;
  }
  __builtin_unreachable();
}

int64_t moved_by(Change change, int64_t bytes) { return change == Change::reduce_scatter ? bytes : cost_of(change, bytes); }

int64_t member_bytes(const graph::Graph& graph, ValueId id) {
  const graph::Value& value = graph[id];
  const auto& axes = graph.strategy.mesh.axes;
  std::map<std::string, int64_t> sizes;
  for (const auto& [name, bound] : graph.bounds) {
    int64_t share = bound;
    for (size_t axis = 0; axis < axes.size() && axis < graph.strategy.batch.size(); ++axis) {
      if (graph.strategy.batch[axis].kind == PlacementKind::split) share = (share + axes[axis].size - 1) / axes[axis].size;
    }
    sizes[name] = bound;
    sizes[types::share_of(name)] = share;
  }
  int64_t bytes = size_of(value.type.dtype);
  for (size_t d = 0; d < value.type.rank(); ++d) {
    // A dimension without a bound is in a graph written by hand.
    for (const std::string& symbol : value.type.dims[d].symbols()) sizes.emplace(symbol, 1);
    const int64_t unit = value.type.dims[d].unit();
    int64_t size = value.type.dims[d].evaluate(sizes) / unit;
    for (size_t axis = 0; axis < value.placements.size(); ++axis) {
      const Placement& placement = value.placements[axis];
      if (placement.kind == PlacementKind::split && static_cast<size_t>(placement.dim) == d)
        size = (size + axes[axis].size - 1) / axes[axis].size;
    }
    bytes *= size * unit;
  }
  return bytes;
}

Resharder::Versions Resharder::versions(ValueId value) const {
  Versions all = {{builder_.graph()[value].placements, value}};
  if (const auto more = versions_.find(value); more != versions_.end()) all.insert(all.end(), more->second.begin(), more->second.end());
  return all;
}

std::optional<int64_t> Resharder::cost(ValueId value, size_t axis, const Placement& to, int64_t (*cost_of_change)(Change, int64_t)) const {
  std::optional<int64_t> least;
  for (const auto& [placements, version] : versions(value)) {
    const auto change = change_of(placements[axis], to);
    if (!change) continue;
    // Nothing is free of cost but what moves nothing: an empty tensor counts as one byte.
    const int64_t bytes = std::max<int64_t>(1, member_bytes(builder_.graph(), version));
    // Members of a split hold parts: what moves is counted in whole values.
    const int64_t members = placements[axis].kind == PlacementKind::split ? builder_.graph().strategy.mesh.axes[axis].size : 1;
    const int64_t here = cost_of_change(*change, bytes * members);
    if (!least || here < *least) least = here;
  }
  return least;
}

bool Resharder::has(ValueId value, size_t axis, const Placement& to) const {
  const Versions all = versions(value);
  return std::any_of(all.begin(), all.end(), [&](const auto& version) { return version.first[axis] == to; });
}

bool Resharder::reachable(ValueId value, const Placements& to) const {
  const Placements& from = builder_.graph()[value].placements;
  for (size_t axis = 0; axis < to.size(); ++axis) {
    if (!change_of(from[axis], to[axis])) return false;
  }
  return true;
}

namespace {

bool splits(const Placement& placement, int dim) { return placement.kind == PlacementKind::split && placement.dim == dim; }

struct Step {
  size_t axis;
  Placement to;
};

/// The changes, one mesh axis at a time. Parts of parts: where two axes split one dimension, the inner divides what the outer
/// leaves, so an inner split is undone before an outer one over the same dimension changes, and made again after it.
std::vector<Step> steps_between(Placements now, const Placements& to) {
  std::vector<Step> steps;
  const auto take = [&](size_t axis, const Placement& placement) {
    steps.push_back({axis, placement});
    now[axis] = placement;
  };
  const Placements before = now;
  const auto outer_changes = [&](size_t axis, int dim) {
    for (size_t outer = 0; outer < axis; ++outer) {
      if (before[outer] != to[outer] && (splits(before[outer], dim) || splits(to[outer], dim))) return true;
    }
    return false;
  };
  // Innermost first: splits that go, or change over no dimension that an outer axis is about to change.
  for (size_t axis = now.size(); axis-- > 0;) {
    if (now[axis].kind == PlacementKind::split) {
      if (now[axis] == to[axis] && !outer_changes(axis, now[axis].dim)) continue;
      const bool directly = to[axis].kind == PlacementKind::split && to[axis] != now[axis] && !outer_changes(axis, to[axis].dim) &&
                            !outer_changes(axis, now[axis].dim);
      take(axis, directly ? to[axis] : Placement::broadcast());
    }
  }
  // What makes parts before what moves wholes: an all-reduce then moves the parts alone.
  for (const bool parts : {true, false}) {
    for (size_t axis = 0; axis < now.size(); ++axis) {
      if (now[axis] != to[axis] && (to[axis].kind == PlacementKind::split) == parts) take(axis, to[axis]);
    }
  }
  return steps;
}

/// Bytes over the links, roughly: each change at the size of the version it starts from.
int64_t total_cost(const graph::Graph& graph, ValueId version, const Placements& to) {
  Placements now = graph[version].placements;
  int64_t cost = 0;
  const int64_t bytes = std::max<int64_t>(1, member_bytes(graph, version));
  for (const Step& step : steps_between(now, to)) {
    cost += cost_of(*change_of(now[step.axis], step.to), bytes);
    now[step.axis] = step.to;
  }
  return cost;
}

}  // namespace

ValueId Resharder::reshard(ValueId value, const Placements& to, const std::string& name) {
  ValueId best = value;
  std::optional<int64_t> least;
  for (const auto& [placements, version] : versions(value)) {
    if (placements == to) return version;
    if (!reachable(version, to)) continue;
    const int64_t cost = total_cost(builder_.graph(), version, to);
    if (!least || cost < *least) {
      best = version;
      least = cost;
    }
  }
  DTL_CHECK(least.has_value(), "`%{}` cannot go from {} to {}", builder_.graph()[value].name,
            types::str(builder_.graph()[value].placements), types::str(to));
  const Placements from = builder_.graph()[best].placements;
  for (const Step& change : steps_between(from, to)) best = step(value, best, change.axis, change.to, name);
  return best;
}

ValueId Resharder::step(ValueId original, ValueId value, size_t axis, const Placement& to, const std::string& name) {
  Placements placements = builder_.graph()[value].placements;
  const Placement from = placements[axis];
  placements[axis] = to;
  for (const auto& [known, version] : versions(original)) {
    if (known == placements) return version;
  }
  const std::string called = name.empty() ? builder_.graph()[original].name : name;
  const types::Attrs on_axis = {{"axis", static_cast<int64_t>(axis)}};
  const auto make = [&](const char* op, std::initializer_list<std::pair<std::string, types::AttrValue>> more) {
    types::Attrs attrs = on_axis;
    for (const auto& [key, attr] : more) attrs.set(key, attr);
    return builder_.add(op, {value}, attrs, called);
  };
  const auto change = change_of(from, to);
  DTL_CHECK(change.has_value(), "`%{}` cannot go from {} to {}", called, from.str(), to.str());
  ValueId result = value;
  switch (*change) {
    case Change::none:
      return value;
    case Change::all_reduce:
      result = make("all_reduce", {{"op", from.op}});
      break;
    case Change::reduce_scatter:
      result = make("reduce_scatter", {{"op", from.op}, {"dim", int64_t{to.dim}}});
      break;
    case Change::all_gather:
      result = make("all_gather", {{"dim", int64_t{from.dim}}});
      break;
    case Change::all_to_all:
      result = make("all_to_all", {{"from", int64_t{from.dim}}, {"to", int64_t{to.dim}}});
      break;
    case Change::local_slice:
      if (const auto parts = made_in_parts(value, axis, to, called)) {
        result = *parts;
      } else {
        result = make("local_slice", {{"dim", int64_t{to.dim}}});
      }
      break;
  }
  builder_.graph()[result].placements = placements;
  versions_[original].emplace_back(placements, result);
  return result;
}

/// Constants, repetitions and random numbers can be made in parts from the same operands: nothing is sliced.
std::optional<ValueId> Resharder::made_in_parts(ValueId value, size_t axis, const Placement& to, const std::string& name) {
  const auto id = builder_.graph()[value].node;
  if (!id) return std::nullopt;
  const graph::Node node = builder_.graph()[*id];
  const graph::OpRecord& op = builder_.ops()[node.op];
  if (!op.evaluate->local || node.results.size() != 1) return std::nullopt;
  std::vector<types::TensorType> operands;
  std::vector<Placement> placed;
  for (const ValueId operand : node.operands) {
    operands.push_back(builder_.type(operand));
    placed.push_back(builder_.graph()[operand].placements[axis]);
  }
  const std::vector<types::TensorType> results = {builder_.type(value)};
  const auto rows = graph::placement_rows(op, {operands, results, node.attrs, static_cast<int>(axis)});
  const bool any =
      std::any_of(rows.begin(), rows.end(), [&](const graph::PlacementRow& row) { return row.operands == placed && row.results[0] == to; });
  if (!any) return std::nullopt;
  return builder_.add(op.name(), node.operands, node.attrs, name);
}

}  // namespace dtl::transform
