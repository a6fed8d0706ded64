// Printing and parsing of placements.
#include "compiler/types/placement.h"

#include <fmt/format.h>

#include "compiler/types/scan.h"

namespace dtl::types {

std::string Placement::str() const {
  switch (kind) {
    case PlacementKind::split:
      return fmt::format("split({})", dim);
    case PlacementKind::broadcast:
      return "broadcast";
    case PlacementKind::partial:
      return fmt::format("partial({})", name_of(op));
    case PlacementKind::varying:
      return "varying";
    case PlacementKind::at:
      return fmt::format("at({})", place);
  }
  __builtin_unreachable();
}

std::optional<Placement> Placement::parse(std::string_view text) {
  text = trim(text);
  if (text == "broadcast") return broadcast();
  if (text == "varying") return varying();
  const size_t open = text.find('(');
  if (open == std::string_view::npos) return std::nullopt;
  const auto argument = inside(text.substr(open), '(', ')');
  if (!argument) return std::nullopt;
  const std::string_view word = text.substr(0, open);
  if (word == "split") {
    const auto dim = parse_integer(*argument);
    if (!dim || *dim < 0) return std::nullopt;
    return split(static_cast<int>(*dim));
  }
  if (word == "partial") {
    const auto op = parse_reduce_op(*argument);
    return op ? std::optional(partial(*op)) : std::nullopt;
  }
  if (word == "at" && !argument->empty()) return Placement{PlacementKind::at, 0, ReduceOp::sum, std::string(*argument)};
  return std::nullopt;
}

std::string str(const Placements& placements) {
  if (placements.size() == 1) return placements[0].str();
  std::string text = "(";
  for (size_t i = 0; i < placements.size(); ++i) text += (i ? ", " : "") + placements[i].str();
  return text + ")";
}

std::optional<Placements> parse_placements(std::string_view text) {
  text = trim(text);
  Placements placements;
  if (text.empty() || text[0] != '(') {
    const auto one = Placement::parse(text);
    if (!one) return std::nullopt;
    return Placements{*one};
  }
  const auto content = inside(text, '(', ')');
  if (!content) return std::nullopt;
  const auto parts = split_outside(*content, ',');
  if (!parts || parts->size() == 1) return std::nullopt;
  for (const std::string_view part : *parts) {
    const auto one = Placement::parse(part);
    if (!one) return std::nullopt;
    placements.push_back(*one);
  }
  return placements;
}

}  // namespace dtl::types
