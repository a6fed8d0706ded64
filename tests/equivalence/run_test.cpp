// Training runs as plans: every number of replicas and threads against one, and against the interpreter.
#include "plan_runner.h"
#include "tests/unit/lower/program_testing.h"

using namespace dtl;
using namespace dtl::testing;

namespace {

using Fields = std::map<std::string, graph::Array>;

const std::string kData = R"(
dataset Points {
  train = synthetic(1_000, seed = 1, fields = { x = normal([6]), label = integers(0, 3, []) })
  batch = 24
  example (x: f32[6], label: int) {
    x     = x
    label = cast(label, i32)
  }
}
)";

/// Mean, sum and max reductions, dropout, a hidden layer, adam.
const std::string kClassifier = kData + R"(
model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(16, activation = relu) |> dropout(0.3) |> dense(3) }
train {
  model     = Net
  data      = Points
  loss      = mean(sparse_cross_entropy(prediction, label))
  metrics   = { accuracy = mean(argmax(prediction) == label), total = sum(sparse_cross_entropy(prediction, label)), worst = max(sparse_cross_entropy(prediction, label)) }
  optimizer = adam(1e-2)
  epochs    = 1
)";

/// Penalties, random numbers, norms of whole weights, means that count examples differently, metrics of several classes.
const std::string kLibrary = kData + R"(
model Net (x: f32[batch, 6]) -> f32[batch, 3] {
  let a = reshape(x, [batch, 2, 3]) |> dense(4) |> multi_head_attention(2, causal = true, dropout = 0.2)
  let z = flatten(a) + 0.1 * random_normal([batch, 8])
  select(random_bernoulli([batch, 8], 0.9), z, 0) |> dense(3)
}
train {
  model     = Net
  data      = Points
  loss      = weighted_mean(sparse_cross_entropy(prediction, label, label_smoothing = 0.1), x[.., 0] > -0.8) + l2(Net, 1e-3, matching = "kernel")
  metrics   = { auc = auc(sigmoid(prediction[.., 0]), cast(label == 0, f32)), f1 = mean(f1_by_class(prediction, label)) }
  optimizer = lamb(warmup(cosine_decay(1e-2, steps = 40), updates = 5))
  epochs    = 1
)";

/// Weights of examples that fall unevenly on replicas: those of the first rows of a batch count most, many do not count.
const std::string kWeighted = R"(
dataset Points {
  train = synthetic(1_000, seed = 1, fields = { x = normal([6]), label = integers(0, 3, []) })
  batch = 24
}
model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(16, activation = tanh) |> dense(3) }
train {
  data      = Points
  epochs    = 1
  step (x, label) {
    let row = iota(shape(label), axis = 0)
    let weights = select(mod(row, 4) == 3, 0, 100 / cast(1 + row * row, dtype_of(x)))
    let per_example = sparse_cross_entropy(Net(x), label)
    minimize(weighted_mean(per_example, weights), over = Net, using = adam(1e-2))
    report(loss = weighted_mean(per_example, weights), counted = weighted_mean(per_example, mod(row, 4) == 3))
  }
)";

/// A step written by hand, with each replica's own view.
const std::string kOwnStep = kData + R"(
model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(8, activation = tanh) |> dense(3) }
train {
  model  = Net
  data   = Points
  epochs = 1
  step (x, label) {
    let per_example = sparse_cross_entropy(Net(x), label)
    let loss = mean(per_example)
    minimize(loss, over = Net, using = sgd(0.1, momentum = 0.9))
    let share = per_replica { sum(per_example) }
    report(loss = loss, check = reduce(sum, share) / count(label), slowest = reduce(max, share), largest = max(per_example), again = mean(sparse_cross_entropy(Net(x), label)))
  }
)";

graph::Graph replicated(const std::string& program, const std::string& strategy, const std::string& precision = "f32") {
  return passed(lowered(program + "  strategy = " + strategy + "\n  precision = " + precision + "\n}\n"), "");
}

std::string mirrored(int replicas) { return "mirrored(replicas = " + std::to_string(replicas) + ")"; }

