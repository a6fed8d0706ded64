// Rendering of diagnostics. Columns of the picture are cells of a terminal: tabs are spread, wide characters count two.
#include "compiler/source/render.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dtl::source {
namespace {

constexpr int kTab = 4;
/// Longer lines are cut to a window around what is underlined.
constexpr int kWidth = 140;
constexpr int kBefore = 50;  // cells kept before the underlined text when the line is cut

struct Glyph {
  std::string text;
  int cells;
};

/// The character at `at`, ready to print; moves `at` past it.
Glyph next_glyph(std::string_view line, size_t& at, int cell) {
  const auto first = static_cast<unsigned char>(line[at]);
  if (first == '\t') {
    ++at;
    const int cells = kTab - cell % kTab;
    return {std::string(static_cast<size_t>(cells), ' '), cells};
  }
  if (first < 0x20 || first == 0x7F) {
    ++at;
    return {"\xEF\xBF\xBD", 1};
  }
  if (first < 0x80) return {std::string(1, line[at++]), 1};
  size_t length = 1;
  while (at + length < line.size() && length < 4 && (static_cast<unsigned char>(line[at + length]) & 0xC0) == 0x80) ++length;
  std::string text(line.substr(at, length));
  if (find_invalid_utf8(text) >= 0) {
    ++at;
    return {"\xEF\xBF\xBD", 1};
  }
  at += length;
  char32_t code = length == 2 ? first & 0x1Fu : length == 3 ? first & 0x0Fu : first & 0x07u;
  for (size_t i = 1; i < length; ++i) code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  const auto within = [&](char32_t low, char32_t high) { return code >= low && code <= high; };
  if (within(0x0300, 0x036F) || within(0x200B, 0x200F) || within(0x202A, 0x202E) || within(0x20D0, 0x20FF) || within(0xFE00, 0xFE0F)) {
    return {std::move(text), 0};
  }
  const bool wide = within(0x1100, 0x115F) || within(0x2E80, 0x303E) || within(0x3041, 0xA4CF) || within(0xAC00, 0xD7A3) ||
                    within(0xF900, 0xFAFF) || within(0xFE30, 0xFE6F) || within(0xFF00, 0xFF60) || within(0xFFE0, 0xFFE6) ||
                    within(0x1F300, 0x1F64F) || within(0x1F680, 0x1F6FF) || within(0x1F900, 0x1FAFF) || within(0x20000, 0x3FFFD);
  return {std::move(text), wide ? 2 : 1};
}

/// A source line and the underlined cells [first, last) of it, cut to kWidth.
struct Picture {
  std::string line;
  int first, last;
};

Picture draw(std::string_view line, size_t begin, size_t end) {
  std::vector<Glyph> glyphs;
  std::vector<int> starts;
  int cell = 0, first = -1, last = -1;
  for (size_t at = 0; at < line.size();) {
    if (first < 0 && at >= begin) first = cell;
    if (last < 0 && at >= end) last = cell;
    // What is beyond the window is never shown: a line of megabytes costs no more than its beginning.
    if (first >= 0 && cell > first + kWidth) break;
    glyphs.push_back(next_glyph(line, at, cell));
    starts.push_back(cell);
    cell += glyphs.back().cells;
  }
  if (first < 0) first = cell;
  if (last < 0) last = cell;
  last = std::max(last, first + 1);

  int from = 0, to = cell;
  if (cell > kWidth) {
    from = first > kWidth - kBefore ? first - kBefore : 0;
    to = from + kWidth;
  }
  Picture picture{from > 0 ? "…" : "", 0, 0};
  const int shift = from > 0 ? from - 1 : 0;
  int shown = from;
  for (size_t i = 0; i < glyphs.size(); ++i) {
    if (starts[i] < from || starts[i] + glyphs[i].cells > to) continue;
    // A wide character cut by the window's edge leaves its cell blank.
    for (; shown < starts[i]; ++shown) picture.line += ' ';
    picture.line += glyphs[i].text;
    shown = starts[i] + glyphs[i].cells;
  }
  if (to < cell) picture.line += "…";
  while (picture.line.ends_with(' ')) picture.line.pop_back();
  picture.first = first - shift;
  picture.last = std::max(std::min(last, to) - shift, picture.first + 1);
  return picture;
}

class Renderer {
 public:
  Renderer(const SourceSet& sources, bool color) : sources_(sources), color_(color) {}

