// Simplifications of shapes: changes of shape after one another, reductions of broadcasts, transposes into products.
#include <algorithm>

#include "compiler/transform/simplify_rules.h"

namespace dtl::transform {
namespace {

using graph::Node;
using graph::ValueId;
using types::Dim;
using types::Dims;
using types::Ints;
using Outcome = std::optional<ValueId>;

bool contains(const Ints& axes, int64_t axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

bool is_identity(const Ints& permutation) {
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// ---- nothing changes

Outcome same_shape(const Site& site) {
  const bool reshapes = site.is("reshape") || site.is("broadcast") || site.is("slice") || site.is("pad");
  if (reshapes && site.type_of(site.operands[0]) == site.type) return site.operands[0];
  if (site.is("transpose") && is_identity(site.attrs.get<Ints>("permutation"))) return site.operands[0];
  if (site.is("concat") && site.operands.size() == 1) return site.operands[0];
  if (site.is("reduce") && site.attrs.get<Ints>("axes").empty()) return site.operands[0];
  return std::nullopt;
}

/// Dimensions of size one come and go without work: a reshape.
Outcome only_ones(const Site& site) {
  const types::TensorType x = site.operands.empty() ? types::TensorType{} : site.type_of(site.operands[0]);
  bool ones = true;
  if (site.is("broadcast")) {
    for (size_t d = 0; d < site.type.rank(); ++d) {
      ones = ones && (contains(site.attrs.get<Ints>("dims"), static_cast<int64_t>(d)) || site.type.dims[d] == Dim(1));
    }
  } else if (site.is("reduce")) {
    for (const int64_t axis : site.attrs.get<Ints>("axes")) ones = ones && x.dims[static_cast<size_t>(axis)] == Dim(1);
  } else {
    return std::nullopt;
  }
  return ones ? Outcome(site.make("reshape", {site.operands[0]}, {{"shape", site.type.dims}})) : std::nullopt;
}

// ---- two changes are one

Outcome reshape_of_reshape(const Site& site) {
  if (!site.is("reshape")) return std::nullopt;
  const auto inner = site.made_by(site.operands[0], "reshape");
  return inner ? Outcome(site.make("reshape", {inner->operands[0]}, site.attrs)) : std::nullopt;
}

Outcome broadcast_of_broadcast(const Site& site) {
  if (!site.is("broadcast")) return std::nullopt;
  const auto inner = site.made_by(site.operands[0], "broadcast");
  if (!inner) return std::nullopt;
  const Ints& outer_dims = site.attrs.get<Ints>("dims");
  Ints dims;
  for (const int64_t dim : inner->attrs.get<Ints>("dims")) dims.push_back(outer_dims[static_cast<size_t>(dim)]);
  return site.make("broadcast", {inner->operands[0]}, {{"shape", site.type.dims}, {"dims", dims}});
}

Outcome transpose_of_transpose(const Site& site) {
  if (!site.is("transpose")) return std::nullopt;
  const auto inner = site.made_by(site.operands[0], "transpose");
  if (!inner) return std::nullopt;
  const Ints& first = inner->attrs.get<Ints>("permutation");
  Ints both;
  for (const int64_t dim : site.attrs.get<Ints>("permutation")) both.push_back(first[static_cast<size_t>(dim)]);
  return site.make("transpose", {inner->operands[0]}, {{"permutation", both}});
}

/// A transpose of the last two dimensions is a flag of the product.
Outcome transpose_into_matmul(const Site& site) {
  if (!site.is("matmul")) return std::nullopt;
  std::vector<ValueId> operands = site.operands;
  bool flags[2] = {site.attrs.get_or("transpose_a", false), site.attrs.get_or("transpose_b", false)};
  bool any = false;
  for (size_t k = 0; k < 2; ++k) {
    const auto transpose = site.made_by(operands[k], "transpose");
    if (!transpose) continue;
    Ints permutation = transpose->attrs.get<Ints>("permutation");
    std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
    if (!is_identity(permutation)) continue;
    operands[k] = transpose->operands[0];
    flags[k] = !flags[k];
    any = true;
  }
  if (!any) return std::nullopt;
  return site.make("matmul", std::move(operands), {{"transpose_a", flags[0]}, {"transpose_b", flags[1]}});
}

// ---- reductions

bool is_extreme(ReduceOp op) { return op == ReduceOp::max || op == ReduceOp::min; }

/// The largest of the largest is the largest of all. Sums are not merged: their order of additions would change.
Outcome reduce_of_reduce(const Site& site) {
  if (!site.is("reduce")) return std::nullopt;
  const auto inner = site.made_by(site.operands[0], "reduce");
  const auto op = site.attrs.get<ReduceOp>("op");
  if (!inner || !is_extreme(op) || inner->attrs.get<ReduceOp>("op") != op) return std::nullopt;
  Ints axes = inner->attrs.get<Ints>("axes");
  const Ints &outer = site.attrs.get<Ints>("axes"), first = axes;
  int64_t kept = 0;
  const auto rank = static_cast<int64_t>(site.type_of(inner->operands[0]).rank());
  for (int64_t d = 0; d < rank; ++d) {
    if (contains(first, d)) continue;
    if (contains(outer, kept++)) axes.push_back(d);
  }
  std::sort(axes.begin(), axes.end());
  return site.make("reduce", {inner->operands[0]}, {{"op", op}, {"axes", axes}});
}

/// Reducing what was repeated: dimensions of the operand are reduced before they are repeated, and repetitions do not matter
/// to max and min. A sum over repetitions stays: n additions are not one product.
Outcome reduce_of_broadcast(const Site& site) {
  if (!site.is("reduce")) return std::nullopt;
  const auto inner = site.made_by(site.operands[0], "broadcast");
  if (!inner) return std::nullopt;
  const auto op = site.attrs.get<ReduceOp>("op");
  const Ints &axes = site.attrs.get<Ints>("axes"), &dims = inner->attrs.get<Ints>("dims");
  const types::TensorType wide = site.type_of(site.operands[0]);
  for (const int64_t axis : axes) {
    if (contains(dims, axis)) continue;
    if (!is_extreme(op) || wide.dims[static_cast<size_t>(axis)] == Dim(0)) return std::nullopt;
  }
  Ints inner_axes, left;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (contains(axes, dims[i])) {
      inner_axes.push_back(static_cast<int64_t>(i));
    } else {
      left.push_back(dims[i] - std::count_if(axes.begin(), axes.end(), [&](int64_t axis) { return axis < dims[i]; }));
    }
  }
  const ValueId reduced = site.make("reduce", {inner->operands[0]}, {{"op", op}, {"axes", inner_axes}});
  return site.make("broadcast", {reduced}, {{"shape", site.type.dims}, {"dims", left}});
}

/// The largest, least, or sum of equal numbers, where it is known exactly.
Outcome fold_reduce(const Site& site) {
  if (!site.is("reduce")) return std::nullopt;
  const auto number = site.constant(site.operands[0]);
  if (!number) return std::nullopt;
  const types::TensorType x = site.type_of(site.operands[0]);
  Dim count(1);
  for (const int64_t axis : site.attrs.get<Ints>("axes")) count = count * x.dims[static_cast<size_t>(axis)];
  if (count == Dim(0)) return std::nullopt;
  switch (site.attrs.get<ReduceOp>("op")) {
    case ReduceOp::max:
    case ReduceOp::min:
      return site.filled(*number, site.type);
    case ReduceOp::product:
      return *number == 1 || *number == 0 ? Outcome(site.filled(*number, site.type)) : std::nullopt;
    case ReduceOp::sum:
      break;
  }
  if (*number == 0) return site.filled(0, site.type);
  // A count of ones: a number of that type, as long as it has room for it.
  const bool roomy = x.dtype == DType::f64 || x.dtype == DType::f32 || x.dtype == DType::i64 || x.dtype == DType::i32;
  if (*number != 1 || !roomy) return std::nullopt;
  const ValueId size = site.make("size", {}, {{"dim", Dims{count}}, {"dtype", x.dtype}});
  return site.make("broadcast", {size}, {{"shape", site.type.dims}, {"dims", Ints{}}});
}

// ---- constants

/// One number in every place keeps being that under any change of shape.
Outcome fold_shape(const Site& site) {
  if (!site.is("broadcast") && !site.is("reshape") && !site.is("transpose") && !site.is("slice")) return std::nullopt;
  const auto number = site.constant(site.operands[0]);
  return number ? Outcome(site.filled(*number, site.type)) : std::nullopt;
}

Outcome fold_size(const Site& site) {
  if (!site.is("size")) return std::nullopt;
  const auto size = site.attrs.get<Dims>("dim")[0].constant();
  constexpr int64_t kExact = int64_t{1} << 24;
  if (!size || *size > kExact) return std::nullopt;
  // A small element type wraps around: left to the op.
  if (site.type.dtype == DType::u8 || site.type.dtype == DType::i8 || is_narrow(site.type.dtype)) return std::nullopt;
  return site.filled(static_cast<double>(*size), site.type);
}

}  // namespace

const std::vector<Rule>& shape_rules() {
  static const std::vector<Rule> rules = {
      {"same_shape", same_shape},
      {"fold_shape", fold_shape},
      {"fold_reduce", fold_reduce},
      {"fold_size", fold_size},
      {"only_ones", only_ones},
      {"reshape_of_reshape", reshape_of_reshape},
      {"broadcast_of_broadcast", broadcast_of_broadcast},
      {"transpose_of_transpose", transpose_of_transpose},
      {"transpose_into_matmul", transpose_into_matmul},
      {"reduce_of_reduce", reduce_of_reduce},
      {"reduce_of_broadcast", reduce_of_broadcast},
  };
  return rules;
}

}  // namespace dtl::transform
