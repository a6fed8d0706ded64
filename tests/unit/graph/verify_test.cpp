// The verifier names the first broken promise.
#include "compiler/graph/verify.h"

#include <catch2/catch.hpp>

#include "compiler/graph/parse.h"
#include "fake_ops.h"

using namespace dtl;
using namespace dtl::graph;
using dtl::graph::test::fake_ops;

namespace {

std::string broken(std::string_view text) {
  std::string error;
  const auto graph = parse_unverified(text, fake_ops(), &error);
  CAPTURE(error);
  REQUIRE(graph);
  return verify(*graph, fake_ops());
}

std::string placed(std::string_view body) { return broken("mesh data = 2\nfunc f" + std::string(body)); }

}  // namespace

TEST_CASE("types must be what infer says") {
  CHECK(broken("func f(%x: f64[2]) { %a: f64[3] = negate(%x) return %a }") == "function `f`: `%a` is f64[2] by infer, not f64[3]");
  CHECK(broken("func f(%x: f64[2], %y: f64[3]) { %a: f64[2] = add(%x, %y) return %a }") ==
        "function `f`: `add` does not type: operands differ");
  CHECK(broken("func f(%x: f64[2]) { %a: f64[2] = halves(%x) return }") == "function `f`: `halves` gives 2 results, not 1");
}

TEST_CASE("nodes fit their signatures") {
  CHECK(broken("func f(%x: f64[2]) { %a: f64[2] = add(%x) return }") == "function `f`: `add` takes 2 operands, not 1");
  CHECK(broken("func f(%x: f64[2]) { %a: f64[] = sum(%x) return }") == "function `f`: `sum` needs attribute `axis`");
  CHECK(broken("func f(%x: f64[2]) { %a: f64[] = sum(%x) {axis = 0.0} return }") ==
        "function `f`: attribute `axis` of `sum` is of another kind");
  CHECK(broken("func f(%x: f64[2]) { %a: f64[2] = negate(%x) {axis = 0} return }") == "function `f`: `negate` has no attribute `axis`");
  CHECK(broken("func f(%x: f64[2]) { %a: f64[2] = mystery(%x) {flag = true} return }").empty());
}

TEST_CASE("calls agree with their functions") {
  CHECK(broken("func g(%x: f64[]) { return %x }\nfunc f(%x: f64[2]) { %a: f64[2] = call(%x) {function = \"g\"} return }") ==
        "function `f`: `call` does not type: parameter 0 of `g` is f64[], not f64[2]");
  CHECK(broken("func f(%x: f64[2]) { %a: f64[2] = call(%x) {function = \"g\"} return }") ==
        "function `f`: `call` does not type: there is no function `g`");
}

TEST_CASE("ports keep their roles") {
  CHECK(broken("func f(%w: f64[2] {weight \"w\"}) { return }") == "function `f`: weight `w` has no next value");
  CHECK(broken("func f(%w: f64[2] {weight \"w\"}) { %s: f64[] = sum(%w) {axis = 0} return %s {weight \"w\"} }") ==
        "function `f`: weight `w` is f64[2], its next value f64[]");
  CHECK(broken("func f(%m: f64[] {metric \"m\"}) { return %m {report \"x\"} }").empty());
  CHECK(broken("func f(%x: f64[3] {input \"x\"}) { return }") ==
        "function `f`: input `x` is f64[3], but its first dimension must be `batch`");
  CHECK(broken("func f(%n: f64[] {seed}) { return }") == "function `f`: parameter seed is i64[], not f64[]");
  CHECK(broken("func f(%a: f64[] {state \"s\"}, %b: f64[] {state \"s\"}) { return %a {state \"s\"} }") ==
        "function `f`: two parameters are state `s`");
  CHECK(broken("func f(%m: f64[]) { return %m {report \"x\"}, %m {report \"x\"} }") == "function `f`: two results are report `x`");
}

TEST_CASE("placements follow a row of each op") {
  CHECK(placed("(%x: f64[4] @ split(0)) { %a: f64[4] @ split(0) = negate(%x) return %a }").empty());
  CHECK(placed("(%x: f64[4] @ split(0)) { %a: f64[4] @ broadcast = negate(%x) return %a }") ==
        "function `f`: no placement row of `negate` along mesh axis data takes (%x @ split(0)) to broadcast");
  CHECK(placed("(%x: f64[4] @ split(0)) { %a: f64[4] = negate(%x) return %a }") ==
        "function `f`: `%a` has 0 placements on a mesh of 1 axes");
  CHECK(placed("(%x: f64[4] @ split(1)) { return %x }") == "function `f`: `%x` is f64[4], and has no dimension 1 to split");
  CHECK(placed("(%x: f64[4] @ broadcast) { %a: f64[4] @ broadcast = all_reduce(%x) {axis = 0, op = sum} return %a }") != "");
  CHECK(placed("(%x: f64[4] @ partial(max)) { %a: f64[4] @ broadcast = all_reduce(%x) {axis = 0, op = sum} return %a }") != "");
}

TEST_CASE("a collective on one axis leaves the others alone") {
  const auto on = [](std::string_view result) {
    return broken(
        "mesh data = 2, model = 2\nfunc f(%x: f64[4] @ (partial(sum), split(0)), %y: f64[] @ (partial(sum), broadcast)) {\n%a: f64[4] @ " +
        std::string(result) + ", %b: f64[] @ (broadcast, broadcast) = all_reduce(%x, %y) {axis = 0, op = sum} return %a }");
  };
  CHECK(on("(broadcast, split(0))").empty());
  CHECK(on("(broadcast, broadcast)") != "");
  CHECK(on("(partial(sum), split(0))") != "");
}

TEST_CASE("broken stores are found") {
  auto graph = *parse("func f(%x: f64[]) { %a: f64[] = negate(%x) %b: f64[] = negate(%a) return %b }", fake_ops());
  std::swap(graph.functions[0].nodes[0], graph.functions[0].nodes[1]);
  CHECK(verify(graph, fake_ops()) == "function `f`: `negate` reads `%a` before it is defined");
  std::swap(graph.functions[0].nodes[0], graph.functions[0].nodes[1]);
  graph.values[1].name = "x";
  CHECK(verify(graph, fake_ops()) == "function `f`: two values are called `%x`");
  graph.values[1].name = "a";
  graph.values[1].node = NodeId{1};
  CHECK(verify(graph, fake_ops()) == "function `f`: `%a` does not say where it is defined");
  graph.values[1].node = NodeId{0};
  graph.nodes[1].operands[0] = ValueId{17};
  CHECK(verify(graph, fake_ops()) == "function `f`: `negate` reads `%?` before it is defined");
}