  std::string run(const Diagnostic& diagnostic) {
    const bool error = diagnostic.severity == Severity::error;
    const char* hue = error ? "31" : "33";
    gutter_ = std::max(2, digits(diagnostic.range));
    for (const Note& note : diagnostic.notes) gutter_ = std::max(gutter_, digits(note.range));
    out_ = paint(fmt::format("{}[{}]", error ? "error" : "warning", code_name(diagnostic.code)), fmt::format("1;{}", hue)) +
           paint(": " + diagnostic.text, "1") + "\n";
    place(diagnostic.range, hue);
    for (const Note& note : diagnostic.notes) {
      out_ += "  " + paint("note", "1;36") + ": " + note.text + "\n";
      place(note.range, "36");
    }
    for (const std::string& help : diagnostic.helps) out_ += "  " + paint("help", "1;32") + ": " + help + "\n";
    return std::move(out_);
  }

 private:
  std::string paint(const std::string& text, std::string_view code) const {
    return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }

  int digits(Range range) const {
    return range.known() ? static_cast<int>(std::to_string(sources_.position(range.file, range.begin).line).size()) : 0;
  }

  void place(Range range, const char* hue) {
    if (!range.known()) return;
    const Position at = sources_.position(range.file, range.begin);
    const std::string_view line = sources_.line(range.file, at.line);
    out_ += fmt::format("  {} {}:{}:{}\n", paint("-->", "34"), sources_.file(range.file).name, at.line, at.column);
    const auto start = static_cast<size_t>(sources_.file(range.file).line_starts[static_cast<size_t>(at.line) - 1]);
    const size_t begin = std::min(static_cast<size_t>(range.begin) - start, line.size());
    // Of a range over several lines, the first line is underlined.
    const size_t end = std::min(static_cast<size_t>(std::max(range.end, range.begin)) - start, line.size());
    const Picture picture = draw(line, begin, end);
    const std::string bar = paint("│", "34");
    out_ += fmt::format("  {} {}{}\n", paint(fmt::format("{:>{}}", at.line, gutter_), "34"), bar,
                        picture.line.empty() ? "" : " " + picture.line);
    out_ += fmt::format("  {} {} {}{}\n", std::string(static_cast<size_t>(gutter_), ' '), bar,
                        std::string(static_cast<size_t>(picture.first), ' '),
                        paint(std::string(static_cast<size_t>(picture.last - picture.first), '^'), fmt::format("1;{}", hue)));
  }

  const SourceSet& sources_;
  bool color_;
  int gutter_ = 2;
  std::string out_;
};

void add_place(nlohmann::ordered_json& into, Range range, const SourceSet& sources) {
  if (!range.known()) {
    for (const char* key : {"file", "line", "column", "end_line", "end_column"}) into[key] = nullptr;
    return;
  }
  const Position begin = sources.position(range.file, range.begin), end = sources.position(range.file, range.end);
  into["file"] = sources.file(range.file).name;
  into["line"] = begin.line;
  into["column"] = begin.column;
  into["end_line"] = end.line;
  into["end_column"] = end.column;
}

}  // namespace

std::string render(const Diagnostic& diagnostic, const SourceSet& sources, bool color) { return Renderer(sources, color).run(diagnostic); }

std::string render_json(const Diagnostic& diagnostic, const SourceSet& sources) {
  nlohmann::ordered_json out;
  out["code"] = code_name(diagnostic.code);
  out["severity"] = diagnostic.severity == Severity::error ? "error" : "warning";
  out["message"] = diagnostic.text;
  add_place(out, diagnostic.range, sources);
  out["notes"] = nlohmann::ordered_json::array();
  for (const Note& note : diagnostic.notes) {
    nlohmann::ordered_json entry;
    entry["message"] = note.text;
    add_place(entry, note.range, sources);
    out["notes"].push_back(std::move(entry));
  }
  out["helps"] = diagnostic.helps;
  out["fixes"] = nlohmann::ordered_json::array();
  for (const Fix& fix : diagnostic.fixes) {
    nlohmann::ordered_json entry;
    add_place(entry, fix.range, sources);
    entry["replacement"] = fix.replacement;
    out["fixes"].push_back(std::move(entry));
  }
  // Names of files and texts may hold bytes that are not UTF-8.
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace dtl::source
