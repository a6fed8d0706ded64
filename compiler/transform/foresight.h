// What a placement of a value will cost later: the look ahead of the place pass.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::transform {

/// What a collective takes beside its bytes, in bytes that move in that time: about a microsecond between threads.
constexpr int64_t kStart = 16'384;

/// What computing a node takes, at the bounds of its dimensions and undivided, in bytes over the links that take as long. Only products
/// count: a processor's core does 16 of their operations while a byte goes to another (217 GFLOP/s and 18 GB/s were measured), an
/// accelerator more, and what is left is fused into a few passes over memory.
int64_t work_of(const graph::Graph& graph, const graph::OpTable& ops, const graph::Node& node);

/// Is the work divided among the members of the axis? Then half of it counts, however many they are: a plan keeps its shape when that
/// changes.
bool divides(const std::vector<types::Placement>& operands, const std::vector<types::Placement>& results);

/// A placement of a function, from which the next one looks ahead. By index of a value of the graph before placement.
struct Placed {
  std::vector<types::Placements> placements;  ///< of the value as its node gives it
  std::vector<int64_t> bytes;                 ///< of the value as one member holds it
};

/// Where a value has to go at the end: what a pin, or the role of a result, asks for.
struct Wanted {
  graph::ValueId value;
  types::Placements placements;
};

/// For values of one function: what follows from having a value placed in a certain way, in bytes over the links (reshard.h, moved_by) and
/// work (work_of).
///
/// Goes backward over the function, for each mesh axis. For one placement of a value and each of its readers, the cheapest row of the
/// reader's op is the one with the least sum of: the change of the value to what the row wants, the changes of the reader's other
/// operands, where they need any, the work, and what follows from the row's results. A change that several readers
/// want is paid once, and a reader of several operands charges each its share of what follows. Exact where the graph is a tree and the
/// other operands stay where they are; else a good guess, which is why a placement that was chosen by it is kept only if it is cheaper as a
/// whole.
class Foresight {
 public:
  /// What a reader's other operands do where nodes make them: they stay as the last placement has them, or they are as a row wants them.
  enum class Others : uint8_t { stay, follow };

  /// How many results a row leaves whole that have the batch as a dimension: those rows come last, whatever they cost.
  using WholeBatches = std::function<int(const graph::PlacementRow&, const std::vector<types::TensorType>&, size_t axis)>;

  Foresight(const graph::Graph& graph, const graph::OpTable& ops, const graph::Function& function, Placed last,
            const std::vector<Wanted>& wanted, const WholeBatches& whole_batches, Others others);

  /// What the node itself takes as the row has it, divided along the other axes as the last placement did.
  int64_t work(const graph::Node& node, const graph::PlacementRow& row, size_t axis) const;
  /// Of a value of the graph before placement.
  int64_t after(graph::ValueId value, size_t axis, const types::Placement& placement) const;

 private:
  using Costs = std::vector<std::pair<types::Placement, int64_t>>;
  struct Reader;

  int64_t change(graph::ValueId value, size_t axis, const types::Placement& from, const types::Placement& to) const;
  int64_t whole_bytes(graph::ValueId value, size_t axis) const;
  int64_t following(graph::ValueId value, size_t axis, const types::Placement& placement, const std::vector<const Reader*>& readers,
                    const std::vector<types::Placement>& ends) const;

  const graph::Graph& graph_;
  const graph::OpTable& ops_;
  Placed last_;
  bool free_;                              ///< others follow
  std::vector<char> has_choice_;           ///< by value: its node can place it in several ways
  std::vector<std::vector<Costs>> costs_;  ///< by value and axis
};

}  // namespace dtl::transform
