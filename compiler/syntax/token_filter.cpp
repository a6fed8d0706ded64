// The lexer and the filter behind it: line ends, words that are keywords only in places, brackets, numbers.
#include "compiler/syntax/token_filter.h"

#include <antlr4-runtime/antlr4-runtime.h>

#include <algorithm>
#include <string_view>

#include "grammar/DtlLexer.h"
#include "grammar/DtlParser.h"

namespace dtl::syntax {
namespace {

using grammar::DtlLexer;
using grammar::DtlParser;

/// After that many mistakes in one file the rest is noise.
constexpr int kMaxReports = 50;

struct Raw {
  int32_t type, begin, end;
  bool line_before;  ///< a line ends between the token before and this one
};

/// A character of a message: itself, or its code where it cannot be shown.
std::string show(std::string_view text) {
  if (text.size() == 1 && (static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7F)) {
    return fmt::format("the character U+{:04X}", static_cast<unsigned char>(text[0]));
  }
  size_t end = 0;
  for (int shown = 0; end < text.size() && shown < 10; ++shown) {
    if (static_cast<unsigned char>(text[end]) < 0x20) break;
    for (++end; end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80;) ++end;
  }
  return fmt::format("`{}{}`", text.substr(0, end), end < text.size() ? "…" : "");
}

bool starts_declaration(int32_t type) { return type >= DtlLexer::PARAM && type <= DtlLexer::TRAIN; }
bool is_word_in_places(int32_t type) { return type >= DtlLexer::PARAM && type <= DtlLexer::AS; }
bool is_name_like(int32_t type) { return type == DtlLexer::NAME || is_word_in_places(type); }
/// A reserved word that cannot follow a name: where one does, the name was meant as a keyword (`param if: int`).
bool is_no_operator(int32_t type) {
  return type == DtlLexer::IMPORT || type == DtlLexer::LET || type == DtlLexer::IF || type == DtlLexer::FOR || type == DtlLexer::REQUIRE ||
         (type >= DtlLexer::PER_REPLICA && type <= DtlLexer::FALSE) || type == DtlLexer::NOT;
}
bool is_number(int32_t type) { return type >= DtlLexer::INTEGER && type <= DtlLexer::BAD_NUMBER; }

/// A line that starts with one of these continues the line before.
bool continues_line(int32_t type) {
  static constexpr int32_t kTypes[] = {
      DtlLexer::PLUS,      DtlLexer::MINUS,    DtlLexer::STAR, DtlLexer::SLASH,      DtlLexer::POWER,     DtlLexer::EQUAL,
      DtlLexer::NOT_EQUAL, DtlLexer::LESS,     DtlLexer::AND,  DtlLexer::LESS_EQUAL, DtlLexer::GREATER,   DtlLexer::GREATER_EQUAL,
      DtlLexer::OR,        DtlLexer::RANGE,    DtlLexer::PIPE, DtlLexer::ARROW,      DtlLexer::FAT_ARROW, DtlLexer::UPDATE,
      DtlLexer::EQUALS,    DtlLexer::ELSE,     DtlLexer::WITH, DtlLexer::DOT,        DtlLexer::AT,        DtlLexer::BAR,
      DtlLexer::COLON,     DtlLexer::QUESTION, DtlLexer::IN,   DtlParser::ELSE_TEXT};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

/// A line that ends with one of these goes on in the next.
bool continues_after(int32_t type) {
  return type == DtlLexer::NOT || type == DtlLexer::COMMA || (continues_line(type) && type != DtlLexer::QUESTION);
}

/// Operators and whatever else may put one expression under another.
bool deepens(int32_t type) { return continues_after(type) ? type != DtlLexer::COMMA : type == DtlLexer::IF; }

int32_t closer_of(int32_t type) {
  return type == DtlLexer::OPEN_PAREN     ? DtlLexer::CLOSE_PAREN
         : type == DtlLexer::OPEN_BRACKET ? DtlLexer::CLOSE_BRACKET
                                          : DtlLexer::CLOSE_BRACE;
}

class Filter {
 public:
  Filter(const source::SourceSet& sources, source::FileId file, source::Sink& sink)
      : file_(file), text_(sources.file(file).text), sink_(sink) {}

  std::optional<TokenList> run() {
    lex();
    for (size_t i = 0; i < raws_.size(); ++i) {
      if (!take(i)) return std::nullopt;
    }
    finish();
    return std::move(list_);
  }

 private:
  struct Open {
    int32_t type;
    source::Range range;
    int indent;
    int operators = 0;
    bool excused = false;  ///< an open string swallowed what would have closed it
  };

  source::Range range(int32_t begin, int32_t end) const { return {file_, begin, end}; }
  source::Range range(const Raw& raw) const { return range(raw.begin, raw.end); }
  std::string_view text(const Raw& raw) const {
    return text_.substr(static_cast<size_t>(raw.begin), static_cast<size_t>(raw.end - raw.begin));
  }
  bool may_report() { return ++reports_ <= kMaxReports; }

  /// Cuts the text into tokens, and sorts comments out.
  void lex() {
    const size_t mark = text_.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    antlr4::ANTLRInputStream input(std::string(text_.substr(mark)));
    // The lexer counts characters, we count bytes.
    std::vector<int32_t> bytes;
    const bool ascii = std::all_of(text_.begin() + static_cast<std::ptrdiff_t>(mark), text_.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    if (!ascii) {
      for (size_t i = mark; i < text_.size(); ++i) {
        if ((static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) bytes.push_back(static_cast<int32_t>(i));
      }
      bytes.push_back(static_cast<int32_t>(text_.size()));
    }
    const auto offset = [&](size_t character) { return ascii ? static_cast<int32_t>(character + mark) : bytes[character]; };

    DtlLexer lexer(&input);
    lexer.removeErrorListeners();
    bool line_before = true, code_on_line = false;
    for (auto token = lexer.nextToken(); token->getType() != antlr4::Token::EOF; token = lexer.nextToken()) {
      const Raw raw{static_cast<int32_t>(token->getType()), offset(token->getStartIndex()), offset(token->getStopIndex() + 1), line_before};
      if (raw.type == DtlLexer::NEWLINE && text_[static_cast<size_t>(raw.begin)] != ';') {
        line_before = true;
        code_on_line = false;
      } else if (raw.type == DtlLexer::COMMENT) {
        comment(raw, !code_on_line);
      } else {
        code_on_line = true;
        if (raw.type == DtlLexer::BAD_CHARACTER && !line_before && !raws_.empty() && raws_.back().type == raw.type &&
            raws_.back().end == raw.begin) {
          raws_.back().end = raw.end;
          continue;
        }
        raws_.push_back(raw);
        line_before = false;
      }
    }
    list_.tokens.reserve(raws_.size() * 5 / 4);
  }

  void comment(const Raw& raw, bool own_line) {
    std::string_view all = text(raw);
    while (all.ends_with(' ') || all.ends_with('\t')) all.remove_suffix(1);
    if (own_line && all.starts_with("///") && !all.starts_with("////")) {
      all.remove_prefix(all.starts_with("/// ") ? 4 : 3);
      list_.docs.push_back({raw.begin, raw.end, std::string(all)});
    } else {
      list_.comments.push_back({range(raw), std::string(all), own_line});
    }
  }

  int32_t next_type(size_t i) const { return i + 1 < raws_.size() ? raws_[i + 1].type : kEndOfText; }
  bool next_on_line(size_t i) const { return i + 1 < raws_.size() && !raws_[i + 1].line_before; }
  int32_t last_type() const { return list_.tokens.empty() ? DtlLexer::NEWLINE : list_.tokens.back().type; }
  int32_t last_end() const { return list_.tokens.empty() ? 0 : list_.tokens.back().end; }
  /// Line ends part statements here: at the top, and where the innermost bracket is `{`.
  bool lines_count() const { return open_.empty() || open_.back().type == DtlLexer::OPEN_BRACE; }
  bool at_start() const { return last_type() == DtlLexer::NEWLINE || (last_type() == DtlLexer::OPEN_BRACE && lines_count()); }
  int& operators() { return open_.empty() ? operators_ : open_.back().operators; }

  void emit(int32_t type, int32_t begin, int32_t end) { list_.tokens.push_back({type, begin, end}); }
  void damage(bool whole) { list_.damages.push_back({std::max(static_cast<int32_t>(list_.tokens.size()) - 1, 0), whole}); }

  int indent_at(int32_t offset) const {
    const size_t before = offset > 0 ? text_.rfind('\n', static_cast<size_t>(offset) - 1) : std::string_view::npos;
    const size_t start = before == std::string_view::npos ? 0 : before + 1;
    size_t at = start;
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    return static_cast<int>(at - start);
  }

  /// Closes the innermost bracket, which the text does not.
  void close_missing(const char* why, const Raw* found) {
    const Open& top = open_.back();
    if (!top.excused && may_report()) {
      const std::string bracket(text_.substr(static_cast<size_t>(top.range.begin), 1));
      auto reported = sink_.report(top.range, diag::unclosed_bracket, bracket);
      if (found) reported.note(range(*found), why);
    }
    drop_separator();
    // Line ends part nothing inside `(` and `[`: what went wrong there stayed in its statement.
    const bool brace = top.type == DtlLexer::OPEN_BRACE;
    emit(closer_of(top.type), last_end(), last_end());
    depth_ -= 1 + top.operators;
    open_.pop_back();
    damage(brace);
  }

  void drop_separator() {
    if (!list_.tokens.empty() && list_.tokens.back().type == DtlLexer::NEWLINE) list_.tokens.pop_back();
  }

  bool named(size_t i) const { return next_on_line(i) && (is_name_like(next_type(i)) || is_no_operator(next_type(i))); }

  /// Nothing but a declaration looks like this.
  bool declares(size_t i) const {
    const int32_t type = raws_[i].type;
    return (starts_declaration(type) &&
            (named(i) || (type == DtlLexer::TRAIN && next_on_line(i) && next_type(i) == DtlLexer::OPEN_BRACE))) ||
           (type == DtlLexer::IMPORT && next_type(i) == DtlLexer::STRING);
  }

  /// Nothing but a statement looks like this.
  bool states(size_t i) const {
    const int32_t type = raws_[i].type;
    return type == DtlLexer::LET || type == DtlLexer::FOR || type == DtlLexer::REQUIRE ||
           ((type == DtlLexer::WEIGHT || type == DtlLexer::STATE) && named(i));
  }

  /// A line that can only stand outside of the innermost brackets tells that they were meant to be closed.
  void close_before(size_t i) {
    const Raw& raw = raws_[i];
    if (declares(i)) {
      const int indent = indent_at(raw.begin);
      while (!open_.empty() && open_.back().indent >= indent) close_missing("a declaration starts here, outside of it", &raw);
    }
    while (states(i) && !lines_count()) close_missing("a statement starts here, outside of it", &raw);
  }

  /// Takes one token; false when it is of no use to go on.
  bool take(size_t i) {
    const Raw& raw = raws_[i];
    if (raw.type == DtlLexer::BLANKS) return true;
    if (raw.line_before && !open_.empty()) close_before(i);
    const bool explicit_separator = raw.type == DtlLexer::NEWLINE || (raw.type == DtlLexer::COMMA && !open_.empty());
    if (raw.line_before && lines_count() && !at_start() && !explicit_separator && !continues_line(raw.type) &&
        (!continues_after(last_type()) || declares(i) || states(i))) {
      emit(DtlLexer::NEWLINE, last_end(), last_end());
      explicit_ = false;
      restart();
    }
    if (raw.type == DtlLexer::SLASH && next_type(i) == DtlLexer::STAR && raws_[i + 1].begin == raw.end) {
      block_comment(i);
    } else if (raw.type == DtlLexer::COMMA || raw.type == DtlLexer::NEWLINE) {
      separator(i);
    } else if (raw.type == DtlLexer::OPEN_PAREN || raw.type == DtlLexer::OPEN_BRACKET || raw.type == DtlLexer::OPEN_BRACE) {
      return open_bracket(raw);
    } else if (raw.type == DtlLexer::CLOSE_PAREN || raw.type == DtlLexer::CLOSE_BRACKET || raw.type == DtlLexer::CLOSE_BRACE) {
      return close_bracket(raw);
    } else if (raw.type == DtlLexer::BAD_CHARACTER) {
      bad_character(raw);
    } else if (raw.type == DtlLexer::OPEN_STRING) {
      open_string(raw);
    } else if (is_number(raw.type)) {
      number(i);
    } else {
      emit(word_type(i), raw.begin, raw.end);
      return !deepens(raw.type) || deepen(raw);
    }
    return true;
  }

  /// A comment of other languages: told once, and passed over to its end.
  void block_comment(size_t i) {
    const int32_t begin = raws_[i].begin;
    const size_t close = text_.find("*/", static_cast<size_t>(begin) + 2);
    const auto end = static_cast<int32_t>(close == std::string_view::npos ? text_.size() : close + 2);
    if (may_report())
      sink_.report(range(begin, begin + 2), diag::bad_character, "`/*`").help("a comment starts with `//` on each of its lines");
    for (size_t inside = i; inside < raws_.size() && raws_[inside].begin < end; ++inside) raws_[inside].type = DtlLexer::BLANKS;
    damage(false);
  }

  void open_string(const Raw& raw) {
    if (may_report()) sink_.report(range(raw), diag::unclosed_string).help("a string ends on its line; `\\n` stands for a new line");
    for (Open& open : open_) open.excused = true;
    emit(DtlLexer::STRING, raw.begin, raw.end);
    damage(false);
  }

  int32_t word_type(size_t i) const {
    const Raw& raw = raws_[i];
    const bool after_number =
        i > 0 && !raw.line_before && (raws_[i - 1].type == DtlLexer::INTEGER || raws_[i - 1].type == DtlLexer::NUMBER);
    if (raw.type == DtlLexer::NAME && after_number) {
      const std::string_view word = text(raw);
      if (word == "epoch" || word == "epochs" || word == "step" || word == "steps") return DtlParser::UNIT;
    }
    if (raw.type == DtlLexer::RANGE && ends_range(i)) return DtlParser::OPEN_RANGE;
    if (raw.type == DtlLexer::ELSE && (next_type(i) == DtlLexer::STRING || next_type(i) == DtlLexer::OPEN_STRING))
      return DtlParser::ELSE_TEXT;
    if (!is_word_in_places(raw.type)) return raw.type;
    if (raw.type == DtlLexer::AS) return last_type() == DtlLexer::STRING && !raw.line_before ? raw.type : int32_t{DtlLexer::NAME};
    // `train = Quick`: at the top of a file nothing can be set.
    const bool chooses = raw.type == DtlLexer::TRAIN && open_.empty() && next_type(i) == DtlLexer::EQUALS;
    const bool keyword = at_start() && (named(i) || (next_on_line(i) && (next_type(i) == DtlLexer::OPEN_BRACE || chooses)));
    // `train` with its brace on the next line is a header too: better to say that than to take it for a name.
    const bool brace_below = at_start() && open_.empty() && next_type(i) == DtlLexer::OPEN_BRACE;
    return keyword || brace_below ? raw.type : int32_t{DtlLexer::NAME};
  }

  bool ends_range(size_t i) const {
    const int32_t next = next_type(i);
    return next == DtlLexer::CLOSE_BRACKET || next == DtlLexer::COMMA || next == DtlLexer::CLOSE_PAREN || next == DtlLexer::CLOSE_BRACE ||
           next == DtlLexer::OPEN_BRACE || next == DtlLexer::NEWLINE || next == kEndOfText;
  }

  void separator(size_t i) {
    const Raw& raw = raws_[i];
    if (!lines_count()) {
      const bool trailing = raw.type == DtlLexer::COMMA &&
                            (next_type(i) == DtlLexer::CLOSE_PAREN || next_type(i) == DtlLexer::CLOSE_BRACKET) &&
                            last_type() != DtlLexer::COMMA && last_type() != DtlLexer::OPEN_PAREN && last_type() != DtlLexer::OPEN_BRACKET;
      if (!trailing) emit(raw.type, raw.begin, raw.end);
      if (raw.type == DtlLexer::COMMA) restart();
      return;
    }
    if (at_start()) {
      // `{ , a }`, `a,, b`: a comma too many stays one, for the parser to complain about.
      if (explicit_ || list_.tokens.empty() || last_type() == DtlLexer::OPEN_BRACE) {
        emit(DtlLexer::COMMA, raw.begin, raw.end);
      } else {
        list_.tokens.back() = {DtlLexer::NEWLINE, raw.begin, raw.end};
        explicit_ = true;
      }
      return;
    }
    if (raw.type == DtlLexer::COMMA && open_.empty()) {
      emit(raw.type, raw.begin, raw.end);
      return;
    }
    emit(DtlLexer::NEWLINE, raw.begin, raw.end);
    explicit_ = true;
    restart();
  }

  /// A new statement or argument: what is under it starts from no operators.
  void restart() {
    depth_ -= operators();
    operators() = 0;
  }

  bool deepen(const Raw& raw) {
    ++operators();
    if (++depth_ <= kMaxOperators) return true;
    sink_.report(range(raw), diag::expression_too_long, kMaxOperators).help("give parts of it names with `let`");
    return false;
  }

  bool open_bracket(const Raw& raw) {
    emit(raw.type, raw.begin, raw.end);
    explicit_ = false;
    if (open_.size() >= static_cast<size_t>(kMaxBrackets)) {
      sink_.report(range(raw), diag::nested_too_deep, kMaxBrackets);
      return false;
    }
    open_.push_back({raw.type, range(raw), indent_of_line(raw)});
    ++depth_;
    return true;
  }

  /// Remembered by line, so that a long line costs one look.
  int indent_of_line(const Raw& raw) {
    if (raw.line_before || open_.empty() || raw.begin >= line_end_) {
      indent_ = indent_at(raw.begin);
      const size_t end = text_.find('\n', static_cast<size_t>(raw.begin));
      line_end_ = static_cast<int32_t>(end == std::string_view::npos ? text_.size() : end);
    }
    return indent_;
  }

  bool close_bracket(const Raw& raw) {
    const auto match = std::find_if(open_.rbegin(), open_.rend(), [&](const Open& open) { return closer_of(open.type) == raw.type; });
    if (match == open_.rend()) {
      if (may_report()) {
        auto reported = sink_.report(range(raw), diag::unopened_bracket, std::string(text(raw)));
        if (!open_.empty()) reported.note(open_.back().range, "this is the innermost open bracket");
      }
      damage(raw.type == DtlLexer::CLOSE_BRACE);
      return true;
    }
    while (closer_of(open_.back().type) != raw.type) close_missing("this closes a bracket around it", &raw);
    if (raw.type == DtlLexer::CLOSE_BRACE) drop_separator();
    emit(raw.type, raw.begin, raw.end);
    depth_ -= 1 + open_.back().operators;
    open_.pop_back();
    explicit_ = false;
    // `f()()()`: each call is around the one before.
    return deepen(raw);
  }

  void bad_character(const Raw& raw) {
    damage(false);
    if (!may_report()) return;
    const std::string_view what = text(raw);
    auto reported = sink_.report(range(raw), diag::bad_character, show(what));
    if (what == "%") reported.help("there is no `%` operator: write `mod(a, b)`");
    if (what == "&" || what == "&&") reported.help("write `and`");
    if (what == "!") reported.help("write `not`");
    if (what == "'" || what == "''") reported.help("strings are in double quotes");
    if (what == "#") reported.help("a comment starts with `//`");
    if (what == "^") reported.help("a power is written `x ** 2`");
    if (static_cast<unsigned char>(what[0]) >= 0x80)
      reported.help("names are of letters a to z, A to Z, digits and `_`; anything else belongs in a string");
  }

  void number(size_t i) {
    const Raw& raw = raws_[i];
    const bool glued = i + 1 < raws_.size() && raws_[i + 1].begin == raw.end && (is_number(next_type(i)) || is_name_like(next_type(i)));
    if (raw.type != DtlLexer::BAD_NUMBER && !glued) {
      emit(raw.type, raw.begin, raw.end);
      return;
    }
    if (may_report()) {
      const std::string_view shown =
          text_.substr(static_cast<size_t>(raw.begin), static_cast<size_t>((glued ? raws_[i + 1].end : raw.end) - raw.begin));
      auto reported =
          sink_.report(range(raw.begin, glued ? raws_[i + 1].end : raw.end), diag::bad_number, std::string(shown.substr(0, 40)));
      if (raw.type == DtlLexer::PERCENT) {
        reported.help("there is no `%` operator: write `mod(a, b)`");
      } else if (shown.size() > 1 && std::isdigit(static_cast<unsigned char>(shown[0])) && !shown.starts_with("0x") &&
                 std::isalpha(static_cast<unsigned char>(shown.back())) && shown.find('_') == std::string_view::npos) {
        reported.help("units are B kB MB GB TB KiB MiB GiB TiB, us ms s min h d, %, and, after a blank, epochs and steps");
      }
    }
    emit(DtlLexer::INTEGER, raw.begin, raw.end);
    damage(false);
    if (glued) {
      // Its other half is gone with it.
      raws_[i + 1].type = DtlLexer::BLANKS;
    }
  }

  void finish() {
    while (!open_.empty()) close_missing("", nullptr);
    drop_separator();
    emit(kEndOfText, static_cast<int32_t>(text_.size()), static_cast<int32_t>(text_.size()));
  }

  source::FileId file_;
  std::string_view text_;
  source::Sink& sink_;
  std::vector<Raw> raws_;
  TokenList list_;
  std::vector<Open> open_;
  bool explicit_ = false;  ///< the separator just emitted was written
  int operators_ = 0, depth_ = 0;
  int reports_ = 0;
  int indent_ = 0;
  int32_t line_end_ = 0;
};

/// The parser's: it also names what only the filter makes.
const antlr4::dfa::Vocabulary& vocabulary() {
  static DtlParser parser(nullptr);
  return parser.getVocabulary();
}

}  // namespace

std::optional<TokenList> read_tokens(const source::SourceSet& sources, source::FileId file, source::Sink& sink) {
  const std::string& text = sources.file(file).text;
  if (const int64_t bad = source::find_invalid_utf8(text); bad >= 0) {
    const auto at = static_cast<int32_t>(bad);
    const int32_t line = sources.position(file, at).line;
    const int32_t byte = at - sources.file(file).line_starts[static_cast<size_t>(line) - 1] + 1;
    sink.report({file, at, at + 1}, diag::not_utf8, byte, line).help("save the file in the encoding UTF-8");
    return std::nullopt;
  }
  return Filter(sources, file, sink).run();
}

std::string token_name(int32_t type) {
  const std::string literal = vocabulary().getLiteralName(static_cast<size_t>(type));
  return literal.empty() ? token_symbol(type) : literal;
}

std::string token_symbol(int32_t type) {
  if (type == kEndOfText) return "EOF";
  return vocabulary().getSymbolicName(static_cast<size_t>(type));
}

}  // namespace dtl::syntax
