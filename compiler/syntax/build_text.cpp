// Literals: numbers with their units, strings with their escapes.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "compiler/syntax/build.h"
#include "grammar/DtlParser.h"

namespace dtl::syntax {

using grammar::DtlParser;

namespace {

std::string without_underscores(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '_');
  return plain;
}

double to_number(const std::string& text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc::result_out_of_range) return value;
  return text.find("e-") != std::string::npos || text.find("E-") != std::string::npos ? 0.0 : std::numeric_limits<double>::infinity();
}

struct Unit {
  std::string_view text, name;
  double factor;
};

/// Bytes, seconds, fractions. `kB` and `KB` are 1000 bytes, `KiB` 1024.
constexpr Unit kUnits[] = {
    {"B", "size", 1},
    {"kB", "size", 1e3},
    {"KB", "size", 1e3},
    {"MB", "size", 1e6},
    {"GB", "size", 1e9},
    {"TB", "size", 1e12},
    {"KiB", "size", 1024.0},
    {"MiB", "size", 1048576.0},
    {"GiB", "size", 1073741824.0},
    {"TiB", "size", 1099511627776.0},
    {"us", "duration", 1e-6},
    {"ms", "duration", 1e-3},
    {"s", "duration", 1},
    {"min", "duration", 60},
    {"h", "duration", 3600},
    {"d", "duration", 86400},
};

void append_utf8(std::string& text, uint32_t code) {
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

}  // namespace

void Builder::integer(int32_t token, Expr& expr) {
  const std::string text = without_underscores(mistakes_.text(token));
  const auto result = std::from_chars(text.data(), text.data() + text.size(), expr.integer);
  if (result.ec != std::errc::result_out_of_range || !mistakes_.may_report(token)) return;
  mistakes_.sink()
      .report(mistakes_.range(token, token), diag::bad_number, text.substr(0, 40))
      .help("integers have 64 bits, up to 9_223_372_036_854_775_807");
}

void Builder::number(int32_t token, Expr& expr) {
  const std::string text = without_underscores(mistakes_.text(token));
  expr.number = to_number(text);
  if (std::isfinite(expr.number) || !mistakes_.may_report(token)) return;
  mistakes_.sink().report(mistakes_.range(token, token), diag::bad_number, text.substr(0, 40)).help("numbers have 64 bits, up to 1.79e308");
}

void Builder::quantity(int32_t token, Expr& expr) {
  const std::string text = without_underscores(mistakes_.text(token));
  const size_t digits = text.find_first_not_of("0123456789.");
  const double value = to_number(text.substr(0, digits));
  expr.kind = ExprKind::quantity;
  expr.unit = text.substr(digits);
  if (expr.unit == "%") {
    expr.name = "percent";
    expr.number = value / 100;
    return;
  }
  const auto unit = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const Unit& known) { return known.text == expr.unit; });
  expr.name = unit->name;
  // Dividing by a whole number keeps `500ms` exactly 0.5.
  expr.number = unit->factor < 1 ? value / std::round(1 / unit->factor) : value * unit->factor;
}

std::string Builder::string(int32_t token) {
  const std::string_view whole = mistakes_.text(token);
  std::string_view inner = whole.substr(1);
  // One that is not closed was reported as such.
  if (inner.ends_with('"')) inner.remove_suffix(1);
  std::string text;
  for (size_t at = 0; at < inner.size();) {
    if (inner[at] == '\\') {
      text += escape(inner, at, token, mistakes_.range(token, token).begin + 1);
    } else {
      text += inner[at++];
    }
  }
  return text;
}

/// The text that the escape at `at` stands for; moves `at` behind it. `offset`: of the string's inner text in the file.
std::string Builder::escape(std::string_view inner, size_t& at, int32_t token, int32_t offset) {
  const size_t begin = at;
  const char what = at + 1 < inner.size() ? inner[at + 1] : '\0';
  at = std::min(at + 2, inner.size());
  constexpr std::string_view kLetters = "ntr\"\\", kMeanings = "\n\t\r\"\\";
  if (const size_t letter = what ? kLetters.find(what) : std::string_view::npos; letter != std::string_view::npos)
    return std::string(1, kMeanings[letter]);
  if (what == 'u' && at < inner.size() && inner[at] == '{') {
    const size_t end = inner.find('}', at);
    if (end != std::string_view::npos) {
      uint32_t code = 0;
      const auto result = std::from_chars(inner.data() + at + 1, inner.data() + end, code, 16);
      at = end + 1;
      const bool is_code =
          result.ec == std::errc() && result.ptr == inner.data() + end && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
      if (is_code) {
        std::string text;
        append_utf8(text, code);
        return text;
      }
    }
  } else {
    // A character of several bytes is shown whole.
    while (at < inner.size() && (static_cast<unsigned char>(inner[at]) & 0xC0) == 0x80) ++at;
  }
  if (mistakes_.may_report(token)) {
    source::Range where = mistakes_.range(token, token);
    where.begin = offset + static_cast<int32_t>(begin);
    where.end = offset + static_cast<int32_t>(at);
    mistakes_.sink()
        .report(where, diag::bad_escape, std::string(inner.substr(begin, std::min<size_t>(at - begin, 40))))
        .help(R"(escapes are \n \t \r \" \\ and \u{1F600})");
  }
  return {};
}

}  // namespace dtl::syntax
