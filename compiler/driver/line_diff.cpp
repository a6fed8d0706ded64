// The longest common subsequence of lines, by the table of its lengths.
#include "compiler/driver/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compiler/source/check.h"

namespace dtl::driver {
namespace {

using Lines = std::vector<std::string_view>;

/// Each with its line end, which the last one may lack.
Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

struct Line {
  char sign;  ///< ' ', '-' or '+'
  std::string_view text;
};

/// A table of more entries takes too much memory: then all lines between the first and the last change are told as changed.
constexpr size_t kMostEntries = size_t{1} << 24;

void compare(const Lines& a, const Lines& b, size_t first, size_t a_end, size_t b_end, std::vector<Line>& to) {
  const size_t n = a_end - first, m = b_end - first;
  std::vector<uint32_t> longest;
  const bool small = n == 0 || m < kMostEntries / n;
  if (small) longest.resize((n + 1) * (m + 1));
  const auto at = [&](size_t i, size_t j) -> uint32_t& { return longest[i * (m + 1) + j]; };
  for (size_t i = small ? n : 0; i-- > 0;) {
    for (size_t j = m; j-- > 0;) at(i, j) = a[first + i] == b[first + j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
  }
  size_t i = 0, j = 0;
  while (i < n || j < m) {
    if (small && i < n && j < m && a[first + i] == b[first + j]) {
      to.push_back({' ', a[first + i]});
      ++i, ++j;
    } else if (i < n && (!small || j == m || at(i + 1, j) >= at(i, j + 1))) {
      to.push_back({'-', a[first + i++]});
    } else {
      to.push_back({'+', b[first + j++]});
    }
  }
}

}  // namespace

std::string line_diff(const std::string& name, std::string_view before, std::string_view after) {
  constexpr size_t kContext = 3;
  if (before == after) return {};
  const Lines a = lines_of(before), b = lines_of(after);
  size_t first = 0, a_end = a.size(), b_end = b.size();
  while (first < a_end && first < b_end && a[first] == b[first]) ++first;
  while (a_end > first && b_end > first && a[a_end - 1] == b[b_end - 1]) --a_end, --b_end;
  std::vector<Line> lines;
  for (size_t i = 0; i < first; ++i) lines.push_back({' ', a[i]});
  compare(a, b, first, a_end, b_end, lines);
  for (size_t i = a_end; i < a.size(); ++i) lines.push_back({' ', a[i]});

  std::string text = "--- " + name + "\n+++ " + name + "\n";
  size_t old_line = 0, new_line = 0;
  for (size_t i = 0; i < lines.size();) {
    size_t begin = i;
    while (begin < lines.size() && lines[begin].sign == ' ') ++begin;
    if (begin == lines.size()) break;
    // Changes with little between them are one piece.
    size_t end = begin;
    for (size_t same = 0, at = begin; at < lines.size() && same <= 2 * kContext; ++at) {
      same = lines[at].sign == ' ' ? same + 1 : 0;
      if (same == 0) end = at + 1;
    }
    const size_t from = begin - std::min(kContext, begin - i), to = std::min(end + kContext, lines.size());
    old_line += from - i;
    new_line += from - i;
    const auto count = [&](char sign) {
      return std::count_if(lines.begin() + static_cast<std::ptrdiff_t>(from), lines.begin() + static_cast<std::ptrdiff_t>(to),
                           [&](const Line& line) { return line.sign != sign; });
    };
    const size_t olds = static_cast<size_t>(count('+')), news = static_cast<size_t>(count('-'));
    text += fmt::format("@@ -{},{} +{},{} @@\n", old_line + (olds > 0), olds, new_line + (news > 0), news);
    for (size_t at = from; at < to; ++at) {
      text += lines[at].sign;
      text += lines[at].text;
      if (!lines[at].text.ends_with('\n')) text += "\n\\ No newline at end of file\n";
    }
    old_line += olds;
    new_line += news;
    i = to;
  }
  return text;
}

}  // namespace dtl::driver
