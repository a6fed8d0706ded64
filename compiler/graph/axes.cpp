// Parsing and expansion of the index notation.
#include "compiler/graph/axes.h"

#include <algorithm>

#include "compiler/source/check.h"
#include "compiler/types/scan.h"

namespace dtl::graph {
namespace {

std::optional<AxisGroup> parse_group(std::string_view text) {
  AxisGroup group;
  size_t at = 0;
  while ((at = text.find_first_not_of(' ', at)) != std::string_view::npos) {
    const size_t end = std::min(text.find(' ', at), text.size());
    std::string_view word = text.substr(at, end - at);
    at = end;
    AxisLetter letter;
    if (word.size() > 1 && word.back() == '!') {
      letter.whole = true;
      word.remove_suffix(1);
    }
    letter.letter = std::string(word);
    const bool name = std::all_of(word.begin(), word.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
    if (!name && word != "...") return std::nullopt;
    if (std::any_of(group.begin(), group.end(), [&](const AxisLetter& other) { return other.letter == letter.letter; }))
      return std::nullopt;
    group.push_back(std::move(letter));
  }
  return group;
}

/// Groups between commas; a side of blanks is no group at all.
std::optional<std::vector<AxisGroup>> parse_side(std::string_view text) {
  std::vector<AxisGroup> groups;
  if (types::trim(text).empty()) return groups;
  while (true) {
    const size_t comma = text.find(',');
    auto group = parse_group(types::trim(text.substr(0, comma)));
    if (!group) return std::nullopt;
    groups.push_back(std::move(*group));
    if (comma == std::string_view::npos) return groups;
    text.remove_prefix(comma + 1);
  }
}

void expand(std::vector<AxisGroup>& groups, std::span<const types::TensorType> types, const std::string& text) {
  // A side of blanks stands for scalars too: `"a -> "` has one result of rank 0.
  if (groups.empty() && types.size() == 1) groups.emplace_back();
  DTL_CHECK(groups.size() == types.size(), "axes `{}`: {} groups for {} tensors", text, groups.size(), types.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    AxisGroup expanded;
    for (const AxisLetter& letter : groups[i]) {
      if (letter.letter != "...") {
        expanded.push_back(letter);
        continue;
      }
      const size_t others = groups[i].size() - 1;
      for (size_t k = 0; k + others < types[i].rank(); ++k) expanded.push_back({fmt::format("...{}", k), letter.whole});
    }
    DTL_CHECK(expanded.size() == types[i].rank(), "axes `{}`: group {} does not fit {}", text, i, types[i].str());
    groups[i] = std::move(expanded);
  }
}

}  // namespace

std::optional<AxisRule> parse_axes(std::string_view text) {
  const size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) return std::nullopt;
  auto operands = parse_side(text.substr(0, arrow)), results = parse_side(text.substr(arrow + 2));
  if (!operands || !results) return std::nullopt;
  return AxisRule{std::move(*operands), std::move(*results)};
}

std::optional<AxisRule> resolve_axes(const Axes& axes, const AxesContext& context, std::span<const types::TensorType> results) {
  if (!axes.rule) return std::nullopt;
  const std::string text = axes.rule(context);
  if (text.empty()) return std::nullopt;
  auto rule = parse_axes(text);
  DTL_CHECK(rule.has_value(), "`{}` is no axes rule", text);
  expand(rule->operands, context.operands, text);
  expand(rule->results, results, text);
  return rule;
}

}  // namespace dtl::graph
