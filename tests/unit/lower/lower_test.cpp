// Lowering: the graph of a small program has the meaning that the program's text has.
#include "compiler/graph/parse.h"
#include "program_testing.h"

using namespace dtl;
using namespace dtl::testing;
using Catch::Detail::Approx;
using graph::Role;

namespace {

const std::string kPoints = R"(
dataset Points {
  train      = synthetic(12, seed = 1, fields = { x = normal([2]), y = normal([]) })
  validation = synthetic(8, seed = 2, fields = { x = normal([2]), y = normal([]) })
  batch      = 4
}
model Linear (x: f32[batch, 2]) -> f32[batch] { x |> dense(1) |> squeeze(axis = -1) }
)";

std::string trained(const std::string& settings) {
  return kPoints + "train {\n model = Linear\n data = Points\n epochs = 1\n" + settings + "\n}\n";
}
const std::string kSquares = "loss = mean((prediction - y) ** 2)\n optimizer = sgd(0.1)\n";

const graph::Array kX = array({3, 2}, {1, 2, -1, 0.5, 0, 3});
const graph::Array kY = array({3}, {1, -2, 0.5});
const std::string kKernel = "Linear/dense.0/kernel", kBias = "Linear/dense.0/bias";

std::vector<std::string> paths(const graph::Function& function, Role role, bool results) {
  std::vector<std::string> found;
  for (const graph::Port& port : results ? function.results : function.params) {
    if (port.role == role) found.push_back(port.path);
  }
  return found;
}

const graph::Function& function(const graph::Graph& graph, const std::string& name) {
  const auto id = graph.find_function(name);
  REQUIRE(id);
  return graph[*id];
}

}  // namespace

TEST_CASE("a program becomes its entry points, which print and parse") {
  const graph::Graph graph = lowered(trained(kSquares));
  std::vector<std::string> names;
  for (const graph::Function& function : graph.functions) names.push_back(function.name);
  CHECK(names == std::vector<std::string>{"init", "train_step", "train_report", "eval_step", "eval_report"});
  CHECK(graph.bounds == std::vector<std::pair<std::string, int64_t>>{{"batch", 4}});

  const std::string text = graph::print(graph, ops::table());
  std::string error;
  const auto again = graph::parse(text, ops::table(), &error);
  INFO(error);
  REQUIRE(again);
  CHECK(graph::print(*again, ops::table()) == text);
}

TEST_CASE("one step of sgd on a linear model is the closed form") {
  Run run(lowered(trained(kSquares)));
  const std::vector<double> w = run.weight(kKernel).data;
  CHECK(run.weight(kBias).data == std::vector<double>{0});
  run.train({{"x", kX}, {"y", kY}});

  double loss = 0, db = 0, dw[2] = {0, 0};
  for (size_t i = 0; i < 3; ++i) {
    const double error = kX.data[2 * i] * w[0] + kX.data[2 * i + 1] * w[1] - kY.data[i];
    loss += error * error / 3;
    db += 2 * error / 3;
    for (size_t k = 0; k < 2; ++k) dw[k] += 2 * error * kX.data[2 * i + k] / 3;
  }
  CHECK(run.report("train/loss") == Approx(loss));
  CHECK(run.weight(kBias).data[0] == Approx(-0.1 * db));
  for (size_t k = 0; k < 2; ++k) CHECK(run.weight(kKernel).data[k] == Approx(w[k] - 0.1 * dw[k]));
  CHECK(run.at(Role::updates, "").data[0] == 1);
}

TEST_CASE("evaluation reads the weights and changes nothing") {
  const graph::Graph graph = lowered(trained(kSquares));
  const graph::Function& eval = function(graph, "eval_step");
  CHECK(paths(eval, Role::optimizer, false).empty());
  CHECK(paths(eval, Role::updates, false).empty());
  Run run(graph);
  const std::vector<double> before = run.weight(kKernel).data;
  run.evaluate({{"x", kX}, {"y", kY}});
  CHECK(run.weight(kKernel).data == before);
  Run other(graph);
  other.train({{"x", kX}, {"y", kY}});
  CHECK(run.report("eval/loss") == Approx(other.report("train/loss")));
}

