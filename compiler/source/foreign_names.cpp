// The table of foreign names: stdlib/foreign_names.txt, as the names that it leads to are the library's.
#include "compiler/source/foreign_names.h"

#include <algorithm>

#include "foreign_names_text.h"

namespace dtl::source {
namespace {

using Table = std::vector<std::pair<std::string_view, std::string_view>>;

/// Lines `theirs = ours`; others are comments.
Table read(std::string_view text) {
  constexpr std::string_view kIs = " = ";
  Table rows;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t is = line.find(kIs);
    if (!line.starts_with('#') && is != std::string_view::npos) rows.emplace_back(line.substr(0, is), line.substr(is + kIs.size()));
  }
  return rows;
}

}  // namespace

const Table& foreign_names() {
  static const Table rows = read(kForeignNames);
  return rows;
}

std::string plain_spelling(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

std::vector<std::string_view> counterparts(std::string_view foreign) {
  const std::string plain = plain_spelling(foreign);
  std::vector<std::string_view> found;
  for (const auto& [theirs, ours] : foreign_names()) {
    if (theirs == plain) found.push_back(ours);
  }
  return found;
}

std::optional<std::string> counterpart(std::string_view foreign, const std::vector<std::string>& names) {
  for (const std::string_view ours : counterparts(foreign)) {
    if (std::find(names.begin(), names.end(), ours) != names.end()) return std::string(ours);
  }
  return std::nullopt;
}

}  // namespace dtl::source
