// Fusion: which nodes of a function are computed together in one kernel, and which values have memory.
//
// A value has memory if it is a parameter, comes from a library call or a collective, or is a *unit*: a reduction, or an
// elementwise node whose result is read by something that needs memory or is dearer to compute again than to read. All
// other values are inlined where they are read. Units over the same outer loops that share what they read join one group.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"
#include "compiler/transform/locals.h"

namespace dtl::transform {

enum class NodeKind : uint8_t {
  map,        ///< each element by itself: may be inlined
  reduction,  ///< over trailing loops
  product,    ///< a library call
  scatter,    ///< another
  view,       ///< the operand's memory
  collective,
};

/// What lowering says of each node of a function, once.
class Lowered {
 public:
  Lowered(const graph::Graph& graph, const graph::OpTable& ops, graph::FunctionId function, Locals& locals);

  const graph::Graph& graph;
  const graph::Function& function;
  Locals& locals;

  NodeKind kind(graph::NodeId node) const { return kinds_.at(node); }
  /// `reduced` has the member's own sizes, `sizes` the program's.
  const graph::KernelRule& rule(graph::NodeId node) const { return rules_.at(node); }
  const graph::GemmRule& product(graph::NodeId node) const { return products_.at(node); }
  const graph::ScatterRule& scatter(graph::NodeId node) const { return scatters_.at(node); }
  /// The op's name, for people.
  const std::string& op(graph::NodeId node) const;
  /// A collective over an axis with one member is its operand.
  bool identity(graph::NodeId node) const { return identities_.contains(node); }
  /// Where the member's part of result dimension `dim` begins: in the whole, or of a local slice in what the member holds.
  std::optional<plan::Extent> begin(graph::NodeId node, size_t dim) const;

  const graph::Value& operator[](graph::ValueId value) const { return graph[value]; }
  /// The node that makes it, in this function; nothing: a parameter.
  std::optional<graph::NodeId> maker(graph::ValueId value) const { return graph[value].node; }
  /// The operand whose memory a view's result is; nothing if no view makes `value`.
  std::optional<graph::ValueId> viewed(graph::ValueId value) const;
  /// The same, through views of views: what is in memory under `value`.
  graph::ValueId base(graph::ValueId value) const;
  /// For a view that only adds or drops dimensions of size 1: for each operand dimension the result's, or −1 for index 0.
  std::optional<std::vector<int32_t>> squeezed(graph::ValueId value) const;

 private:
  const graph::OpTable& ops_;
  std::map<graph::NodeId, NodeKind> kinds_;
  std::map<graph::NodeId, graph::KernelRule> rules_;
  std::map<graph::NodeId, graph::GemmRule> products_;
  std::map<graph::NodeId, graph::ScatterRule> scatters_;
  std::set<graph::NodeId> identities_;
};

/// Does every replica of the mesh have the same of it?
bool is_global(const graph::Graph& graph, graph::ValueId value);
/// Whether a state is each replica's own (its part, its rows, its share of a sum to come), not one for all.
bool is_own(const graph::Graph& graph, const graph::Port& port);

/// Nodes computed by one kernel, over the first `rank` dimensions of their results.
struct Group {
  std::vector<graph::NodeId> units;
  std::vector<plan::Extent> outer;
  bool shared = false;  ///< writes memory that all replicas share: each thread of each replica computes a slice
};

/// One step to be: a group, or a library call, or a collective.
struct Item {
  Group group;
  std::optional<graph::NodeId> node;  ///< set: not a group
};

struct Fused {
  std::vector<Item> items;          ///< in order
  std::set<graph::ValueId> memory;  ///< values that have memory, parameters and views of memory among them
  std::set<graph::ValueId> stored;  ///< results of units that something outside their group reads
  std::set<graph::ValueId> shared;  ///< units whose value goes to a state
  std::set<graph::ValueId> own;     ///< units whose value goes to a state that each replica has its own of, and to no other
};

Fused fuse(const Lowered& lowered);

}  // namespace dtl::transform
