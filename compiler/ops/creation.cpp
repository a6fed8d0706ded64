// Values from nothing: constant, size of a dimension, iota.
#include <cmath>
#include <limits>

#include "compiler/ops/array.h"
#include "compiler/ops/body.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/letters.h"

namespace dtl::ops {
namespace {

using graph::AttrKind;
using graph::Linear;

const Dim kBatch = Dim::symbol("batch");

/// Each member can make its own part.
std::string shape_axes(const graph::AxesContext& context) { return axes_text({}, {letters(context.attrs.get<Dims>("shape").size())}); }

/// Of the identity of a reduction every member has as much as it likes: the whole is the same.
std::vector<graph::PlacementRow> identity_rows(const graph::PlacementContext& context) {
  const double value = context.attrs.get<double>("value");
  const DType dtype = context.attrs.get<DType>("dtype");
  std::vector<graph::PlacementRow> rows;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min}) {
    if (value == start_of(op, dtype)) rows.push_back({{}, {types::Placement::partial(op)}});
  }
  if (rows.empty()) return rows;
  // Rows given here stand in place of those that follow from the shape, as their operands are the same: none.
  for (size_t dim = 0; dim < context.results[0].rank(); ++dim) rows.push_back({{}, {types::Placement::split(static_cast<int>(dim))}});
  rows.push_back({{}, {types::Placement::broadcast()}});
  return rows;
}

graph::OpRecord constant() {
  const auto sample = [](double value, DType dtype, Dims shape, std::string fails = {}) {
    return graph::Sample{{}, {{"value", value}, {"dtype", dtype}, {"shape", std::move(shape)}}, std::move(fails), sample_dims()};
  };
  return {
      .signature = graph::Signature{"constant",
                                    {},
                                    {{"value", AttrKind::number}, {"dtype", AttrKind::dtype}, {"shape", AttrKind::dims}},
                                    1,
                                    "one number in every place"},
      .axes = axes_by(shape_axes),
      .infer = graph::Infer([](std::span<const TensorType>, const Attrs& attrs) -> Inferred {
        const double value = attrs.get<double>("value");
        const TensorType type{attrs.get<DType>("dtype"), attrs.get<Dims>("shape")};
        const bool whole = std::floor(value) == value && value >= static_cast<double>(lowest(type.dtype)) &&
                           value <= static_cast<double>(highest(type.dtype));
        if (!is_float(type.dtype) && !whole) return fail(-1, "{} holds no {}", name_of(type.dtype), value);
        return Types{type};
      }),
      .evaluate = graph::Evaluate{[](const graph::EvaluateContext& context, const Attrs& attrs, std::span<const Array>) {
                                    Array result = zeros(attrs.get<DType>("dtype"), context.result_shapes[0]);
                                    for (double& value : result.data) value = attrs.get<double>("value");
                                    return std::vector<Array>{std::move(result)};
                                  },
                                  {}},
      .gradient = graph::Gradient(graph::Zero{}),
      .placements = graph::PlacementRule{Linear::none, identity_rows},
      .lower = graph::Lower([](const graph::LowerContext& context) -> graph::Lowering {
        Body body;
        const int32_t value = body.constant(context.attrs.get<double>("value"), context.results[0].dtype);
        return std::move(body).done(value);
      }),
      .samples =
          std::vector<graph::Sample>{
              sample(1.5, DType::f32, {kBatch, 3}),
              sample(-2, DType::f64, {}),
              sample(7, DType::i64, {4}),
              sample(1, DType::boolean, {2, 2}),
              sample(0.1, DType::f64, {0}),
              sample(0, DType::f64, {3}),
              sample(-std::numeric_limits<double>::infinity(), DType::f64, {2}),
              sample(255, DType::u8, {2}),
              sample(1.5, DType::i32, {}, "i32 holds no 1.5"),
              sample(256, DType::u8, {}, "u8 holds no 256"),
              sample(2, DType::boolean, {}, "bool holds no 2"),
          },
  };
}

// ---- size

bool is_share(const Dim& dim) {
  for (const std::string& symbol : dim.symbols()) {
    const size_t slash = symbol.rfind('/');
    if (slash != std::string::npos && types::share_of(symbol.substr(0, slash)) == symbol) return true;
  }
  return false;
}

