// select and cast.
#include "compiler/ops/array.h"
#include "compiler/ops/body.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/formula.h"

namespace dtl::ops {
namespace {

using kernel::Scalar;
using Cotangents = std::vector<std::optional<ValueId>>;

std::vector<graph::Sample> select_samples() {
  std::vector<graph::Sample> result;
  for (const auto& shape : sample_shapes()) {
    result.push_back({{{DType::boolean, shape}, {DType::f64, shape}, {DType::f64, shape}}, {}, {}, sample_dims()});
  }
  result.push_back({{{DType::boolean, {6}}, {DType::f32, {6}}, {DType::f32, {6}}}, {}});
  result.push_back({{{DType::boolean, {6}}, {DType::i64, {6}}, {DType::i64, {6}}}, {}});
  result.push_back({{{DType::f32, {6}}, {DType::i64, {6}}, {DType::i64, {6}}}, {}, "the condition of `select` is a bool, not f32"});
  result.push_back({{{DType::boolean, {6}}, {DType::i64, {6}}, {DType::f32, {6}}}, {}, "element types of `select` differ: i64 and f32"});
  result.push_back({{{DType::boolean, {6}}, {DType::i64, {6}}, {DType::i64, {5}}}, {}, "shapes of `select` differ: [6] and [5]"});
  result.push_back(
      {{{DType::boolean, {}}, {DType::i64, {6}}, {DType::i64, {6}}}, {}, "the condition of `select` has shape [], its choices [6]"});
  return result;
}

graph::OpRecord select() {
  return {
      .signature = graph::Signature{"select", {"condition", "then", "else"}, {}, 1, "where the condition holds `then`, elsewhere `else`"},
      .axes = same_axes(3),
      .infer = graph::Infer([](std::span<const TensorType> operands, const Attrs&) -> Inferred {
        if (operands[0].dtype != DType::boolean) return fail(0, "the condition of `select` is a bool, not {}", name_of(operands[0].dtype));
        if (auto error = refuse_difference("select", operands[1], operands[2], 2)) return Unexpected{*error};
        if (operands[0].dims != operands[1].dims) {
          return fail(0, "the condition of `select` has shape {}, its choices {}", types::str(operands[0].dims),
                      types::str(operands[1].dims));
        }
        return Types{operands[1]};
      }),
      .evaluate = graph::Evaluate{[](const graph::EvaluateContext&, const Attrs&, std::span<const Array> operands) {
                                    Array result = operands[2];
                                    for (size_t i = 0; i < result.data.size(); ++i) {
                                      if (operands[0].data[i] != 0) result.data[i] = operands[1].data[i];
                                    }
                                    return std::vector<Array>{std::move(result)};
                                  },
                                  {}},
      .gradient = by_rule([](graph::GradientContext& context) {
        const Formula f{context.builder};
        const ValueId g = *context.cotangents[0], zero = f.filled(0, g);
        return Cotangents{std::nullopt, f.select(context.operands[0], g, zero), f.select(context.operands[0], zero, g)};
      }),
      // Additive in both choices together.
      .placements = graph::PlacementRule{graph::Linear::none,
                                         [](const graph::PlacementContext&) {
                                           return std::vector<graph::PlacementRow>{partial_row(3, {1, 2}, ReduceOp::sum)};
                                         }},
      .lower =
          graph::Lower([](const graph::LowerContext& context) -> graph::Lowering { return elementwise_rule(context, Scalar::select); }),
      .samples = select_samples(),
  };
}

std::vector<graph::Sample> cast_samples() {
  std::vector<graph::Sample> result;
  const auto add = [&](DType from, DType to, double low, double high) {
    result.push_back({{{from, {3, 5}}}, {{"to", to}}, {}, sample_dims(), low, high});
  };
  add(DType::f64, DType::f32, -2, 2);
  add(DType::f32, DType::f64, -2, 2);
  add(DType::f64, DType::i32, -9, 9);
  add(DType::f64, DType::u8, -90, 400);
  add(DType::i64, DType::f64, -9, 9);
  add(DType::i64, DType::i8, -400, 400);
  add(DType::u8, DType::f32, 0, 256);
  add(DType::boolean, DType::f64, 0, 2);
  add(DType::i32, DType::boolean, -2, 2);
  for (const DType narrow : {DType::bf16, DType::f16}) {
    add(DType::f32, narrow, -2, 2);
    add(DType::f32, narrow, -70000, 70000);
    add(DType::f32, narrow, -1e-7, 1e-7);
    add(DType::f64, narrow, -2, 2);
    add(DType::i64, narrow, -70000, 70000);
    add(narrow, DType::f32, -2, 2);
    add(narrow, DType::f64, -1e-7, 1e-7);
    add(narrow, DType::i8, -400, 400);
    add(narrow, narrow == DType::f16 ? DType::bf16 : DType::f16, -2, 2);
  }
  for (const auto& shape : sample_shapes()) result.push_back({{{DType::f64, shape}}, {{"to", DType::f64}}, {}, sample_dims()});
  result.push_back({{{DType::f64, {2}}}, {}, "`cast` lacks the attribute `to`"});
  result.push_back({{{DType::f64, {2}}}, {{"to", std::string("f32")}}, "attribute `to` of `cast` is not an element type"});
  result.push_back({{{DType::f64, {2}}}, {{"to", DType::f32}, {"from", DType::f64}}, "`cast` has no attribute `from`"});
  return result;
}

graph::OpRecord cast() {
  return {
      .signature = graph::Signature{"cast",
                                    {"x"},
                                    {{"to", graph::AttrKind::dtype}},
                                    1,
                                    "to another element type: integers wrap; floats truncate towards zero and saturate, NaN gives 0; a "
                                    "bool is x ≠ 0; to nearest even"},
      .axes = same_axes(1),
      .infer = graph::Infer([](std::span<const TensorType> operands, const Attrs& attrs) -> Inferred {
        return Types{{attrs.get<DType>("to"), operands[0].dims}};
      }),
      .evaluate = graph::Evaluate{[](const graph::EvaluateContext&, const Attrs& attrs, std::span<const Array> operands) {
                                    Array result = zeros(attrs.get<DType>("to"), operands[0].shape);
                                    for (size_t i = 0; i < result.data.size(); ++i) {
                                      result.data[i] = cast_value(operands[0].dtype, result.dtype, operands[0].data[i]);
                                    }
                                    return std::vector<Array>{std::move(result)};
                                  },
                                  {}},
      .gradient = by_rule([](graph::GradientContext& context) {
        const Formula f{context.builder};
        const DType from = f.type(context.operands[0]).dtype;
        if (!is_float(from) || !is_float(context.attrs.get<DType>("to"))) return Cotangents{std::nullopt};
        return Cotangents{f.cast(*context.cotangents[0], from)};
      }),
      // A narrowing cast rounds, and the sum of the rounded is not the rounded sum; a widening one may come before the sum, which
      // is then taken in the wider type.
      .placements = graph::PlacementRule{graph::Linear::none,
                                         [](const graph::PlacementContext& context) {
                                           const DType from = context.operands[0].dtype, to = context.results[0].dtype;
                                           std::vector<graph::PlacementRow> rows;
                                           if (is_narrow(from) && is_float(to) && !is_narrow(to))
                                             rows.push_back(partial_row(1, {0}, ReduceOp::sum));
                                           return rows;
                                         }},
      .lower = graph::Lower([](const graph::LowerContext& context) -> graph::Lowering { return elementwise_rule(context, Scalar::cast); }),
      .samples = cast_samples(),
  };
}

}  // namespace

std::vector<graph::OpRecord> elementwise_others() {
  std::vector<graph::OpRecord> records;
  records.push_back(select());
  records.push_back(cast());
  return records;
}

}  // namespace dtl::ops
