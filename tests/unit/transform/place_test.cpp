// Placement and buckets against the meaning: replicated graphs, run by all members, give what the unplaced graph gives.
#include <catch2/catch.hpp>

#include "compiler/graph/verify.h"
#include "passes_testing.h"

using namespace dtl;
using namespace dtl::transform::test;
using graph::Array;
using graph::Graph;

namespace {

constexpr double kTolerance = 1e-12;

/// All placings, batches that divide evenly, unevenly, and leave members without rows.
void check_everywhere(const Graph& source, const std::string& function, const std::vector<Placing>& list = placings()) {
  const Graph whole = after(source, {"gradient", "simplify"});
  for (const Placing& placing : list) {
    const Graph placed = after(under(whole, placing), {"place", "bucket"});
    for (const int64_t batch : {7, 1, 16}) {
      CAPTURE(str(placing), batch);
      const Sizes dims = {{"batch", batch}};
      const std::vector<Array> params = some_params(source, function, dims);
      CHECK(difference(run(whole, function, params, dims), run(placed, function, params, dims)) <= kTolerance);
    }
  }
}

std::vector<Placing> over_all_axes() {
  std::vector<Placing> list;
  for (const Placing& placing : placings()) {
    bool all = true;
    for (const auto& placement : placing.batch) all = all && placement.kind == types::PlacementKind::split;
    if (all) list.push_back(placing);
  }
  return list;
}

size_t count_of(const Graph& graph, const std::string& op) {
  size_t count = 0;
  for (const graph::Node& node : graph.nodes) count += ops::table()[node.op].name() == op ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("a training step is the same step under every placement") { check_everywhere(classifier_step(), "train_step"); }

TEST_CASE("copies of weights need one bucket of sums and one of maxima") {
  Graph graph = after(under(classifier_step(), {{4}, {types::Placement::split(0)}, {{}}, {{}}, {{}}}), {"gradient", "simplify"});
  graph.strategy.communication = {};
  const Graph placed = after(graph, {"place"}), bucketed = after(placed, {"bucket"});
  CHECK(count_of(placed, "all_reduce") == 6);  // four gradients, the loss's sum, the worst example
  CHECK(count_of(bucketed, "all_reduce") == 2);
  for (const char* op : {"all_gather", "reduce_scatter", "all_to_all", "local_slice"}) CHECK(count_of(placed, op) == 0);
}

TEST_CASE("an optimizer in parts scatters gradients and gathers weights") {
  const types::Placement rows = types::Placement::split(0), all;
  const Graph graph = after(under(classifier_step(), {{4}, {rows}, {all}, {rows}, {rows}}), {"gradient", "simplify", "place"});
  CHECK(count_of(graph, "reduce_scatter") == 4);
  CHECK(count_of(graph, "all_gather") == 4);
  CHECK(count_of(graph, "local_slice") == 4);  // the old weights
  CHECK(count_of(graph, "all_reduce") == 2);
  CHECK(count_of(graph, "all_to_all") == 0);
}

TEST_CASE("the number of members does not change the shape of a step") {
  const Graph whole = after(classifier_step(), {"gradient", "simplify"});
  const types::Placement rows = types::Placement::split(0), all;
  std::vector<std::string> texts;
  for (const int64_t n : {1, 2, 8, 64}) {
    const Graph placed = after(under(whole, {{n}, {rows}, {all}, {rows}, {rows}}), {"place"});
    const std::string text = graph::print(placed, ops::table());
    texts.push_back(text.substr(text.find("func")));
  }
  for (const std::string& text : texts) CHECK(text == texts[0]);
}

TEST_CASE("means, maxima, minima and statistics over the batch") {
  check_everywhere(parsed(R"(
bounds batch = 16

func f(%x: f64[batch, 3], %g: f64[3], %i: i64[batch]) {
  %sum: f64[3] = reduce(%x) {op = sum, axes = #[0]}
  %n: f64[] = size() {dim = [batch], dtype = f64}
  %n3: f64[3] = broadcast(%n) {shape = [3], dims = #[]}
  %mean: f64[3] = divide(%sum, %n3)
  %means: f64[batch, 3] = broadcast(%mean) {shape = [batch, 3], dims = #[1]}
  %centred: f64[batch, 3] = subtract(%x, %means)
  %squares: f64[batch, 3] = multiply(%centred, %centred)
  %spread: f64[3] = reduce(%squares) {op = sum, axes = #[0]}
  %scaled: f64[3] = multiply(%spread, %g)
  %deviation: f64[3] = sqrt(%spread)
  %high: f64[3] = reduce(%centred) {op = max, axes = #[0]}
  %low: f64[] = reduce(%centred) {op = min, axes = #[0, 1]}
  %all: f64[] = reduce(%high) {op = max, axes = #[0]}
  %rows: f64[batch] = reduce(%x) {op = product, axes = #[1]}
  %gram: f64[3, 3] = matmul(%x, %centred) {transpose_a = true, transpose_b = false}
  %w: f64[batch, 3] = gather(%gram, %i)
  %best: i64[3] = argmax(%x) {axis = 0}
  %order: f64[batch] = iota() {shape = [batch], axis = 0, dtype = f64}
  %weighted: f64[batch] = multiply(%order, %rows)
  %at: f64[] = reduce(%weighted) {op = sum, axes = #[0]}
  return %mean, %scaled, %deviation, %high, %low, %all, %rows, %gram, %w, %best, %at
})"),
                   "f");
}

TEST_CASE("gradients through statistics of the batch, ties of a maximum, and a table") {
  check_everywhere(parsed(R"(
bounds batch = 16

func train_step(%x: f64[batch, 3] {input "x"}, %i: i64[batch] {input "i"}, %g: f64[3] {weight "g"}, %table: f64[4, 3] {weight "table"}, %s: f64[] {weight "s"}) {
  %rows: f64[batch, 3] = gather(%table, %i)
  %y: f64[batch, 3] = add(%x, %rows)
  %sum: f64[3] = reduce(%y) {op = sum, axes = #[0]}
  %n: f64[3] = constant() {value = 5.0, dtype = f64, shape = [3]}
  %mean: f64[3] = divide(%sum, %n)
  %means: f64[batch, 3] = broadcast(%mean) {shape = [batch, 3], dims = #[1]}
  %centred: f64[batch, 3] = subtract(%y, %means)
  %scales: f64[batch, 3] = broadcast(%g) {shape = [batch, 3], dims = #[1]}
  %z: f64[batch, 3] = multiply(%centred, %scales)
  %t: f64[batch, 3] = tanh(%z)
  %largest: f64[3] = reduce(%rows) {op = max, axes = #[0]}
  %a: f64[] = reduce(%t) {op = sum, axes = #[0, 1]}
  %b: f64[] = reduce(%largest) {op = product, axes = #[0]}
  %c: f64[] = add(%a, %b)
  %penalty: f64[] = multiply(%s, %s)
  %loss: f64[] = add(%c, %penalty)
  %dg: f64[3], %dt: f64[4, 3], %ds: f64[] = gradient(%loss, %g, %table, %s)
  %pg: f64[3] = pin(%dg) {role = "gradients"}
  %pt: f64[4, 3] = pin(%dt) {role = "gradients"}
  %ps: f64[] = pin(%ds) {role = "gradients"}
  %g.1: f64[3] = subtract(%g, %pg)
  %table.1: f64[4, 3] = subtract(%table, %pt)
  %s.1: f64[] = subtract(%s, %ps)
  return %g.1 {weight "g"}, %table.1 {weight "table"}, %s.1 {weight "s"}
})"),
                   "train_step");
}

TEST_CASE("softmax over the batch, and a batch folded into another dimension") {
  check_everywhere(parsed(R"(
bounds batch = 16

func f(%x: f64[batch, 2], %y: f64[batch, 2]) {
  %top: f64[2] = reduce(%x) {op = max, axes = #[0]}
  %tops: f64[batch, 2] = broadcast(%top) {shape = [batch, 2], dims = #[1]}
  %shifted: f64[batch, 2] = subtract(%x, %tops)
  %e: f64[batch, 2] = exp(%shifted)
  %sum: f64[2] = reduce(%e) {op = sum, axes = #[0]}
  %sums: f64[batch, 2] = broadcast(%sum) {shape = [batch, 2], dims = #[1]}
  %soft: f64[batch, 2] = divide(%e, %sums)
  %flat: f64[2 * batch] = reshape(%soft) {shape = [2 * batch]}
  %others: f64[batch, 2] = negate(%y)
  %flat.1: f64[2 * batch] = reshape(%others) {shape = [2 * batch]}
  %mixed: f64[2 * batch] = multiply(%flat, %flat.1)
  %pairs: f64[batch, batch] = matmul(%x, %y) {transpose_a = false, transpose_b = true}
  %near: f64[batch] = reduce(%pairs) {op = max, axes = #[1]}
  %far: f64[batch] = reduce(%pairs) {op = min, axes = #[0]}
  return %soft, %mixed, %near, %far
})"),
                   "f");
}

TEST_CASE("random numbers do not depend on who makes them") {
  check_everywhere(parsed(R"(
bounds batch = 16

func f(%x: f64[batch, 3], %seed: i64[], %step: i64[]) {
  %u: f64[batch, 3] = uniform(%seed, %step) {shape = [batch, 3], stream = 5, dtype = f64}
  %n: f64[4, 3] = uniform(%seed, %step) {shape = [4, 3], stream = 6, dtype = f64}
  %y: f64[batch, 3] = multiply(%x, %u)
  %z: f64[batch, 4] = matmul(%y, %n) {transpose_a = false, transpose_b = true}
  return %u, %y, %z, %n
})"),
                   "f");
}

TEST_CASE("per-replica regions leave by a written reduce") {
  check_everywhere(parsed(R"(
bounds batch = 16

func f(%x: f64[batch, 3], %w: f64[3]) {
  %share: f64[batch/share, 3] = local_share(%x)
  %ws: f64[3] = local_share(%w)
  %wide: f64[batch/share, 3] = broadcast(%ws) {shape = [batch/share, 3], dims = #[1]}
  %y: f64[batch/share, 3] = multiply(%share, %wide)
  %own: f64[] = reduce(%y) {op = sum, axes = #[0, 1]}
  %top: f64[] = reduce(%y) {op = max, axes = #[0, 1]}
  %rows: f64[] = size() {dim = [batch/share], dtype = f64}
  %all: f64[] = reduce_varying(%own) {op = sum}
  %max: f64[] = reduce_varying(%top) {op = max}
  %n: f64[] = reduce_varying(%rows) {op = sum}
  %mean: f64[] = divide(%all, %n)
  return %mean, %max, %n
})"),
                   "f", over_all_axes());
}

TEST_CASE("what cannot be placed is said") {
  const types::Placement rows = types::Placement::split(0), all;
  const Graph graph = parsed(R"(
func f(%x: f64[batch, 3]) {
  %share: f64[batch/share, 3] = local_share(%x)
  %own: f64[] = reduce(%share) {op = sum, axes = #[0, 1]}
  %all: f64[] = reduce_varying(%own) {op = sum}
  return %all
})");
  CHECK(place_error(under(graph, {{2, 2}, {rows, all}, {}, {}, {}})) ==
        "`per_replica` needs the batch to be split over every mesh axis, but over `model` it is broadcast");
  const Graph leaking = parsed(R"(
func f(%x: f64[batch, 3], %s: f64[] {state "s"}) {
  %share: f64[batch/share, 3] = local_share(%x)
  %own: f64[] = reduce(%share) {op = sum, axes = #[0, 1]}
  return %own {state "s"}
})");
  CHECK(place_error(under(leaking, {{2}, {rows}, {}, {}, {}})) == "state `s` is varying, and cannot become broadcast");
}

TEST_CASE("without a mesh only pins go") {
  const Graph graph = after(parsed(R"(
func f(%x: f64[batch, 3]) {
  %y: f64[batch, 3] = pin(%x) {role = "batch"}
  %z: f64[batch, 3] = exp(%y)
  return %z
})"),
                            {"place", "bucket"});
  CHECK(graph.nodes.size() == 1);
}
