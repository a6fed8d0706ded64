// The collectives of a placed graph, with what caused each: for people, and for whoever wants to predict what a step costs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::transform {

/// One value that a collective moves.
struct Moved {
  std::string what;  ///< `gradient of Net/dense.0/kernel`, `weight Net/dense.0/kernel`, `sum`: the op that made it
  std::string type;  ///< `f32[64, 128]`
  types::Placements from, to;
  int64_t bytes;        ///< of the whole along the collective's axis, at the bounds of its dimensions
  source::Range range;  ///< the expression that it comes from
  std::string scope;    ///< of the instance that it is made in, `Net/dense.0`
};

struct Collective {
  std::string kind;  ///< the op's name: `all_reduce`, `reduce_scatter`, `all_gather`, `all_to_all`
  size_t axis;       ///< of the mesh
  std::optional<ReduceOp> op;
  std::optional<int64_t> bucket;
  std::vector<Moved> values;

  int64_t bytes() const;
  /// What each member sends on a ring of that many members, which is the least that there is (Patarasuk and Yuan, 2009).
  double sent(int64_t members) const;
};

/// Those of a function, in order of its nodes. Needs placements.
std::vector<Collective> collectives(const graph::Graph& graph, const graph::OpTable& ops, std::string_view function);

/// The placed nodes of a function as a drawing for Graphviz: values by name, type and placement, collectives set off.
std::string dot(const graph::Graph& graph, const graph::OpTable& ops, std::string_view function);

}  // namespace dtl::transform
