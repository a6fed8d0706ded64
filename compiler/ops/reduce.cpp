// Reductions over axes: reduce and argmax.
#include <algorithm>
#include <cmath>

#include "compiler/ops/array.h"
#include "compiler/ops/body.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/formula.h"
#include "compiler/ops/letters.h"

namespace dtl::ops {
namespace {

using graph::AttrKind;
using kernel::Scalar;
using Cotangents = std::vector<std::optional<ValueId>>;

bool contains(const Ints& axes, size_t axis) { return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end(); }

/// The axes that stay.
Ints kept_axes(size_t rank, const Ints& axes) {
  Ints kept;
  for (size_t d = 0; d < rank; ++d) {
    if (!contains(axes, d)) kept.push_back(static_cast<int64_t>(d));
  }
  return kept;
}

std::vector<Dim> kept_dims(const TensorType& type, const Ints& axes) {
  std::vector<Dim> dims;
  for (const int64_t axis : kept_axes(type.rank(), axes)) dims.push_back(type.dims[static_cast<size_t>(axis)]);
  return dims;
}

std::string reduce_axes(const graph::AxesContext& context) {
  const LetterGroup all = letters(context.operands[0].rank());
  LetterGroup kept;
  for (const int64_t axis : kept_axes(all.size(), context.attrs.get<Ints>("axes"))) kept.push_back(all[static_cast<size_t>(axis)]);
  return axes_text({all}, {kept});
}

Inferred reduce_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const Ints& axes = attrs.get<Ints>("axes");
  if (auto error = refuse_dtype(Domain::numbers, "reduce", operands[0].dtype, 0)) return Unexpected{*error};
  for (size_t i = 0; i < axes.size(); ++i) {
    if (auto error = refuse_axis("reduce", axes[i], operands[0])) return Unexpected{*error};
    if (i > 0 && axes[i] <= axes[i - 1]) return fail(0, "the axes of `reduce` do not rise: {} after {}", axes[i], axes[i - 1]);
  }
  return Types{{operands[0].dtype, kept_dims(operands[0], axes)}};
}

std::vector<Array> reduce_evaluate(const graph::EvaluateContext&, const Attrs& attrs, std::span<const Array> operands) {
  const Array& x = operands[0];
  const Ints kept = kept_axes(x.shape.size(), attrs.get<Ints>("axes"));
  const ReduceOp op = attrs.get<ReduceOp>("op");
  const auto project = [&](const Shape& index) {
    Shape result;
    for (const int64_t axis : kept) result.push_back(index[static_cast<size_t>(axis)]);
    return result;
  };
  Array result = zeros(x.dtype, project(x.shape));
  std::fill(result.data.begin(), result.data.end(), neutral(op, x.dtype));
  size_t at = 0;
  each_index(x.shape, [&](const Shape& index) {
    double& slot = result.data[static_cast<size_t>(flat(result.shape, project(index)))];
    slot = combined(op, x.dtype, slot, x.data[at++]);
  });
  return {std::move(result)};
}

/// d(x₀·x₁·…)/dxᵢ is the product of the others: y / xᵢ, except where zeros are among them.
ValueId product_cotangent(const Formula& f, ValueId x, ValueId g, const Ints& axes, const std::function<ValueId(ValueId)>& spread) {
  const ValueId zero = f.filled(0, x), one = f.filled(1, x);
  const ValueId is_zero = f.equal(x, zero);
  const ValueId others = f.select(is_zero, one, x);
  const ValueId product = spread(f.reduce(ReduceOp::product, others, axes));
  const ValueId zeros_there = spread(f.reduce(ReduceOp::sum, f.select(is_zero, one, zero), axes));
  const ValueId at_zero = f.select(f.equal(zeros_there, one), product, zero);
  const ValueId elsewhere = f.select(f.equal(zeros_there, zero), f.divide(product, others), zero);
  return f.multiply(spread(g), f.select(is_zero, at_zero, elsewhere));
}

Cotangents reduce_gradient(graph::GradientContext& context) {
  const Formula f{context.builder};
  const ValueId x = context.operands[0], g = *context.cotangents[0];
  const TensorType type = f.type(x);
  const Ints axes = context.attrs.get<Ints>("axes"), kept = kept_axes(type.rank(), axes);
  const std::function<ValueId(ValueId)> spread = [&](ValueId value) { return f.broadcast(value, type.dims, kept); };
  switch (context.attrs.get<ReduceOp>("op")) {
    case ReduceOp::sum:
      return {spread(g)};
    case ReduceOp::product:
      return {product_cotangent(f, x, g, axes, spread)};
    case ReduceOp::max:
    case ReduceOp::min: {
      // Equal winners share equally.
      const ValueId winners = f.cast(f.equal(x, spread(context.results[0])), type.dtype);
      const ValueId share = f.divide(g, f.reduce(ReduceOp::sum, winners, axes));
      return {f.multiply(winners, spread(share))};
    }
  }
  __builtin_unreachable();
}

/// Loads operand 0 where kept dimensions are outer loops and the others trailing ones.
int32_t load_projected(Body& body, const TensorType& type, const Ints& axes) {
  size_t outer = 0, inner = type.rank() - axes.size();
  std::vector<int32_t> index;
  for (size_t d = 0; d < type.rank(); ++d) index.push_back(body.loop(contains(axes, d) ? inner++ : outer++));
  return body.load(0, type.dtype, index);
}

graph::Lowering reduce_lower(const graph::LowerContext& context) {
  const TensorType& type = context.operands[0];
  const Ints& axes = context.attrs.get<Ints>("axes");
  Body body;
  const int32_t value = load_projected(body, type, axes);
  if (axes.empty()) return std::move(body).done(value);
  std::vector<Dim> reduced;
  for (const int64_t axis : axes) reduced.push_back(type.dims[static_cast<size_t>(axis)]);
  return std::move(body).done(value, std::move(reduced), context.attrs.get<ReduceOp>("op"));
}

std::vector<graph::Sample> reduce_samples() {
  std::vector<graph::Sample> result;
  const Dim batch = Dim::symbol("batch");
  const auto add = [&](DType dtype, std::vector<Dim> dims, ReduceOp op, Ints axes) {
    result.push_back({{{dtype, std::move(dims)}}, {{"op", op}, {"axes", std::move(axes)}}, {}, sample_dims()});
  };
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min, ReduceOp::product}) {
    add(DType::f64, {4, 3}, op, {1});
    add(DType::f64, {batch, 3, 2}, op, {0, 2});
    add(DType::f32, {5, 7}, op, {0});
    add(DType::bf16, {5, 7}, op, {0});
    add(DType::f16, {5, 7}, op, {1});
    add(DType::i64, {6, 2}, op, {0});
  }
  add(DType::f64, {batch}, ReduceOp::sum, {0});
  add(DType::f64, {2, 3}, ReduceOp::sum, {});
  add(DType::f64, {}, ReduceOp::max, {});
  add(DType::f64, {0, 3}, ReduceOp::sum, {0});
  add(DType::f64, {3, 0}, ReduceOp::max, {1});
  add(DType::u8, {300}, ReduceOp::sum, {0});
  add(DType::bf16, {3000}, ReduceOp::sum, {0});  // a bf16 sum would stand still at 256
  const auto refuse = [&](DType dtype, Ints axes, std::string text) {
    result.push_back({{{dtype, {2, 3}}}, {{"op", ReduceOp::sum}, {"axes", std::move(axes)}}, std::move(text)});
  };
  refuse(DType::f32, {2}, "axis 2 of `reduce` is outside f32[2, 3]");
  refuse(DType::f32, {-1}, "axis -1 of `reduce` is outside f32[2, 3]");
  refuse(DType::f32, {1, 0}, "the axes of `reduce` do not rise: 0 after 1");
  refuse(DType::boolean, {0}, "`reduce` takes numbers, not bool");
  result.push_back({{{DType::f32, {2, 3}}}, {{"axes", Ints{0}}}, "`reduce` lacks the attribute `op`"});
  return result;
}

