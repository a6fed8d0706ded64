// What the elementwise families share: axes, shape checks, samples.
#pragma once

#include "compiler/ops/family.h"
#include "compiler/ops/infer.h"

namespace dtl::ops {

/// `..., ... -> ...` for that many operands.
graph::Axes same_axes(size_t operands);
/// The rule a function gives; `combine` for letters that only operands have.
graph::Axes axes_by(std::function<std::string(const graph::AxesContext&)> rule, std::function<ReduceOp(const Attrs&)> combine = {});
graph::Axes no_axes(std::string reason);

/// "element types of `add` differ: f32 and i64", "shapes of `add` differ: [2, 3] and [3]", or nothing.
std::optional<graph::InferError> refuse_difference(const std::string& op, const TensorType& a, const TensorType& b, int operand);

/// Operand types that show an op at its edges: a matrix, a scalar, none at all, a run-time dimension.
std::vector<std::vector<Dim>> sample_shapes();
/// What the run-time dimensions of samples are when evaluated.
std::map<std::string, int64_t> sample_dims();

/// Rows for one mesh axis that take partial(op) in the operands named by `which` and give partial(op).
graph::PlacementRow partial_row(size_t operands, std::vector<size_t> which, ReduceOp op);
graph::PlacementRule linear(graph::Linear kind);
/// A gradient that is a builder function.
graph::Gradient by_rule(graph::GradientRule rule);

}  // namespace dtl::ops
