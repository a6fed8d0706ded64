// The interpreter: whole and replicated runs of one function agree.
#include "compiler/graph/interpret.h"

#include <catch2/catch.hpp>

#include "compiler/graph/parse.h"
#include "fake_ops.h"

using namespace dtl;
using namespace dtl::graph;
using dtl::graph::test::fake_ops;

namespace {

Array array(std::vector<int64_t> shape, std::vector<double> data) { return {DType::f64, std::move(shape), std::move(data)}; }

Array counting(int64_t rows, int64_t columns) {
  Array x{DType::f64, {rows, columns}, {}};
  for (int64_t i = 0; i < rows * columns; ++i) x.data.push_back(static_cast<double>(i * i % 11 - 4));
  return x;
}

std::vector<Array> run(const std::string& text, const std::vector<Array>& params, int64_t batch) {
  std::string error;
  const auto graph = parse(text, fake_ops(), &error);
  CAPTURE(error);
  REQUIRE(graph);
  const auto f = graph->find_function("f");
  REQUIRE(f);
  return interpret(*graph, fake_ops(), *f, params, {{"batch", batch}});
}

void check_equal(const Array& a, const Array& b) {
  CHECK(a.shape == b.shape);
  CHECK(a.data == b.data);
}

}  // namespace

TEST_CASE("one member runs an unplaced function") {
  const auto results = run(R"(
func g(%x: f64[batch, 2]) { %n: f64[batch, 2] = negate(%x) return %n }
func f(%x: f64[batch, 2]) {
  %n: f64[batch, 2] = call(%x) {function = "g"}
  %lo: f64[batch, 2], %hi: f64[batch, 2] = halves(%n)
  %a: f64[batch, 2] = add(%lo, %x)
  %s: f64[2] = sum(%a) {axis = 0}
  %i: f64[batch, 2] = index() {shape = [batch, 2]}
  %l: f64[batch/share, 2] = share(%x)
  return %s, %hi, %i, %l
})",
                           {array({2, 2}, {1, 2, 3, 4})}, 2);
  REQUIRE(results.size() == 4);
  check_equal(results[0], array({2}, {2, 3}));
  check_equal(results[1], array({2, 2}, {-0.5, -1, -1.5, -2}));
  check_equal(results[2], array({2, 2}, {0, 1, 2, 3}));
  check_equal(results[3], array({2, 2}, {1, 2, 3, 4}));
}

TEST_CASE("members of one axis agree with the whole, on uneven and empty shares") {
  for (const int64_t members : {1, 2, 3, 4, 8}) {
    for (const int64_t batch : {1, 2, 5, 7}) {
      CAPTURE(members, batch);
      const Array x = counting(batch, 3), w = array({3}, {2, -1, 5});
      const std::string mesh = fmt::format("mesh data = {}\nstrategy {{batch = split(0)}}\n", members);
      const auto results = run(mesh + R"(
func f(%x: f64[batch, 3] @ split(0), %w: f64[3] @ broadcast) {
  %i: f64[batch, 3] @ split(0) = index() {shape = [batch, 3]}
  %y: f64[batch, 3] @ split(0) = add(%x, %i)
  %p: f64[3] @ partial(sum) = sum(%y) {axis = 0}
  %q: f64[3] @ partial(sum) = multiply(%p, %w)
  %r: f64[3] @ broadcast = all_reduce(%q) {axis = 0, op = sum}
  %g: f64[batch, 3] @ broadcast = all_gather(%y) {axis = 0, dim = 0}
  return %y, %q, %r, %g
})",
                               {x, w}, batch);
      Array y = x, r = w;
      for (size_t i = 0; i < y.data.size(); ++i) y.data[i] += static_cast<double>(i);
      for (size_t j = 0; j < 3; ++j) {
        double sum = 0;
        for (size_t i = j; i < y.data.size(); i += 3) sum += y.data[i];
        r.data[j] *= sum;
      }
      check_equal(results[0], y);
      check_equal(results[1], r);
      check_equal(results[2], r);
      check_equal(results[3], y);
    }
  }
}

TEST_CASE("varying values are stacked, shares follow the batch placement") {
  const auto results = run(R"(
mesh data = 3
strategy {batch = split(0)}
func f(%x: f64[batch, 1] @ split(0)) {
  %l: f64[batch/share, 1] @ varying = share(%x)
  %s: f64[1] @ varying = sum(%l) {axis = 0}
  %n: f64[batch/share] @ varying = constant() {value = 1.0, dtype = f64, shape = [batch/share]}
  %c: f64[] @ varying = sum(%n) {axis = 0}
  return %s, %c
})",
                           {array({7, 1}, {1, 2, 3, 4, 5, 6, 7})}, 7);
  check_equal(results[0], array({3, 1}, {6, 9, 13}));
  check_equal(results[1], array({3}, {3, 2, 2}));
}

TEST_CASE("meshes of two axes: nested splits, and collectives along one axis") {
  const Array x = counting(7, 4);
  const auto results = run(R"(
mesh worker = 2, device = 3
strategy {batch = (split(0), split(0))}
func f(%x: f64[batch, 4] @ (split(0), split(0)), %w: f64[batch, 4] @ (split(0), split(1))) {
  %i: f64[batch, 4] @ (split(0), split(0)) = index() {shape = [batch, 4]}
  %j: f64[batch, 4] @ (split(0), split(1)) = index() {shape = [batch, 4]}
  %p: f64[4] @ (partial(sum), partial(sum)) = sum(%x) {axis = 0}
  %q: f64[4] @ (partial(sum), broadcast) = all_reduce(%p) {axis = 1, op = sum}
  %r: f64[4] @ (broadcast, broadcast) = all_reduce(%q) {axis = 0, op = sum}
  %v: f64[4] @ (partial(sum), split(0)) = sum(%w) {axis = 0}
  return %x, %w, %i, %j, %p, %q, %r, %v
})",
                           {x, x}, 7);
  Array sum = array({4}, {0, 0, 0, 0}), index = x;
  for (size_t i = 0; i < x.data.size(); ++i) {
    sum.data[i % 4] += x.data[i];
    index.data[i] = static_cast<double>(i);
  }
  check_equal(results[0], x);
  check_equal(results[1], x);
  check_equal(results[2], index);
  check_equal(results[3], index);
  for (size_t i = 4; i < 8; ++i) check_equal(results[i], sum);
}
