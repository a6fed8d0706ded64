// Changes of shape: broadcast, reshape, transpose.
#include <algorithm>

#include "compiler/ops/array.h"
#include "compiler/ops/body.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/formula.h"
#include "compiler/ops/letters.h"

namespace dtl::ops {
namespace {

using graph::AttrKind;
using graph::Linear;
using Cotangents = std::vector<std::optional<ValueId>>;

const Dim kBatch = Dim::symbol("batch");

// ---- broadcast

std::string broadcast_axes(const graph::AxesContext& context) {
  const LetterGroup result = letters(context.attrs.get<Dims>("shape").size());
  LetterGroup operand;
  for (const int64_t dim : context.attrs.get<Ints>("dims")) operand.push_back(result[static_cast<size_t>(dim)]);
  return axes_text({operand}, {result});
}

Inferred broadcast_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const TensorType& x = operands[0];
  const Dims& shape = attrs.get<Dims>("shape");
  const Ints& dims = attrs.get<Ints>("dims");
  if (dims.size() != x.rank()) return fail(0, "`broadcast` places {} dimensions, but its operand is {}", dims.size(), x.str());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= static_cast<int64_t>(shape.size()))
      return fail(0, "dimension {} of `broadcast` is outside {}", dims[i], types::str(shape));
    if (i > 0 && dims[i] <= dims[i - 1]) return fail(0, "the dims of `broadcast` do not rise: {} after {}", dims[i], dims[i - 1]);
    const Dim& becomes = shape[static_cast<size_t>(dims[i])];
    if (x.dims[i] != becomes)
      return fail(0, "`broadcast` of {} to {}: dimension {} is {}, not {}", x.str(), types::str(shape), dims[i], becomes.str(),
                  x.dims[i].str());
  }
  return Types{{x.dtype, shape}};
}

std::vector<Array> broadcast_evaluate(const graph::EvaluateContext& context, const Attrs& attrs, std::span<const Array> operands) {
  const Array& x = operands[0];
  const Ints& dims = attrs.get<Ints>("dims");
  Array result = zeros(x.dtype, context.result_shapes[0]);
  size_t at = 0;
  each_index(result.shape, [&](const Shape& index) {
    Shape from;
    for (const int64_t dim : dims) from.push_back(index[static_cast<size_t>(dim)]);
    result.data[at++] = x.data[static_cast<size_t>(flat(x.shape, from))];
  });
  return {std::move(result)};
}

Cotangents broadcast_gradient(graph::GradientContext& context) {
  const Ints& dims = context.attrs.get<Ints>("dims");
  Ints added;
  for (int64_t d = 0; d < static_cast<int64_t>(context.attrs.get<Dims>("shape").size()); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) added.push_back(d);
  }
  if (added.empty()) return {context.cotangents[0]};
  return {Formula{context.builder}.reduce(ReduceOp::sum, *context.cotangents[0], added)};
}

graph::Lowering broadcast_lower(const graph::LowerContext& context) {
  Body body;
  std::vector<int32_t> index;
  for (const int64_t dim : context.attrs.get<Ints>("dims")) index.push_back(body.loop(static_cast<size_t>(dim)));
  const int32_t value = body.load(0, context.operands[0].dtype, index);
  return std::move(body).done(value);
}

/// A value in every place: any partial stays one.
std::vector<graph::PlacementRow> copies_keep_partial(const graph::PlacementContext&) {
  return {partial_row(1, {0}, ReduceOp::max), partial_row(1, {0}, ReduceOp::min)};
}

std::vector<graph::Sample> broadcast_samples() {
  std::vector<graph::Sample> result;
  const auto add = [&](TensorType x, Dims shape, Ints dims, std::string fails = {}) {
    result.push_back({{std::move(x)}, {{"shape", std::move(shape)}, {"dims", std::move(dims)}}, std::move(fails), sample_dims()});
  };
  add({DType::f64, {3}}, {kBatch, 3}, {1});
  add({DType::f64, {kBatch}}, {kBatch, 4}, {0});
  add({DType::f64, {}}, {kBatch, 2}, {});
  add({DType::f32, {2, 3}}, {2, 5, 3}, {0, 2});
  add({DType::i64, {}}, {}, {});
  add({DType::boolean, {3}}, {2, 3}, {1});
  add({DType::f64, {2, 3}}, {2, 3}, {0, 1});
  add({DType::f64, {3}}, {0, 3}, {1});
  add({DType::f32, {3}}, {2, 4}, {1}, "`broadcast` of f32[3] to [2, 4]: dimension 1 is 4, not 3");
  add({DType::f32, {3}}, {kBatch, 3}, {0}, "`broadcast` of f32[3] to [batch, 3]: dimension 0 is batch, not 3");
  add({DType::f32, {3}}, {2, 3}, {2}, "dimension 2 of `broadcast` is outside [2, 3]");
  add({DType::f32, {2, 3}}, {3, 2}, {1, 0}, "the dims of `broadcast` do not rise: 0 after 1");
  add({DType::f32, {3}}, {2, 3}, {0, 1}, "`broadcast` places 2 dimensions, but its operand is f32[3]");
  return result;
}

