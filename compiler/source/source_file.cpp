// Source texts: the line table, positions and the check for UTF-8.
#include "compiler/source/source_file.h"

#include <algorithm>

namespace dtl::source {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The length of the UTF-8 character at `at`, or 0 if it is none (overlong, surrogate, beyond U+10FFFF, cut off).
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const unsigned first = byte(0), second = byte(1);
  const auto tail = [&](size_t count) {
    for (size_t i = 1; i < count; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return size_t{0};
    }
    return count;
  };
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return tail(2);
  if (first < 0xF0) {
    if (first == 0xE0 && second < 0xA0) return 0;
    if (first == 0xED && second >= 0xA0) return 0;
    return tail(3);
  }
  if (first < 0xF5) {
    if (first == 0xF0 && second < 0x90) return 0;
    if (first == 0xF4 && second >= 0x90) return 0;
    return tail(4);
  }
  return 0;
}

}  // namespace

FileId SourceSet::add(std::string name, std::string text) {
  std::vector<int32_t> starts{0};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts.push_back(static_cast<int32_t>(i + 1));
  }
  files_.push_back({std::move(name), std::move(text), std::move(starts)});
  return {static_cast<int32_t>(files_.size()) - 1};
}

Position SourceSet::position(FileId id, int32_t offset) const {
  const SourceFile& in = file(id);
  offset = std::clamp(offset, 0, static_cast<int32_t>(in.text.size()));
  const auto after = std::upper_bound(in.line_starts.begin(), in.line_starts.end(), offset);
  const int32_t start = *(after - 1);
  int32_t column = 1;
  for (int32_t i = start; i < offset; ++i) column += continues(in.text[static_cast<size_t>(i)]) ? 0 : 1;
  return {static_cast<int32_t>(after - in.line_starts.begin()), column};
}

std::string_view SourceSet::line(FileId id, int32_t line) const {
  const SourceFile& in = file(id);
  if (line < 1 || line > static_cast<int32_t>(in.line_starts.size())) return {};
  const auto start = static_cast<size_t>(in.line_starts[static_cast<size_t>(line) - 1]);
  const size_t newline = in.text.find('\n', start);
  size_t end = newline == std::string::npos ? in.text.size() : newline;
  if (end > start && in.text[end - 1] == '\r') --end;
  return std::string_view(in.text).substr(start, end - start);
}

std::string_view SourceSet::text(Range range) const {
  if (!range.known()) return {};
  const std::string_view all = file(range.file).text;
  const auto begin = std::min(static_cast<size_t>(std::max(range.begin, 0)), all.size());
  const auto end = std::clamp(static_cast<size_t>(std::max(range.end, 0)), begin, all.size());
  return all.substr(begin, end - begin);
}

int64_t find_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    if (length == 0) return static_cast<int64_t>(at);
    at += length;
  }
  return -1;
}

}  // namespace dtl::source
