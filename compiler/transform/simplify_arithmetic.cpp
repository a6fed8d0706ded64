// Simplifications of arithmetic: neutral operands, double negations, casts, constants.
#include <algorithm>
#include <cmath>

#include "compiler/graph/axes.h"
#include "compiler/transform/simplify_rules.h"
#include "runtime/plan/half.h"

namespace dtl::transform {
namespace {

using graph::Node;
using graph::ValueId;
using Outcome = std::optional<ValueId>;

// ---- one operand changes nothing

/// `x · 1`, `1 · x`, `x / 1`, `x + 0`, `0 + x`, `x − 0`, `x ^ 1`; `x and true`, `x or false`.
Outcome neutral_operand(const Site& site) {
  struct Neutral {
    std::string_view op;
    double number;
    bool left_too;
  };
  static constexpr Neutral kNeutral[] = {{"add", 0, true},    {"subtract", 0, false},   {"multiply", 1, true},  {"divide", 1, false},
                                         {"power", 1, false}, {"logical_and", 1, true}, {"logical_or", 0, true}};
  for (const Neutral& neutral : kNeutral) {
    if (!site.is(neutral.op)) continue;
    if (site.is_constant(site.operands[1], neutral.number)) return site.operands[0];
    if (neutral.left_too && site.is_constant(site.operands[0], neutral.number)) return site.operands[1];
  }
  return std::nullopt;
}

/// `max(x, x)`, `min(x, x)`, `x and x`, `x or x`.
Outcome equal_operands(const Site& site) {
  static constexpr std::string_view kOps[] = {"maximum", "minimum", "logical_and", "logical_or"};
  if (std::find(std::begin(kOps), std::end(kOps), site.op.name()) == std::end(kOps)) return std::nullopt;
  return site.operands[0] == site.operands[1] ? Outcome(site.operands[0]) : std::nullopt;
}

Outcome double_negation(const Site& site) {
  if (!site.is("negate") && !site.is("logical_not")) return std::nullopt;
  const auto inner = site.made_by(site.operands[0], site.op.name());
  return inner ? Outcome(inner->operands[0]) : std::nullopt;
}

/// `a + −b`, `−a + b`, `a − −b`, `−(a − b)`.
Outcome negation_in_sum(const Site& site) {
  if (site.is("negate")) {
    const auto difference = site.made_by(site.operands[0], "subtract");
    if (!difference) return std::nullopt;
    return site.make("subtract", {difference->operands[1], difference->operands[0]}, {});
  }
  if (!site.is("add") && !site.is("subtract")) return std::nullopt;
  const char* other = site.is("add") ? "subtract" : "add";
  if (const auto right = site.made_by(site.operands[1], "negate")) return site.make(other, {site.operands[0], right->operands[0]}, {});
  if (!site.is("add")) return std::nullopt;
  if (const auto left = site.made_by(site.operands[0], "negate")) return site.make(other, {site.operands[1], left->operands[0]}, {});
  return std::nullopt;
}

Outcome known_selection(const Site& site) {
  if (!site.is("select")) return std::nullopt;
  if (site.operands[1] == site.operands[2]) return site.operands[1];
  if (const auto condition = site.constant(site.operands[0])) return site.operands[*condition != 0 ? 1 : 2];
  return std::nullopt;
}

/// Gradients are taken by now.
Outcome stop_gradient(const Site& site) { return site.is("stop_gradient") ? Outcome(site.operands[0]) : std::nullopt; }

// ---- casts

Outcome cast_to_same(const Site& site) {
  if (!site.is("cast") || site.type_of(site.operands[0]).dtype != site.type.dtype) return std::nullopt;
  return site.operands[0];
}

/// Does every value of `from` stay what it is in `to`?
bool keeps_values(DType from, DType to) {
  switch (from) {
    case DType::boolean:
      return true;
    case DType::u8:
    case DType::i8:
      return to == DType::i32 || to == DType::i64 || to == DType::f32 || to == DType::f64;
    case DType::i32:
      return to == DType::i64 || to == DType::f64;
    case DType::i64:
      return false;
    case DType::f16:
    case DType::bf16:
      return to == DType::f32 || to == DType::f64;
    case DType::f32:
      return to == DType::f64;
    case DType::f64:
      return false;
  }
  __builtin_unreachable();
}

/// `cast(cast(x))` where the inner one loses nothing. Integers through a float saturate where integers wrap: not those.
Outcome cast_of_cast(const Site& site) {
  if (!site.is("cast")) return std::nullopt;
  const auto inner = site.made_by(site.operands[0], "cast");
  if (!inner) return std::nullopt;
  const DType from = site.type_of(inner->operands[0]).dtype, middle = site.type_of(site.operands[0]).dtype, to = site.type.dtype;
  if (!keeps_values(from, middle)) return std::nullopt;
  const bool same_way = !is_integer(from) || !is_integer(to) || is_integer(middle) || from == to;
  if (!same_way) return std::nullopt;
  return site.make("cast", {inner->operands[0]}, {{"to", to}});
}

// ---- elementwise ops over constants and broadcasts

/// Is each element of the result computed from the elements at its own place, whatever the shape?
bool is_elementwise(const Site& site) {
  if (site.operands.empty()) return false;
  std::vector<types::TensorType> operands, scalars;
  for (const ValueId operand : site.operands) {
    operands.push_back(site.type_of(operand));
    scalars.push_back({operands.back().dtype, {}});
  }
  // A transpose that moves nothing looks elementwise, but its attributes name axes.
  if (!(*site.op.infer)(scalars, site.attrs)) return false;
  for (const types::TensorType& type : operands) {
    if (type.dims != site.type.dims) return false;
  }
  const std::vector<types::TensorType> results = {site.type};
  const auto axes = graph::resolve_axes(*site.op.axes, {operands, site.attrs}, results);
  if (!axes) return false;
  for (const graph::AxisGroup& group : axes->operands) {
    if (group != axes->results[0]) return false;
  }
  const graph::Lowering lowering = (*site.op.lower)({operands, results, site.attrs});
  const auto* kernel = std::get_if<graph::KernelRule>(&lowering);
  return kernel && kernel->reduced.empty();
}

/// Can a constant hold it as what it is?
bool holdable(DType dtype, double value) {
  constexpr double kExact = 0x1p53;
  return is_float(dtype) ? std::isfinite(value) : std::fabs(value) <= kExact;
}

/// An elementwise op over constants, by its own evaluate.
Outcome fold_elementwise(const Site& site) {
  for (const ValueId operand : site.operands) {
    if (!site.constant(operand)) return std::nullopt;
  }
  if (!site.op.evaluate->local || !is_elementwise(site)) return std::nullopt;
  std::vector<graph::Array> operands;
  for (const ValueId operand : site.operands) operands.push_back({site.type_of(operand).dtype, {}, {*site.constant(operand)}});
  const std::vector<types::TensorType> result_types = {{site.type.dtype, {}}};
  const std::vector<std::vector<int64_t>> scalar(1);
  const std::map<std::string, int64_t> dims;
  const auto results = site.op.evaluate->local({result_types, scalar, scalar, dims}, site.attrs, operands);
  const double value = plan::narrowed(site.type.dtype, results[0].data[0]);
  if (!holdable(site.type.dtype, value)) return std::nullopt;
  return site.filled(value, site.type);
}

/// `f(broadcast(a), broadcast(b), 2)` becomes `broadcast(f(a, b, 2))`: each element is computed once.
Outcome elementwise_of_broadcasts(const Site& site) {
  std::optional<Node> first;
  for (const ValueId operand : site.operands) {
    const auto broadcast = site.made_by(operand, "broadcast");
    if (!broadcast && !site.constant(operand)) return std::nullopt;
    if (broadcast && first &&
        (broadcast->attrs != first->attrs || site.type_of(broadcast->operands[0]).dims != site.type_of(first->operands[0]).dims)) {
      return std::nullopt;
    }
    if (broadcast && !first) first = broadcast;
  }
  if (!first || !is_elementwise(site)) return std::nullopt;
  const std::vector<types::Dim> dims = site.type_of(first->operands[0]).dims;
  std::vector<ValueId> operands;
  for (const ValueId operand : site.operands) {
    const auto broadcast = site.made_by(operand, "broadcast");
    operands.push_back(broadcast ? broadcast->operands[0] : site.filled(*site.constant(operand), {site.type_of(operand).dtype, dims}));
  }
  return site.make("broadcast", {site.make(site.op.name(), std::move(operands), site.attrs)}, first->attrs);
}

}  // namespace

const std::vector<Rule>& arithmetic_rules() {
  static const std::vector<Rule> rules = {
      {"neutral_operand", neutral_operand},   {"equal_operands", equal_operands},
      {"double_negation", double_negation},   {"negation_in_sum", negation_in_sum},
      {"known_selection", known_selection},   {"stop_gradient", stop_gradient},
      {"cast_to_same", cast_to_same},         {"cast_of_cast", cast_of_cast},
      {"fold_elementwise", fold_elementwise}, {"elementwise_of_broadcasts", elementwise_of_broadcasts},
  };
  return rules;
}

}  // namespace dtl::transform
