// What was expected and what was found, in the user's words.
#include "compiler/syntax/mistakes.h"

#include <algorithm>

#include "compiler/source/foreign_names.h"
#include "grammar/DtlParser.h"

namespace dtl::syntax {
namespace {

using grammar::DtlParser;

using Types = std::set<int32_t>;

bool opens(int32_t type) { return type == DtlParser::OPEN_PAREN || type == DtlParser::OPEN_BRACKET || type == DtlParser::OPEN_BRACE; }
bool closes(int32_t type) { return type == DtlParser::CLOSE_PAREN || type == DtlParser::CLOSE_BRACKET || type == DtlParser::CLOSE_BRACE; }
bool is_reserved(int32_t type) { return type >= DtlParser::PARAM && type <= DtlParser::NOT; }

bool is_arithmetic(int32_t type) {
  return type == DtlParser::PLUS || type == DtlParser::MINUS || type == DtlParser::STAR || type == DtlParser::SLASH ||
         type == DtlParser::POWER;
}

bool is_unit(std::string_view word) { return word == "step" || word == "steps" || word == "epoch" || word == "epochs"; }

bool begins_expression(int32_t type) {
  return type == DtlParser::NAME || type == DtlParser::STRING || type == DtlParser::TRUE || type == DtlParser::FALSE ||
         (type >= DtlParser::INTEGER && type <= DtlParser::PERCENT);
}

/// The declaration that another language begins with this word.
std::optional<std::string> declaration_for(std::string_view word) {
  return source::counterpart(word, {"import", "param", "fn", "layer", "model", "optimizer", "strategy", "dataset", "train"});
}

void drop(Types& types, std::initializer_list<int32_t> unwanted) {
  for (int32_t type : unwanted) types.erase(type);
}

void drop_range(Types& types, int32_t first, int32_t last) { types.erase(types.lower_bound(first), types.upper_bound(last)); }

void drop_expression(Types& types) {
  drop(types, {DtlParser::MINUS, DtlParser::NOT, DtlParser::NAME, DtlParser::STRING, DtlParser::TRUE, DtlParser::FALSE,
               DtlParser::OPEN_PAREN, DtlParser::OPEN_BRACKET, DtlParser::OPEN_BRACE, DtlParser::IF, DtlParser::PER_REPLICA});
  drop_range(types, DtlParser::INTEGER, DtlParser::PERCENT);
}

/// Operators and suffixes: what may always follow an expression.
bool drop_continuation(Types& types) {
  if (!types.contains(DtlParser::PLUS)) return false;
  drop(types, {DtlParser::AND, DtlParser::OR, DtlParser::RANGE, DtlParser::FAT_ARROW, DtlParser::DOT, DtlParser::OPEN_PAREN,
               DtlParser::OPEN_BRACKET, DtlParser::WITH, DtlParser::UNIT, DtlParser::OPEN_RANGE});
  drop_range(types, DtlParser::PIPE, DtlParser::GREATER_EQUAL);
  return true;
}

/// The words for a set of tokens, from the general to the single.
std::vector<std::string> words_for(Types types) {
  std::vector<std::string> words;
  if (types.contains(DtlParser::TRAIN) && types.contains(DtlParser::IMPORT)) {
    words.push_back("a declaration");
    drop_range(types, DtlParser::PARAM, DtlParser::TRAIN);
    drop(types, {DtlParser::IMPORT, kEndOfText});
  }
  if (types.contains(DtlParser::LET)) {
    words.push_back("a statement");
    drop(types, {DtlParser::LET, DtlParser::WEIGHT, DtlParser::STATE, DtlParser::FOR, DtlParser::REQUIRE});
    drop_expression(types);
  } else if (types.contains(DtlParser::PER_REPLICA)) {
    words.push_back("an expression");
    drop_expression(types);
  } else if (types.contains(DtlParser::NAME) && types.contains(DtlParser::OPEN_BRACKET)) {
    words.push_back("a type");
    drop(types, {DtlParser::NAME, DtlParser::OPEN_PAREN, DtlParser::OPEN_BRACKET, DtlParser::OPEN_BRACE});
  }
  const bool operators = drop_continuation(types);
  const bool type_ended = !operators && types.contains(DtlParser::BAR);
  if (type_ended) drop(types, {DtlParser::BAR, DtlParser::QUESTION, DtlParser::AT, DtlParser::OPEN_BRACKET, DtlParser::ARROW});
  if (types.contains(DtlParser::NEWLINE)) drop(types, {kEndOfText, DtlParser::CLOSE_BRACE});
  if (types.contains(DtlParser::RANGE)) drop(types, {DtlParser::OPEN_RANGE});
  for (int32_t type : types) {
    if (type == DtlParser::NEWLINE || type == DtlParser::NAME || type == DtlParser::STRING || type == DtlParser::ELSE_TEXT ||
        type == kEndOfText)
      continue;
    const std::string name = token_name(type);
    words.push_back(name.starts_with('\'') ? fmt::format("`{}`", name.substr(1, name.size() - 2)) : name);
  }
  if (types.contains(DtlParser::NAME)) words.insert(words.begin(), "a name");
  if (types.contains(DtlParser::STRING)) words.insert(words.begin(), "a text in quotes");
  if (types.contains(DtlParser::ELSE_TEXT)) words.push_back("`else` and a text in quotes");
  if (types.contains(DtlParser::NEWLINE)) words.push_back("the end of the line");
  if (types.contains(kEndOfText)) words.push_back("the end");
  if (words.empty() && operators) words.push_back("an operator");
  return words;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

std::string shorten(std::string_view text) {
  constexpr size_t kShown = 40;
  const size_t line = std::min(text.find('\n'), text.size());
  if (line == text.size() && text.size() <= kShown) return std::string(text);
  size_t end = std::min(line, kShown);
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace

Mistakes::Mistakes(const source::SourceSet& sources, source::FileId file, const TokenList& list, source::Sink& sink)
    : sources_(sources), file_(file), list_(list), sink_(sink) {
  if (!list.damages.empty()) locate_damages();
}

source::Range Mistakes::range(int32_t first, int32_t last) const {
  return {file_, list_.tokens[static_cast<size_t>(first)].begin, list_.tokens[static_cast<size_t>(last)].end};
}

std::string_view Mistakes::text(int32_t token) const { return sources_.text(range(token, token)); }

void Mistakes::locate_damages() {
  struct Open {
    bool brace;
    int32_t statement;
  };
  std::vector<Open> open;
  int32_t statement = 0, statements = 0, declaration = 0;
  for (const Token& token : list_.tokens) {
    if (closes(token.type) && !open.empty()) {
      statement = open.back().statement;
      open.pop_back();
    }
    if (token.type == DtlParser::NEWLINE && (open.empty() || open.back().brace)) {
      // A line end belongs to what it begins: that is where damage before a first token is noted.
      statement = ++statements;
      declaration += open.empty();
    }
    statement_.push_back(statement);
    declaration_.push_back(declaration);
    if (opens(token.type)) {
      open.push_back({token.type == DtlParser::OPEN_BRACE, statement});
      if (open.back().brace) statement = ++statements;
    }
  }
  for (const Damage& damage : list_.damages) {
    const auto token = static_cast<size_t>(damage.token);
    if (damage.whole_declaration) damaged_declarations_.insert(declaration_[token]);
    damaged_statements_.insert(statement_[token]);
    if (list_.tokens[token].type == DtlParser::OPEN_BRACE) damaged_statements_.insert(statement_[token + 1]);
  }
}

bool Mistakes::may_report(int32_t token) {
  if (reports_ >= kMaxMistakes) return false;
  if (!statement_.empty()) {
    const int32_t type = list_.tokens[static_cast<size_t>(token)].type;
    // What ends a statement is a mistake of the statement that it ends.
    const bool ends = type == DtlParser::NEWLINE || type == kEndOfText || type == DtlParser::CLOSE_BRACE;
    const auto at = static_cast<size_t>(ends && token > 0 ? token - 1 : token);
    if (damaged_declarations_.contains(declaration_[at]) || damaged_statements_.contains(statement_[at])) return false;
  }
  ++reports_;
  return true;
}

std::string Mistakes::found(int32_t token, bool fragment) const {
  const Token& what = list_.tokens[static_cast<size_t>(token)];
  if (what.type == kEndOfText) return fragment ? "the end" : "the end of the file";
  if (what.type == DtlParser::NEWLINE && what.begin == what.end) return "the end of the line";
  if (what.type == DtlParser::STRING) return "a text in quotes";
  if (is_reserved(what.type)) return fmt::format("the word `{}`", text(token));
  return fmt::format("`{}`", shorten(text(token)));
}

void Mistakes::advise(source::Reported& reported, const Mistake& mistake) const {
  const auto type = [&](int32_t at) {
    return at >= 0 && at < static_cast<int32_t>(list_.tokens.size()) ? list_.tokens[static_cast<size_t>(at)].type : kEndOfText;
  };
  const int32_t found = type(mistake.token);
  const auto touches_next = [&](int32_t at) {
    return at >= 0 && list_.tokens[static_cast<size_t>(at)].end == list_.tokens[static_cast<size_t>(at) + 1].begin;
  };
  const auto expects = [&](int32_t wanted) {
    return std::find(mistake.expected.begin(), mistake.expected.end(), wanted) != mistake.expected.end();
  };
  if (found == DtlParser::EQUALS && is_arithmetic(type(mistake.token - 1)) && touches_next(mistake.token - 1)) {
    // `x += 1` of other languages.
    const std::string before = type(mistake.token - 2) == DtlParser::NAME ? std::string(text(mistake.token - 2)) : "x";
    reported.help(fmt::format("a `state` changes by `{0} <- {0} {1} …`; a value has a new one of its name by `let {0} = {0} {1} …`", before,
                              text(mistake.token - 1)));
  } else if (found == DtlParser::IF && expects(DtlParser::PLUS)) {
    reported.help("a choice is written `if condition { a } else { b }`");
  } else if (found == DtlParser::QUESTION && expects(DtlParser::PLUS)) {
    reported.help("a choice is written `if condition { a } else { b }`");
  } else if ((found == DtlParser::QUESTION || found == DtlParser::COLON) && expects(DtlParser::ELLIPSIS) &&
             !expects(DtlParser::OPEN_RANGE)) {
    reported.help(
        "a dimension of any size has a name: `batch` that of the examples, `n` another; `...` stands for any number of dimensions");
  } else if (expects(DtlParser::OPEN_BRACE) && found == DtlParser::NEWLINE && type(mistake.token + 1) == DtlParser::OPEN_BRACE) {
    reported.help("`{` stands on the line of its header");
  } else if (found == DtlParser::OPEN_RANGE) {
    reported.help("outside `[]` a range has both ends: `0 .. n`");
  } else if (found == DtlParser::AT && expects(DtlParser::PLUS)) {
    reported.help("`@` gives a type its placement; a product of matrices is `matmul(a, b)`");
  } else if (found == DtlParser::BAR && expects(DtlParser::PLUS)) {
    reported.help("a choice between two truths is written `or`");
  } else if (found == DtlParser::OPEN_BRACE && expects(DtlParser::ARROW)) {
    reported.help("the type of the result is always written: `-> type {`");
  } else if (is_reserved(found) && found >= DtlParser::IMPORT && mistake.expected == std::vector<int32_t>{DtlParser::NAME}) {
    reported.help(fmt::format("`{}` is a reserved word: choose another name", text(mistake.token)));
  } else if (found == DtlParser::LET && expects(DtlParser::TRAIN)) {
    reported.help("`let` stands in a body; a value of the whole file is a `param`");
  } else if (found == DtlParser::COLON && (expects(DtlParser::OPEN_RANGE) || expects(DtlParser::CLOSE_BRACKET))) {
    reported.help("a part of an axis is `a .. b`, all of it `..`, and all axes up to the next index `...`");
  } else if (found == DtlParser::COLON && expects(DtlParser::EQUALS)) {
    reported.help("a value follows `=`");
  } else if (found == DtlParser::NAME && expects(DtlParser::NEWLINE) && type(mistake.token + 1) == DtlParser::EQUALS) {
    reported.help("settings stand on lines of their own, or with a comma between");
  } else if (found == DtlParser::NAME && type(mistake.token - 1) == DtlParser::NAME && is_unit(text(mistake.token))) {
    reported.help(fmt::format("a unit stands on a number: write `{} * 1 {}`", text(mistake.token - 1), text(mistake.token)));
  } else if (found == DtlParser::NAME && expects(DtlParser::TRAIN)) {
    if (const auto ours = declaration_for(text(mistake.token))) reported.help(fmt::format("here it is `{}`", *ours));
  } else if (type(mistake.token - 1) == DtlParser::NAME && text(mistake.token - 1) == "return" && expects(DtlParser::NEWLINE)) {
    reported.help("the last expression of a body is its result: leave `return` out");
  } else if (expects(DtlParser::COMMA) && begins_expression(found)) {
    reported.help(expects(DtlParser::COLON) && found == DtlParser::NAME
                      ? "a comma stands between two arguments, a colon between a parameter and its type"
                      : "a comma stands between two arguments, entries or elements");
  } else if (found == DtlParser::ELSE && expects(DtlParser::ELSE_TEXT)) {
    reported.help("`require` says what is wrong: `require condition else \"text\"`");
  }
}

void Mistakes::report(const Mistake& mistake, bool fragment) {
  if (!may_report(mistake.token)) return;
  const std::string expected = join(words_for({mistake.expected.begin(), mistake.expected.end()}));
  source::Range where = range(mistake.token, mistake.token);
  if (where.begin == where.end && mistake.token > 0) {
    // A line end has no width: show the character that it follows.
    where = range(mistake.token - 1, mistake.token - 1);
    where.begin = std::max(where.begin, where.end - 1);
  }
  source::Reported reported = sink_.report(where, diag::unexpected_token, expected, found(mistake.token, fragment));
  advise(reported, mistake);
}

std::optional<source::Reported> Mistakes::unexpected(const std::string& expected, int32_t first, int32_t last) {
  if (!may_report(first)) return std::nullopt;
  const source::Range where = range(first, last);
  return sink_.report(where, diag::unexpected_token, expected, fmt::format("`{}`", shorten(sources_.text(where))));
}

}  // namespace dtl::syntax
