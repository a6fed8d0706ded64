// Placements: where the parts of a value live on a device mesh, and the strategy that asks for them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/dtype.h"
#include "runtime/plan/plan.h"

namespace dtl::types {

enum class PlacementKind : uint8_t {
  split,      ///< each member holds a part along `dim`: n units (Dim::unit) over N, the first n mod N members one more
  broadcast,  ///< each member holds the whole
  partial,    ///< the whole is the combination by `op` of the members' values
  varying,    ///< each member holds a value of its own; leaves only by a written reduce, all_reduce, all_gather
  at,         ///< held in one place, named
};

/// The placement of a value along one mesh axis.
struct Placement {
  PlacementKind kind = PlacementKind::broadcast;
  int dim = 0;
  ReduceOp op = ReduceOp::sum;
  std::string place;

  static Placement split(int dim) { return {PlacementKind::split, dim, ReduceOp::sum, {}}; }
  static Placement broadcast() { return {}; }
  static Placement partial(ReduceOp op) { return {PlacementKind::partial, 0, op, {}}; }
  static Placement varying() { return {PlacementKind::varying, 0, ReduceOp::sum, {}}; }

  bool operator==(const Placement&) const = default;
  /// `split(0)`, `broadcast`, `partial(sum)`, `varying`, `at(server)`.
  std::string str() const;
  static std::optional<Placement> parse(std::string_view text);
};

/// One placement for each mesh axis, outermost first; empty before the placement pass.
using Placements = std::vector<Placement>;
/// `split(0)` on one axis, `(split(0), broadcast)` on several.
std::string str(const Placements& placements);
/// Reads what `str` prints.
std::optional<Placements> parse_placements(std::string_view text);

/// A placement written at one value: for each mesh axis, or nothing where the strategy's stands.
using OwnPlacement = std::vector<std::optional<Placement>>;

struct Mesh {
  std::vector<plan::MeshAxis> axes;
  bool operator==(const Mesh&) const = default;
};

/// How reductions travel.
struct Communication {
  int64_t first_bucket = 1'000'000;  ///< bytes
  int64_t bucket = 25'000'000;       ///< bytes
  bool overlap = true;
  double timeout_seconds = 30;
};

/// What a `strategy` declaration says, resolved: the only thing that placement knows of it.
struct Strategy {
  std::string name;  ///< for messages only; nothing may depend on it
  Mesh mesh;
  Placements batch, weights, gradients, optimizer;  ///< one per mesh axis
  /// Of weights that are declared with a placement, by path: along the axes that it speaks of. A split is one of the weight's
  /// gradient and of the optimizer's state for it too.
  std::map<std::string, OwnPlacement> own;
  Communication communication;
  /// What it says and no pass does yet, as it is written: `weights = partitioned(server)`. Such a strategy is checked, and
  /// its program lowered; it is not placed.
  std::vector<std::string> later;
};

}  // namespace dtl::types
