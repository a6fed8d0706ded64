// Building, printing and parsing graphs.
#include <catch2/catch.hpp>

#include "compiler/graph/builder.h"
#include "compiler/graph/parse.h"
#include "compiler/graph/print.h"
#include "compiler/graph/rewriter.h"
#include "compiler/graph/verify.h"
#include "fake_ops.h"

using namespace dtl;
using namespace dtl::graph;
using dtl::graph::test::fake_ops;
using types::Dim;
using types::Placement;
using types::TensorType;

namespace {

const TensorType kRows{DType::f64, {Dim::symbol("batch"), 3}};

constexpr std::string_view kText = R"(mesh data = 2, model = 3
strategy {batch = (split(0), broadcast), bucket = 4096, name = "Mine", timeout = 1.5, weights = (broadcast, broadcast)}
bounds batch = 128

func body(
  %x: f64[batch, 3]
) {
  %negate: f64[batch, 3] = negate(%x)
  return
    %negate
}

func train_step(
  %x: f64[batch, 3] {input "x"},
  %Net/dense.0/kernel: f64[] {weight "Net/dense.0/kernel"},
  %loss.0: f64[] {metric "train/loss.0", identity = -inf}
) {
  in "Net/dense.0"
  %lo: f64[batch, 3], %hi: f64[batch, 3] = halves(%x)
  %add: f64[batch, 3] = add(%lo, %hi)
  %add.1: f64[batch, 3] = add(%add, %add)
  in ""
  %call: f64[batch, 3] = call(%add.1) {function = "body"}
  return
    %Net/dense.0/kernel {weight "Net/dense.0/kernel"},
    %loss.0 {metric "train/loss.0"},
    %call
}
)";

}  // namespace

TEST_CASE("graph text parses and prints back") {
  std::string error;
  const auto graph = parse(kText, fake_ops(), &error);
  CAPTURE(error);
  REQUIRE(graph);
  CHECK(print(*graph, fake_ops()) == kText);
  CHECK(graph->strategy.communication.bucket == 4096);
  CHECK(graph->strategy.mesh.axes[1].name == "model");
  CHECK(graph->bounds == std::vector<std::pair<std::string, int64_t>>{{"batch", 128}});
  const Function& step = (*graph)[*graph->find_function("train_step")];
  CHECK(step.params[2].identity == -std::numeric_limits<double>::infinity());
  CHECK((*graph)[step.nodes[1]].scope == "Net/dense.0");
  CHECK((*graph)[step.nodes[3]].scope.empty());
}

TEST_CASE("one function can be printed alone") {
  const auto graph = parse(kText, fake_ops());
  REQUIRE(graph);
  const std::string text = print(*graph, fake_ops(), "body");
  CHECK(text.find("func body") != std::string::npos);
  CHECK(text.find("func train_step") == std::string::npos);
}

TEST_CASE("comments, blanks and empty functions") {
  const auto graph = parse("// a comment: func\nfunc f ( ) {\n\n // again\n return }  // end", fake_ops());
  REQUIRE(graph);
  CHECK(print(*graph, fake_ops()) == "func f() {\n  return\n}\n");
}

TEST_CASE("placements are part of the text") {
  constexpr std::string_view kPlaced = R"(mesh data = 2

func f(
  %x: f64[4] @ split(0)
) {
  %sum: f64[] @ partial(sum) = sum(%x) {axis = 0}
  %all_reduce: f64[] @ broadcast = all_reduce(%sum) {axis = 0, op = sum}
  return
    %all_reduce {report "train/x"}
}
)";
  std::string error;
  const auto graph = parse(kPlaced, fake_ops(), &error);
  CAPTURE(error);
  REQUIRE(graph);
  CHECK(print(*graph, fake_ops()) == kPlaced);
}

