// Binary elementwise ops: one row an op over one shared rule set. Operands have equal shape and element type.
#include <cmath>

#include "compiler/ops/array.h"
#include "compiler/ops/body.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/formula.h"

namespace dtl::ops {
namespace {

using graph::Linear;
using kernel::Scalar;
using Cotangents = std::vector<std::optional<ValueId>>;

struct BinaryOperands {
  ValueId a, b, y, g;  ///< operands, result, the result's cotangent
};
using BinaryGradient = Cotangents (*)(const Formula&, const BinaryOperands&);

struct BinaryRow {
  const char* name;
  Scalar scalar;
  Domain domain;
  bool boolean;  ///< result
  Linear linear;
  std::optional<ReduceOp> keeps;  ///< a partial of this kind in both operands is one in the result
  double (*value)(double, double);
  int64_t (*integers)(int64_t, int64_t);  ///< null: value, or no integers
  BinaryGradient gradient;                ///< null: zero
  double low, high;                       ///< samples
  const char* doc;
};

// Integers wrap around: unsigned arithmetic, then back.
int64_t add_wrapping(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t subtract_wrapping(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }
int64_t multiply_wrapping(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
/// Division by zero gives 0, for both parts.
int64_t floor_div_whole(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return subtract_wrapping(0, a);
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
int64_t mod_whole(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
/// The rest has the sign of b, as in Python.
double mod_float(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
double larger(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : a > b ? a : b; }
double smaller(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? a : b; }
double truth(bool value) { return value ? 1 : 0; }

Cotangents d_add(const Formula&, const BinaryOperands& o) { return {o.g, o.g}; }
Cotangents d_subtract(const Formula& f, const BinaryOperands& o) { return {o.g, f.negate(o.g)}; }
Cotangents d_multiply(const Formula& f, const BinaryOperands& o) { return {f.multiply(o.g, o.b), f.multiply(o.g, o.a)}; }
Cotangents d_divide(const Formula& f, const BinaryOperands& o) {
  const ValueId first = f.divide(o.g, o.b);
  return {first, f.negate(f.multiply(first, o.y))};
}
Cotangents d_power(const Formula& f, const BinaryOperands& o) {
  // b·a^(b−1), but 0 where b is 0, also at a = 0; log a only where it exists.
  const ValueId zero = f.filled(0, o.a), one = f.filled(1, o.a);
  const ValueId slope = f.multiply(o.b, f.builder.add("power", {o.a, f.subtract(o.b, one)}));
  const ValueId log = f.unary("log", f.select(f.less(zero, o.a), o.a, one));
  return {f.multiply(o.g, f.select(f.equal(o.b, zero), zero, slope)), f.multiply(o.g, f.multiply(o.y, log))};
}
/// All of it to the operand that won; halves where both are equal.
Cotangents share_by(const Formula& f, const BinaryOperands& o, ValueId first_wins) {
  const ValueId zero = f.filled(0, o.g);
  const ValueId tied = f.select(f.equal(o.a, o.b), f.scaled(0.5, o.g), zero);
  const ValueId first = f.select(first_wins, o.g, tied);
  return {first, f.subtract(o.g, first)};
}
Cotangents d_maximum(const Formula& f, const BinaryOperands& o) { return share_by(f, o, f.less(o.b, o.a)); }
Cotangents d_minimum(const Formula& f, const BinaryOperands& o) { return share_by(f, o, f.less(o.a, o.b)); }
Cotangents d_mod(const Formula& f, const BinaryOperands& o) {
  return {o.g, f.negate(f.multiply(o.g, f.builder.add("floor_div", {o.a, o.b})))};
}

constexpr Domain kNumbers = Domain::numbers, kBooleans = Domain::booleans;
constexpr auto kNone = std::nullopt;

const BinaryRow kRows[] = {
    {"add", Scalar::add, kNumbers, false, Linear::joint, kNone, [](double a, double b) { return a + b; }, add_wrapping, d_add, -2, 2,
     "a + b"},
    {"subtract", Scalar::subtract, kNumbers, false, Linear::joint, kNone, [](double a, double b) { return a - b; }, subtract_wrapping,
     d_subtract, -2, 2, "a − b"},
    {"multiply", Scalar::multiply, kNumbers, false, Linear::each, kNone, [](double a, double b) { return a * b; }, multiply_wrapping,
     d_multiply, -2, 2, "a · b"},
    // Linear in a, but said to be none, so that a mean's sum is reduced before it is divided.
    {"divide", Scalar::divide, Domain::floats, false, Linear::none, kNone, [](double a, double b) { return a / b; }, nullptr, d_divide, 0.5,
     2, "a / b"},
    {"power", Scalar::power, Domain::floats, false, Linear::none, kNone, [](double a, double b) { return std::pow(a, b); }, nullptr,
     d_power, 0.5, 2, "a to the power b"},
    {"maximum", Scalar::maximum, kNumbers, false, Linear::none, ReduceOp::max, larger, nullptr, d_maximum, -2, 2,
     "the larger; NaN stays; where both are equal each gets half the gradient"},
    {"minimum", Scalar::minimum, kNumbers, false, Linear::none, ReduceOp::min, smaller, nullptr, d_minimum, -2, 2,
     "the smaller; NaN stays; where both are equal each gets half the gradient"},
    {"mod", Scalar::mod, kNumbers, false, Linear::none, kNone, mod_float, mod_whole, d_mod, 0.5, 4,
     "the rest of floor division, with the sign of b; an integer mod 0 is 0"},
    {"floor_div", Scalar::floor_div, kNumbers, false, Linear::none, kNone, [](double a, double b) { return std::floor(a / b); },
     floor_div_whole, nullptr, 0.5, 4, "a / b rounded down; an integer by 0 is 0"},
    {"logical_and", Scalar::logical_and, kBooleans, true, Linear::none, kNone, [](double a, double b) { return truth(a != 0 && b != 0); },
     nullptr, nullptr, 0, 2, "a and b"},
    {"logical_or", Scalar::logical_or, kBooleans, true, Linear::none, kNone, [](double a, double b) { return truth(a != 0 || b != 0); },
     nullptr, nullptr, 0, 2, "a or b"},
    {"equal", Scalar::equal, Domain::any, true, Linear::none, kNone, [](double a, double b) { return truth(a == b); }, nullptr, nullptr, -2,
     2, "a = b; NaN equals nothing"},
    {"not_equal", Scalar::not_equal, Domain::any, true, Linear::none, kNone, [](double a, double b) { return truth(a != b); }, nullptr,
     nullptr, -2, 2, "a ≠ b"},
    {"less", Scalar::less, kNumbers, true, Linear::none, kNone, [](double a, double b) { return truth(a < b); }, nullptr, nullptr, -2, 2,
     "a < b"},
    {"less_equal", Scalar::less_equal, kNumbers, true, Linear::none, kNone, [](double a, double b) { return truth(a <= b); }, nullptr,
     nullptr, -2, 2, "a ≤ b"},
};

double value_of(const BinaryRow& row, DType operands, double a, double b) {
  if (!is_integer(operands) || !row.integers) return row.value(a, b);
  return wrapped(operands, row.integers(static_cast<int64_t>(a), static_cast<int64_t>(b)));
}

std::vector<graph::Sample> samples(const BinaryRow& row) {
  std::vector<graph::Sample> result;
  const auto add = [&](DType dtype, const std::vector<Dim>& dims, double low, double high) {
    const TensorType type{dtype, dims};
    result.push_back({{type, type}, {}, {}, sample_dims(), low, high});
  };
  const bool floats = accepts(row.domain, DType::f32);
  for (const auto& shape : sample_shapes()) add(floats ? DType::f64 : DType::boolean, shape, row.low, row.high);
  if (floats) add(DType::f32, {3, 5}, row.low, row.high);
  if (accepts(row.domain, DType::i64)) {
    add(DType::i64, {9}, -4, 4);
    add(DType::i32, {2, 5}, -4, 4);
    add(DType::i8, {9}, -128, 128);
    add(DType::u8, {9}, 0, 256);
  }
  if (row.domain == Domain::any) add(DType::boolean, {6}, 0, 2);
  result.push_back({{{DType::f32, {2, 3}}, {DType::i64, {2, 3}}}, {}, fmt::format("element types of `{}` differ: f32 and i64", row.name)});
  const DType dtype = floats ? DType::f32 : DType::boolean;
  result.push_back({{{dtype, {2, 3}}, {dtype, {3}}}, {}, fmt::format("shapes of `{}` differ: [2, 3] and [3]", row.name)});
  result.push_back({{{dtype, {Dim::symbol("batch")}}, {dtype, {3}}}, {}, fmt::format("shapes of `{}` differ: [batch] and [3]", row.name)});
  result.push_back({{{dtype, {2}}}, {}, fmt::format("`{}` takes 2 operands, not 1", row.name)});
  if (row.domain == Domain::floats)
    result.push_back({{{DType::i64, {2}}, {DType::i64, {2}}}, {}, fmt::format("`{}` takes floats, not i64", row.name)});
  if (row.domain == Domain::booleans)
    result.push_back({{{DType::f32, {2}}, {DType::f32, {2}}}, {}, fmt::format("`{}` takes booleans, not f32", row.name)});
  return result;
}

graph::OpRecord record(const BinaryRow& row) {
  graph::Gradient gradient = graph::Zero{};
  if (row.gradient) {
    gradient = graph::GradientRule([rule = row.gradient](graph::GradientContext& context) {
      return rule({context.builder}, {context.operands[0], context.operands[1], context.results[0], *context.cotangents[0]});
    });
  }
  graph::PlacementRule placements = linear(row.linear);
  if (row.keeps) {
    placements.extra = [op = *row.keeps](const graph::PlacementContext&) {
      return std::vector<graph::PlacementRow>{partial_row(2, {0, 1}, op)};
    };
  }
  return {
      .signature = graph::Signature{row.name, {"a", "b"}, {}, 1, row.doc},
      .axes = same_axes(2),
      .infer = graph::Infer([row](std::span<const TensorType> operands, const Attrs&) -> Inferred {
        if (auto error = refuse_difference(row.name, operands[0], operands[1], 1)) return Unexpected{*error};
        if (auto error = refuse_dtype(row.domain, row.name, operands[0].dtype, 0)) return Unexpected{*error};
        return Types{{row.boolean ? DType::boolean : operands[0].dtype, operands[0].dims}};
      }),
      .evaluate = graph::Evaluate{[row](const graph::EvaluateContext& context, const Attrs&, std::span<const Array> operands) {
                                    Array result = zeros(context.result_types[0].dtype, operands[0].shape);
                                    for (size_t i = 0; i < result.data.size(); ++i) {
                                      result.data[i] = value_of(row, operands[0].dtype, operands[0].data[i], operands[1].data[i]);
                                    }
                                    return std::vector<Array>{std::move(result)};
                                  },
                                  {}},
      .gradient = std::move(gradient),
      .placements = std::move(placements),
      .lower = graph::Lower([row](const graph::LowerContext& context) -> graph::Lowering { return elementwise_rule(context, row.scalar); }),
      .samples = samples(row),
  };
}

}  // namespace

std::vector<graph::OpRecord> elementwise_binary() {
  std::vector<graph::OpRecord> records;
  for (const BinaryRow& row : kRows) records.push_back(record(row));
  return records;
}

}  // namespace dtl::ops
