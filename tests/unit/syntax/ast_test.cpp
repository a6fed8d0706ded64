// The Ast of each form: its kind, its parts, its place in bytes.
#include <catch2/catch.hpp>

#include "tests/unit/syntax/syntax_test.h"

namespace dtl::syntax {
namespace {

/// The value of `param p: int = TEXT`.
struct Value {
  explicit Value(const std::string& text) : read("param p: int = " + text) {
    REQUIRE(read.sink.all().empty());
    expr = read.ast->decls.at(0)->value;
  }
  std::string_view at(source::Range range) const { return read.sources.text(range); }

  Read read;
  const Expr* expr = nullptr;
};

TEST_CASE("literals") {
  CHECK(Value("10_000").expr->integer == 10'000);
  CHECK(Value("9_223_372_036_854_775_807").expr->integer == INT64_MAX);
  CHECK(Value("1e-3").expr->number == 1e-3);
  CHECK(Value("1_0.2_5").expr->number == 10.25);
  CHECK(Value("1e-999").expr->number == 0);
  CHECK(Value("true").expr->integer == 1);
  CHECK(Value("false").expr->kind == ExprKind::boolean);
  CHECK(Value(R"("a\n\t\r\"\\\u{e9}\u{20AC}\u{1F600}é")").expr->text == "a\n\t\r\"\\é€😀é");
  CHECK(Value("\"\"").expr->text.empty());
}

TEST_CASE("quantities are in their base unit") {
  const auto quantity = [](const std::string& text) {
    const Value value(text);
    CHECK(value.expr->kind == ExprKind::quantity);
    return fmt::format("{} {} {}", value.expr->name, value.expr->number, value.expr->unit);
  };
  CHECK(quantity("25MB") == "size 25000000 MB");
  CHECK(quantity("1.5kB") == "size 1500 kB");
  CHECK(quantity("2KB") == "size 2000 KB");
  CHECK(quantity("64KiB") == "size 65536 KiB");
  CHECK(quantity("3B") == "size 3 B");
  CHECK(quantity("2TiB") == "size 2199023255552 TiB");
  CHECK(quantity("500ms") == "duration 0.5 ms");
  CHECK(quantity("2h") == "duration 7200 h");
  CHECK(quantity("1d") == "duration 86400 d");
  CHECK(quantity("80%") == "percent 0.8 %");
  CHECK(quantity("1 epoch") == "count 1 epoch");
  CHECK(quantity("1_500 steps") == "count 1500 steps");
  CHECK(quantity("1.5e3 steps") == "count 1500 steps");
}

TEST_CASE("operators by precedence") {
  CHECK(items("-x ** 2") == "value\n  unary -\n    binary ** x, 2\n");
  CHECK(items("2 ** -x ** 3") == "value\n  binary **\n    2\n    unary -\n      binary ** x, 3\n");
  CHECK(items("a - b - c") == "value\n  binary -\n    binary - a, b\n    c\n");
  CHECK(items("a + b * c") == "value\n  binary +\n    a\n    binary * b, c\n");
  CHECK(items("-a * b") == "value\n  binary *\n    unary - a\n    b\n");
  CHECK(items("not a == b") == "value\n  unary not\n    binary == a, b\n");
  CHECK(items("not a and b") == "value\n  binary and\n    unary not a\n    b\n");
  CHECK(items("a or b and c") == "value\n  binary or\n    a\n    binary and b, c\n");
  CHECK(items("a < b .. c") == "value\n  binary <\n    a\n    range: b, c\n");
  CHECK(items("a .. b + 1") == "value\n  range:\n    a\n    binary + b, 1\n");
  CHECK(items("a == b |> f()") == "value\n  pipe:\n    binary == a, b\n    call: f\n");
  CHECK(items("x => a |> f") == "value\n  lambda:\n    parameter x\n    pipe: a, f\n");
  CHECK(items("(x, y) => z => 1") == "value\n  lambda:\n    parameter x\n    parameter y\n    lambda:\n      parameter z\n      1\n");
  CHECK(items("() => 1") == "value\n  lambda:\n    1\n");
  CHECK(items("(x) => x") == "value\n  lambda:\n    parameter x\n    x\n");
  CHECK(items("a * not b == c") == "value\n  binary *\n    a\n    unary not\n      binary == b, c\n");
  CHECK(items("-f.x(1)[2] with { a = 1 }") ==
        "value\n  unary -\n    with\n      index:\n        call:\n          field x f\n          1\n        2\n      a = 1\n");
}

TEST_CASE("brackets") {
  CHECK(items("(a)") == "value group: a\n");
  CHECK(items("()") == "value tuple:\n");
  CHECK(items("(a, b)") == "value tuple: a, b\n");
  CHECK(items("[]") == "value list:\n");
  CHECK(items("[a, b]") == "value list: a, b\n");
  CHECK(items("{}") == "value record:\n");
  CHECK(items("{ a = 1, b = c }") == "value record: a = 1, b = c\n");
  CHECK(items("f(a, b = 1)") == "value call: f, a, b = 1\n");
  CHECK(items("x[..., 1, .., 2 .., .. 3, 4 .. 5]") ==
        "value\n  index:\n    x\n    ...\n    1\n    range: from the start, to the end\n    range: 2, to the end\n    range: from the "
        "start, 3\n    range: 4, 5\n");
}

TEST_CASE("an `if` is a statement unless it ends its body") {
  CHECK(items("if a { b }\nc") == "if a\n  body\n    value b\nvalue c\n");
  CHECK(items("if a { b } else { d }\nc") == "if a\n  body\n    value b\n  else\n    value d\nvalue c\n");
  CHECK(items("if a { b } else { c }") == "value\n  if\n    a\n    body\n      value b\n    else\n      value c\n");
  CHECK(items("if a { b } else if c { d }\ne") ==
        "if a\n  body\n    value b\n  else\n    value\n      if\n        c\n        body\n          value d\nvalue e\n");
  CHECK(items("if a { b } + 1\nc").starts_with("value\n  binary +"));
}

TEST_CASE("items") {
  CHECK(items("let a = 1") == "let a = 1\n");
  CHECK(items("let (a, b): (int, int) = x") == "let a, b: (int, int) = x\n");
  CHECK(items("weight w: f32[n] @ broadcast = zeros()") == "weight w: f32[n] @ broadcast = call: zeros\n");
  CHECK(items("state s = 0\nstate t: f32[] = 0") == "state s = 0\nstate t: f32[] = 0\n");
  CHECK(items("w <- w - 1") == "update w = binary - w, 1\n");
  CHECK(items("y = x") == "assign y = x\n");
  CHECK(items("for (i, x) in xs { x }") == "for i, x in xs\n  body\n    value x\n");
  CHECK(items("require a else \"no\"") == "require a\n  else \"no\"\n");
  CHECK(items("require if a { b } else { c } else \"no\"").find("else \"no\"") != std::string::npos);
  CHECK(items("step (x, y: u8[2], z = 3) { x }") == "block step\n  parameters\n    x\n    y: u8[2]\n    z = 3\n  body\n    value x\n");
  CHECK(items("per_replica { a }") == "value\n  per_replica\n    body\n      value a\n");
}

TEST_CASE("types") {
  const auto type = [](const std::string& text) {
    const Read read("param p: " + text + " = 1");
    REQUIRE(read.sink.all().empty());
    const std::string printed = read.printed();
    return printed.substr(15, printed.find('\n', 15) - 15);
  };
  for (const char* same :
       {"int", "f32[]", "f32[batch, 10]", "f32[..., n]", "[int]", "[[f32[n]]]", "()", "(int, f32[n])", "(float[...]) -> float[...]",
        "(int) -> (int) -> int?", "{ a: f32[], b: int }", "{}", "int?", "(int, int)?", "same | valid | int", "f32[a] @ broadcast"}) {
    CHECK(type(same) == same);
  }
  CHECK(type("((int) -> int)?") == "((int) -> int)?");
  CHECK(type("(int)") == "int");
  CHECK(type("f32[n / 2] @ split(1, over = model)") == "f32[(binary / n, 2)] @ (call: split, 1, over = model)");
}

TEST_CASE("declarations") {
  CHECK(Read("import \"a.dtl\" as b").printed() == "import b \"a.dtl\"\n");
  CHECK(Read("layer f (a: int) -> int { a }").printed() == "layer f\n  parameters\n    a: int\n  type int\n  body\n    value a\n");
  CHECK(Read("layer f (a) (b) -> int {}").printed() == "layer f\n  hyperparameters\n    a\n  parameters\n    b\n  type int\n  body\n");
  CHECK(Read("optimizer o (w, g) {}").printed() == "optimizer o\n  parameters\n    w\n    g\n  body\n");
  CHECK(Read("optimizer o () (w, g) {}").ast->decls[0]->has_hyper);
  CHECK(Read("strategy s {}").printed() == "strategy s\n  body\n");
  CHECK(Read("strategy s (a = 1) {}").printed() == "strategy s\n  hyperparameters\n    a = 1\n  body\n");
  CHECK(Read("strategy s = t").printed() == "strategy s\n  value t\n");
  CHECK(Read("train {}").printed() == "train\n  body\n");
  CHECK(Read("train a = b with { c = 1 }").printed() == "train a\n  value with b, c = 1\n");
  CHECK(Read("dataset d = e").printed() == "dataset d\n  value e\n");
}

TEST_CASE("documentation belongs to what is below it") {
  const Read read(
      "/// of a\n///  more\nparam a: int = 1\n/// of f\n\n// between\nfn f (\n  /// of x\n  x: int,\n  y: int) -> int {\n  /// of b\n  let "
      "b = x\n  /// of nothing\n}\n");
  REQUIRE(read.sink.all().empty());
  CHECK(read.ast->decls[0]->doc == "of a\n more");
  CHECK(read.ast->decls[1]->doc == "of f");
  CHECK(read.ast->decls[1]->parameters[0].doc == "of x");
  CHECK(read.ast->decls[1]->parameters[1].doc.empty());
  CHECK(read.ast->decls[1]->body->items[0]->doc == "of b");
  REQUIRE(read.ast->comments.size() == 2);
  CHECK(read.ast->comments[0].text == "// between");
  CHECK(read.ast->comments[1].text == "/// of nothing");
}

TEST_CASE("ranges count bytes") {
  const Value value("f(\"é\", b = xs[0] + 1).c");
  CHECK(value.at(value.expr->range) == "f(\"é\", b = xs[0] + 1).c");
  CHECK(value.at(value.expr->name_range) == "c");
  const Expr& call = *value.expr->items[0];
  CHECK(value.at(call.range) == "f(\"é\", b = xs[0] + 1)");
  CHECK(value.at(call.arguments[0].value->range) == "\"é\"");
  CHECK(value.at(call.arguments[1].name->range) == "b");
  const Expr& sum = *call.arguments[1].value;
  CHECK(value.at(sum.range) == "xs[0] + 1");
  CHECK(value.at(sum.name_range) == "+");
  CHECK(value.at(value.read.ast->decls[0]->range).starts_with("param p"));
  CHECK(value.at(value.read.ast->decls[0]->type->range) == "int");
  const Read marked("\xEF\xBB\xBFparam a: int = b");
  REQUIRE(marked.ast);
  CHECK(marked.sources.text(marked.ast->decls[0]->value->range) == "b");
}

TEST_CASE("an expression of the command line") {
  const auto expression = [](const std::string& text) -> std::string {
    source::SourceSet sources;
    source::Sink sink;
    Ast into;
    const Expr* expr = parse_expression(into, sources, sources.add("<--set a>", text), sink);
    CHECK((expr == nullptr) == sink.has_errors());
    CHECK(sink.all().size() <= 1);
    return expr ? std::string(sources.text(expr->range)) : sink.all()[0]->text;
  };
  CHECK(expression("mirrored(replicas = 4)") == "mirrored(replicas = 4)");
  CHECK(expression(" 1e-3 // why") == "1e-3");
  CHECK(expression("") == "expected an expression, found the end");
  CHECK(expression("// nothing") == "expected an expression, found the end");
  CHECK(expression("a b") == "expected the end, found `b`");
  CHECK(expression("a < b < c") == "comparisons do not chain");
  CHECK(expression("(a") == "`(` is never closed");
  CHECK(expression("\xFF") == "the file is not UTF-8: byte 1 of line 1");
}

TEST_CASE("tokens as the grammar reads them") {
  source::SourceSet sources;
  source::Sink sink;
  const source::FileId file = sources.add("a.dtl", "train {\n  é\n  state = 1 step; x[.. ,\n 2]\n}\n");
  CHECK(print_tokens(sources, file, sink).starts_with("1:1 TRAIN train\n1:7 OPEN_BRACE {\n"));
  CHECK(sink.all().size() == 1);
  const source::FileId good = sources.add("b.dtl", "train {\n  state = 1 step; x[.. ,\n 2]\n}\n");
  CHECK(print_tokens(sources, good, sink) ==
        "1:1 TRAIN train\n1:7 OPEN_BRACE {\n2:3 NAME state\n2:9 EQUALS =\n2:11 INTEGER 1\n2:13 UNIT step\n2:17 NEWLINE ;\n2:19 NAME x\n"
        "2:20 OPEN_BRACKET [\n2:21 OPEN_RANGE ..\n2:24 COMMA ,\n3:2 INTEGER 2\n3:3 CLOSE_BRACKET ]\n4:1 CLOSE_BRACE }\n5:1 EOF\n");
}

}  // namespace
}  // namespace dtl::syntax