TEST_CASE("a mean over an epoch weighs each example alike, a short last batch too") {
  Run run(lowered(trained(
      kSquares + "metrics = { highest = max(prediction), above = mean(prediction > y), root = sqrt(mean((prediction - y) ** 2)) }")));
  run.weight(kKernel).data = {1, 0};
  // Predictions 1, −1, 0; then 5.
  run.evaluate({{"x", kX}, {"y", kY}});
  run.evaluate({{"x", array({1, 2}, {5, 1})}, {"y", array({1}, {4})}});
  const double loss = (0 + 1 + 0.25 + 1) / 4;
  CHECK(run.report("eval/loss") == Approx(loss));
  CHECK(run.report("eval/highest") == 5);
  CHECK(run.report("eval/above") == Approx(2.0 / 4));
  CHECK(run.report("eval/root") == Approx(std::sqrt(loss)));
  run.start();
  run.evaluate({{"x", kX}, {"y", kY}});
  CHECK(run.report("eval/highest") == 1);
}

TEST_CASE("a mean accumulates a sum and a count, a maximum its maximum") {
  const graph::Graph graph = lowered(trained(kSquares + "metrics = { highest = max(prediction), perplexity = exp(mean(prediction)) }"));
  const graph::Function& report = function(graph, "eval_report");
  CHECK(paths(report, Role::metric, false) ==
        std::vector<std::string>{"eval/loss.0", "eval/loss.1", "eval/highest.0", "eval/perplexity.0", "eval/perplexity.1"});
  std::map<std::string, double> identities;
  for (const graph::Port& port : function(graph, "eval_step").params) {
    if (port.role == Role::metric) identities[port.path] = port.identity;
  }
  CHECK(identities.at("eval/loss.0") == 0);
  CHECK(identities.at("eval/loss.1") == 0);
  CHECK(identities.at("eval/highest.0") == -INFINITY);
}

TEST_CASE("calls after minimize see the new weights") {
  Run run(lowered(kPoints + R"(
train {
  data = Points
  epochs = 1
  step (x, y) {
    let before = mean((Linear(x) - y) ** 2)
    minimize(before, over = Linear, using = sgd(0.1))
    let after = mean((Linear(x) - y) ** 2)
    report(before = before, after = after)
  }
})"));
  run.train({{"x", kX}, {"y", kY}});
  const double before = run.report("train/before"), after = run.report("train/after");
  CHECK(after < before);
  run.start();
  run.train({{"x", kX}, {"y", kY}});
  CHECK(run.report("train/before") == Approx(after));
}

TEST_CASE("each minimize is an update of its own") {
  const std::string two = R"(
train {
  data = Points
  epochs = 1
  step (x, y) {
    minimize(mean((Linear(x) - y) ** 2), over = Linear, using = sgd(0.1, momentum = 0.5))
    minimize(mean((Linear(x) - y) ** 2), over = Linear, using = sgd(0.2, momentum = 0.5))
  }
})";
  Run run(lowered(kPoints + two));
  const std::vector<double> w = run.weight(kKernel).data;
  run.train({{"x", kX}, {"y", kY}});
  // The same by hand: two steps with rates 0.1 and 0.2, the first moments of two separate velocities.
  double now[3] = {w[0], w[1], 0};
  for (const double rate : {0.1, 0.2}) {
    double g[3] = {0, 0, 0};
    for (size_t i = 0; i < 3; ++i) {
      const double error = kX.data[2 * i] * now[0] + kX.data[2 * i + 1] * now[1] + now[2] - kY.data[i];
      for (size_t k = 0; k < 2; ++k) g[k] += 2 * error * kX.data[2 * i + k] / 3;
      g[2] += 2 * error / 3;
    }
    for (size_t k = 0; k < 3; ++k) now[k] -= rate * g[k];
  }
  CHECK(run.weight(kKernel).data[0] == Approx(now[0]));
  CHECK(run.weight(kKernel).data[1] == Approx(now[1]));
  CHECK(run.weight(kBias).data[0] == Approx(now[2]));
  CHECK(paths(function(run.graph(), "train_step"), Role::optimizer, true).size() == 4);
}

