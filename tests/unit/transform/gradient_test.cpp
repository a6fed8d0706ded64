// The gradient pass against central differences, and what it promises.
#include <catch2/catch.hpp>
#include <cmath>

#include "passes_testing.h"

using namespace dtl;
using namespace dtl::transform::test;
using graph::Array;
using graph::Graph;

namespace {

size_t count_of(const Graph& graph, const std::string& op) {
  size_t count = 0;
  for (const graph::Node& node : graph.nodes) count += ops::table()[node.op].name() == op ? 1 : 0;
  return count;
}

/// Results 1 … of `f` are the gradients of result 0 by the parameters `by`, in order.
void check_gradients(const Graph& graph, const std::vector<size_t>& by, const Sizes& dims, double step = 1e-6) {
  const Graph differentiated = after(graph, {"gradient"}), optimized = after(differentiated, {"simplify"});
  const std::vector<Array> params = some_params(graph, "f", dims);
  const std::vector<Array> results = run(differentiated, "f", params, dims);
  CHECK(difference(results, run(optimized, "f", params, dims)) == 0);
  REQUIRE(results.size() == by.size() + 1);
  for (size_t k = 0; k < by.size(); ++k) {
    for (size_t i = 0; i < params[by[k]].data.size(); ++i) {
      std::vector<Array> up = params, down = params;
      up[by[k]].data[i] += step;
      down[by[k]].data[i] -= step;
      const double slope = (run(differentiated, "f", up, dims)[0].data[0] - run(differentiated, "f", down, dims)[0].data[0]) / (2 * step);
      CAPTURE(k, i, slope);
      CHECK(std::fabs(results[k + 1].data[i] - slope) <= 1e-7 * std::max(1.0, std::fabs(slope)));
    }
  }
}

}  // namespace

TEST_CASE("contributions of several uses are summed") {
  check_gradients(parsed(R"(
func f(%x: f64[3], %y: f64[3]) {
  %a: f64[3] = multiply(%x, %x)
  %b: f64[3] = multiply(%a, %y)
  %c: f64[3] = sin(%x)
  %d: f64[3] = add(%b, %c)
  %e: f64[3] = multiply(%d, %a)
  %loss: f64[] = reduce(%e) {op = sum, axes = #[0]}
  %dx: f64[3], %dy: f64[3] = gradient(%loss, %x, %y)
  return %loss, %dx, %dy
})"),
                  {0, 1}, {});
}

TEST_CASE("a classifier's gradients agree with differences") {
  Graph graph = classifier_step();
  // The step's own gradients, by the loss as first result.
  graph::Function& function = graph.functions[0];
  function.name = "f";
  function.results.clear();
  std::vector<size_t> by;
  for (const graph::NodeId id : function.nodes) {
    const graph::Node node = graph[id];
    if (ops::table()[node.op].name() != "gradient") continue;
    function.results.push_back({node.operands[0], graph::Role::none, {}, 0});
    for (const graph::ValueId result : node.results) function.results.push_back({result, graph::Role::none, {}, 0});
    for (size_t i = 1; i < node.operands.size(); ++i) by.push_back(static_cast<size_t>(graph[node.operands[i]].result));
  }
  for (graph::Port& port : function.params) port = {port.value, graph::Role::none, {}, 0};
  check_gradients(graph, by, {{"batch", 5}});
}

TEST_CASE("gradients of max, broadcasts, reshapes, transposes and gathers") {
  check_gradients(parsed(R"(
func f(%x: f64[4, 3], %b: f64[3], %i: i64[batch]) {
  %wide: f64[4, 3] = broadcast(%b) {shape = [4, 3], dims = #[1]}
  %y: f64[4, 3] = add(%x, %wide)
  %t: f64[3, 4] = transpose(%y) {permutation = #[1, 0]}
  %m: f64[3, 3] = matmul(%t, %x) {transpose_a = false, transpose_b = false}
  %r: f64[9] = reshape(%m) {shape = [9]}
  %rows: f64[batch] = gather(%r, %i)
  %largest: f64[] = reduce(%rows) {op = max, axes = #[0]}
  %s: f64[4] = reduce(%y) {op = product, axes = #[1]}
  %p: f64[] = reduce(%s) {op = sum, axes = #[0]}
  %loss: f64[] = multiply(%p, %largest)
  %dx: f64[4, 3], %db: f64[3] = gradient(%loss, %x, %b)
  return %loss, %dx, %db
})"),
                  {0, 1}, {{"batch", 5}});
}

TEST_CASE("a value that does not reach the loss has a zero gradient") {
  const Graph graph = after(parsed(R"(
func f(%x: f64[3], %y: f64[2], %z: f64[3]) {
  %s: f64[3] = stop_gradient(%z)
  %a: f64[3] = multiply(%x, %s)
  %loss: f64[] = reduce(%a) {op = sum, axes = #[0]}
  %dy: f64[2], %dz: f64[3] = gradient(%loss, %y, %z)
  return %dy, %dz
})"),
                            {"gradient"});
  CHECK(count_of(graph, "constant") == 2);
  CHECK(graph.nodes.size() == 2);
}

TEST_CASE("two gradients in one function, the second of updated values") {
  const Graph graph = after(parsed(R"(
func f(%w: f64[]) {
  %a: f64[] = multiply(%w, %w)
  %g: f64[] = gradient(%a, %w)
  %v: f64[] = subtract(%w, %g)
  %b: f64[] = exp(%v)
  %h: f64[] = gradient(%b, %v)
  %second: f64[] = gradient(%g, %w)
  return %g, %h, %second
})"),
                            {"gradient", "simplify"});
  const auto results = run(graph, "f", {{DType::f64, {}, {0.5}}}, {});
  CHECK(results[0].data[0] == 1.0);
  CHECK(results[1].data[0] == std::exp(-0.5));
  CHECK(results[2].data[0] == 2.0);
}

TEST_CASE("only paths from the values to the loss are walked") {
  // argmax and the integer path have no part in it; nothing is built for %x.
  const Graph graph = after(parsed(R"(
func f(%x: f64[batch, 3], %w: f64[3]) {
  %i: i64[batch] = argmax(%x) {axis = 1}
  %p: f64[batch] = gather(%w, %i)
  %loss: f64[] = reduce(%p) {op = sum, axes = #[0]}
  %dw: f64[3] = gradient(%loss, %w)
  return %dw
})"),
                            {"gradient"});
  CHECK(count_of(graph, "scatter_add") == 1);
  CHECK(count_of(graph, "gather") == 0);
  CHECK(graph.find_function("f"));
}
