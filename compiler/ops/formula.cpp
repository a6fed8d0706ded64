// Gradient rules' vocabulary over Builder.
#include "compiler/ops/formula.h"

namespace dtl::ops {

ValueId Formula::filled(double value, ValueId like) const {
  const types::TensorType type = builder.type(like);
  return builder.constant(value, type.dtype, type.dims);
}
ValueId Formula::unary(const char* op, ValueId x) const { return builder.add(op, {x}); }
ValueId Formula::negate(ValueId x) const { return builder.add("negate", {x}); }
ValueId Formula::add(ValueId a, ValueId b) const { return builder.add("add", {a, b}); }
ValueId Formula::subtract(ValueId a, ValueId b) const { return builder.add("subtract", {a, b}); }
ValueId Formula::multiply(ValueId a, ValueId b) const { return builder.add("multiply", {a, b}); }
ValueId Formula::divide(ValueId a, ValueId b) const { return builder.add("divide", {a, b}); }
ValueId Formula::scaled(double factor, ValueId x) const { return multiply(filled(factor, x), x); }
ValueId Formula::less(ValueId a, ValueId b) const { return builder.add("less", {a, b}); }
ValueId Formula::equal(ValueId a, ValueId b) const { return builder.add("equal", {a, b}); }
ValueId Formula::select(ValueId condition, ValueId then, ValueId otherwise) const {
  return builder.add("select", {condition, then, otherwise});
}
ValueId Formula::cast(ValueId x, DType to) const { return builder.add("cast", {x}, {{"to", to}}); }
ValueId Formula::broadcast(ValueId x, std::vector<types::Dim> shape, std::vector<int64_t> dims) const {
  return builder.add("broadcast", {x}, {{"shape", std::move(shape)}, {"dims", std::move(dims)}});
}
ValueId Formula::reduce(ReduceOp op, ValueId x, std::vector<int64_t> axes) const {
  return builder.add("reduce", {x}, {{"op", op}, {"axes", std::move(axes)}});
}

}  // namespace dtl::ops
