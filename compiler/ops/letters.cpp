// Letters of axes rules.
#include "compiler/ops/letters.h"

namespace dtl::ops {
namespace {

std::string side(const std::vector<LetterGroup>& groups) {
  std::string text;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i > 0) text += ", ";
    for (size_t k = 0; k < groups[i].size(); ++k) text += (k > 0 ? " " : "") + groups[i][k];
  }
  return text;
}

}  // namespace

LetterGroup letters(size_t count, size_t first) {
  LetterGroup group;
  for (size_t i = first; i < first + count; ++i) {
    std::string letter(1, static_cast<char>('a' + i % 26));
    if (i >= 26) letter += std::to_string(i / 26);
    group.push_back(std::move(letter));
  }
  return group;
}

std::string axes_text(const std::vector<LetterGroup>& operands, const std::vector<LetterGroup>& results) {
  return side(operands) + " -> " + side(results);
}

}  // namespace dtl::ops
