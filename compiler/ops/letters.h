// Axes rules for ops whose axes depend on rank and attributes: groups of letters, put together.
#pragma once

#include <string>
#include <vector>

namespace dtl::ops {

using LetterGroup = std::vector<std::string>;

/// Letters number first … first + count − 1: a … z, then a1 … z1, and so on.
LetterGroup letters(size_t count, size_t first = 0);
/// `a b!, c -> a c`.
std::string axes_text(const std::vector<LetterGroup>& operands, const std::vector<LetterGroup>& results);

}  // namespace dtl::ops
