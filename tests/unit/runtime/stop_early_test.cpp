// Early stopping: which looks are improvements, when it stops, and what it puts back.
#include "runtime/train/stop_early.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace dtl::train {
namespace {

using report::Value;

/// A weight, a layer's state and an optimizer's, each one f64; nothing to run.
plan::Executable one_weight() {
  plan::Plan plan;
  plan.mesh = {{"data", 1}};
  for (const auto& [path, role] : {std::pair{"w", plan::StateRole::weight}, std::pair{"mean", plan::StateRole::state},
                                   std::pair{"w:momentum", plan::StateRole::optimizer}}) {
    plan.states.push_back({path, role, static_cast<int32_t>(plan.buffers.size()), 0});
    plan.buffers.push_back({path, DType::f64, {}, plan::Space::state, plan.state_bytes, 8});
    plan.state_bytes += 64;
  }
  return {std::move(plan), {}};
}

StopRule rule_of(int64_t patience) {
  StopRule rule;
  rule.split = "validation";
  rule.report = "loss";
  rule.patience = patience;
  return rule;
}

struct Watcher {
  explicit Watcher(const StopRule& rule) : early(executor, rule) {}

  /// After how many of these looks it wants to stop; 0: after none.
  int stops_after(const std::vector<double>& looks) {
    for (const double value : looks) {
      look(value);
      if (early.stop()) return static_cast<int>(step);
    }
    return 0;
  }
  void look(double value) {
    const Value values[] = {{"accuracy", -value}, {"loss", value}};
    early.look("validation", values, ++step);
  }

  const plan::Executable plan = one_weight();
  Executor executor{plan, {}};
  EarlyStopping early;
  int64_t step = 0;
};

const double kNaN = std::nan(""), kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("stop_early: patience counts looks in a row without improvement") {
  CHECK(Watcher(rule_of(2)).stops_after({3, 2, 2.5, 2.2}) == 4);
  CHECK(Watcher(rule_of(2)).stops_after({3, 2, 2.5, 1.9, 2, 2}) == 6);  // an improvement begins the count anew
  CHECK(Watcher(rule_of(1)).stops_after({3, 2, 1, 0.5}) == 0);
  CHECK(Watcher(rule_of(1)).stops_after({2, 2}) == 2);  // as good is not better
  CHECK(Watcher(rule_of(3)).stops_after({1, 1, 1}) == 0);
}

TEST_CASE("stop_early: an improvement is more than minimum_change") {
  StopRule rule = rule_of(1);
  rule.minimum_change = 0.5;
  CHECK(Watcher(rule).stops_after({3, 2.5}) == 2);
  CHECK(Watcher(rule).stops_after({3, 2.25, 1.5, 1.25}) == 4);
  rule.maximize = true;
  CHECK(Watcher(rule).stops_after({1, 2, 3, 3.5}) == 4);
}

TEST_CASE("stop_early: more is better where the rule says so") {
  StopRule rule = rule_of(1);
  rule.maximize = true;
  CHECK(Watcher(rule).stops_after({0.1, 0.2, 0.3, 0.2}) == 4);
}

TEST_CASE("stop_early: a value that is no number is no improvement") {
  CHECK(Watcher(rule_of(2)).stops_after({kNaN, kNaN}) == 2);
  CHECK(Watcher(rule_of(2)).stops_after({kNaN, 5, kNaN, 4, kNaN, kNaN}) == 6);
  CHECK(Watcher(rule_of(1)).stops_after({kInfinity, 3, kInfinity}) == 3);
  Watcher watcher(rule_of(1));
  watcher.look(kNaN);
  CHECK(watcher.early.text() == "validation/loss no better for 1 look: it was never a number");
}

TEST_CASE("stop_early: other splits and other reports do not count") {
  Watcher watcher(rule_of(1));
  const Value accuracy[] = {{"accuracy", 1}};
  const Value loss[] = {{"loss", 1}};
  for (int64_t step = 1; step <= 3; ++step) {
    watcher.early.look("train", loss, step);
    watcher.early.look("validation", accuracy, step);
  }
  CHECK_FALSE(watcher.early.stop());
  CHECK(watcher.early.watches("validation"));
  CHECK_FALSE(watcher.early.watches("test"));
}

TEST_CASE("stop_early: the best look's weights and states are put back, an optimizer's are not") {
  for (const bool restore : {true, false}) {
    StopRule rule = rule_of(2);
    rule.restore_best = restore;
    Watcher watcher(rule);
    for (const double loss : {3., 1., 2., 1.5}) {
      for (int state = 0; state < 3; ++state) watcher.executor.set_scalar(state, loss * 10 + state);
      watcher.look(loss);
    }
    REQUIRE(watcher.early.stop());
    CHECK(watcher.early.text() == "validation/loss no better for 2 looks: best 1 after step 2");
    CHECK(watcher.early.restore(watcher.step) == restore);
    const double kept = restore ? 10 : 15;
    CHECK(watcher.executor.scalar(0) == kept);
    CHECK(watcher.executor.scalar(1) == kept + 1);
    CHECK(watcher.executor.scalar(2) == 17);
  }
}

TEST_CASE("stop_early: nothing is put back where the last look is the best, or none was a number") {
  StopRule rule = rule_of(2);
  rule.restore_best = true;
  Watcher watcher(rule), never(rule);
  watcher.look(2);
  watcher.look(1);
  CHECK_FALSE(watcher.early.restore(watcher.step));
  never.look(kNaN);
  CHECK_FALSE(never.early.restore(never.step));
}

TEST_CASE("stop_early: without a rule nothing is watched") {
  const plan::Executable plan = one_weight();
  Executor executor(plan, {});
  EarlyStopping early(executor, std::nullopt);
  const Value loss[] = {{"loss", 1}};
  for (int64_t step = 1; step < 5; ++step) early.look("validation", loss, step);
  CHECK_FALSE(early.stop());
  CHECK_FALSE(early.restore(5));
}

}  // namespace dtl::train