graph::OpRecord broadcast() {
  return {
      .signature = graph::Signature{"broadcast",
                                    {"x"},
                                    {{"shape", AttrKind::dims}, {"dims", AttrKind::ints}},
                                    1,
                                    "repeats along new dimensions: operand dimension i becomes dimension dims[i] of shape"},
      .axes = axes_by(broadcast_axes),
      .infer = graph::Infer(broadcast_infer),
      .evaluate = graph::Evaluate{broadcast_evaluate, {}},
      .gradient = by_rule(broadcast_gradient),
      .placements = graph::PlacementRule{Linear::joint, copies_keep_partial},
      .lower = graph::Lower(broadcast_lower),
      .samples = broadcast_samples(),
  };
}

// ---- reshape

/// The first dimension from `at` on that is not 1.
size_t first_real(const std::vector<Dim>& dims, size_t at) {
  while (at < dims.size() && dims[at] == Dim(1)) ++at;
  return at;
}

/// `2 * n` and `6 * n`: parts in units of 2 and of 6 are the same elements, where nothing but 1 stands before them.
bool divide_alike(const Dim& a, const Dim& b) {
  return a.terms().size() == 1 && b.terms().size() == 1 && !a.is_constant() && a.terms()[0].first == b.terms()[0].first;
}

/// Dimensions that are equal from the left and from the right stay splittable; those between are regrouped, of which the
/// outermost stays splittable if it divides alike: `batch t w -> (batch · t) w`.
std::string reshape_axes(const graph::AxesContext& context) {
  const std::vector<Dim>& from = context.operands[0].dims;
  const Dims& to = context.attrs.get<Dims>("shape");
  const size_t both = std::min(from.size(), to.size());
  size_t leading = 0, trailing = 0;
  while (leading < both && from[leading] == to[leading]) ++leading;
  while (leading + trailing < both && from[from.size() - 1 - trailing] == to[to.size() - 1 - trailing]) ++trailing;
  const size_t outer_from = first_real(from, leading), outer_to = first_real(to, leading);
  const bool regrouped = outer_from + trailing < from.size() && outer_to + trailing < to.size();
  const bool alike = regrouped && divide_alike(from[outer_from], to[outer_to]);
  size_t next = 1 + leading + trailing;
  const auto group = [&](size_t rank, size_t outer) {
    LetterGroup result = letters(leading, 1);
    for (size_t d = leading; d + trailing < rank; ++d) result.push_back(alike && d == outer ? letters(1)[0] : letters(1, next++)[0] + "!");
    const LetterGroup last = letters(trailing, 1 + leading);
    result.insert(result.end(), last.begin(), last.end());
    return result;
  };
  const LetterGroup operand = group(from.size(), outer_from);
  return axes_text({operand}, {group(to.size(), outer_to)});
}

Inferred reshape_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const TensorType result{operands[0].dtype, attrs.get<Dims>("shape")};
  const Dim from = operands[0].elements(), to = result.elements();
  if (from != to) {
    return fail(0, "`reshape` of {} to {} changes the number of elements: {} and {}", operands[0].str(), types::str(result.dims),
                from.str(), to.str());
  }
  return Types{result};
}

std::vector<graph::Sample> reshape_samples() {
  std::vector<graph::Sample> result;
  const auto add = [&](TensorType x, Dims shape, std::string fails = {}) {
    result.push_back({{std::move(x)}, {{"shape", std::move(shape)}}, std::move(fails), sample_dims()});
  };
  add({DType::f64, {kBatch, 2, 3}}, {kBatch, 6});
  add({DType::f64, {kBatch, 2, 3}}, {kBatch * 2, 3});
  add({DType::f64, {kBatch * 2, 3}}, {1, kBatch * 6});
  add({DType::f64, {kBatch * 6}}, {kBatch, 2, 3});
  add({DType::f64, {2, 6}}, {3, 4});
  add({DType::f32, {5, 1}}, {5});
  add({DType::f64, {4, 3}}, {2, 2, 3});
  add({DType::i64, {}}, {1, 1});
  add({DType::f64, {0, 2}}, {0, 3});
  add({DType::f32, {2, 3}}, {4}, "`reshape` of f32[2, 3] to [4] changes the number of elements: 6 and 4");
  return result;
}