graph::OpRecord reduce() {
  return {
      .signature =
          graph::Signature{"reduce",
                           {"x"},
                           {{"op", AttrKind::reduce_op}, {"axes", AttrKind::ints}},
                           1,
                           "combines over the axes, which rise, and drops them; winners of max and min share the gradient equally"},
      .axes = axes_by(reduce_axes, [](const Attrs& attrs) { return attrs.get<ReduceOp>("op"); }),
      .infer = graph::Infer(reduce_infer),
      .evaluate = graph::Evaluate{reduce_evaluate, {}},
      .gradient = by_rule(reduce_gradient),
      .placements = graph::PlacementRule{graph::Linear::none,
                                         [](const graph::PlacementContext& context) {
                                           return std::vector<graph::PlacementRow>{partial_row(1, {0}, context.attrs.get<ReduceOp>("op"))};
                                         }},
      .lower = graph::Lower(reduce_lower),
      .samples = reduce_samples(),
  };
}

// ---- argmax

std::string argmax_axes(const graph::AxesContext& context) {
  LetterGroup all = letters(context.operands[0].rank()), kept = all;
  const auto axis = context.attrs.get<int64_t>("axis");
  kept.erase(kept.begin() + axis);
  all[static_cast<size_t>(axis)] += "!";
  return axes_text({all}, {kept});
}

