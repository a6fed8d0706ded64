// Rewriter: how passes make a new graph from an old one, by walking it in order and emitting again through a Builder.
//
//   Rewriter rewriter(old, ops);
//   for each function:  rewriter.begin(function);
//                       for each node: rewriter.copy(node), or rewriter.set(its result, what replaces it)
//                       rewriter.finish();
//   return rewriter.take();
//
// What nothing copies is gone; nothing is ever invalidated.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/graph/builder.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::graph {

class Rewriter {
 public:
  /// The new graph starts with the old one's strategy, bounds and product type, and without functions.
  Rewriter(const Graph& old, const OpTable& ops);

  const Graph& old() const { return *old_; }
  const OpTable& ops() const { return *ops_; }
  Graph& graph() { return graph_; }

  /// Adds function `old_function` to the new graph, its parameters copied and mapped (names, types, placements, roles).
  void begin(FunctionId old_function);
  /// Adds a function that the old graph lacks; it has no parameters yet.
  void begin_new(std::string name);
  /// Emits into the function begun last. After `copy` it keeps that node's range and scope for what is emitted next.
  Builder& builder();

  /// The new value of an old one, which must have one.
  ValueId map(ValueId old_value) const;
  std::vector<ValueId> map(std::span<const ValueId> old_values) const;
  bool has(ValueId old_value) const;
  /// From now on `old_value` means `new_value`.
  void set(ValueId old_value, ValueId new_value);

  /// Range and scope of `node` for what is emitted next: for nodes that replace it.
  void at(NodeId node);
  /// Emits `node` again over the mapped operands; its results keep their names and placements and are mapped. The new results.
  std::vector<ValueId> copy(NodeId node);
  /// The same with other operands, attributes, or both.
  std::vector<ValueId> copy(NodeId node, std::vector<ValueId> operands, types::Attrs attrs);

  /// Copies the results of the function begun last through the map. Not for begin_new.
  void finish();
  /// A whole function, unchanged.
  void copy_function(FunctionId old_function);

  /// The new graph; the rewriter is done.
  Graph take();

 private:
  const Graph* old_;
  const OpTable* ops_;
  Graph graph_;
  std::optional<FunctionId> old_function_;
  std::optional<Builder> builder_;
  std::vector<std::optional<ValueId>> map_;
};

/// For each node of the graph (by index): does a result of `function` depend on it? Ops have no effects, so others are dead.
std::vector<bool> live_nodes(const Graph& graph, FunctionId function);

/// How often each value (by index) is read in `function`, its results included.
std::vector<int> use_counts(const Graph& graph, FunctionId function);

}  // namespace dtl::graph
