// Mistakes: what is said, where, and that one mistake is said once.
#include <catch2/catch.hpp>

#include "tests/unit/syntax/syntax_test.h"

namespace dtl::syntax {
namespace {

using Texts = std::vector<std::string>;

TEST_CASE("each code of the catalogue") {
  const auto code = [](const std::string& text) {
    const Read read(text);
    REQUIRE(read.sink.all().size() == 1);
    return read.only().code;
  };
  CHECK(code("param a: int = \xC3(") == 1);
  CHECK(code("// nothing\n\n/// at all\n") == 2);
  CHECK(code("") == 2);
  CHECK(code("param a = 1") == 3);
  CHECK(code("param a: int = " + std::string(300, '(')) == 4);
  CHECK(code("param a: int = 1 $ 2") == 5);
  CHECK(code("param a: int = 99999999999999999999") == 6);
  CHECK(code("param a: float = 1e999") == 6);
  CHECK(code("param a: string = \"b") == 7);
  CHECK(code("train {") == 8);
  std::string sum = "param a: int = 1";
  for (int i = 0; i < 1500; ++i) sum += " + 1";
  CHECK(code(sum) == 9);
  CHECK(code("param a: int = 1)") == 10);
  CHECK(code(R"(param a: string = "\q")") == 11);
  CHECK(code(R"(param a: string = "\u{D800}")") == 11);
  CHECK(code(R"(param a: string = "\u{110000}")") == 11);
  CHECK(code(R"(param a: string = "\u{}")") == 11);
  CHECK(code("param a: bool = 1 < 2 < 3") == 12);
}

TEST_CASE("what cannot be read gives no Ast, what can does") {
  CHECK_FALSE(Read("\xFF").ast);
  CHECK_FALSE(Read("param a: int = " + std::string(300, '(')).ast);
  const Read read("param a: int = 1\nparam b = 2\nparam c: int = 3\nfn f () -> int {\n  let x = \n  let y = 1\n}\n");
  REQUIRE(read.ast);
  CHECK(read.printed() ==
        "param a\n  type int\n  value 1\nparam c\n  type int\n  value 3\nfn f\n  parameters\n  type int\n  body\n    let y = 1\n");
}

TEST_CASE("independent mistakes of one file are all reported") {
  Read read(
      "param a = 1\n"
      "param b: int =\n"
      "dataset D {\n"
      "  batch = = 3\n"
      "  example (x: u8[2) {\n"
      "    x = x\n"
      "  }\n"
      "}\n"
      "fn f (x int) -> int {\n"
      "  let = 1\n"
      "  a.b = 2\n"
      "  if x { y z }\n"
      "  let s = \"open\n"
      "  1 < 2 < 3\n"
      "}\n"
      "model M (x: f32[n]) -> f32[n] { x }\n"
      "train { loss: 3 }\n");
  CHECK(read.texts() == Texts{
                            "1: expected `:`, found `=`",
                            "2: expected an expression, found the end of the line",
                            "4: expected an expression, found `=`",
                            "5: `[` is never closed",
                            "9: expected `)`, `,`, `:` or `=`, found `int`",
                            "10: expected a name or `(`, found `=`",
                            "11: expected a name before `=`, found `a.b`",
                            "12: expected `{`, `=`, `<-` or the end of the line, found `z`",
                            "13: this string is not closed on its line",
                            "14: comparisons do not chain",
                            "17: expected `{`, `=`, `<-` or the end of the line, found `:`",
                        });
}

TEST_CASE("one mistake is reported once") {
  const auto texts = [](const std::string& text) { return Read(text).texts(); };
  CHECK(texts("let a = 1\nlet b = 2\nlet c = 3\nparam d: int = 1\n") == Texts{"1: expected a declaration, found the word `let`"});
  CHECK(texts("fn f () -> int {\n  f(a, [b\n  let c = 3\n}\n") == Texts{"2: `(` is never closed", "2: `[` is never closed"});
  CHECK(texts("fn f () -> int {\n  a\n\nfn g () -> int { b c }\n") ==
        Texts{"1: `{` is never closed", "4: expected `{`, `=`, `<-` or the end of the line, found `c`"});
  CHECK(texts("fn f () -> int { a } }\nfn g () -> int { b }\n") == Texts{"1: `}` closes nothing"});
  CHECK(texts("fn f () -> int { (a] }") == Texts{"1: `(` is never closed", "1: `]` closes nothing"});
  CHECK(texts("fn f () -> int {\n  let a = 1 ? 2 : 3\n}") == Texts{"2: expected the end of the line, found `?`"});
  CHECK(texts("fn f () -> int {\n  for i in xs\n  {\n    a\n  }\n}") == Texts{"2: expected `{`, found the end of the line"});
  CHECK(texts("fn f () -> int {\n  let \"a\n}") == Texts{"2: this string is not closed on its line"});
  CHECK(texts("§ param a: int = ½ + ½\n").size() == 3);
}

TEST_CASE("notes and helps show the way out") {
  const Read unclosed("fn f () -> int {\n  g(a\n}\n");
  REQUIRE(unclosed.sink.all().size() == 1);
  REQUIRE(unclosed.only().notes.size() == 1);
  CHECK(unclosed.only().notes[0].text == "this closes a bracket around it");
  const auto help = [](const std::string& body) {
    const Read read(in_function(body));
    return read.only().helps.empty() ? std::string() : read.only().helps[0];
  };
  CHECK(help("a && b") == "write `and`");
  CHECK(help("let y = a | b") == "a choice between two truths is written `or`");
  CHECK(help("require a else b") == "`require` says what is wrong: `require condition else \"text\"`");
  CHECK(help("f(a.b = 1)") == "two values are compared with `==`");
  CHECK(help("mesh { a = 3 }") == "a block is written `name (parameters) { … }`, a record `name = { … }`");
  CHECK(help("(a + 1) => 3") == "a function is written `x => …` or `(x, y) => …`");
  CHECK(Read("fn f (x: int) { x }").only().helps.at(0) == "the type of the result is always written: `-> type {`");
}

TEST_CASE("the place of a mistake") {
  const auto at = [](const std::string& text) {
    const Read read(text);
    REQUIRE(read.sink.all().size() == 1);
    return std::string(read.sources.text(read.only().range));
  };
  CHECK(at("param é: int = 1") == "é");
  CHECK(at("param a: int = bcd efg") == "efg");
  CHECK(at("param a: int =\n\n") == "=");
  CHECK(at("param a: string = \"é\\qx\"") == "\\q");
  CHECK(at("param a: bool = b < c < d") == "<");
  CHECK(at("train { (a + 1) = 3 }") == "(a + 1)");
}

}  // namespace
}  // namespace dtl::syntax
