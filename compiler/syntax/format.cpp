// The formatter works on the tokens that the parser reads, with the comments between them: so nothing can be lost, and
// what it prints has the same tokens. It decides between tokens: a line end, a blank, nothing.
#include "compiler/syntax/format.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "compiler/source/check.h"
#include "compiler/syntax/token_filter.h"
#include "grammar/DtlParser.h"

namespace dtl::syntax {
namespace {

using grammar::DtlParser;

constexpr int kStep = 2;

bool opens(int32_t type) { return type == DtlParser::OPEN_PAREN || type == DtlParser::OPEN_BRACKET || type == DtlParser::OPEN_BRACE; }
bool closes(int32_t type) { return type == DtlParser::CLOSE_PAREN || type == DtlParser::CLOSE_BRACKET || type == DtlParser::CLOSE_BRACE; }

/// What an expression or a type may end with: `(` and `[` behind it belong to it, `-` is a difference.
bool ends_operand(int32_t type) {
  return closes(type) || type == DtlParser::NAME || type == DtlParser::STRING || type == DtlParser::UNIT || type == DtlParser::TRUE ||
         type == DtlParser::FALSE || (type >= DtlParser::INTEGER && type <= DtlParser::PERCENT);
}

class Formatter {
 public:
  Formatter(const source::SourceSet& sources, source::FileId file, TokenList list)
      : text_(sources.file(file).text), list_(std::move(list)), partner_(list_.tokens.size()), broken_(list_.tokens.size()) {}

  std::string run() {
    match_brackets();
    collect_comments();
    groups_.push_back({false, -kStep, 0});
    size_t next_comment = 0;
    for (size_t i = 0; i < list_.tokens.size(); ++i) {
      for (; next_comment < comments_.size() && comments_[next_comment].range.begin < list_.tokens[i].begin; ++next_comment) {
        comment(comments_[next_comment], i);
      }
      if (type(i) != kEndOfText) token(i);
    }
    for (; next_comment < comments_.size(); ++next_comment) comment(comments_[next_comment], list_.tokens.size() - 1);
    if (!out_.empty()) out_ += '\n';
    align();
    return std::move(out_);
  }

 private:
  struct Group {
    bool broken;      ///< its closing bracket stands on a line of its own
    int indent;       ///< of the line with the closing bracket; what is inside is one step further in
    int element = 0;  ///< indentation of the line on which the statement or element now being written began
  };

  int32_t type(size_t i) const { return list_.tokens[i].type; }
  std::string_view text(size_t i) const {
    return std::string_view(text_).substr(static_cast<size_t>(list_.tokens[i].begin),
                                          static_cast<size_t>(list_.tokens[i].end - list_.tokens[i].begin));
  }
  int lines_between(int32_t begin, int32_t end) const {
    return begin >= end ? 0 : static_cast<int>(std::count(text_.begin() + begin, text_.begin() + end, '\n'));
  }
  bool line_ends_between(size_t left, size_t right) const { return lines_between(list_.tokens[left].end, list_.tokens[right].begin) > 0; }

  /// Finds partners, and which `{}` stand on several lines: those with a line end beside a brace or a separator.
  void match_brackets() {
    std::vector<size_t> open;
    for (size_t i = 0; i < list_.tokens.size(); ++i) {
      if (opens(type(i))) {
        open.push_back(i);
        broken_[i] = line_ends_between(i, i + 1);
      } else if (closes(type(i))) {
        const size_t opener = open.back();
        open.pop_back();
        partner_[opener] = i;
        partner_[i] = opener;
        if (type(i) == DtlParser::CLOSE_BRACE && line_ends_between(i - 1, i)) broken_[opener] = true;
        const bool empty = opener + 1 == i && !holds_comment(list_.tokens[opener].end, list_.tokens[i].begin);
        if (empty) broken_[opener] = false;
      } else if (type(i) == DtlParser::NEWLINE && !open.empty() && line_ends_between(i - 1, i + 1)) {
        broken_[open.back()] = true;
      }
    }
  }

  bool holds_comment(int32_t begin, int32_t end) const {
    return std::string_view(text_).substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)).find("//") !=
           std::string_view::npos;
  }

  void collect_comments() {
    comments_ = list_.comments;
    for (const DocLine& doc : list_.docs)
      comments_.push_back({{{}, doc.begin, doc.end}, doc.text.empty() ? "///" : "/// " + doc.text, true});
    std::sort(comments_.begin(), comments_.end(), [](const Comment& a, const Comment& b) { return a.range.begin < b.range.begin; });
  }

