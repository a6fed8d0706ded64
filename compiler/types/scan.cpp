// Scanning of the compiler's own texts.
#include "compiler/types/scan.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace dtl::types {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<size_t> end_of_group(std::string_view text, size_t begin) {
  std::string closing;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
      if (i >= text.size()) return std::nullopt;
    } else if (c == '(') {
      closing += ')';
    } else if (c == '[') {
      closing += ']';
    } else if (c == '{') {
      closing += '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (closing.empty() || closing.back() != c) return std::nullopt;
      closing.pop_back();
    }
    if (closing.empty()) return i + 1;
  }
  return std::nullopt;
}

std::optional<std::vector<std::string_view>> split_outside(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (trim(text).empty()) return parts;
  size_t start = 0;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == separator) {
      parts.push_back(trim(text.substr(start, i - start)));
      start = ++i;
      continue;
    }
    const auto end = end_of_group(text, i);
    if (!end) return std::nullopt;
    i = *end;
  }
  parts.push_back(trim(text.substr(start)));
  return parts;
}

std::optional<std::string_view> inside(std::string_view text, char open, char close) {
  text = trim(text);
  if (text.size() < 2 || text.front() != open || text.back() != close || end_of_group(text, 0) != text.size()) return std::nullopt;
  return text.substr(1, text.size() - 2);
}

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text.find_first_not_of("0123456789+-.e") != std::string_view::npos || text.find_first_of(".e") == std::string_view::npos)
    return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string number_text(double number) {
  if (std::isnan(number)) return "nan";
  std::string text = fmt::format("{}", number);
  if (std::isfinite(number) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\n') {
      quoted += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::optional<std::string> unquote(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || end_of_group(text, 0) != text.size()) return std::nullopt;
  std::string plain;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
      plain += text[i] == 'n' ? '\n' : text[i];
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace dtl::types
