// Scanning of the compiler's own texts: what the parsers of dimensions, attributes and graphs share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtl::types {

std::string_view trim(std::string_view text);

/// Parts of `text` between the `separator`s that stand outside brackets `()[]{}` and outside "strings", trimmed. A text
/// of blanks has no parts. Nothing if brackets or quotes do not match.
std::optional<std::vector<std::string_view>> split_outside(std::string_view text, char separator);

/// The end of the bracketed group or string that starts at `text[begin]`, one past its closing character.
std::optional<size_t> end_of_group(std::string_view text, size_t begin);

/// The text inside if `text` starts with `open` and its matching `close` ends it.
std::optional<std::string_view> inside(std::string_view text, char open, char close);

std::optional<int64_t> parse_integer(std::string_view text);
/// What `number_text` prints.
std::optional<double> parse_number(std::string_view text);
/// Shortest text that reads back to the same bits; always with a `.`, an exponent, `inf` or `nan`.
std::string number_text(double number);

/// `"a \"b\""`, and back.
std::string quote(std::string_view text);
std::optional<std::string> unquote(std::string_view text);

}  // namespace dtl::types
