// What the elementwise families share.
#include "compiler/ops/elementwise.h"

namespace dtl::ops {

graph::Axes same_axes(size_t operands) {
  std::string rule = "...";
  for (size_t i = 1; i < operands; ++i) rule += ", ...";
  rule += " -> ...";
  return axes_by([rule](const graph::AxesContext&) { return rule; });
}

graph::Axes axes_by(std::function<std::string(const graph::AxesContext&)> rule, std::function<ReduceOp(const Attrs&)> combine) {
  return {std::move(rule), {}, std::move(combine)};
}

graph::Axes no_axes(std::string reason) { return {{}, std::move(reason), {}}; }

std::optional<graph::InferError> refuse_difference(const std::string& op, const TensorType& a, const TensorType& b, int operand) {
  if (a.dtype != b.dtype) {
    return graph::InferError{fmt::format("element types of `{}` differ: {} and {}", op, name_of(a.dtype), name_of(b.dtype)), operand};
  }
  if (a.dims != b.dims)
    return graph::InferError{fmt::format("shapes of `{}` differ: {} and {}", op, types::str(a.dims), types::str(b.dims)), operand};
  return std::nullopt;
}

std::vector<std::vector<Dim>> sample_shapes() { return {{5, 7}, {}, {0, 3}, {Dim::symbol("batch"), 3}}; }

std::map<std::string, int64_t> sample_dims() { return {{"batch", 5}}; }

graph::PlacementRow partial_row(size_t operands, std::vector<size_t> which, ReduceOp op) {
  graph::PlacementRow row{std::vector(operands, types::Placement::broadcast()), {types::Placement::partial(op)}};
  for (const size_t k : which) row.operands[k] = types::Placement::partial(op);
  return row;
}

graph::PlacementRule linear(graph::Linear kind) { return {kind, {}}; }

graph::Gradient by_rule(graph::GradientRule rule) { return rule; }

}  // namespace dtl::ops
