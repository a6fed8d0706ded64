// Rows of a table: gather, and scatter_add, its transpose; elements along an axis: gather_along.
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
using kernel::Scalar;
using Cotangents = std::vector<std::optional<ValueId>>;

const Dim kBatch = Dim::symbol("batch");

/// Indices outside the table mean its nearest end, here and in both kernels.
int64_t kept_inside(double index, int64_t size) { return std::clamp<int64_t>(static_cast<int64_t>(index), 0, size - 1); }

LetterGroup joined(LetterGroup first, const LetterGroup& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Shape joined(Shape first, std::span<const int64_t> second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// ---- gather

std::string gather_axes(const graph::AxesContext& context) {
  const size_t rest = context.operands[0].rank() - 1, index = context.operands[1].rank();
  const LetterGroup row = letters(1), inner = letters(rest, 1), outer = letters(index, 1 + rest);
  return axes_text({joined({row[0] + "!"}, inner), outer}, {joined(outer, inner)});
}

Inferred gather_infer(std::span<const TensorType> operands, const Attrs&) {
  const TensorType &x = operands[0], &i = operands[1];
  if (auto error = refuse_dtype(Domain::numbers, "gather", x.dtype, 0)) return Unexpected{*error};
  if (!is_integer(i.dtype)) return fail(1, "the indices of `gather` are integers, not {}", name_of(i.dtype));
  if (x.rank() == 0) return fail(0, "`gather` takes a table, not {}", x.str());
  if (x.dims[0] == Dim(0)) return fail(0, "the table of `gather` is empty: {}", x.str());
  TensorType result{x.dtype, i.dims};
  result.dims.insert(result.dims.end(), x.dims.begin() + 1, x.dims.end());
  return Types{result};
}

std::vector<Array> gather_evaluate(const graph::EvaluateContext&, const Attrs&, std::span<const Array> operands) {
  const Array &x = operands[0], &i = operands[1];
  const std::span<const int64_t> row_shape = std::span(x.shape).subspan(1);
  Array result = zeros(x.dtype, joined(i.shape, row_shape));
  const int64_t width = count(row_shape);
  for (size_t k = 0; k < i.data.size(); ++k) {
    const int64_t row = kept_inside(i.data[k], x.shape[0]);
    for (int64_t c = 0; c < width; ++c)
      result.data[k * static_cast<size_t>(width) + static_cast<size_t>(c)] = x.data[static_cast<size_t>(row * width + c)];
  }
  return {std::move(result)};
}

graph::Lowering gather_lower(const graph::LowerContext& context) {
  const TensorType &x = context.operands[0], &i = context.operands[1];
  Body body;
  const int32_t index = body.load(1, i.dtype, body.loops(0, i.rank()));
  std::vector<int32_t> place = {body.clamp(body.cast(index, DType::i64), x.dims[0])};
  for (const int32_t loop : body.loops(i.rank(), x.rank() - 1)) place.push_back(loop);
  const int32_t value = body.load(0, x.dtype, place);
  return std::move(body).done(value);
}

std::vector<graph::Sample> gather_samples() {
  std::vector<graph::Sample> result;
  const auto add = [&](TensorType x, TensorType i, std::string fails = {}) {
    result.push_back({{std::move(x), std::move(i)}, {}, std::move(fails), sample_dims(), -1, 5});
  };
  const DType f64 = DType::f64, f32 = DType::f32, i64 = DType::i64;
  add({f64, {4, 3}}, {i64, {kBatch}});
  add({f32, {4, 3}}, {DType::i32, {2, 3}});
  add({f64, {4}}, {DType::u8, {5}});
  add({f64, {4, 2, 3}}, {i64, {}});
  add({f64, {4, 3}}, {i64, {0}});
  add({f64, {4, 3}}, {f64, {5}}, "the indices of `gather` are integers, not f64");
  add({f64, {}}, {i64, {5}}, "`gather` takes a table, not f64[]");
  add({f64, {0, 2}}, {i64, {5}}, "the table of `gather` is empty: f64[0, 2]");
  add({DType::boolean, {3, 2}}, {i64, {5}}, "`gather` takes numbers, not bool");
  return result;
}

graph::OpRecord gather() {
  return {
      .signature = graph::Signature{"gather", {"x", "i"}, {}, 1, "row i of x for each index of i; an index outside means the nearest end"},
      .axes = axes_by(gather_axes),
      .infer = graph::Infer(gather_infer),
      .evaluate = graph::Evaluate{gather_evaluate, {}},
      .gradient = by_rule([](graph::GradientContext& context) {
        const Dims rows = {context.builder.type(context.operands[0]).dims[0]};
        return Cotangents{context.builder.add("scatter_add", {context.operands[1], *context.cotangents[0]}, {{"size", rows}}),
                          std::nullopt};
      }),
      // Linear in the table.
      .placements = graph::PlacementRule{Linear::none,
                                         [](const graph::PlacementContext&) {
                                           return std::vector<graph::PlacementRow>{partial_row(2, {0}, ReduceOp::sum)};
                                         }},
      .lower = graph::Lower(gather_lower),
      .samples = gather_samples(),
  };
}

// ---- scatter_add

std::string scatter_axes(const graph::AxesContext& context) {
  const size_t index = context.operands[0].rank(), rest = context.operands[1].rank() - index;
  const LetterGroup outer = letters(index), inner = letters(rest, index), row = letters(1, index + rest);
  return axes_text({outer, joined(outer, inner)}, {joined({row[0] + "!"}, inner)});
}

Inferred scatter_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const TensorType &i = operands[0], &u = operands[1];
  const Dims& size = attrs.get<Dims>("size");
  if (!is_integer(i.dtype)) return fail(0, "the indices of `scatter_add` are integers, not {}", name_of(i.dtype));
  if (auto error = refuse_dtype(Domain::numbers, "scatter_add", u.dtype, 1)) return Unexpected{*error};
  if (size.size() != 1) return fail(-1, "`scatter_add` has one size, not {}", size.size());
  if (size[0] == Dim(0)) return fail(-1, "the table of `scatter_add` is empty");
  if (u.rank() < i.rank() || !std::equal(i.dims.begin(), i.dims.end(), u.dims.begin())) {
    return fail(1, "`scatter_add` of {} by indices {}: the updates begin with the indices' dimensions", u.str(), i.str());
  }
  TensorType result{u.dtype, size};
  result.dims.insert(result.dims.end(), u.dims.begin() + static_cast<int64_t>(i.rank()), u.dims.end());
  return Types{result};
}

std::vector<Array> scatter_evaluate(const graph::EvaluateContext& context, const Attrs&, std::span<const Array> operands) {
  const Array &i = operands[0], &u = operands[1];
  Array result = zeros(u.dtype, context.result_shapes[0]);
  const int64_t width = count(std::span(result.shape).subspan(1));
  for (size_t k = 0; k < i.data.size(); ++k) {
    const int64_t row = kept_inside(i.data[k], result.shape[0]);
    for (int64_t c = 0; c < width; ++c) {
      double& slot = result.data[static_cast<size_t>(row * width + c)];
      slot = combined(ReduceOp::sum, u.dtype, slot, u.data[k * static_cast<size_t>(width) + static_cast<size_t>(c)]);
    }
  }
  return {std::move(result)};
}

/// The types that the runtime adds rows of; in narrow ones, and of one index, each element of the table looks through all
/// indices, and rounds once.
graph::Lowering scatter_lower(const graph::LowerContext& context) {
  const TensorType &i = context.operands[0], &u = context.operands[1], &table = context.results[0];
  const bool wide = u.dtype == DType::f32 || u.dtype == DType::f64 || u.dtype == DType::i32 || u.dtype == DType::i64;
  if (wide && i.rank() > 0) {
    graph::ScatterRule rule{i.elements(), table.dims[0], Dim(1)};
    for (size_t d = 1; d < table.rank(); ++d) rule.width = rule.width * table.dims[d];
    return rule;
  }
  Body body;
  std::vector<int32_t> place = body.loops(table.rank(), i.rank());
  const int32_t index = body.cast(body.load(0, i.dtype, place), DType::i64);
  const int32_t mine = body.apply(Scalar::equal, DType::boolean, {body.clamp(index, table.dims[0]), body.loop(0)});
  for (const int32_t loop : body.loops(1, table.rank() - 1)) place.push_back(loop);
  const int32_t update = body.load(1, u.dtype, place);
  const int32_t nothing = body.constant(0, u.dtype);
  const int32_t value = body.apply(Scalar::select, u.dtype, {mine, update, nothing});
  if (i.rank() == 0) return std::move(body).done(value);
  return std::move(body).done(value, i.dims, ReduceOp::sum);
}

std::vector<graph::Sample> scatter_samples() {
  std::vector<graph::Sample> result;
  const auto add = [&](TensorType i, TensorType u, Dims size, std::string fails = {}) {
    result.push_back({{std::move(i), std::move(u)}, {{"size", std::move(size)}}, std::move(fails), sample_dims(), -1, 5});
  };
  const DType f64 = DType::f64, f32 = DType::f32, i64 = DType::i64;
  add({i64, {kBatch}}, {f64, {kBatch, 3}}, {4});
  add({DType::i32, {2, 3}}, {f32, {2, 3, 2}}, {4});
  add({i64, {6}}, {i64, {6}}, {4});
  add({i64, {}}, {f64, {3}}, {4});
  add({i64, {0}}, {f64, {0, 3}}, {4});
  add({f32, {5}}, {f64, {5, 3}}, {4}, "the indices of `scatter_add` are integers, not f32");
  add({i64, {5}}, {f64, {4, 3}}, {4}, "`scatter_add` of f64[4, 3] by indices i64[5]: the updates begin with the indices' dimensions");
  add({i64, {5}}, {DType::boolean, {5}}, {4}, "`scatter_add` takes numbers, not bool");
  add({i64, {5}}, {f64, {5}}, {4, 4}, "`scatter_add` has one size, not 2");
  add({i64, {5}}, {f64, {5}}, {0}, "the table of `scatter_add` is empty");
  return result;
}

graph::OpRecord scatter_add() {
  return {
      .signature =
          graph::Signature{
              "scatter_add", {"i", "u"}, {{"size", AttrKind::dims}}, 1, "a table of zeros to whose row i each update is added"},
      .axes = axes_by(scatter_axes, [](const Attrs&) { return ReduceOp::sum; }),
      .infer = graph::Infer(scatter_infer),
      .evaluate = graph::Evaluate{scatter_evaluate, {}},
      .gradient = by_rule([](graph::GradientContext& context) {
        return Cotangents{std::nullopt, context.builder.add("gather", {*context.cotangents[0], context.operands[0]})};
      }),
      // Linear in the updates.
      .placements = graph::PlacementRule{Linear::none,
                                         [](const graph::PlacementContext&) {
                                           return std::vector<graph::PlacementRow>{partial_row(2, {1}, ReduceOp::sum)};
                                         }},
      .lower = graph::Lower(scatter_lower),
      .samples = scatter_samples(),
  };
}

// ---- gather_along

std::string along_axes(const graph::AxesContext& context) {
  const size_t rank = context.operands[0].rank(), axis = static_cast<size_t>(context.attrs.get<int64_t>("axis"));
  LetterGroup x = letters(rank), index = x;
  x[axis] += "!";
  index[axis] = letters(1, rank)[0];
  return axes_text({x, index}, {index});
}

Inferred along_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const TensorType &x = operands[0], &i = operands[1];
  const auto axis = attrs.get<int64_t>("axis");
  if (auto error = refuse_dtype(Domain::numbers, "gather_along", x.dtype, 0)) return Unexpected{*error};
  if (!is_integer(i.dtype)) return fail(1, "the indices of `gather_along` are integers, not {}", name_of(i.dtype));
  if (auto error = refuse_axis("gather_along", axis, x)) return Unexpected{*error};
  const auto at = static_cast<size_t>(axis);
  if (x.dims[at] == Dim(0)) return fail(0, "axis {} of `gather_along` is empty: {}", axis, x.str());
  TensorType result{x.dtype, i.dims};
  Dims elsewhere = i.dims;
  if (i.rank() == x.rank()) elsewhere[at] = x.dims[at];
  if (elsewhere != x.dims) return fail(1, "shapes of `gather_along` differ outside axis {}: {} and {}", axis, x.str(), i.str());
  return Types{result};
}