Inferred argmax_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const auto axis = attrs.get<int64_t>("axis");
  if (auto error = refuse_dtype(Domain::numbers, "argmax", operands[0].dtype, 0)) return Unexpected{*error};
  if (auto error = refuse_axis("argmax", axis, operands[0])) return Unexpected{*error};
  if (operands[0].dims[static_cast<size_t>(axis)] == Dim(0)) return fail(0, "axis {} of `argmax` is empty: {}", axis, operands[0].str());
  return Types{{DType::i64, kept_dims(operands[0], {axis})}};
}

std::vector<Array> argmax_evaluate(const graph::EvaluateContext&, const Attrs& attrs, std::span<const Array> operands) {
  const Array& x = operands[0];
  const auto axis = static_cast<size_t>(attrs.get<int64_t>("axis"));
  Shape shape = x.shape;
  shape.erase(shape.begin() + static_cast<int64_t>(axis));
  Array result = zeros(DType::i64, shape);
  size_t at = 0;
  each_index(shape, [&](const Shape& index) {
    Shape place = index;
    place.insert(place.begin() + static_cast<int64_t>(axis), 0);
    int64_t best = 0;
    double highest_so_far = x.data[static_cast<size_t>(flat(x.shape, place))];
    for (int64_t i = 1; i < x.shape[axis]; ++i) {
      place[axis] = i;
      const double value = x.data[static_cast<size_t>(flat(x.shape, place))];
      if (!std::isnan(highest_so_far) && (std::isnan(value) || value > highest_so_far)) {
        best = i;
        highest_so_far = value;
      }
    }
    result.data[at++] = static_cast<double>(best);
  });
  return {std::move(result)};
}

/// The maximum first; then the lowest index of an element that equals it, or is NaN as it is.
graph::Lowering argmax_lower(const graph::LowerContext& context) {
  const TensorType& type = context.operands[0];
  const auto axis = context.attrs.get<int64_t>("axis");
  Body body;
  const int32_t element = load_projected(body, type, {axis});
  const int32_t maximum = body.reduced(0, type.dtype);
  int32_t found = body.apply(Scalar::equal, DType::boolean, {element, maximum});
  if (is_float(type.dtype)) {
    const int32_t both_nan = body.apply(Scalar::is_nan, DType::boolean, {element});
    found = body.apply(Scalar::logical_or, DType::boolean, {found, both_nan});
  }
  const int32_t index = body.loop(type.rank() - 1), never = body.constant(0x1p53);
  const int32_t value = body.apply(Scalar::select, DType::i64, {found, index, never});
  graph::KernelRule rule = std::move(body).done(value, {type.dims[static_cast<size_t>(axis)]}, ReduceOp::min);
  rule.first = {{ReduceOp::max, element}};
  return rule;
}

std::vector<graph::Sample> argmax_samples() {
  std::vector<graph::Sample> result;
  const Dim batch = Dim::symbol("batch");
  const auto add = [&](DType dtype, std::vector<Dim> dims, int64_t axis) {
    result.push_back({{{dtype, std::move(dims)}}, {{"axis", axis}}, {}, sample_dims()});
  };
  add(DType::f64, {batch, 10}, 1);
  add(DType::f64, {7, 3}, 0);
  add(DType::f32, {3, 4, 5}, 1);
  add(DType::f64, {9}, 0);
  add(DType::i64, {4, 9}, 1);  // ties
  add(DType::f64, {0, 9}, 1);
  result.push_back({{{DType::f32, {3, 4}}}, {{"axis", int64_t{2}}}, "axis 2 of `argmax` is outside f32[3, 4]"});
  result.push_back({{{DType::f32, {3, 0}}}, {{"axis", int64_t{1}}}, "axis 1 of `argmax` is empty: f32[3, 0]"});
  result.push_back({{{DType::boolean, {3}}}, {{"axis", int64_t{0}}}, "`argmax` takes numbers, not bool"});
  return result;
}

graph::OpRecord argmax() {
  return {
      .signature = graph::Signature{"argmax",
                                    {"x"},
                                    {{"axis", AttrKind::integer}},
                                    1,
                                    "the index of the largest along the axis, i64; the first of equals; a NaN is largest"},
      .axes = axes_by(argmax_axes),
      .infer = graph::Infer(argmax_infer),
      .evaluate = graph::Evaluate{argmax_evaluate, {}},
      .gradient = graph::Gradient(graph::Zero{}),
      .placements = linear(graph::Linear::none),
      .lower = graph::Lower(argmax_lower),
      .samples = argmax_samples(),
  };
}

}  // namespace

std::vector<graph::OpRecord> reductions() {
  std::vector<graph::OpRecord> records;
  records.push_back(reduce());
  records.push_back(argmax());
  return records;
}

}  // namespace dtl::ops
