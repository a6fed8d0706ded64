// Every change of placement over three mesh axes, run by all members.
#include <catch2/catch.hpp>

#include "compiler/graph/builder.h"
#include "compiler/graph/verify.h"
#include "compiler/transform/reshard.h"
#include "passes_testing.h"

using namespace dtl;
using namespace dtl::transform::test;
using transform::Change;
using types::Placement;
using types::Placements;

namespace {

/// All placements of three axes over these.
std::vector<Placements> all_of(const std::vector<Placement>& choices) {
  std::vector<Placements> list = {{}};
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<Placements> longer;
    for (const Placements& start : list) {
      for (const Placement& choice : choices) {
        longer.push_back(start);
        longer.back().push_back(choice);
      }
    }
    list = std::move(longer);
  }
  return list;
}

}  // namespace

TEST_CASE("a value survives every change of placement") {
  const Placement rows = Placement::split(0), columns = Placement::split(1), whole, sum = Placement::partial(ReduceOp::sum);
  size_t broken = 0;
  for (const Placements& from : all_of({whole, rows, columns, sum})) {
    for (const Placements& to : all_of({whole, rows, columns})) {
      graph::Graph graph;
      graph.strategy.mesh.axes = {{"a", 2}, {"b", 3}, {"c", 2}};
      graph.functions.push_back({"f", {}, {}, {}});
      graph::Builder builder(ops::table(), graph, {0});
      const graph::ValueId x = builder.param("x", {DType::f64, {5, 7}}, graph::Role::none);
      graph[x].placements = from;
      transform::Resharder resharder(builder);
      const graph::ValueId y = resharder.reshard(x, to);
      builder.result(y, graph::Role::none);
      const size_t nodes = graph.nodes.size();
      // Asked again, nothing is made.
      const bool once = resharder.reshard(x, to) == y && graph.nodes.size() == nodes;
      const auto params = some_params(graph, "f", {});
      const bool right = graph[y].placements == to && graph::verify(graph, ops::table()).empty() &&
                         difference(params, run(graph, "f", params, {})) <= 1e-15;
      if (right && once) continue;
      ++broken;
      UNSCOPED_INFO(types::str(from) << " to " << types::str(to) << ":\n" << graph::print(graph, ops::table()));
    }
  }
  CHECK(broken == 0);
}

TEST_CASE("the table of changes") {
  const Placement rows = Placement::split(0), columns = Placement::split(1), whole, sum = Placement::partial(ReduceOp::sum);
  const Placement most = Placement::partial(ReduceOp::max), own = Placement::varying();
  CHECK(transform::change_of(sum, whole) == Change::all_reduce);
  CHECK(transform::change_of(sum, rows) == Change::reduce_scatter);
  CHECK(transform::change_of(rows, whole) == Change::all_gather);
  CHECK(transform::change_of(rows, columns) == Change::all_to_all);
  CHECK(transform::change_of(whole, rows) == Change::local_slice);
  for (const Placement& one : {whole, rows, sum, own}) CHECK(transform::change_of(one, one) == Change::none);
  for (const Placement& from : {whole, rows, most}) CHECK_FALSE(transform::change_of(from, sum));
  for (const Placement& from : {whole, rows, sum}) CHECK_FALSE(transform::change_of(from, own));
  for (const Placement& to : {whole, rows, sum}) CHECK_FALSE(transform::change_of(own, to));
}

TEST_CASE("bytes of a value are counted at its bounds, as one member holds it") {
  const graph::Graph graph = parsed(R"(
mesh data = 4
strategy {batch = split(0)}
bounds batch = 10
func f(%x: f32[batch, 3] @ split(0), %y: f32[batch, 3] @ broadcast, %z: f64[batch/share] @ varying) {
  return %x, %y, %z
})");
  const auto& params = graph.functions[0].params;
  CHECK(transform::member_bytes(graph, params[0].value) == 3 * 3 * 4);
  CHECK(transform::member_bytes(graph, params[1].value) == 10 * 3 * 4);
  CHECK(transform::member_bytes(graph, params[2].value) == 3 * 8);
}