/// Batches of the classifier's data; full, short, fewer than eight or four, one.
Fields batch(int step, DType real) {
  const int64_t sizes[] = {24, 24, 17, 24, 3, 24, 7, 1};
  const int64_t rows = sizes[step % 8];
  graph::Array x = noise({rows, 6}, static_cast<uint64_t>(step) + 1), label = noise({rows}, static_cast<uint64_t>(step) + 1000);
  x.dtype = real;
  label.dtype = DType::i64;
  for (double& value : label.data) value = std::floor((value + 1) * 1.5);
  if (real == DType::f32) {
    for (double& value : x.data) value = static_cast<float>(value);
  }
  return {{"x", std::move(x)}, {"label", std::move(label)}};
}

DType type_of_x(const graph::Graph& graph) {
  for (const graph::Port& port : graph[*graph.find_function("train_step")].params) {
    if (port.path == "x") return graph[port.value].type.dtype;
  }
  return DType::f32;
}

struct Trained {
  std::vector<double> weights, losses;
  std::vector<graph::Array> states;
  std::vector<int64_t> rows;
};

Trained trained(const graph::Graph& graph, int threads, int steps) {
  test::PlanRunner runner(graph, threads);
  runner.start(7);
  Trained result;
  for (int step = 0; step < steps; ++step) {
    runner.reset_metrics();
    runner.run("train_step", batch(step, type_of_x(graph)));
    runner.run("train_report", {});
    result.losses.push_back(runner.state(plan::StateRole::report, "train/loss").data[0]);
  }
  for (const plan::StateEntry& state : runner.plan().states) {
    if (state.role != plan::StateRole::weight) continue;
    const graph::Array array = runner.state(state.role, state.path);
    result.weights.insert(result.weights.end(), array.data.begin(), array.data.end());
  }
  result.states = runner.states();
  result.rows = runner.executor().rows_of_replicas();
  return result;
}

double relative(const std::vector<double>& expected, const std::vector<double>& actual) {
  REQUIRE(expected.size() == actual.size());
  double norm = 0, off = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    norm += expected[i] * expected[i];
    off += (expected[i] - actual[i]) * (expected[i] - actual[i]);
  }
  return std::sqrt(off) / std::sqrt(norm);
}

/// A strategy and how many replicas it has; every row of the batch is on `copies` of them.
struct Spread {
  std::string strategy;
  int replicas;
  int copies = 1;
};

std::vector<Spread> spreads() {
  std::vector<Spread> list;
  for (const int n : {1, 2, 3, 4, 8}) list.push_back({mirrored(n), n});
  for (const int n : {2, 3, 8}) {
    list.push_back({"sharded_optimizer(replicas = " + std::to_string(n) + ")", n});
    list.push_back({"fully_sharded(replicas = " + std::to_string(n) + ")", n});
  }
  list.push_back({"in_two_axes(2, 2)", 4});
  list.push_back({"by_columns(2, 3)", 6, 3});
  return list;
}

const std::string kStrategies = R"(
strategy in_two_axes (a: int, b: int) {
  mesh      = { outer = a, inner = b }
  batch     = split(over = [outer, inner])
  weights   = split(1, over = inner)
  optimizer = split(1, over = inner)
}
strategy by_columns (a: int, b: int) {
  mesh      = { data = a, model = b }
  batch     = split(data)
  weights   = split(1, over = model)
  gradients = split(1, over = model)
  optimizer = split(1, over = model)
}
)";

void check_equivalence(const std::string& program, const std::string& precision, int steps, double tolerance) {
  const Trained one = trained(replicated(program, "one_device()", precision), 1, steps);
  REQUIRE(one.losses.back() > 0);
  for (const auto& [strategy, replicas, copies] : spreads()) {
    // What a replica has to itself is its share of the batch: none where others have the same rows.
    if (copies > 1 && program.find("per_replica") != std::string::npos) continue;
    CAPTURE(strategy, precision);
    const graph::Graph graph = replicated(kStrategies + program, strategy, precision);
    const Trained many = trained(graph, 1, steps);
    CHECK(relative(one.weights, many.weights) < tolerance);
    for (int step = 0; step < steps; ++step)
      CHECK(std::abs(one.losses[static_cast<size_t>(step)] - many.losses[static_cast<size_t>(step)]) <=
            tolerance * std::abs(one.losses[static_cast<size_t>(step)]));
    // The replicas together worked on one device's rows, each on its share.
    int64_t rows = 0;
    for (const int64_t own : many.rows) rows += own;
    CHECK(rows == copies * one.rows[0]);
    CHECK(many.rows.front() > 0);
    CHECK(many.rows.size() == static_cast<size_t>(replicas));
  }
}

}  // namespace

