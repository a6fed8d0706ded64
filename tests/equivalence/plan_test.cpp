// Plans against the interpreter: graphs written by hand, replicated, planned, compiled and run.
#include <catch2/catch.hpp>

#include "plan_runner.h"
#include "tests/unit/transform/passes_testing.h"

using namespace dtl;
using transform::test::Placing;

namespace {

Placing replicas(int64_t n) {
  using types::Placement;
  return {{n}, {Placement::split(0)}, {Placement::broadcast()}, {Placement::broadcast()}, {Placement::broadcast()}};
}

const std::vector<std::string> kAll = {"gradient", "simplify", "place", "bucket"};

}  // namespace

TEST_CASE("a training step as a plan agrees with the interpreter, for any number of replicas and rows") {
  const graph::Graph whole = transform::test::classifier_step();
  for (const int64_t n : {1, 2, 3, 4, 8}) {
    for (const int threads : {1, 2}) {
      const graph::Graph replicated = transform::test::after(transform::test::under(whole, replicas(n)), kAll);
      test::PlanRunner runner(replicated, threads);
      for (const int64_t rows : {16, 13, 7, 3, 1}) {
        CAPTURE(n, threads, rows);
        const auto params = transform::test::some_params(whole, "train_step", {{"batch", rows}});
        const auto expected = transform::test::run(transform::test::after(whole, {"gradient"}), "train_step", params, {{"batch", rows}});
        const auto actual = runner.run("train_step", params, {{"batch", rows}});
        CHECK(transform::test::difference(expected, actual) < 1e-12);
        // The same bits again.
        const auto again = runner.run("train_step", params, {{"batch", rows}});
        for (size_t i = 0; i < actual.size(); ++i) CHECK(actual[i].data == again[i].data);
      }
    }
  }
}
