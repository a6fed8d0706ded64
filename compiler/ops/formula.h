// Formula: gradient rules read like mathematics.
#pragma once

#include "compiler/graph/builder.h"

namespace dtl::ops {

using graph::ValueId;

struct Formula {
  graph::Builder& builder;

  /// A constant of the shape and element type of `like`.
  ValueId filled(double value, ValueId like) const;
  ValueId unary(const char* op, ValueId x) const;
  ValueId negate(ValueId x) const;
  ValueId add(ValueId a, ValueId b) const;
  ValueId subtract(ValueId a, ValueId b) const;
  ValueId multiply(ValueId a, ValueId b) const;
  ValueId divide(ValueId a, ValueId b) const;
  ValueId scaled(double factor, ValueId x) const;
  ValueId less(ValueId a, ValueId b) const;
  ValueId equal(ValueId a, ValueId b) const;
  ValueId select(ValueId condition, ValueId then, ValueId otherwise) const;
  ValueId cast(ValueId x, DType to) const;
  /// Operand dimension i becomes dimension dims[i] of `shape`.
  ValueId broadcast(ValueId x, std::vector<types::Dim> shape, std::vector<int64_t> dims) const;
  ValueId reduce(ReduceOp op, ValueId x, std::vector<int64_t> axes) const;
  /// By value: adding nodes moves the graph's stores.
  types::TensorType type(ValueId x) const { return builder.type(x); }
};

}  // namespace dtl::ops