TEST_CASE("a gradient does not go into how a weight was updated") {
  // The second loss sees the first model's new weight, whose update depends on the second model's weight.
  Run run(lowered(R"(
dataset Points {
  train = synthetic(12, seed = 1, fields = { x = normal([]) })
  batch = 4
}
model A (x: f32[batch]) -> f32[batch] {
  weight a: f32[] = 2.0
  x * a
}
model B (x: f32[batch]) -> f32[batch] {
  weight b: f32[] = 3.0
  x * b
}
train {
  data = Points
  epochs = 1
  step (x) {
    minimize(sum(A(x) * B(x)), over = A, using = sgd(0.1))
    minimize(sum(A(x) * B(x)), over = B, using = sgd(0.1))
  }
})"));
  run.train({{"x", array({1}, {1})}});
  const double a = 2 - 0.1 * 3;
  CHECK(run.weight("A/a").data[0] == Approx(a));
  CHECK(run.weight("B/b").data[0] == Approx(3 - 0.1 * a));
}

TEST_CASE("of two models in one loss, a minimize moves the one it is over, through the other's new weights") {
  // What a generator makes before the discriminator's update is judged again after it.
  Run run(lowered(R"(
dataset Points {
  train = synthetic(12, seed = 1, fields = { x = normal([]) })
  batch = 4
}
model Maker (x: f32[batch]) -> f32[batch] {
  weight v: f32[] = 2.0
  x * v
}
model Judge (x: f32[batch]) -> f32[batch] {
  weight w: f32[] = 3.0
  x * w
}
train {
  data = Points
  epochs = 1
  step (x) {
    let made = Maker(x)
    minimize(mean(Judge(made)), over = Judge, using = sgd(0.1))
    minimize(-mean(Judge(made)), over = Maker, using = sgd(0.1))
  }
})"));
  run.train({{"x", array({2}, {1, 4})}});
  const double w = 3 - 0.1 * 2 * 2.5;
  CHECK(run.weight("Judge/w").data[0] == Approx(w));
  CHECK(run.weight("Maker/v").data[0] == Approx(2 + 0.1 * w * 2.5));
}

TEST_CASE("states keep what training writes, and evaluation reads it") {
  const std::string text = R"(
dataset Points {
  train = synthetic(12, seed = 1, fields = { x = normal([2]), y = normal([]) })
  validation = synthetic(12, seed = 1, fields = { x = normal([2]), y = normal([]) })
  batch = 4
}
model Normed (x: f32[batch, 2]) -> f32[batch, 2] { x |> batch_norm(momentum = 0.75) }
train {
  model = Normed
  data = Points
  loss = mean(sum(prediction, axis = 1) * y)
  optimizer = sgd(0.1)
  epochs = 1
}
)";
  Run run(lowered(text));
  run.train({{"x", kX}, {"y", kY}});
  const std::string state = "Normed/batch_norm.0/running_mean", spread = "Normed/batch_norm.0/running_variance";
  CHECK(run.state(state).data[0] == Approx(0.25 * 0));
  CHECK(run.state(state).data[1] == Approx(0.25 * 5.5 / 3));
  CHECK(run.state(spread).data[0] == Approx(0.75 + 0.25 * 2.0 / 3));
  const std::vector<double> before = run.state(state).data;
  run.evaluate({{"x", kX}, {"y", kY}});
  CHECK(run.state(state).data == before);
}

TEST_CASE("random streams are named by path, whatever else the program has") {
  const auto kernel = [](const std::string& model) {
    Run run(lowered("dataset Points {\n train = synthetic(12, seed = 1, fields = { x = normal([2]), y = normal([]) })\n batch = 4\n}\n" +
                    model +
                    "\ntrain {\n model = Linear\n data = Points\n loss = mean(prediction)\n optimizer = sgd(0.1)\n epochs = 1\n}\n"));
    return run;
  };
  Run small = kernel("model Linear (x: f32[batch, 2]) -> f32[batch] { let last = dense(1)\n squeeze(last(x), axis = -1) }");
  Run large = kernel(
      "model Linear (x: f32[batch, 2]) -> f32[batch] { let last = dense(1)\n squeeze(last(x + 0 * (x |> dense(2) |> dropout(0.5))), axis = "
      "-1) }");
  CHECK(small.weight("Linear/last/kernel").data == large.weight("Linear/last/kernel").data);
  CHECK(large.weight("Linear/dense.0/kernel").data[0] != large.weight("Linear/last/kernel").data[0]);
}

TEST_CASE("dropout differs from step to step and not between runs, and evaluation has none") {
  const std::string text = kPoints + R"(
model Dropped (x: f32[batch, 2]) -> f32[batch, 2] {
  weight w: f32[2] = ones
  dropout(0.5)(x * w)
}
train {
  model = Dropped
  data = Points
  loss = mean(prediction)
  optimizer = sgd(0.0)
  epochs = 1
}
)";
  const graph::Graph graph = lowered(text);
  const graph::Array ones = array({64, 2}, std::vector<double>(128, 1));
  const graph::Array y = array({64}, std::vector<double>(64, 0));
  Run a(graph), b(graph), other(graph, 8);
  std::vector<double> losses;
  for (int i = 0; i < 4; ++i) {
    for (Run* run : {&a, &b, &other}) {
      run->start();
      run->train({{"x", ones}, {"y", y}});
    }
    CHECK(a.report("train/loss") == b.report("train/loss"));
    losses.push_back(a.report("train/loss"));
    CHECK(losses.back() == Approx(1).margin(0.4));
  }
  CHECK(std::set<double>(losses.begin(), losses.end()).size() > 1);
  CHECK(losses.back() != other.report("train/loss"));
  a.evaluate({{"x", ones}, {"y", y}});
  CHECK(a.report("eval/loss") == 1);
}

