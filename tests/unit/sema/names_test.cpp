// Names: what is unknown, declared twice or defined by itself, and what is offered instead.
#include "tests/unit/sema/support.h"

using namespace dtl::test;

TEST_CASE("an unknown name offers the nearest one, of file, body and library") {
  const auto in_body = check(program_of({.model = "let hidden = x |> dense(4)\n  hiden |> dense(3)"}));
  CHECK(in_body->symbols() == "unknown_name");
  CHECK(in_body->at(in_body->first().range) == "hiden");
  REQUIRE(in_body->first().helps.size() == 1);
  CHECK(in_body->first().helps[0] == "did you mean `hidden`?");

  const auto in_library = check(program_of({.model = "x |> desne(3)"}));
  CHECK(in_library->symbols() == "unknown_name");
  CHECK(in_library->first().helps.at(0) == "did you mean `dense`?");
}

TEST_CASE("every unknown name of a file is told once, in unused declarations too") {
  const auto checked =
      check(program_of({.before = "fn unused (a: float) -> float { a + missing_one }\nstrategy S = mirorred(replicas = 2)\n",
                        .model = "x |> dense(units)",
                        .loss = "mean(missing_two)"}));
  CHECK(checked->symbols() == "unknown_name unknown_name unknown_name unknown_name");
}

TEST_CASE("words of an enumeration are names only where it is expected") {
  CHECK(check(step_of(kMinimize + "let v = per_replica { sum(x) }\n report(s = reduce(sum, v))"))->symbols().empty());
  CHECK(check(step_of(kMinimize + "report(s = mean)"))->symbols() == "setting_type");
}

TEST_CASE("a file's names shadow the library's, and callees skip what cannot be called") {
  const auto own = check(program_of({.before = "fn relu (x: float[...]) -> float[...] { x * 2 }\n", .model = "relu(x) |> dense(3)"}));
  CHECK(own->symbols().empty());
  CHECK(own->printed().find("maximum") == std::string::npos);
  CHECK(check(program_of({.model = "let dense = 3\n  x |> dense(dense)"}))->symbols().empty());
}

TEST_CASE("a name is declared once") {
  const auto checked = check("param n: int = 1\nparam n: int = 2\n" + program_of({}));
  CHECK(checked->symbols() == "declared_twice");
  CHECK(checked->first().notes.size() == 1);
}

TEST_CASE("what is defined by itself is told once, with its chain") {
  const auto params = check("param a: int = b + 1\nparam b: int = a\n" + program_of({}));
  CHECK(params->symbols() == "uses_itself");
  CHECK(params->first().text.find("`a` uses `b` uses `a`") != std::string::npos);
  CHECK(check("fn f (x: float) -> float { f(x) }\n" + program_of({.loss = "mean(prediction) * f(1.0)"}))->symbols() == "uses_itself");
}

TEST_CASE("endless recursion through lambdas ends in a report") {
  const auto checked = check(program_of({.before = "fn twice (f: function) -> any { f(f) }\n", .model = "x |> dense(twice(f => f(f)))"}));
  CHECK(checked->symbols() == "calls_too_deep");
}

TEST_CASE("arguments bind by order and name; each mistake says what is taken") {
  CHECK(check(program_of({.model = "x |> dense(3, unit = 4)"}))->symbols() == "unknown_argument");
  CHECK(check(program_of({.model = "x |> dense(3, units = 4)"}))->symbols() == "argument_twice");
  CHECK(check(program_of({.model = "x |> dense()"}))->symbols() == "missing_argument");
  CHECK(check(program_of({.model = "relu(x, 1) |> dense(3)"}))->symbols() == "too_many_arguments");
  CHECK(check(program_of({.model = "x |> dense"}))->symbols() == "layer_not_called");
  CHECK(check(program_of({.model = "3(x)"}))->symbols() == "not_callable");
}

TEST_CASE("fields of records") {
  const auto checked = check(program_of({.model = "let sizes = { hidden = 8, last = 3 }\n  x |> dense(sizes.hiden) |> dense(sizes.last)"}));
  CHECK(checked->symbols() == "unknown_field");
  CHECK(checked->first().helps.at(0) == "did you mean `hidden`?");
}

TEST_CASE("settings and overrides that name nothing offer the nearest") {
  const auto setting = check(program_of({.settings = "epoch = 3"}));
  CHECK(setting->symbols() == "unknown_setting");
  CHECK(setting->first().helps.at(0) == "did you mean `epochs`?");
  const auto path = check(program_of({}), {.sets = {{"Points.bach", "3"}}});
  CHECK(path->symbols() == "unknown_override");
  CHECK(path->first().helps.at(0) == "did you mean `Points.batch`?");
  CHECK(check(program_of({}), {.sets = {{"nothing", "3"}}})->symbols() == "unknown_override");
  CHECK(check(program_of({}), {.train = "Second"})->symbols() == "unknown_train");
}