  void comment(const Comment& comment, size_t next) {
    const int32_t before = next == 0 ? int32_t{DtlParser::NEWLINE} : type(next - 1);
    const bool between_statements = before == DtlParser::NEWLINE || before == DtlParser::OPEN_BRACE ||
                                    type(next) == DtlParser::CLOSE_BRACE || type(next) == DtlParser::NEWLINE || type(next) == kEndOfText;
    const bool between_elements = between_statements || opens(before) || before == DtlParser::COMMA || closes(type(next));
    if (!comment.own_line && !out_.empty()) {
      out_ += "  ";
      stop(true, comment.range.begin);
    } else if (!out_.empty()) {
      const bool empty_line = between_statements && before != DtlParser::OPEN_BRACE && lines_between(last_end_, comment.range.begin) > 1;
      const bool after_comment =
          between_statements && before == DtlParser::OPEN_BRACE && commented_ && lines_between(last_end_, comment.range.begin) > 1;
      new_line(between_elements ? inside() : groups_.back().element + kStep, empty_line || after_comment);
    }
    out_ += comment.text;
    last_end_ = comment.range.end;
    commented_ = true;
  }

  int inside() const { return groups_.back().indent + kStep; }

  void new_line(int indent, bool empty_line) {
    out_ += empty_line ? "\n\n" : "\n";
    out_.append(static_cast<size_t>(indent), ' ');
    line_indent_ = indent;
  }

  void token(size_t i) {
    if (type(i) == DtlParser::NEWLINE) {
      last_end_ = std::max(last_end_, list_.tokens[i].end);
      return;
    }
    const int32_t before = i == 0 ? kEndOfText : type(i - 1);
    const bool closing = closes(type(i));
    const bool starts = before == DtlParser::NEWLINE || before == DtlParser::COMMA || opens(before) || i == 0;
    if (out_.empty()) {
      line_indent_ = 0;
    } else if (commented_ || breaks_before(i)) {
      const bool may_part = before == DtlParser::NEWLINE || i == 0 || (before == DtlParser::OPEN_BRACE && commented_);
      const int indent = closing ? groups_.back().indent : starts ? inside() : groups_.back().element + kStep;
      new_line(indent, may_part && !closing && lines_between(last_end_, list_.tokens[i].begin) > 1);
    } else {
      if (before == DtlParser::NEWLINE) out_ += text(i - 1);
      if (blank_before(i)) out_ += ' ';
    }
    commented_ = false;
    if (closing) groups_.pop_back();
    if (starts && !closing) groups_.back().element = line_indent_;
    if (is_setting(i)) stop(false, list_.tokens[i].begin);
    out_ += text(i);
    last_end_ = list_.tokens[i].end;
    note_declaration(i);
    // A body's closing brace stands below the start of its header, however many lines that takes.
    if (opens(type(i)))
      groups_.push_back({broken_[i], type(i) == DtlParser::OPEN_BRACE ? groups_.back().element : line_indent_, line_indent_});
  }

  /// Remembers whether a `(` would open a list of parameters: in a declaration's header, before `=` and `->`.
  void note_declaration(size_t i) {
    if (groups_.size() > 1) return;
    const int32_t here = type(i);
    if (i == 0 || type(i - 1) == DtlParser::NEWLINE) in_header_ = here >= DtlParser::LAYER && here <= DtlParser::STRATEGY;
    if (here == DtlParser::EQUALS || here == DtlParser::ARROW) in_header_ = false;
  }

  bool breaks_before(size_t i) const {
    if (i == 0) return false;
    const int32_t before = type(i - 1), here = type(i);
    if (before == DtlParser::NEWLINE) return groups_.size() == 1 || groups_.back().broken;
    if (opens(before) || closes(here)) return groups_.back().broken;
    if (here == DtlParser::COMMA || here == DtlParser::COLON || here == DtlParser::QUESTION || belongs_to_operand(i)) return false;
    if (here == DtlParser::ELSE && before == DtlParser::CLOSE_BRACE) return false;
    if (here == DtlParser::OPEN_BRACE && before != DtlParser::COMMA) return false;
    return line_ends_between(i - 1, i);
  }

  /// `f(`, `x[`.
  bool belongs_to_operand(size_t i) const {
    return (type(i) == DtlParser::OPEN_PAREN || type(i) == DtlParser::OPEN_BRACKET) && ends_operand(type(i - 1));
  }

  /// `layer f (`, `example (`.
  bool opens_parameters(size_t i) const {
    if (type(i) != DtlParser::OPEN_PAREN) return false;
    if (groups_.size() == 1) return in_header_;
    const bool after_first =
        i >= 2 && type(i - 1) == DtlParser::NAME && (type(i - 2) == DtlParser::NEWLINE || type(i - 2) == DtlParser::OPEN_BRACE);
    return after_first && type(partner_[i] + 1) == DtlParser::OPEN_BRACE;
  }