TEST_CASE("texts that are no graphs say where and why") {
  const auto error_of = [](std::string_view text) {
    std::string error;
    CHECK_FALSE(parse(text, fake_ops(), &error));
    return error;
  };
  CHECK(error_of("func f() {\n  %a: f64[] = add(%b, %b)\n  return\n}") == "line 2: `%b` is not defined before");
  CHECK(error_of("func f() {\n  %a: f64[] = nothing()\n  return\n}") == "line 2: there is no op `nothing`");
  CHECK(error_of("func f(%a: f64[],\n%a: f64[]) { return }") == "line 2: `%a` is defined twice");
  CHECK(error_of("func f(%a: f64[) { return }") == "line 1: brackets or quotes do not match");
  CHECK(error_of("func f(%a: f64) { return }") == "line 1: expected a type such as `f32[batch, 10]`");
  CHECK(error_of("func f() { return }\nfunc f() { return }").starts_with("line 2: there are two functions"));
  CHECK(error_of("strategy {color = 1}") == "line 1: a strategy has no `color`");
  CHECK(error_of("strategy {batch = 1}") == "line 1: `batch` of the strategy is of another kind");
  CHECK(error_of("mesh data = 0") == "line 1: a mesh axis has between 1 and 4096 members");
  CHECK(error_of("func f(%a: f64[] {wait}) { return }") == "line 1: expected a role such as `weight`");
  for (const char* text :
       {"func", "func f", "func f(", "func f() {", "func f() { return", "func f() { return %", "x", "\"", "func f() { in return }",
        "func f() { %a: f64[] = constant() {value} return }", "bounds batch", "func f(%: f64[]) { return }"}) {
    CAPTURE(text);
    CHECK_FALSE(error_of(text).empty());
  }
}

TEST_CASE("every prefix of a text parses or is refused") {
  for (size_t length = 0; length < kText.size(); ++length) parse(kText.substr(0, length), fake_ops());
}

TEST_CASE("the builder infers types and keeps names unique") {
  Graph graph;
  graph.functions.push_back({"f", {}, {}, {}});
  Builder builder(fake_ops(), graph, {0});
  const ValueId x = builder.param("x", kRows, Role::input, "x");
  const ValueId a = builder.add("negate", {x}), b = builder.add("negate", {a}), c = builder.add("add", {a, b}, {}, "x");
  const auto halves = builder.add_multi("halves", {c}, {}, "half");
  builder.result(halves[1], Role::none);
  CHECK(graph[a].name == "negate");
  CHECK(graph[b].name == "negate.1");
  CHECK(graph[c].name == "x.1");
  CHECK(graph[halves[1]].name == "half.1");
  CHECK(graph[c].type == kRows);
  const ValueId m = builder.param("w/kernel:adam.m", kRows, Role::none);
  CHECK(graph[m].name == "w/kernel/adam.m");
  CHECK(verify(graph, fake_ops()).empty());
  // A second builder on the same function knows the names.
  Builder later(fake_ops(), graph, {0});
  CHECK(graph[later.add("negate", {x})].name == "negate.2");
}

TEST_CASE("a rewriter copies, replaces and drops") {
  const auto graph = parse(kText, fake_ops());
  REQUIRE(graph);
  Rewriter copy(*graph, fake_ops());
  for (size_t f = 0; f < graph->functions.size(); ++f) copy.copy_function({static_cast<int32_t>(f)});
  CHECK(print(copy.take(), fake_ops()) == kText);

  const FunctionId step = *graph->find_function("train_step");
  Rewriter rewriter(*graph, fake_ops());
  rewriter.copy_function({0});
  rewriter.begin(step);
  for (const NodeId id : (*graph)[step].nodes) {
    const Node& node = (*graph)[id];
    if (fake_ops()[node.op].name() == "halves") {
      rewriter.at(id);
      const ValueId negated = rewriter.builder().add("negate", rewriter.map(node.operands));
      for (const ValueId result : node.results) rewriter.set(result, negated);
    } else if (fake_ops()[node.op].name() == "call") {
      rewriter.set(node.results[0], rewriter.map(node.operands[0]));
    } else {
      rewriter.copy(id);
    }
  }
  rewriter.finish();
  const Graph changed = rewriter.take();
  CHECK(verify(changed, fake_ops()).empty());
  const std::string text = print(changed, fake_ops(), "train_step");
  CHECK(text.find("%negate: f64[batch, 3] = negate(%x)\n  %add: f64[batch, 3] = add(%negate, %negate)") != std::string::npos);
  CHECK(text.find("call") == std::string::npos);
}

TEST_CASE("liveness and uses") {
  const auto graph =
      parse("func f(%x: f64[]) { %a: f64[] = negate(%x) %b: f64[] = negate(%x) %c: f64[] = add(%b, %b) return %c, %x }", fake_ops());
  REQUIRE(graph);
  CHECK(live_nodes(*graph, {0}) == std::vector<bool>{false, true, true});
  CHECK(use_counts(*graph, {0}) == std::vector<int>{3, 0, 2, 1});
}