TEST_CASE("in f64 every number of replicas trains as one device, to 1e-9 after 50 steps") {
  check_equivalence(kClassifier, "f64", 50, 1e-9);
  check_equivalence(kOwnStep, "f64", 50, 1e-9);
  check_equivalence(kLibrary, "f64", 50, 1e-9);
}

/// Weights with placements of their own: products by columns and rows, heads of attention, an embedding's rows, norms between. No adam:
/// the gradient of a bias of keys is 0 but for rounding, which adam scales up to steps of full size.
const std::string kOwnPlacements = R"(
dataset Points {
  train = synthetic(1_000, seed = 1, fields = { x = normal([6]), label = integers(0, 3, []) })
  batch = 24
}
strategy grid (a: int, b: int) {
  mesh      = { data = a, model = b }
  batch     = split(data)
  weights   = broadcast
  optimizer = split(data)
}
layer column (n: int) (x: float[..., m]) -> float[..., n] {
  weight kernel: float[m, n] @ split(1, over = model) = glorot_uniform()
  weight bias: float[n] @ split(over = model) = 0.0
  matmul(x, kernel) + bias
}
layer row (n: int) (x: float[..., m]) -> float[..., n] {
  weight kernel: float[m, n] @ split(0, over = model) = glorot_uniform()
  weight bias: float[n] = 0.0
  matmul(x, kernel) + bias
}
layer heads (n: int) (x: f32[batch, time, width]) -> f32[batch, time, width] {
  let q = x |> column(width) |> split_heads(n)
  let k = x |> column(width) |> split_heads(n)
  let v = x |> column(width) |> split_heads(n)
  attention(q, k, v, causal = true) |> merge_heads() |> row(width)
}
model Net (x: f32[batch, 6]) -> f32[batch, 3] {
  weight table: float[5, 8] @ split(0, over = model) = normal(stddev = 0.5)
  let words = gather(table, cast(floor(clip(x, -1, 1) * 2) + 2, i32))
  let y = words + (words |> layer_norm() |> heads(4))
  let z = y + (y |> layer_norm() |> column(13) |> gelu |> row(8))
  flatten(z) |> dropout(0.2) |> row(3)
}
train {
  model     = Net
  data      = Points
  loss      = mean(sparse_cross_entropy(prediction, label)) + l2(Net, 1e-3)
  metrics   = { accuracy = mean(argmax(prediction) == label) }
  gradients = { clip_norm = 0.5 }
  optimizer = sgd(0.1, momentum = 0.9)
  epochs    = 1
)";

TEST_CASE("weights with placements of their own train as on one device, to 1e-9 after 50 steps in f64 and 4e-5 after 20 in f32") {
  for (const auto& [precision, steps, tolerance] : {std::tuple{"f64", 50, 1e-9}, std::tuple{"f32", 20, 4e-5}}) {
    const Trained one = trained(replicated(kOwnPlacements, "grid(1, 1)", precision), 1, steps);
    for (const char* strategy : {"grid(1, 2)", "grid(2, 2)", "grid(3, 2)", "grid(1, 3)", "grid(2, 4)"}) {
      CAPTURE(strategy, precision);
      const Trained many = trained(replicated(kOwnPlacements, strategy, precision), 1, steps);
      CHECK(relative(one.weights, many.weights) < tolerance);
      CHECK(relative(one.losses, many.losses) < tolerance);
    }
  }
}

TEST_CASE("P3: weighted examples count alike on any number of replicas, in short batches too, to 1e-9 after 50 steps") {
  check_equivalence(kWeighted, "f64", 50, 1e-9);
}