std::vector<Array> along_evaluate(const graph::EvaluateContext&, const Attrs& attrs, std::span<const Array> operands) {
  const Array &x = operands[0], &i = operands[1];
  const auto axis = static_cast<size_t>(attrs.get<int64_t>("axis"));
  Array result = zeros(x.dtype, i.shape);
  size_t at = 0;
  each_index(i.shape, [&](Shape index) {
    index[axis] = kept_inside(i.data[at], x.shape[axis]);
    result.data[at++] = x.data[static_cast<size_t>(flat(x.shape, index))];
  });
  return {std::move(result)};
}

/// Each element of x looks through the indices for those that mean it.
Cotangents along_gradient(graph::GradientContext& context) {
  const Formula f{context.builder};
  const ValueId i = context.operands[1], g = *context.cotangents[0];
  const TensorType x = f.type(context.operands[0]), index = f.type(i);
  const auto axis = context.attrs.get<int64_t>("axis");
  const auto at = static_cast<size_t>(axis);
  // [..., place in x, index, ...]
  Dims wide = x.dims;
  wide.insert(wide.begin() + axis + 1, index.dims[at]);
  Ints without_place;
  for (size_t d = 0; d < x.rank(); ++d) without_place.push_back(static_cast<int64_t>(d < at ? d : d + 1));
  const ValueId zero = context.builder.constant(0, index.dtype, wide);
  const ValueId size = context.builder.add("size", {}, {{"dim", Dims{x.dims[at] - Dim(1)}}, {"dtype", index.dtype}});
  const ValueId above = context.builder.add("maximum", {f.broadcast(i, wide, without_place), zero});
  const ValueId kept = context.builder.add("minimum", {above, f.broadcast(size, wide, {})});
  const ValueId place = context.builder.add("iota", {}, {{"shape", wide}, {"axis", axis}, {"dtype", index.dtype}});
  const ValueId spread = f.broadcast(g, wide, without_place);
  return {f.reduce(ReduceOp::sum, f.select(f.equal(kept, place), spread, f.filled(0, spread)), {axis + 1}), std::nullopt};
}

