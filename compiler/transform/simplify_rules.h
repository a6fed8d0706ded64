// The table of simplifications: one small function for each, over a node about to be made.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/builder.h"

namespace dtl::transform {

/// A node about to be made, with one result. What rules make through `make` is simplified in turn.
struct Site {
  graph::Builder& builder;
  const graph::OpRecord& op;
  const std::vector<graph::ValueId>& operands;
  const types::Attrs& attrs;
  const types::TensorType& type;  ///< of the result
  const std::function<graph::ValueId(std::string_view op, std::vector<graph::ValueId> operands, types::Attrs attrs)>& make;

  bool is(std::string_view name) const { return op.name() == name; }
  /// By value: making nodes moves the graph's stores.
  types::TensorType type_of(graph::ValueId value) const { return builder.type(value); }
  /// The node that made `value`, if it is of this op.
  std::optional<graph::Node> made_by(graph::ValueId value, std::string_view op_name) const;
  /// The number in every place of `value`, if it is a constant.
  std::optional<double> constant(graph::ValueId value) const;
  bool is_constant(graph::ValueId value, double number) const { return constant(value) == number; }
  /// A constant of this type.
  graph::ValueId filled(double number, const types::TensorType& like) const;
};

/// A rule gives what stands for the node's result, or nothing where it does not apply. Each is exact: in f64 the value before
/// equals the value after (zeros of either sign are equal).
struct Rule {
  std::string_view name;
  std::optional<graph::ValueId> (*apply)(const Site& site);
};

/// Rules over numbers and over elementwise ops.
const std::vector<Rule>& arithmetic_rules();
/// Rules over shapes, reductions and products.
const std::vector<Rule>& shape_rules();

}  // namespace dtl::transform
