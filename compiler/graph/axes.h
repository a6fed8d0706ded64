// The index notation of ops: `"m k, k n -> m n"` parsed, and `...` expanded for operands of known rank.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/op.h"

namespace dtl::graph {

struct AxisLetter {
  std::string letter;  ///< a dimension that `...` stands for is called `...0`, `...1` from the left
  bool whole = false;  ///< `!`: never split
  bool operator==(const AxisLetter&) const = default;
};
using AxisGroup = std::vector<AxisLetter>;

struct AxisRule {
  std::vector<AxisGroup> operands, results;
};

/// The rule as written: `...` stays one entry. Nothing where text is no rule: an operand names a letter twice, or has two
/// ellipses. An op without operands has none: `"-> a b"`; a scalar operand is an empty group: `", a -> a"`.
std::optional<AxisRule> parse_axes(std::string_view text);

/// The op's rule for these operands, with `...` expanded and one letter for each dimension. Nothing if it has none.
std::optional<AxisRule> resolve_axes(const Axes& axes, const AxesContext& context, std::span<const types::TensorType> results);

}  // namespace dtl::graph