graph::Lowering along_lower(const graph::LowerContext& context) {
  const TensorType &x = context.operands[0], &i = context.operands[1];
  const auto axis = static_cast<size_t>(context.attrs.get<int64_t>("axis"));
  Body body;
  std::vector<int32_t> place = body.loops(0, i.rank());
  const int32_t index = body.load(1, i.dtype, place);
  place[axis] = body.clamp(body.cast(index, DType::i64), x.dims[axis]);
  const int32_t value = body.load(0, x.dtype, place);
  return std::move(body).done(value);
}

std::vector<graph::Sample> along_samples() {
  std::vector<graph::Sample> result;
  const auto add = [&](TensorType x, TensorType i, int64_t axis, std::string fails = {}) {
    result.push_back({{std::move(x), std::move(i)}, {{"axis", axis}}, std::move(fails), sample_dims(), -1, 5});
  };
  const DType f64 = DType::f64, f32 = DType::f32, i64 = DType::i64;
  add({f64, {kBatch, 4}}, {i64, {kBatch, 3}}, 1);
  add({f32, {2, 4, 3}}, {DType::i32, {2, 6, 3}}, 1);
  add({f64, {4, 2}}, {DType::i32, {3, 2}}, 0);
  add({f64, {kBatch, 2}}, {i64, {5, 2}}, 0);
  add({i64, {4}}, {DType::u8, {0}}, 0);
  add({f64, {4, 3}}, {f64, {4, 5}}, 1, "the indices of `gather_along` are integers, not f64");
  add({f64, {4, 3}}, {i64, {2, 5}}, 1, "shapes of `gather_along` differ outside axis 1: f64[4, 3] and i64[2, 5]");
  add({f64, {4, 3}}, {i64, {4}}, 1, "shapes of `gather_along` differ outside axis 1: f64[4, 3] and i64[4]");
  add({f64, {4, 3}}, {i64, {4, 3}}, 2, "axis 2 of `gather_along` is outside f64[4, 3]");
  add({f64, {4, 0}}, {i64, {4, 3}}, 1, "axis 1 of `gather_along` is empty: f64[4, 0]");
  add({DType::boolean, {3}}, {i64, {5}}, 0, "`gather_along` takes numbers, not bool");
  return result;
}

graph::OpRecord gather_along() {
  return {
      .signature = graph::Signature{"gather_along",
                                    {"x", "i"},
                                    {{"axis", AttrKind::integer}},
                                    1,
                                    "along the axis the elements of x that i names, elsewhere x and i go together; an index outside "
                                    "means the nearest end"},
      .axes = axes_by(along_axes),
      .infer = graph::Infer(along_infer),
      .evaluate = graph::Evaluate{along_evaluate, {}},
      .gradient = by_rule(along_gradient),
      // Linear in x.
      .placements = graph::PlacementRule{graph::Linear::none,
                                         [](const graph::PlacementContext&) {
                                           return std::vector<graph::PlacementRow>{partial_row(2, {0}, ReduceOp::sum)};
                                         }},
      .lower = graph::Lower(along_lower),
      .samples = along_samples(),
  };
}

}  // namespace

std::vector<graph::OpRecord> index_ops() {
  std::vector<graph::OpRecord> records;
  records.push_back(gather());
  records.push_back(scatter_add());
  records.push_back(gather_along());
  return records;
}

}  // namespace dtl::ops