graph::OpRecord size() {
  const auto sample = [](Dims dim, DType dtype, std::string fails = {}) {
    return graph::Sample{{}, {{"dim", std::move(dim)}, {"dtype", dtype}}, std::move(fails), {{"batch", 5}, {types::share_of("batch"), 2}}};
  };
  return {
      .signature = graph::Signature{"size",
                                    {},
                                    {{"dim", AttrKind::dims}, {"dtype", AttrKind::dtype}},
                                    1,
                                    "the value of a dimension: a run-time one's global count, a share's own"},
      .axes = no_axes("a scalar"),
      .infer = graph::Infer([](std::span<const TensorType>, const Attrs& attrs) -> Inferred {
        const Dims& dim = attrs.get<Dims>("dim");
        const DType dtype = attrs.get<DType>("dtype");
        if (dim.size() != 1) return fail(-1, "`size` is of one dimension, not {}", dim.size());
        if (dtype == DType::boolean) return fail(-1, "`size` gives numbers, not bool");
        return Types{{dtype, {}}};
      }),
      .evaluate = graph::Evaluate{[](const graph::EvaluateContext& context, const Attrs& attrs, std::span<const Array>) {
                                    Array result = zeros(attrs.get<DType>("dtype"), {});
                                    result.data[0] = static_cast<double>(attrs.get<Dims>("dim")[0].evaluate(context.dims));
                                    return std::vector<Array>{std::move(result)};
                                  },
                                  {}},
      .gradient = graph::Gradient(graph::Zero{}),
      // Every member knows the global count; a share is its own.
      .placements = graph::PlacementRule{Linear::none,
                                         [](const graph::PlacementContext& context) -> std::vector<graph::PlacementRow> {
                                           if (!is_share(context.attrs.get<Dims>("dim")[0])) return {};
                                           return {{{}, {types::Placement::varying()}}};
                                         }},
      .lower = graph::Lower([](const graph::LowerContext& context) -> graph::Lowering {
        Body body;
        const int32_t value = body.cast(body.size(context.attrs.get<Dims>("dim")[0]), context.results[0].dtype);
        return std::move(body).done(value);
      }),
      .samples =
          std::vector<graph::Sample>{
              sample({kBatch}, DType::f32),
              sample({kBatch}, DType::i64),
              sample({kBatch * Dim(2) + Dim(1)}, DType::f64),
              sample({3}, DType::f64),
              sample({Dim::symbol(types::share_of("batch"))}, DType::f64),
              sample({}, DType::f64, "`size` is of one dimension, not 0"),
              sample({3}, DType::boolean, "`size` gives numbers, not bool"),
          },
  };
}

// ---- iota

graph::OpRecord iota() {
  const auto sample = [](Dims shape, int64_t axis, DType dtype, std::string fails = {}) {
    return graph::Sample{{}, {{"shape", std::move(shape)}, {"axis", axis}, {"dtype", dtype}}, std::move(fails), sample_dims()};
  };
  return {
      .signature = graph::Signature{"iota",
                                    {},
                                    {{"shape", AttrKind::dims}, {"axis", AttrKind::integer}, {"dtype", AttrKind::dtype}},
                                    1,
                                    "each element's index along the axis"},
      .axes = axes_by(shape_axes),
      .infer = graph::Infer([](std::span<const TensorType>, const Attrs& attrs) -> Inferred {
        const TensorType type{attrs.get<DType>("dtype"), attrs.get<Dims>("shape")};
        if (auto error = refuse_axis("iota", attrs.get<int64_t>("axis"), type, -1)) return Unexpected{*error};
        if (type.dtype == DType::boolean) return fail(-1, "`iota` gives numbers, not bool");
        return Types{type};
      }),
      .evaluate = graph::Evaluate{[](const graph::EvaluateContext& context, const Attrs& attrs, std::span<const Array>) {
                                    Array result = zeros(attrs.get<DType>("dtype"), context.result_shapes[0]);
                                    const auto axis = static_cast<size_t>(attrs.get<int64_t>("axis"));
                                    size_t at = 0;
                                    each_index(result.shape, [&](const Shape& index) {
                                      const int64_t value = context.result_offsets[0][axis] + index[axis];
                                      result.data[at++] =
                                          is_integer(result.dtype) ? wrapped(result.dtype, value) : static_cast<double>(value);
                                    });
                                    return std::vector<Array>{std::move(result)};
                                  },
                                  {}},
      .gradient = graph::Gradient(graph::Zero{}),
      .placements = linear(Linear::none),
      .lower = graph::Lower([](const graph::LowerContext& context) -> graph::Lowering {
        Body body;
        const int32_t value = body.cast(body.global(static_cast<size_t>(context.attrs.get<int64_t>("axis"))), context.results[0].dtype);
        return std::move(body).done(value);
      }),
      .samples =
          std::vector<graph::Sample>{
              sample({kBatch}, 0, DType::i64),
              sample({kBatch, 3}, 0, DType::f32),
              sample({2, 5}, 1, DType::f64),
              sample({0}, 0, DType::i64),
              sample({300}, 0, DType::u8),
              sample({2, 3}, 2, DType::i64, "axis 2 of `iota` is outside i64[2, 3]"),
              sample({2}, 0, DType::boolean, "`iota` gives numbers, not bool"),
          },
  };
}

}  // namespace

std::vector<graph::OpRecord> creation_ops() {
  std::vector<graph::OpRecord> records;
  records.push_back(constant());
  records.push_back(size());
  records.push_back(iota());
  return records;
}

}  // namespace dtl::ops
