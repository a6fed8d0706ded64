// Buckets: who travels with whom, and who waits.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "passes_testing.h"

using namespace dtl;
using namespace dtl::transform::test;
using graph::Graph;

namespace {

/// Ops in order, all-reduces with their bucket and how many values they carry.
std::string order_of(const Graph& graph) {
  std::string text;
  for (const graph::NodeId id : graph.functions[0].nodes) {
    const graph::Node& node = graph[id];
    const std::string& op = ops::table()[node.op].name();
    text += text.empty() ? "" : " ";
    text += op == "all_reduce" ? fmt::format("reduce{}({})", node.attrs.get_or<int64_t>("bucket", -1), node.operands.size())
                               : graph[node.results[0]].name;
  }
  return text;
}

Graph bucketed(const std::string& strategy, const std::string& body) {
  return after(
      parsed("mesh data = 2\nstrategy " + strategy + "\nfunc f(%x: f32[8] @ partial(sum), %y: f32[8] @ broadcast) {\n" + body + "\n}"),
      {"bucket"});
}

}  // namespace

TEST_CASE("what is ready travels together; readers wait until there is no other work") {
  const Graph graph = bucketed("{batch = split(0)}", R"(
  %a: f32[8] @ broadcast = all_reduce(%x) {op = sum, axis = 0}
  %a1: f32[8] @ broadcast = exp(%a)
  %n: f32[8] @ partial(sum) = negate(%x)
  %b: f32[8] @ broadcast = all_reduce(%n) {op = sum, axis = 0}
  %b1: f32[8] @ broadcast = add(%a1, %b)
  %c: f32[8] @ broadcast = exp(%y)
  return %b1, %c)");
  CHECK(order_of(graph) == "n c reduce0(2) a1 b1");
}

TEST_CASE("buckets close when they are full, the first one sooner") {
  const std::string body = R"(
  %a: f32[8] @ broadcast = all_reduce(%x) {op = sum, axis = 0}
  %n: f32[8] @ partial(sum) = negate(%x)
  %b: f32[8] @ broadcast = all_reduce(%n) {op = sum, axis = 0}
  %m: f32[8] @ partial(sum) = negate(%n)
  %c: f32[8] @ broadcast = all_reduce(%m) {op = sum, axis = 0}
  %k: f32[8] @ partial(sum) = negate(%m)
  %d: f32[8] @ broadcast = all_reduce(%k) {op = sum, axis = 0}
  %e: f32[8] @ broadcast = exp(%a)
  return %a, %b, %c, %d, %e)";
  CHECK(order_of(bucketed("{batch = split(0), first_bucket = 32, bucket = 64}", body)) == "reduce0(1) n m reduce1(2) k reduce2(1) e");
  CHECK(order_of(bucketed("{batch = split(0), first_bucket = 33, bucket = 64}", body)) == "n reduce0(2) m k reduce1(2) e");
}

TEST_CASE("another op travels apart, and what depends on a bucket comes in a later one") {
  const Graph graph = bucketed("{batch = split(0)}", R"(
  %a: f32[8] @ broadcast = all_reduce(%x) {op = sum, axis = 0}
  %p: f32[8] @ partial(sum) = multiply(%x, %a)
  %b: f32[8] @ broadcast = all_reduce(%p) {op = sum, axis = 0}
  return %b)");
  CHECK(order_of(graph) == "reduce0(1) p reduce1(1)");
  const Graph apart = after(parsed(R"(
mesh data = 2
func f(%x: f32[8] @ partial(sum), %y: f32[8] @ partial(max), %z: f32[8] @ partial(sum)) {
  %a: f32[8] @ broadcast = all_reduce(%x) {op = sum, axis = 0}
  %b: f32[8] @ broadcast = all_reduce(%y) {op = max, axis = 0}
  %c: f32[8] @ broadcast = all_reduce(%z) {op = sum, axis = 0}
  return %a, %b, %c
})"),
                            {"bucket"});
  CHECK(order_of(apart) == "reduce0(2) reduce1(1)");
}