TEST_CASE("in f32 every number of replicas trains as one device, to 4e-5 after 20 steps") {
  check_equivalence(kClassifier, "f32", 20, 4e-5);
  check_equivalence(kOwnStep, "f32", 20, 4e-5);
}

// A sum that replicas add in another order may fall on the other side of a rounding to bf16 (8 bits) or f16 (11 bits).
TEST_CASE("in bf16 and f16 every number of replicas trains as one device, to 3e-2 and 4e-3 after 20 steps") {
  check_equivalence(kClassifier, "bf16", 20, 3e-2);
  check_equivalence(kOwnStep, "bf16", 20, 3e-2);
  check_equivalence(kClassifier, "f16", 20, 4e-3);
  check_equivalence(kOwnStep, "f16", 20, 4e-3);
}

TEST_CASE("runs on the same replicas give the same bits, whatever threads each has") {
  for (const int replicas : {1, 2, 3}) {
    const graph::Graph graph = replicated(kClassifier, mirrored(replicas));
    const Trained first = trained(graph, 1, 10);
    for (const int threads : {1, 2, 3}) {
      CAPTURE(replicas, threads);
      const Trained again = trained(graph, threads, 10);
      REQUIRE(first.states.size() == again.states.size());
      for (size_t i = 0; i < first.states.size(); ++i) CHECK(first.states[i].data == again.states[i].data);
    }
  }
}

TEST_CASE("plans agree with the interpreter of their graphs") {
  for (const std::string& program : {kClassifier, kOwnStep}) {
    const graph::Graph graph = replicated(program, mirrored(3), "f64");
    Run interpreted(graph);
    test::PlanRunner planned(graph, 2);
    planned.start(7);
    const DType real = type_of_x(interpreted.graph());
    for (int step = 0; step < 8; ++step) {
      const Fields fields = batch(step, real);
      interpreted.train(fields);
      planned.run("train_step", fields);
    }
    if (interpreted.graph().find_function("eval_step")) {
      interpreted.evaluate(batch(2, real));
      planned.run("eval_step", batch(2, real));
      interpreted.call("eval_report", {}, 1);
      planned.run("eval_report", {});
    }
    interpreted.call("train_report", {}, 1);
    planned.run("train_report", {});
    int compared = 0;
    for (const plan::StateEntry& state : planned.plan().states) {
      const auto role = graph::parse_role(state.role == plan::StateRole::weight      ? "weight"
                                          : state.role == plan::StateRole::optimizer ? "optimizer"
                                          : state.role == plan::StateRole::metric    ? "metric"
                                          : state.role == plan::StateRole::report    ? "report"
                                                                                     : "");
      if (!role) continue;
      CAPTURE(state.path);
      CHECK(relative(interpreted.at(*role, state.path).data, planned.state(state.role, state.path).data) < 1e-10);
      ++compared;
    }
    CHECK(compared > 10);
  }
}

TEST_CASE("P13: kernels are compiled once for all replicas: eight take as many as two") {
  const auto kernels = [](int replicas) { return test::PlanRunner(replicated(kClassifier, mirrored(replicas)), 1).plan().kernels.size(); };
  CHECK(kernels(8) == kernels(2));
}

TEST_CASE("P14: one program is one plan, by which processes can know each other; another is another") {
  const auto hash = [](const std::string& program) { return plan::hash(test::PlanRunner(replicated(program, mirrored(2)), 1).plan()); };
  CHECK(hash(kClassifier) == hash(kClassifier));
  CHECK(hash(kClassifier) != hash(kOwnStep));
}

TEST_CASE("a check by hand equals the loss") {
  const graph::Graph graph = replicated(kOwnStep, mirrored(3));
  test::PlanRunner runner(graph, 1);
  runner.start(7);
  for (int step = 0; step < 8; ++step) {
    runner.reset_metrics();
    runner.run("train_step", batch(step, DType::f32));
    runner.run("train_report", {});
    const auto report = [&](const char* name) { return runner.state(plan::StateRole::report, std::string("train/") + name).data[0]; };
    CHECK(std::abs(report("check") - report("loss")) <= 1e-6 * report("loss"));
  }
}
