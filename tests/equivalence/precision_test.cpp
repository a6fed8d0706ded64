// bf16 and f16 against f32, and the loss scale of f16: skipped steps, recovery, growth.
#include "plan_runner.h"
#include "tests/unit/lower/program_testing.h"

using namespace dtl;
using namespace dtl::testing;

namespace {

using Fields = std::map<std::string, graph::Array>;

const std::string kData = R"(
dataset Points {
  train = synthetic(1_000, seed = 1, fields = { x = normal([6]), label = integers(0, 3, []) })
  batch = 32
}
model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(16, activation = relu) |> dense(3) }
)";
const std::string kClassifier = kData + R"(
train {
  model = Net, data = Points
  loss      = mean(sparse_cross_entropy(prediction, label))
  optimizer = adam(1e-2)
  epochs    = 1
)";

graph::Graph program(const std::string& text, const std::string& precision, int replicas) {
  return passed(lowered(text + "  strategy = mirrored(replicas = " + std::to_string(replicas) + ")\n  precision = " + precision + "\n}\n"),
                "");
}

/// Labels that x decides, so that there is something to learn.
Fields batch(int step) {
  graph::Array x = noise({32, 6}, static_cast<uint64_t>(step) + 1);
  for (double& value : x.data) value = static_cast<float>(value);
  graph::Array label = array({32}, std::vector<double>(32), DType::i64);
  for (size_t i = 0; i < 32; ++i) label.data[i] = (x.data[i * 6] > 0 ? 1 : 0) + (x.data[i * 6 + 1] > 0.3 ? 1 : 0);
  return {{"x", std::move(x)}, {"label", std::move(label)}};
}

double loss_after(const std::string& precision, int steps) {
  test::PlanRunner runner(program(kClassifier, precision, 2), 1);
  runner.start(7);
  for (int step = 0; step < steps; ++step) {
    if (step == steps - 10) runner.reset_metrics();
    runner.run("train_step", batch(step));
  }
  runner.run("train_report", {});
  return runner.state(plan::StateRole::report, "train/loss").data[0];
}

class Scaled {
 public:
  explicit Scaled(const std::string& text, int replicas, const std::string& of = "loss_scale/0")
      : runner_(program(text, "f16", replicas), 1) {
    runner_.start(7);
    scale_ = runner_.executor().find_state(of, plan::StateRole::state);
    good_ = runner_.executor().find_state(of + ".good", plan::StateRole::state);
    REQUIRE(scale_ >= 0);
    REQUIRE(good_ >= 0);
  }
  void step(int at) { step(batch(at)); }
  void step(const Fields& fields) { runner_.run("train_step", fields); }
  double scale() { return runner_.executor().scalar(scale_); }
  double good() { return runner_.executor().scalar(good_); }
  double updates() { return runner_.state(plan::StateRole::updates, "updates").data[0]; }
  void set(double scale, double good) {
    runner_.executor().set_scalar(scale_, scale);
    runner_.executor().set_scalar(good_, good);
  }
  /// Weights and what the optimizer keeps.
  std::vector<double> kept() {
    std::vector<double> all;
    for (const plan::StateEntry& state : runner_.plan().states) {
      if (state.role != plan::StateRole::weight && state.role != plan::StateRole::optimizer) continue;
      const graph::Array array = runner_.state(state.role, state.path);
      all.insert(all.end(), array.data.begin(), array.data.end());
    }
    return all;
  }

 private:
  test::PlanRunner runner_;
  int scale_ = -1, good_ = -1;
};

}  // namespace

TEST_CASE("bf16 and f16 learn what f32 learns") {
  const double wide = loss_after("f32", 150);
  REQUIRE(wide < 0.5);
  CHECK(loss_after("bf16", 150) == Approx(wide).epsilon(0.05));
  CHECK(loss_after("f16", 150) == Approx(wide).epsilon(0.02));
}

TEST_CASE("a step that overflows is skipped whole on every replica, halves the scale, and training goes on") {
  for (const int replicas : {1, 3}) {
    CAPTURE(replicas);
    Scaled run(kClassifier, replicas);
    CHECK(run.scale() == 65536);
    run.step(0);
    CHECK(run.updates() == 1);
    CHECK(run.good() == 1);
    const std::vector<double> before = run.kept();
    run.set(0x1p31, 1);
    run.step(1);
    CHECK(run.kept() == before);
    CHECK(run.updates() == 1);
    CHECK(run.scale() == 0x1p30);
    CHECK(run.good() == 0);
    int skipped = 0;
    for (; run.updates() == 1 && skipped < 31; ++skipped) run.step(1);
    CHECK(skipped > 3);
    CHECK(skipped < 25);
    CHECK(run.updates() == 2);
    CHECK(run.good() == 1);
    CHECK(run.kept() != before);
    for (const double value : run.kept()) CHECK(std::isfinite(value));
  }
}

TEST_CASE("the scale doubles after 2000 updates in a row, but not beyond 2^32") {
  Scaled run(kClassifier, 1);
  run.set(1024, 1998);
  run.step(0);
  CHECK(run.scale() == 1024);
  CHECK(run.good() == 1999);
  run.step(1);
  CHECK(run.scale() == 2048);
  CHECK(run.good() == 0);
}

TEST_CASE("each minimize has a scale of its own, and an update made by either counts") {
  const std::string two = kData + R"(
model Other (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(3) }
train {
  data = Points
  epochs = 1
  step (x, label) {
    minimize(mean(sparse_cross_entropy(Net(x), label)), over = Net, using = sgd(0.1))
    minimize(mean(sparse_cross_entropy(Other(x), label)), over = Other, using = sgd(0.1))
  }
)";
  Scaled run(two, 2, "loss_scale/1");
  run.set(0x1p40, 0);
  run.step(0);
  CHECK(run.scale() == 0x1p39);
  CHECK(run.updates() == 1);
}

TEST_CASE("one replica's overflow skips the update of all") {
  Scaled run(kClassifier, 4);
  const std::vector<double> before = run.kept();
  Fields fields = batch(0);
  // Of the last replica's rows alone: the scaled cotangents are small, and only their product with this x is too large for f16.
  for (size_t i = 31 * 6; i < 32 * 6; ++i) fields["x"].data[i] = 30000;
  run.step(fields);
  CHECK(run.kept() == before);
  CHECK(run.updates() == 0);
  CHECK(run.scale() == 32768);
}
