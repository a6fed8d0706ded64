// Changes of placement: the table of collectives, and what each value has been brought into.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "compiler/graph/builder.h"

namespace dtl::transform {

/// How a value goes from one placement to another along one mesh axis.
enum class Change : uint8_t {
  none,
  all_reduce,      ///< partial → broadcast
  reduce_scatter,  ///< partial → split
  all_gather,      ///< split → broadcast
  all_to_all,      ///< split → split along another dimension
  local_slice,     ///< broadcast → split
};

/// The table. Nothing: there is no way (into partial or varying, out of varying other than by a written reduce).
std::optional<Change> change_of(const types::Placement& from, const types::Placement& to);

/// What a change costs the links for a value of that many bytes. It does not depend on the number of members, so that a
/// plan keeps its shape when that changes. A reduce-scatter is charged as an all-reduce: what it saves is mostly paid back by
/// the gather that follows, so it is never chosen for its own sake, only asked for.
int64_t cost_of(Change change, int64_t bytes);
/// The same where what follows is weighed too: a reduce-scatter then costs what it moves, half of an all-reduce.
int64_t moved_by(Change change, int64_t bytes);

/// Bytes of `value` at the bounds of its dimensions, as one member holds it: parts where it is split.
int64_t member_bytes(const graph::Graph& graph, graph::ValueId value);

/// The placed values of one function, each with the placements it has been brought into so far.
class Resharder {
 public:
  explicit Resharder(graph::Builder& builder) : builder_(builder) {}

  /// Bytes over the links to have `value` as `to` along `axis`, from whichever of its placements is nearest; 0 if it is there
  /// already or needs a local slice only. Nothing: there is no way.
  std::optional<int64_t> cost(graph::ValueId value, size_t axis, const types::Placement& to,
                              int64_t (*cost_of_change)(Change, int64_t) = cost_of) const;
  /// Has `value` a version placed like that along `axis`?
  bool has(graph::ValueId value, size_t axis, const types::Placement& to) const;
  bool reachable(graph::ValueId value, const types::Placements& to) const;
  /// `value` placed as `to`, which must be reachable; each change is made once. New values are called `name`, else as `value` is.
  graph::ValueId reshard(graph::ValueId value, const types::Placements& to, const std::string& name = {});

 private:
  using Versions = std::vector<std::pair<types::Placements, graph::ValueId>>;

  Versions versions(graph::ValueId value) const;
  graph::ValueId step(graph::ValueId original, graph::ValueId value, size_t axis, const types::Placement& to, const std::string& name);
  std::optional<graph::ValueId> made_in_parts(graph::ValueId value, size_t axis, const types::Placement& to, const std::string& name);

  graph::Builder& builder_;
  std::map<graph::ValueId, Versions> versions_;  ///< by the value as its node gives it; that version itself not included
};

}  // namespace dtl::transform