TEST_CASE("a step's own reductions of shares accumulate like global ones") {
  Run run(lowered(kPoints + R"(
train {
  data = Points
  strategy = mirrored(replicas = 2)
  epochs = 1
  step (x, y) {
    let errors = (Linear(x) - y) ** 2
    let loss = mean(errors)
    minimize(loss, over = Linear, using = sgd(0.0))
    let share = per_replica { sum(errors) }
    report(loss = loss, check = reduce(sum, share) / count(y), norm = sqrt(mean(errors)) / 2)
  }
})"));
  run.train({{"x", kX}, {"y", kY}});
  run.train({{"x", array({1, 2}, {4, 1})}, {"y", array({1}, {-4})}});
  CHECK(run.report("train/check") == Approx(run.report("train/loss")));
  CHECK(run.report("train/norm") == Approx(std::sqrt(run.report("train/loss")) / 2));
}

TEST_CASE("names in the graph come from the source") {
  const graph::Graph graph = lowered(trained(kSquares));
  const std::string text = graph::print(graph, ops::table(), "train_step");
  INFO(text);
  for (const char* name : {"%x", "%y", "%Linear/dense.0/kernel", "%prediction", "%loss"}) CHECK(text.find(name) != std::string::npos);
  bool scoped = false;
  for (const graph::Node& node : graph.nodes) scoped |= node.scope == "Linear/dense.0";
  CHECK(scoped);
}