graph::OpRecord reshape() {
  return {
      .signature =
          graph::Signature{"reshape", {"x"}, {{"shape", AttrKind::dims}}, 1, "the same elements in row-major order under another shape"},
      .axes = axes_by(reshape_axes),
      .infer = graph::Infer(reshape_infer),
      .evaluate = graph::Evaluate{[](const graph::EvaluateContext& context, const Attrs&, std::span<const Array> operands) {
                                    return std::vector<Array>{{operands[0].dtype, context.result_shapes[0], operands[0].data}};
                                  },
                                  {}},
      .gradient = by_rule([](graph::GradientContext& context) {
        const std::vector<Dim> dims = context.builder.type(context.operands[0]).dims;
        return Cotangents{context.builder.add("reshape", {*context.cotangents[0]}, {{"shape", dims}})};
      }),
      .placements = graph::PlacementRule{Linear::joint, copies_keep_partial},
      .lower = graph::Lower([](const graph::LowerContext&) -> graph::Lowering { return graph::ViewRule{0}; }),
      .samples = reshape_samples(),
  };
}

// ---- transpose

std::string transpose_axes(const graph::AxesContext& context) {
  const LetterGroup operand = letters(context.operands[0].rank());
  LetterGroup result;
  for (const int64_t axis : context.attrs.get<Ints>("permutation")) result.push_back(operand[static_cast<size_t>(axis)]);
  return axes_text({operand}, {result});
}

Inferred transpose_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const Ints& permutation = attrs.get<Ints>("permutation");
  Ints sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool right = sorted.size() == operands[0].rank();
  for (size_t i = 0; right && i < sorted.size(); ++i) right = sorted[i] == static_cast<int64_t>(i);
  if (!right) return fail(0, "[{}] is no permutation of the axes of {}", fmt::join(permutation, ", "), operands[0].str());
  TensorType result{operands[0].dtype, {}};
  for (const int64_t axis : permutation) result.dims.push_back(operands[0].dims[static_cast<size_t>(axis)]);
  return Types{result};
}

Ints inverse(const Ints& permutation) {
  Ints result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) result[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return result;
}

std::vector<Array> transpose_evaluate(const graph::EvaluateContext&, const Attrs& attrs, std::span<const Array> operands) {
  const Array& x = operands[0];
  const Ints& permutation = attrs.get<Ints>("permutation");
  Shape shape;
  for (const int64_t axis : permutation) shape.push_back(x.shape[static_cast<size_t>(axis)]);
  Array result = zeros(x.dtype, shape);
  size_t at = 0;
  each_index(shape, [&](const Shape& index) {
    Shape from(index.size());
    for (size_t d = 0; d < index.size(); ++d) from[static_cast<size_t>(permutation[d])] = index[d];
    result.data[at++] = x.data[static_cast<size_t>(flat(x.shape, from))];
  });
  return {std::move(result)};
}

graph::Lowering transpose_lower(const graph::LowerContext& context) {
  Body body;
  std::vector<int32_t> index;
  for (const int64_t loop : inverse(context.attrs.get<Ints>("permutation"))) index.push_back(body.loop(static_cast<size_t>(loop)));
  const int32_t value = body.load(0, context.operands[0].dtype, index);
  return std::move(body).done(value);
}

std::vector<graph::Sample> transpose_samples() {
  std::vector<graph::Sample> result;
  const auto add = [&](TensorType x, Ints permutation, std::string fails = {}) {
    result.push_back({{std::move(x)}, {{"permutation", std::move(permutation)}}, std::move(fails), sample_dims()});
  };
  add({DType::f64, {kBatch, 3}}, {1, 0});
  add({DType::f32, {2, 3, 5}}, {2, 0, 1});
  add({DType::i64, {4}}, {0});
  add({DType::f64, {}}, {});
  add({DType::f64, {3, 0}}, {1, 0});
  add({DType::f32, {2, 3}}, {0, 0}, "[0, 0] is no permutation of the axes of f32[2, 3]");
  add({DType::f32, {2, 3}}, {0, 1, 2}, "[0, 1, 2] is no permutation of the axes of f32[2, 3]");
  return result;
}

graph::OpRecord transpose() {
  return {
      .signature =
          graph::Signature{
              "transpose", {"x"}, {{"permutation", AttrKind::ints}}, 1, "dimension i of the result is dimension permutation[i] of x"},
      .axes = axes_by(transpose_axes),
      .infer = graph::Infer(transpose_infer),
      .evaluate = graph::Evaluate{transpose_evaluate, {}},
      .gradient = by_rule([](graph::GradientContext& context) {
        return Cotangents{
            context.builder.add("transpose", {*context.cotangents[0]}, {{"permutation", inverse(context.attrs.get<Ints>("permutation"))}})};
      }),
      .placements = graph::PlacementRule{Linear::joint, copies_keep_partial},
      .lower = graph::Lower(transpose_lower),
      .samples = transpose_samples(),
  };
}

}  // namespace

std::vector<graph::OpRecord> shape_ops() {
  std::vector<graph::OpRecord> records;
  records.push_back(broadcast());
  records.push_back(reshape());
  records.push_back(transpose());
  return records;
}

}  // namespace dtl::ops
