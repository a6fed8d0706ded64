// Builder: the only way to make nodes. It runs each op's infer, and keeps names unique and ranges set.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::graph {

class Builder {
 public:
  Builder(const OpTable& ops, Graph& graph, FunctionId function);

  ValueId param(std::string name, types::TensorType type, Role role, std::string path = {}, double identity = 0);
  void result(ValueId value, Role role, std::string path = {}, double identity = 0);

  /// Adds a node. The operands' types must satisfy the op's infer: sema has checked what users write, so a mismatch here
  /// is our fault and aborts. Results are named after `name`, else after the op.
  std::vector<ValueId> add_multi(std::string_view op, std::vector<ValueId> operands, types::Attrs attrs = {}, std::string name = {});
  /// The same with a name for each result.
  std::vector<ValueId> add_named(std::string_view op, std::vector<ValueId> operands, types::Attrs attrs,
                                 const std::vector<std::string>& names);
  /// The same for ops with one result.
  ValueId add(std::string_view op, std::vector<ValueId> operands, types::Attrs attrs = {}, std::string name = {});

  /// A scalar constant, or one filled into a shape.
  ValueId constant(double value, DType dtype, std::vector<types::Dim> dims = {});

  /// Later nodes carry this range and scope.
  void at(source::Range range, std::string scope);

  const types::TensorType& type(ValueId value) const;
  Graph& graph() { return *graph_; }
  const OpTable& ops() const { return *ops_; }
  FunctionId function() const { return function_; }

 private:
  std::string unique(std::string name);

  const OpTable* ops_;
  Graph* graph_;
  FunctionId function_;
  source::Range range_;
  std::string scope_;
  std::unordered_map<std::string, int> names_;
};

}  // namespace dtl::graph
