// Rules of syntax settled by trial (numbered as in the language's rules), each by the smallest text that raises the doubt.
#include <catch2/catch.hpp>

#include "tests/unit/syntax/syntax_test.h"

namespace dtl::syntax {
namespace {

TEST_CASE("1: a line that starts with an operator goes on with the one before") {
  CHECK(items("let y = a\n  - b\ny") == "let y = binary - a, b\nvalue y\n");
  CHECK(items("a\n|> f\n|> g") == "value\n  pipe:\n    pipe: a, f\n    g\n");
  CHECK(items("let y = a +\n\n  b") == "let y = binary + a, b\n");
  CHECK(items("let y = a // why\n  // and\n  * b") == "let y = binary * a, b\n");
  CHECK(items("a\n(b)") == "value a\nvalue group: b\n");
  CHECK(items("a\n[b]") == "value a\nvalue list: b\n");
  CHECK(items("let y =\n  a") == "let y = a\n");
}

TEST_CASE("2: `else` and `->` may start a line, `{` may not") {
  CHECK(items("if a { b }\nelse { c }") == items("if a { b } else { c }"));
  CHECK(Read("fn f ()\n  -> int { 1 }").printed() == Read("fn f () -> int { 1 }").printed());
  Read below("train\n{\n  a = = 1\n}\n");
  CHECK(below.texts() ==
        std::vector<std::string>{"1: expected a name, `{` or `=`, found the end of the line", "3: expected an expression, found `=`"});
  CHECK(below.sink.all()[0]->helps == std::vector<std::string>{"`{` stands on the line of its header"});
}

TEST_CASE("3: the innermost bracket decides about line ends") {
  CHECK(items("f(per_replica {\nlet a = x\na })") ==
        "value\n  call:\n    f\n    per_replica\n      body\n        let a = x\n        value a\n");
  CHECK(items("f(\na\n,\nb\n)") == "value call: f, a, b\n");
  CHECK(items("{ a = (\n1\n+ 2) }") == items("{ a = (1 + 2) }"));
}

TEST_CASE("4: newline, comma and semicolon are one separator in braces") {
  const std::string expected = "assign m = record: a = x, b = y\n";
  for (const char* text : {"m = { a = x, b = y }", "m = { a = x; b = y }", "m = {\na = x,\nb = y }", "m = {\na = x\nb = y\n}",
                           "m = { a = x, b = y, }", "m = {\n a = x,\n\n b = y;\n}", "m = { a = x\n, b = y }"}) {
    CHECK(items(text) == expected);
  }
  CHECK(items("a, b; c\nd") == "value a\nvalue b\nvalue c\nvalue d\n");
  CHECK(mistake("a, , b") == "expected a statement, found `,`");
  CHECK(mistake("m = { , a = x }") == "expected a name or `}`, found `,`");
  CHECK(items("f(a, b,)\n[a,\n]") == "value call: f, a, b\nvalue list: a\n");
  CHECK(mistake("f(a,, b)") == "expected an expression, found `,`");
  CHECK(mistake("f(,)") == "expected an expression or `)`, found `,`");
}

TEST_CASE("5: one rule for every body") {
  CHECK(items("y = x") == "assign y = x\n");
  CHECK(items("y <- x") == "update y = x\n");
  CHECK(items("example (x) { require x else \"no\" }") == "block example\n  parameters\n    x\n  body\n    require x\n      else \"no\"\n");
}

TEST_CASE("7: outside of `[]` a range has both ends") {
  const Read read(in_function("for i in 0 .. { b }"));
  REQUIRE(read.sink.all().size() == 1);
  CHECK(read.only().helps == std::vector<std::string>{"outside `[]` a range has both ends: `0 .. n`"});
  CHECK(mistake("let a = 0 ..") == "expected the end of the line, found `..`");
  CHECK(mistake("f(.. 2)") == "expected an expression or `)`, found `..`");
  CHECK(mistake("a .. b .. c") == "ranges do not chain");
  CHECK(mistake("x[a .. b ..]") == "ranges do not chain");
}

TEST_CASE("8: a percentage is no operator") {
  CHECK(mistake("7%3") == "`7%3` is not a number");
  CHECK(items("f(0%..90%)") == items("f(0% .. 90%)"));
  CHECK(mistake("a % b") == "`%` has no meaning here");
}

TEST_CASE("10: a unit binds to a number on its line") {
  CHECK(items("[1 steps]") == "value list: count 1 (steps)\n");
  CHECK(mistake("[1\nsteps]") == "expected `]` or `,`, found `steps`");
  CHECK(mistake("n steps") == "expected `{`, `=`, `<-` or the end of the line, found `steps`");
  CHECK(items("n * 1 step") == "value binary * n, count 1 (step)\n");
  CHECK(items("steps = step") == "assign steps = step\n");
  CHECK(mistake("2hours") == "`2hours` is not a number");
  CHECK(mistake("0x10") == "`0x10` is not a number");
}

TEST_CASE("11: a point needs digits on both sides") {
  CHECK(items("0..4") == "value range: 0, 4\n");
  CHECK(items("0.5 .. 1.5") == "value range: number 0.5, number 1.5\n");
  CHECK(items("x.y") == "value field y x\n");
  CHECK(mistake("1.") == "expected a name, found `}`");
  CHECK(mistake("f(...)") == "expected an expression or `)`, found `...`");
}

TEST_CASE("12: words that start declarations are names elsewhere") {
  CHECK(items("weight * 2") == "value binary * weight, 2\n");
  CHECK(items("state <- 3") == "update state = 3\n");
  CHECK(items("f(model = 1)") == "value call: f, model = 1\n");
  CHECK(items("split(1, over = model)") == "value call: split, 1, over = model\n");
  CHECK(items("train = layer.dataset[fn] + as") == "assign train\n  binary +\n    index:\n      field dataset layer\n      fn\n    as\n");
  CHECK(Read("param model: int = train").sink.all().empty());
  CHECK(Read("import \"a\" as as\nfn fn (fn: int) -> as { fn }").sink.all().empty());
  CHECK(Read("param if: int = 1").only().text == "expected a name, found the word `if`");
  CHECK(Read("param if: int = 1").only().helps == std::vector<std::string>{"`if` is a reserved word: choose another name"});
}

TEST_CASE("25: the right side of a pipe is a call or a name") {
  CHECK(mistake("p |> argmax() == y") == "expected a call or a name after `|>`, found `argmax() == y`");
  CHECK(mistake("p |> f.g") == "expected a call or a name after `|>`, found `f.g`");
  CHECK(items("p |> f.g(1)") == "value\n  pipe:\n    p\n    call:\n      field g f\n      1\n");
  CHECK(items("(p |> argmax()) == y") == "value\n  binary ==\n    group:\n      pipe:\n        p\n        call: argmax\n    y\n");
}

TEST_CASE("26, 27: types stand after `:` and `->`, placements in types") {
  CHECK(items("zeros(f32[batch, 10])") == "value\n  call:\n    zeros\n    index: f32, batch, 10\n");
  CHECK(mistake("f(x: int)") == "expected `,`, `=` or `)`, found `:`");
  const Read read(in_function("let y = x @ w"));
  REQUIRE(read.sink.all().size() == 1);
  CHECK(read.only().helps.at(0).find("matmul(a, b)") != std::string::npos);
}

}  // namespace
}  // namespace dtl::syntax
