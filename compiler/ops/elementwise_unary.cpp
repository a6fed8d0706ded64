// Unary elementwise ops: one row an op over one shared rule set.
#include <cmath>
#include <numbers>

#include "compiler/ops/array.h"
#include "compiler/ops/body.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/formula.h"

namespace dtl::ops {
namespace {

using graph::Linear;
using kernel::Scalar;

/// The operand's cotangent from operand, result and the result's cotangent.
using UnaryGradient = ValueId (*)(const Formula&, ValueId x, ValueId y, ValueId g);

struct UnaryRow {
  const char* name;
  Scalar scalar;
  Domain domain;
  DType result;  ///< f64 stands for the operand's
  Linear linear;
  double (*value)(double);
  UnaryGradient gradient;  ///< null: zero
  double low, high;        ///< samples
  const char* doc;
};

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double sign(double x) { return std::isnan(x) ? x : x > 0 ? 1 : x < 0 ? -1 : 0; }
/// Half goes to the even neighbour.
double round_even(double x) {
  const double low = std::floor(x), rest = x - low;
  if (rest != 0.5) return std::round(x);
  return std::fmod(low, 2) == 0 ? low : low + 1;
}

ValueId d_negate(const Formula& f, ValueId, ValueId, ValueId g) { return f.negate(g); }
ValueId d_abs(const Formula& f, ValueId x, ValueId, ValueId g) { return f.multiply(g, f.unary("sign", x)); }
ValueId d_exp(const Formula& f, ValueId, ValueId y, ValueId g) { return f.multiply(g, y); }
ValueId d_log(const Formula& f, ValueId x, ValueId, ValueId g) { return f.divide(g, x); }
ValueId d_log1p(const Formula& f, ValueId x, ValueId, ValueId g) { return f.divide(g, f.add(f.filled(1, x), x)); }
ValueId d_sqrt(const Formula& f, ValueId, ValueId y, ValueId g) { return f.divide(f.scaled(0.5, g), y); }
ValueId d_rsqrt(const Formula& f, ValueId x, ValueId y, ValueId g) { return f.multiply(f.scaled(-0.5, g), f.divide(y, x)); }
ValueId d_tanh(const Formula& f, ValueId, ValueId y, ValueId g) { return f.multiply(g, f.subtract(f.filled(1, y), f.multiply(y, y))); }
ValueId d_sigmoid(const Formula& f, ValueId, ValueId y, ValueId g) { return f.multiply(g, f.multiply(y, f.subtract(f.filled(1, y), y))); }
ValueId d_erf(const Formula& f, ValueId x, ValueId, ValueId g) {
  return f.multiply(f.scaled(2 * std::numbers::inv_sqrtpi, g), f.unary("exp", f.negate(f.multiply(x, x))));
}
ValueId d_sin(const Formula& f, ValueId x, ValueId, ValueId g) { return f.multiply(g, f.unary("cos", x)); }
ValueId d_cos(const Formula& f, ValueId x, ValueId, ValueId g) { return f.negate(f.multiply(g, f.unary("sin", x))); }

constexpr Domain kFloats = Domain::floats;
constexpr DType kSame = DType::f64;

const UnaryRow kRows[] = {
    {"negate", Scalar::negate, Domain::numbers, kSame, Linear::joint, [](double x) { return -x; }, d_negate, -2, 2, "−x"},
    {"abs", Scalar::abs, kFloats, kSame, Linear::none, [](double x) { return std::fabs(x); }, d_abs, -2, 2, "|x|; its gradient at 0 is 0"},
    {"exp", Scalar::exp, kFloats, kSame, Linear::none, [](double x) { return std::exp(x); }, d_exp, -2, 2, "e to the power x"},
    {"log", Scalar::log, kFloats, kSame, Linear::none, [](double x) { return std::log(x); }, d_log, 0.2, 4, "the natural logarithm"},
    {"log1p", Scalar::log1p, kFloats, kSame, Linear::none, [](double x) { return std::log1p(x); }, d_log1p, -0.8, 4,
     "log(1 + x), exact near 0"},
    {"sqrt", Scalar::sqrt, kFloats, kSame, Linear::none, [](double x) { return std::sqrt(x); }, d_sqrt, 0.2, 4, "the square root"},
    {"rsqrt", Scalar::rsqrt, kFloats, kSame, Linear::none, [](double x) { return 1 / std::sqrt(x); }, d_rsqrt, 0.2, 4, "1 / sqrt(x)"},
    {"tanh", Scalar::tanh, kFloats, kSame, Linear::none, [](double x) { return std::tanh(x); }, d_tanh, -2, 2, "the hyperbolic tangent"},
    {"sigmoid", Scalar::sigmoid, kFloats, kSame, Linear::none, sigmoid, d_sigmoid, -4, 4, "1 / (1 + exp(−x))"},
    {"erf", Scalar::erf, kFloats, kSame, Linear::none, [](double x) { return std::erf(x); }, d_erf, -2, 2, "the error function"},
    {"sin", Scalar::sin, kFloats, kSame, Linear::none, [](double x) { return std::sin(x); }, d_sin, -4, 4, "the sine"},
    {"cos", Scalar::cos, kFloats, kSame, Linear::none, [](double x) { return std::cos(x); }, d_cos, -4, 4, "the cosine"},
    {"floor", Scalar::floor, kFloats, kSame, Linear::none, [](double x) { return std::floor(x); }, nullptr, -4, 4,
     "the next integer below"},
    {"ceil", Scalar::ceil, kFloats, kSame, Linear::none, [](double x) { return std::ceil(x); }, nullptr, -4, 4, "the next integer above"},
    {"round", Scalar::round, kFloats, kSame, Linear::none, round_even, nullptr, -4, 4, "the nearest integer, halves to even"},
    {"sign", Scalar::sign, kFloats, kSame, Linear::none, sign, nullptr, -2, 2, "−1, 0 or 1; NaN stays"},
    {"logical_not", Scalar::logical_not, Domain::booleans, kSame, Linear::none, [](double x) { return x != 0 ? 0.0 : 1.0; }, nullptr, 0, 2,
     "not x"},
    {"is_nan", Scalar::is_nan, kFloats, DType::boolean, Linear::none, [](double x) { return std::isnan(x) ? 1.0 : 0.0; }, nullptr, -2, 2,
     "is x not a number?"},
};

std::vector<graph::Sample> samples(const UnaryRow& row) {
  std::vector<graph::Sample> result;
  const auto add = [&](DType dtype, std::vector<Dim> dims) {
    result.push_back({{TensorType{dtype, std::move(dims)}}, {}, {}, sample_dims(), row.low, row.high});
  };
  const bool floats = accepts(row.domain, DType::f32);
  for (const auto& shape : sample_shapes()) add(floats ? DType::f64 : DType::boolean, shape);
  if (floats) add(DType::f32, {3, 5});
  if (accepts(row.domain, DType::i64)) {
    add(DType::i64, {4});
    add(DType::i32, {4});
    add(DType::u8, {3});
  }
  if (row.domain == Domain::floats) result.push_back({{{DType::i64, {2}}}, {}, fmt::format("`{}` takes floats, not i64", row.name)});
  if (row.domain == Domain::booleans) result.push_back({{{DType::f32, {2}}}, {}, fmt::format("`{}` takes booleans, not f32", row.name)});
  if (row.domain == Domain::numbers) result.push_back({{{DType::boolean, {2}}}, {}, fmt::format("`{}` takes numbers, not bool", row.name)});
  result.push_back({{}, {}, fmt::format("`{}` takes 1 operand, not 0", row.name)});
  return result;
}

graph::OpRecord record(const UnaryRow& row) {
  graph::Gradient gradient = graph::Zero{};
  if (row.gradient) {
    gradient = graph::GradientRule([rule = row.gradient](graph::GradientContext& context) {
      return std::vector<std::optional<ValueId>>{rule({context.builder}, context.operands[0], context.results[0], *context.cotangents[0])};
    });
  }
  return {
      .signature = graph::Signature{row.name, {"x"}, {}, 1, row.doc},
      .axes = same_axes(1),
      .infer = graph::Infer([row](std::span<const TensorType> operands, const Attrs&) -> Inferred {
        if (auto error = refuse_dtype(row.domain, row.name, operands[0].dtype, 0)) return Unexpected{*error};
        return Types{{row.result == kSame ? operands[0].dtype : row.result, operands[0].dims}};
      }),
      .evaluate = graph::Evaluate{[row](const graph::EvaluateContext& context, const Attrs&, std::span<const Array> operands) {
                                    Array result = zeros(context.result_types[0].dtype, operands[0].shape);
                                    for (size_t i = 0; i < result.data.size(); ++i) {
                                      const double value = row.value(operands[0].data[i]);
                                      result.data[i] =
                                          is_integer(result.dtype) ? wrapped(result.dtype, static_cast<int64_t>(value)) : value;
                                    }
                                    return std::vector<Array>{std::move(result)};
                                  },
                                  {}},
      .gradient = std::move(gradient),
      .placements = linear(row.linear),
      .lower = graph::Lower([row](const graph::LowerContext& context) -> graph::Lowering { return elementwise_rule(context, row.scalar); }),
      .samples = samples(row),
  };
}

}  // namespace

std::vector<graph::OpRecord> elementwise_unary() {
  std::vector<graph::OpRecord> records;
  for (const UnaryRow& row : kRows) records.push_back(record(row));
  return records;
}

}  // namespace dtl::ops
