// Hostile texts: nesting, length, mutations. An error is a diagnostic; nothing crashes, nothing hangs.
#include <catch2/catch.hpp>
#include <random>

#include "compiler/syntax/token_filter.h"
#include "source_dir.h"
#include "tests/unit/syntax/syntax_test.h"

namespace dtl::syntax {
namespace {

constexpr int kMany = 100'000;

std::string repeat(const std::string& text, int count) {
  std::string result;
  result.reserve(text.size() * static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

std::vector<std::string> symbols(const std::string& value) { return Read("param a: int = " + value).symbols(); }

TEST_CASE("deep nesting is a diagnostic") {
  using Symbols = std::vector<std::string>;
  CHECK(symbols(repeat("(", kMany) + "1" + repeat(")", kMany)) == Symbols{"nested_too_deep"});
  CHECK(symbols(repeat("[", kMany)) == Symbols{"nested_too_deep"});
  CHECK(symbols(repeat("{a = ", kMany)) == Symbols{"nested_too_deep"});
  CHECK(symbols(repeat("f(", kMany)) == Symbols{"nested_too_deep"});
  CHECK(symbols(repeat("a + ", kMany) + "a") == Symbols{"expression_too_long"});
  CHECK(symbols("a" + repeat(" |> a", kMany)) == Symbols{"expression_too_long"});
  CHECK(symbols(repeat("x => ", kMany) + "x") == Symbols{"expression_too_long"});
  CHECK(symbols(repeat("- ", kMany) + "x") == Symbols{"expression_too_long"});
  CHECK(symbols(repeat("not ", kMany) + "x") == Symbols{"expression_too_long"});
  CHECK(symbols("a" + repeat(" ** a", kMany)) == Symbols{"expression_too_long"});
  CHECK(symbols(repeat("if a { b } else ", kMany) + "{ c }") == Symbols{"expression_too_long"});
  CHECK(symbols("f" + repeat("()", kMany)) == Symbols{"expression_too_long"});
  CHECK(symbols("f" + repeat(".a", kMany)) == Symbols{"expression_too_long"});
  CHECK(symbols("f" + repeat(" with {}", kMany)) == Symbols{"expression_too_long"});
  CHECK(Read("param a: " + repeat("() -> ", kMany) + "() = 1").symbols() == Symbols{"expression_too_long"});
  CHECK(Read("param a: " + repeat("[", kMany)).symbols() == Symbols{"nested_too_deep"});
}

TEST_CASE("what the limits allow is read") {
  CHECK(symbols(repeat("(", kMaxBrackets) + "1" + repeat(")", kMaxBrackets)).empty());
  CHECK(symbols(repeat("(", kMaxBrackets + 1) + "1" + repeat(")", kMaxBrackets + 1)).size() == 1);
  for (const std::string& text : {repeat("a + ", 900) + "a", "a" + repeat(" |> a", 900), repeat("x => ", 900) + "x",
                                  repeat("- ", 900) + "x", "a" + repeat(" ** a", 900), repeat("if a { b } else ", 300) + "{ c }"}) {
    const Read read("param a: int = " + text);
    CHECK(read.sink.all().empty());
    CHECK(Read(read.formatted()).printed() == read.printed());
  }
}

TEST_CASE("length alone is no mistake") {
  CHECK(symbols("[" + repeat("1, ", kMany) + "1]").empty());
  CHECK(Read(in_function(repeat("a\n", kMany))).sink.all().empty());
  CHECK(Read(repeat("param a: int = 1\n", 20'000)).ast->decls.size() == 20'000);
  CHECK(Read(repeat("// comment\n", kMany)).symbols() == std::vector<std::string>{"empty_file"});
  CHECK(Read("param " + std::string(kMany, 'a') + ": int = 1").sink.all().empty());
}

TEST_CASE("many mistakes cost no more than the limit on reports") {
  CHECK(Read(in_function(repeat("let = 1\n", 5'000))).sink.errors() == 50);
  CHECK(Read(repeat("param a = 1\n", 5'000)).sink.errors() == 50);
  CHECK(Read(in_function(repeat("a < b < c\n", 20'000))).sink.errors() == 50);
  CHECK(Read(repeat("$ ", 20'000)).sink.errors() <= 100);
  CHECK(Read(in_function(repeat(")\n", 20'000))).sink.errors() <= 100);
  CHECK(Read(in_function(repeat("\"\n", 20'000))).sink.errors() <= 100);
}

/// Whatever the text: an Ast without errors that survives formatting, or an error that says so.
void survives(const std::string& text) {
  const Read read(text);
  if (read.sink.has_errors()) return;
  INFO(text);
  REQUIRE(read.ast);
  const std::string formatted = read.formatted();
  Read again(formatted);
  INFO(formatted);
  REQUIRE(again.texts() == std::vector<std::string>{});
  REQUIRE(again.printed() == read.printed());
  REQUIRE(again.ast->comments.size() == read.ast->comments.size());
  REQUIRE(again.formatted() == formatted);
}

/// The tokens of a text and what stands between them.
std::vector<std::string> pieces_of(const std::string& text) {
  source::SourceSet sources;
  source::Sink sink;
  const std::optional<TokenList> list = read_tokens(sources, sources.add("a.dtl", text), sink);
  std::vector<std::string> pieces;
  int32_t end = 0;
  for (const Token& token : list->tokens) {
    if (token.begin == token.end) continue;
    pieces.push_back(text.substr(static_cast<size_t>(end), static_cast<size_t>(token.begin - end)));
    pieces.push_back(text.substr(static_cast<size_t>(token.begin), static_cast<size_t>(token.end - token.begin)));
    end = token.end;
  }
  return pieces;
}

TEST_CASE("mutated programs") {
  std::mt19937 random(20'240);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  std::vector<std::vector<std::string>> programs;
  for (const auto& path : programs_in("tests/programs")) programs.push_back(pieces_of(read_text(path)));
  programs.push_back(pieces_of(read_text(std::filesystem::path(DTL_SOURCE_DIR) / "tests/unit/syntax/odd_forms.dtl")));
  for (int round = 0; round < 1'200; ++round) {
    // A window of a program keeps a case short.
    const auto& program = programs[below(programs.size())];
    const size_t length = std::min<size_t>(program.size(), 40 + below(160));
    const size_t start = below(program.size() - length + 1);
    std::vector<std::string> pieces(program.begin() + static_cast<std::ptrdiff_t>(start),
                                    program.begin() + static_cast<std::ptrdiff_t>(start + length));
    for (size_t change = below(4); change > 0; --change) {
      const size_t at = below(pieces.size());
      switch (below(5)) {
        case 0:
          pieces[at].clear();
          break;
        case 1:
          pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(at), pieces[at]);
          break;
        case 2:
          std::swap(pieces[at], pieces[below(pieces.size())]);
          break;
        case 3:
          pieces[at] = program[below(program.size())];
          break;
        default:
          pieces[at] += "\n";
          break;
      }
    }
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    survives(text);
  }
}

TEST_CASE("random bytes and random tokens") {
  std::mt19937 random(7);
  constexpr const char* kTokens[] = {"a",      "(",       ")",      "[",       "]",           "{",   "}",     ",",     ";",     "\n",
                                     "\n",     ":",       "=",      "<-",      "->",          "=>",  "|>",    "..",    "...",   ".",
                                     "+",      "-",       "*",      "<",       "?",           "|",   "@",     "let",   "if",    "else",
                                     "for",    "in",      "with",   "require", "per_replica", "not", "and",   "param", "fn",    "layer",
                                     "train",  "state",   "weight", "1",       "2.5",         "3MB", "steps", "80%",   "\"s\"", "\"",
                                     "// c\n", "/// d\n", "import", "as",      "$",           "é",   "true"};
  for (int round = 0; round < 1'500; ++round) {
    std::string text;
    for (size_t i = random() % 30; i > 0; --i) text += std::string(kTokens[random() % std::size(kTokens)]) + (random() % 4 ? " " : "");
    survives(round % 2 ? text : in_function(text));
  }
  for (int round = 0; round < 1'000; ++round) {
    std::string bytes;
    for (size_t i = random() % 40; i > 0; --i) bytes += static_cast<char>(random() % (round % 4 ? 128 : 256));
    survives(bytes);
  }
}

}  // namespace
}  // namespace dtl::syntax
