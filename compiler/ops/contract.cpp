// Products of matrices.
#include "compiler/ops/array.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/family.h"
#include "compiler/ops/formula.h"
#include "compiler/ops/letters.h"

namespace dtl::ops {
namespace {

using graph::AttrKind;
using Cotangents = std::vector<std::optional<ValueId>>;

/// Rows and columns of op(x), from the last two dimensions.
struct Sides {
  Dim rows, columns;
};
Sides sides(const TensorType& type, bool transposed) {
  const Dim& first = type.dims[type.rank() - 2];
  const Dim& second = type.dims[type.rank() - 1];
  return transposed ? Sides{second, first} : Sides{first, second};
}

bool flag(const Attrs& attrs, const char* name) { return attrs.get_or(name, false); }

std::string matmul_axes(const graph::AxesContext& context) {
  const LetterGroup leading = letters(context.operands[0].rank() - 2);
  const LetterGroup mkn = letters(3, leading.size());
  const auto group = [&](const std::string& first, const std::string& second, bool transposed) {
    LetterGroup result = leading;
    result.push_back(transposed ? second : first);
    result.push_back(transposed ? first : second);
    return result;
  };
  return axes_text({group(mkn[0], mkn[1], flag(context.attrs, "transpose_a")), group(mkn[1], mkn[2], flag(context.attrs, "transpose_b"))},
                   {group(mkn[0], mkn[2], false)});
}

Inferred matmul_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const TensorType &a = operands[0], &b = operands[1];
  if (a.dtype != b.dtype) return fail(1, "element types of `matmul` differ: {} and {}", name_of(a.dtype), name_of(b.dtype));
  if (auto error = refuse_dtype(Domain::floats, "matmul", a.dtype, 0)) return Unexpected{*error};
  for (int k = 0; k < 2; ++k) {
    if (operands[static_cast<size_t>(k)].rank() < 2) {
      return fail(k, "`matmul` takes matrices, not {}", operands[static_cast<size_t>(k)].str());
    }
  }
  const std::vector<Dim> lead_a(a.dims.begin(), a.dims.end() - 2), lead_b(b.dims.begin(), b.dims.end() - 2);
  if (lead_a != lead_b) return fail(1, "leading dimensions of `matmul` differ: {} and {}", types::str(lead_a), types::str(lead_b));
  const Sides left = sides(a, flag(attrs, "transpose_a")), right = sides(b, flag(attrs, "transpose_b"));
  if (left.columns != right.rows) return fail(1, "inner dimensions of `matmul` differ: {} and {}", left.columns.str(), right.rows.str());
  std::vector<Dim> dims = lead_a;
  dims.push_back(left.rows);
  dims.push_back(right.columns);
  return Types{{a.dtype, std::move(dims)}};
}

std::vector<Array> matmul_evaluate(const graph::EvaluateContext& context, const Attrs& attrs, std::span<const Array> operands) {
  const Array &a = operands[0], &b = operands[1];
  const bool ta = flag(attrs, "transpose_a"), tb = flag(attrs, "transpose_b");
  const size_t rank = a.shape.size();
  const int64_t inner = a.shape[ta ? rank - 2 : rank - 1];
  Shape shape(a.shape.begin(), a.shape.end() - 2);
  shape.push_back(a.shape[ta ? rank - 1 : rank - 2]);
  shape.push_back(b.shape[tb ? rank - 2 : rank - 1]);
  Array result = zeros(context.result_types[0].dtype, shape);
  size_t at = 0;
  each_index(shape, [&](const Shape& index) {
    Shape in_a = index, in_b = index;
    const int64_t row = index[rank - 2], column = index[rank - 1];
    double sum = 0;
    for (int64_t k = 0; k < inner; ++k) {
      in_a[rank - 2] = ta ? k : row;
      in_a[rank - 1] = ta ? row : k;
      in_b[rank - 2] = tb ? column : k;
      in_b[rank - 1] = tb ? k : column;
      sum += a.data[static_cast<size_t>(flat(a.shape, in_a))] * b.data[static_cast<size_t>(flat(b.shape, in_b))];
    }
    result.data[at++] = sum;
  });
  return {std::move(result)};
}

Cotangents matmul_gradient(graph::GradientContext& context) {
  const bool ta = flag(context.attrs, "transpose_a"), tb = flag(context.attrs, "transpose_b");
  const ValueId a = context.operands[0], b = context.operands[1], g = *context.cotangents[0];
  const auto product = [&](ValueId x, ValueId y, bool tx, bool ty) {
    return context.builder.add("matmul", {x, y}, {{"transpose_a", tx}, {"transpose_b", ty}});
  };
  // C = A·B: dA = dC·Bᵀ, dB = Aᵀ·dC; each transposed where the operand is stored transposed.
  return {ta ? product(b, g, tb, true) : product(g, b, false, !tb), tb ? product(g, a, true, ta) : product(a, g, !ta, false)};
}

graph::Lowering matmul_lower(const graph::LowerContext& context) {
  const bool ta = flag(context.attrs, "transpose_a"), tb = flag(context.attrs, "transpose_b");
  const Sides left = sides(context.operands[0], ta), right = sides(context.operands[1], tb);
  Dim batch(1);
  for (size_t d = 0; d + 2 < context.operands[0].rank(); ++d) batch = batch * context.operands[0].dims[d];
  return graph::GemmRule{batch, left.rows, right.columns, left.columns, ta, tb};
}

std::vector<graph::Sample> matmul_samples() {
  std::vector<graph::Sample> result;
  const Dim batch = Dim::symbol("batch");
  const auto attrs = [](bool ta, bool tb) { return Attrs{{"transpose_a", ta}, {"transpose_b", tb}}; };
  const auto add = [&](DType dtype, std::vector<Dim> a, std::vector<Dim> b, bool ta, bool tb) {
    result.push_back({{{dtype, std::move(a)}, {dtype, std::move(b)}}, attrs(ta, tb), {}, sample_dims()});
  };
  add(DType::f64, {5, 3}, {3, 4}, false, false);
  add(DType::f64, {3, 5}, {3, 4}, true, false);
  add(DType::f64, {5, 3}, {4, 3}, false, true);
  add(DType::f64, {3, 5}, {4, 3}, true, true);
  add(DType::f32, {batch, 7}, {7, 2}, false, false);
  add(DType::bf16, {batch, 7}, {7, 2}, false, false);
  add(DType::f16, {7, 5}, {7, 2}, true, false);
  add(DType::f64, {batch, 2}, {batch, 3}, true, false);
  add(DType::f64, {2, 3, 4}, {2, 4, 5}, false, false);
  add(DType::f64, {2, 3, 4}, {2, 5, 4}, false, true);
  add(DType::f64, {0, 3}, {3, 4}, false, false);
  add(DType::f64, {2, 0}, {0, 4}, false, false);
  const auto refuse = [&](TensorType a, TensorType b, bool ta, std::string text) {
    result.push_back({{std::move(a), std::move(b)}, attrs(ta, false), std::move(text)});
  };
  const DType f32 = DType::f32;
  refuse({f32, {batch, 784}}, {f32, {512, 10}}, false, "inner dimensions of `matmul` differ: 784 and 512");
  refuse({f32, {2, 3}}, {f32, {3, 4}}, true, "inner dimensions of `matmul` differ: 2 and 3");
  refuse({f32, {2, 3}}, {f32, {batch, 4}}, false, "inner dimensions of `matmul` differ: 3 and batch");
  refuse({f32, {2, 3, 4}}, {f32, {3, 4, 5}}, false, "leading dimensions of `matmul` differ: [2] and [3]");
  refuse({f32, {2, 3, 4}}, {f32, {4, 5}}, false, "leading dimensions of `matmul` differ: [2] and []");
  refuse({f32, {3}}, {f32, {3, 4}}, false, "`matmul` takes matrices, not f32[3]");
  refuse({f32, {2, 3}}, {DType::f64, {3, 4}}, false, "element types of `matmul` differ: f32 and f64");
  refuse({DType::i64, {2, 3}}, {DType::i64, {3, 4}}, false, "`matmul` takes floats, not i64");
  return result;
}

graph::OpRecord matmul() {
  return {
      .signature = graph::Signature{"matmul",
                                    {"a", "b"},
                                    {{"transpose_a", AttrKind::boolean, true}, {"transpose_b", AttrKind::boolean, true}},
                                    1,
                                    "product of matrices, for each index of the leading dimensions; a transpose is of the last two"},
      .axes = axes_by(matmul_axes, [](const Attrs&) { return ReduceOp::sum; }),
      .infer = graph::Infer(matmul_infer),
      .evaluate = graph::Evaluate{matmul_evaluate, {}},
      .gradient = by_rule(matmul_gradient),
      .placements = linear(graph::Linear::each),
      .lower = graph::Lower(matmul_lower),
      .samples = matmul_samples(),
  };
}

}  // namespace

std::vector<graph::OpRecord> contractions() {
  std::vector<graph::OpRecord> records;
  records.push_back(matmul());
  return records;
}

}  // namespace dtl::ops