  bool is_sign(size_t i) const { return type(i) == DtlParser::MINUS && (i == 0 || !ends_operand(type(i - 1))); }

  bool blank_before(size_t i) const {
    if (i == 0) return false;
    const int32_t before = type(i - 1), here = type(i);
    if (before == DtlParser::OPEN_PAREN || before == DtlParser::OPEN_BRACKET || here == DtlParser::CLOSE_PAREN ||
        here == DtlParser::CLOSE_BRACKET)
      return false;
    if (here == DtlParser::COMMA || here == DtlParser::COLON || here == DtlParser::QUESTION) return false;
    if (before == DtlParser::DOT || here == DtlParser::DOT || is_sign(i - 1)) return false;
    if (before == DtlParser::OPEN_BRACE && here == DtlParser::CLOSE_BRACE) return false;
    return !belongs_to_operand(i) || opens_parameters(i);
  }

  // ---- columns

  /// A place on a line that its neighbours may share: the `=` of a setting, a comment behind code.
  struct Stop {
    bool comment;
    size_t line, at;  ///< in the output: line from 0, bytes from its start
    size_t column;    ///< in the source
    int indent;
  };

  /// The `=` of `name = …` at the start of a line.
  bool is_setting(size_t i) const {
    if (type(i) != DtlParser::EQUALS || i == 0 || type(i - 1) != DtlParser::NAME) return false;
    const size_t line = out_.rfind('\n') + 1;
    return out_.size() - line == static_cast<size_t>(line_indent_) + text(i - 1).size() + 1;
  }

  /// Characters, not bytes.
  static size_t width(std::string_view text) {
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  }

  void stop(bool comment, int32_t source) {
    const auto from = static_cast<size_t>(source);
    const size_t source_line = from == 0 ? 0 : text_.rfind('\n', from - 1) + 1;  // npos + 1 is 0
    const size_t line = out_.rfind('\n') + 1;
    stops_.push_back({comment, static_cast<size_t>(std::count(out_.begin(), out_.end(), '\n')), out_.size() - line,
                      width(std::string_view(text_).substr(source_line, from - source_line)), line_indent_});
  }

  /// Settings on lines below one another whose `=` stood in one column keep a column; so do comments behind code.
  void align() {
    if (stops_.empty()) return;
    std::vector<std::string> lines;
    for (size_t at = 0; at < out_.size();) {
      const size_t end = out_.find('\n', at);
      lines.push_back(out_.substr(at, end - at));
      at = end + 1;
    }
    for (const bool comment : {false, true}) {
      std::vector<Stop*> run;
      const auto flush = [&] {
        size_t column = 0;
        for (const Stop* stop : run) column = std::max(column, width(std::string_view(lines[stop->line]).substr(0, stop->at)));
        for (Stop* stop : run) {
          const size_t pad = column - width(std::string_view(lines[stop->line]).substr(0, stop->at));
          lines[stop->line].insert(stop->at, pad, ' ');
          for (Stop& behind : stops_) {
            if (behind.line == stop->line && behind.at > stop->at) behind.at += pad;
          }
        }
        run.clear();
      };
      for (Stop& stop : stops_) {
        if (stop.comment != comment) continue;
        const bool goes_on = !run.empty() && run.back()->line + 1 == stop.line && run.back()->column == stop.column &&
                             (comment || run.back()->indent == stop.indent);
        if (!goes_on) flush();
        run.push_back(&stop);
      }
      flush();
    }
    out_.clear();
    for (const std::string& line : lines) out_ += line + '\n';
  }

  const std::string& text_;
  TokenList list_;
  std::vector<Stop> stops_;
  std::vector<size_t> partner_;
  std::vector<bool> broken_;
  std::vector<Comment> comments_;
  std::vector<Group> groups_;
  std::string out_;
  int line_indent_ = 0;
  int32_t last_end_ = 0;    ///< of the token or comment written last
  bool commented_ = false;  ///< that was a comment: a line must end
  bool in_header_ = false;
};

}  // namespace

std::string format(const Ast& ast, const source::SourceSet& sources) {
  source::Sink sink;
  std::optional<TokenList> list = read_tokens(sources, ast.file, sink);
  // Of an Ast without errors: its text is read a second time.
  DTL_CHECK(list && !sink.has_errors(), "formatting a file with errors");
  return Formatter(sources, ast.file, std::move(*list)).run();
}

}  // namespace dtl::syntax
