// Several batches in one update: as one batch of all their rows would, for any number of replicas, clipped or not.
#include "plan_runner.h"
#include "tests/unit/lower/program_testing.h"
#include "tests/unit/runtime/counting.h"

using namespace dtl;
using namespace dtl::testing;

namespace {

using Fields = std::map<std::string, graph::Array>;

std::string program(const std::string& settings, const std::string& loss = "mean(sparse_cross_entropy(prediction, label))") {
  return R"(
dataset Points {
  train = synthetic(1_000, seed = 1, fields = { x = normal([6]), label = integers(0, 3, []) })
  batch = 96
}
model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(16, activation = tanh) |> dense(3) }
train {
  model     = Net
  data      = Points
  loss      = )" +
         loss + R"(
  metrics   = { total = sum(sparse_cross_entropy(prediction, label)), worst = max(sparse_cross_entropy(prediction, label)), least = min(label), count = sum(cast(label == label, i32)) }
  optimizer = adam(1e-2)
  precision = f64
  epochs    = 1
  )" + settings +
         "\n}\n";
}

Fields rows_of(const Fields& all, int64_t begin, int64_t end) {
  Fields part;
  for (const auto& [name, array] : all) {
    graph::Array cut = array;
    const auto each = static_cast<int64_t>(array.data.size()) / array.shape[0];
    cut.shape[0] = end - begin;
    cut.data.assign(array.data.begin() + begin * each, array.data.begin() + end * each);
    part[name] = std::move(cut);
  }
  return part;
}

/// In the element types of the plan's fields.
Fields batch(const plan::Plan& plan, int step, int64_t rows) {
  graph::Array x = noise({rows, 6}, static_cast<uint64_t>(step) + 1), label = noise({rows}, static_cast<uint64_t>(step) + 1000);
  label.dtype = DType::i64;
  for (const plan::Entry& entry : plan.entries) {
    for (const plan::InputField& input : entry.inputs) {
      if (input.name == "x") x.dtype = plan.buffers[static_cast<size_t>(input.buffer)].dtype;
    }
  }
  for (double& value : label.data) value = std::floor((value + 1) * 1.5);
  return {{"x", std::move(x)}, {"label", std::move(label)}};
}

/// How the rows of each update are cut into batches: full groups, short last batches, short groups, one batch alone.
const std::vector<std::vector<int64_t>> kGroups = {{24, 24, 24}, {24, 24, 5}, {24, 1}, {24, 24, 24}, {2}, {24, 24, 2}};

struct Trained {
  std::vector<double> weights, reports;
};

Trained trained(const std::string& text, bool cut, int threads, int steps) {
  test::PlanRunner runner(passed(lowered(text), ""), threads);
  runner.start(7);
  for (int step = 0; step < steps; ++step) {
    const std::vector<int64_t>& sizes = kGroups[static_cast<size_t>(step) % kGroups.size()];
    int64_t rows = 0;
    for (const int64_t size : sizes) rows += size;
    const Fields all = batch(runner.plan(), step, rows);
    if (!cut) {
      runner.run("train_step", all);
      continue;
    }
    int64_t begin = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      runner.run(i + 1 < sizes.size() ? "train_accumulate" : "train_step", rows_of(all, begin, begin + sizes[i]));
      begin += sizes[i];
    }
  }
  runner.run("train_report", {});
  Trained result;
  for (const plan::StateEntry& state : runner.plan().states) {
    const graph::Array array = runner.state(state.role, state.path);
    if (state.role == plan::StateRole::weight) result.weights.insert(result.weights.end(), array.data.begin(), array.data.end());
    if (state.role == plan::StateRole::report) result.reports.push_back(array.data[0]);
  }
  return result;
}

void check_near(const std::vector<double>& expected, const std::vector<double>& actual) {
  REQUIRE(expected.size() == actual.size());
  double norm = 0, off = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    norm += expected[i] * expected[i];
    off += (expected[i] - actual[i]) * (expected[i] - actual[i]);
  }
  CHECK(std::sqrt(off) <= 1e-9 * std::sqrt(norm));
}

std::string strategy(int replicas, const std::string& of = "mirrored") {
  return "\n  strategy = " + of + "(replicas = " + std::to_string(replicas) + ")";
}

}  // namespace

TEST_CASE("P6: batches joined train as one batch of their rows, whatever replicas, cuts and clipping, to 1e-9 after 50 steps") {
  for (const std::string clip : {"", "clip_norm = 0.05", "clip_value = 0.01", "clip_norm = 0.05, clip_value = 0.02"}) {
    const Trained whole = trained(program("gradients = { " + clip + " }"), false, 1, 50);
    const std::pair<const char*, int> strategies[] = {{"mirrored", 1},          {"mirrored", 2},          {"mirrored", 3},
                                                      {"sharded_optimizer", 2}, {"sharded_optimizer", 3}, {"fully_sharded", 3}};
    for (const auto& [name, replicas] : strategies) {
      CAPTURE(clip, name, replicas);
      const std::string joins =
          "gradients = { accumulate = 3" + std::string(clip.empty() ? "" : ", ") + clip + " }" + strategy(replicas, name);
      const Trained cut = trained(program(joins), true, replicas == 2 ? 2 : 1, 50);
      check_near(whole.weights, cut.weights);
      check_near(whole.reports, cut.reports);
    }
  }
}

/// Random numbers for each row: of the data's augmentation, of a layer, of a model, of a metric, with the batch in the middle.
std::string random_program(const std::string& settings) {
  return R"(
dataset Points {
  train = synthetic(1_000, seed = 1, fields = { x = normal([6]), label = integers(0, 3, []) })
  batch = 96
  augment (x) { x = x + random_uniform([6]) }
}
model Net (x: f32[batch, 6]) -> f32[batch, 3] {
  let pairs = reshape(x, [2 * batch, 3])
  let h = reshape(pairs + random_normal(shape(pairs)), shape(x)) |> dense(16, activation = tanh) |> dropout(0.3)
  let rows = transpose(h, [1, 0])
  transpose(rows * random_uniform(shape(rows)), [1, 0]) |> dense(3)
}
train {
  model     = Net
  data      = Points
  loss      = mean(sparse_cross_entropy(prediction, label))
  metrics   = { noise = mean(random_uniform(shape(prediction)) * prediction) }
  optimizer = adam(1e-2)
  precision = f64
  epochs    = 1
  )" + settings +
         "\n}\n";
}

TEST_CASE("P6: random numbers of a row are the same however an update is cut into batches, to 1e-9 after 50 steps") {
  const Trained whole = trained(random_program(""), false, 1, 50);
  for (const int replicas : {1, 2}) {
    CAPTURE(replicas);
    const Trained cut = trained(random_program("gradients = { accumulate = 3 }" + strategy(replicas)), true, replicas, 50);
    check_near(whole.weights, cut.weights);
    check_near(whole.reports, cut.reports);
  }
}

TEST_CASE("random numbers of a row are the same however a split is evaluated") {
  const auto noise = [](const std::vector<int64_t>& sizes, int replicas) {
    test::PlanRunner runner(passed(lowered(random_program(strategy(replicas))), ""), 1);
    runner.start(7);
    const Fields all = batch(runner.plan(), 0, 90);
    int64_t begin = 0;
    for (const int64_t size : sizes) {
      runner.run("eval_step", rows_of(all, begin, begin + size));
      begin += size;
    }
    runner.run("eval_report", {});
    return runner.state(plan::StateRole::report, "eval/noise").data[0];
  };
  const double whole = noise({90}, 1);
  CHECK(std::abs(noise({40, 40, 10}, 1) - whole) < 1e-12);
  CHECK(std::abs(noise({40, 40, 10}, 2) - whole) < 1e-12);
  CHECK(std::abs(noise({40, 50}, 1) - whole) < 1e-12);
}

TEST_CASE("P6: weighted examples of joined batches count as in one batch, a batch that counts nothing too") {
  const std::string losses[] = {
      "weighted_mean(sparse_cross_entropy(prediction, label), x[.., 0] > 0.5)",
      "2 * weighted_mean(sparse_cross_entropy(prediction, label), square(x[.., 0])) + l2(Net, 1e-2)",
      "-weighted_mean(log(softmax(prediction))[.., 0], label == 1) / 3",
  };
  for (const std::string& loss : losses) {
    const Trained whole = trained(program("", loss), false, 1, 50);
    for (const auto& [name, replicas] : {std::pair{"mirrored", 1}, std::pair{"mirrored", 2}, std::pair{"fully_sharded", 2}}) {
      CAPTURE(loss, name, replicas);
      const Trained cut = trained(program("gradients = { accumulate = 3 }" + strategy(replicas, name), loss), true, replicas, 50);
      check_near(whole.weights, cut.weights);
      check_near(whole.reports, cut.reports);
    }
  }
}

TEST_CASE("schedules count updates, however many batches make one") {
  for (const std::string rate : {"one_cycle(0.5, steps = 50)", "warmup(cosine_decay(0.2, steps = 40), updates = 10)",
                                 "piecewise(bounds = [updates_per_epoch, 2 * updates_per_epoch], rates = [0.3, 0.2, 0.1])"}) {
    CAPTURE(rate);
    std::string text = program(""), joined = program("gradients = { accumulate = 3 }" + strategy(2));
    for (std::string* each : {&text, &joined}) each->replace(each->find("adam(1e-2)"), 10, "sgd(" + rate + ")");
    // 1000 examples: 11 batches of 96, or as many of 32 three at a time.
    joined.replace(joined.find("batch = 96"), 10, "batch = 32");
    check_near(trained(text, false, 1, 50).weights, trained(joined, true, 1, 50).weights);
  }
}

TEST_CASE("P5: clipping by the norm is exact under replicas and does what its closed form says") {
  // sgd's step is rate · gradient, whose norm is the limit, as every gradient here is longer.
  for (const int replicas : {1, 3}) {
    std::string text = program("gradients = { clip_norm = 0.001 }" + strategy(replicas));
    text.replace(text.find("adam(1e-2)"), 10, "sgd(1.0)");
    test::PlanRunner runner(passed(lowered(text), ""), 1);
    runner.start(7);
    const auto weights = [&] {
      std::vector<double> values;
      for (const plan::StateEntry& state : runner.plan().states) {
        if (state.role != plan::StateRole::weight) continue;
        const graph::Array array = runner.state(state.role, state.path);
        values.insert(values.end(), array.data.begin(), array.data.end());
      }
      return values;
    };
    const std::vector<double> before = weights();
    runner.run("train_step", batch(runner.plan(), 0, 50));
    const std::vector<double> after = weights();
    double squares = 0;
    for (size_t i = 0; i < before.size(); ++i) squares += (after[i] - before[i]) * (after[i] - before[i]);
    CHECK(std::abs(std::sqrt(squares) - 0.001) < 1e-12);
  }
}

TEST_CASE("P6: one reduction for each update, none for the batches before its last") {
  const test::PlanRunner runner(passed(lowered(program("gradients = { accumulate = 4, clip_norm = 1.0 }" + strategy(3))), ""), 1);
  std::map<std::string, int> reductions;
  for (const plan::Entry& entry : runner.plan().entries) {
    for (const plan::Step& step : entry.steps) {
      if (step.kind == plan::StepKind::reduce && step.reduce.op == ReduceOp::sum) ++reductions[entry.name];
      if (entry.name == "train_accumulate") CHECK(step.kind != plan::StepKind::reduce);
    }
  }
  CHECK(reductions["train_accumulate"] == 0);
  CHECK(reductions["train_step"] == 1);
}

TEST_CASE("P6: a penalty on weights, which every replica knows whole, waits with the rest") {
  const std::string penalty = R"(
dataset Points {
  train = synthetic(1_000, seed = 1, fields = { x = normal([6]), label = integers(0, 3, []) })
  batch = 96
}
model Net (x: f32[batch, 6]) -> (f32[batch], f32[]) {
  weight w: f32[6, 1] = normal(stddev = 0.3)
  (squeeze(matmul(x, w), axis = -1), sum(square(w)))
}
train {
  data  = Points
  precision = f64
  epochs = 1
  step (x, label) {
    let out = Net(x)
    let loss = mean(square(out[0] - label)) + 0.1 * out[1]
    minimize(loss, over = Net, using = sgd(0.05))
    report(loss = loss)
  }
)";
  const Trained whole = trained(penalty + "}\n", false, 1, 20);
  for (const int replicas : {1, 2, 3}) {
    CAPTURE(replicas);
    const std::string text = penalty + "gradients = { accumulate = 3 }" + strategy(replicas) + "\n}\n";
    check_near(whole.weights, trained(text, true, 1, 20).weights);
    const test::PlanRunner runner(passed(lowered(text), ""), 1);
    for (const plan::Entry& entry : runner.plan().entries) {
      for (const plan::Step& step : entry.steps) CHECK((entry.name != "train_accumulate" || step.kind != plan::StepKind::reduce));
    }
  }
}

TEST_CASE("P6: a bias in parts over a second mesh axis waits with the sums that it joins, to 1e-9 after 50 steps") {
  const auto text = [](const std::string& grid, const std::string& settings) {
    return R"(
dataset Points {
  train = synthetic(1_000, seed = 1, fields = { x = normal([6]), label = integers(0, 3, []) })
  batch = 96
}
strategy grid (a: int, b: int) { mesh = { data = a, model = b }, batch = split(data), weights = broadcast, optimizer = split(data) }
model Net (x: f32[batch, 6]) -> f32[batch, 3] {
  weight columns: f32[6, 8] @ split(1, over = model) = normal(stddev = 0.3)
  weight rows: f32[8, 3] @ split(0, over = model) = normal(stddev = 0.3)
  weight bias: f32[3] = 0.1
  matmul(tanh(matmul(x, columns)), rows) + bias
}
train {
  model     = Net
  data      = Points
  loss      = mean(sparse_cross_entropy(prediction, label))
  optimizer = adam(1e-2)
  precision = f64
  epochs    = 1
  strategy  = )" +
           grid + settings + "\n}\n";
  };
  const Trained whole = trained(text("grid(1, 1)", ""), false, 1, 50);
  for (const char* grid : {"grid(1, 1)", "grid(1, 2)", "grid(2, 2)", "grid(3, 2)"}) {
    CAPTURE(grid);
    check_near(whole.weights, trained(text(grid, "\n  gradients = { accumulate = 3 }"), true, 1, 50).weights);
  }
}

TEST_CASE("steps of several batches allocate nothing once they have run") {
  test::PlanRunner runner(passed(lowered(program("gradients = { accumulate = 2, clip_norm = 1.0 }" + strategy(2))), ""), 1);
  runner.start(7);
  class Zeros : public data::Source {
   public:
    int64_t examples() const override { return 96; }
    const std::vector<data::Field>& fields() const override { return fields_; }
    void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
      std::memset(to, 0, rows.size() * static_cast<size_t>(fields_[field].bytes()));
    }

    std::vector<data::Field> fields_;
  } source;
  // As the plan has them: in which order, and of which element types.
  for (const plan::Entry& entry : runner.plan().entries) {
    if (entry.name != "train_step") continue;
    for (const plan::InputField& input : entry.inputs) {
      const plan::Buffer& buffer = runner.plan().buffers[static_cast<size_t>(input.buffer)];
      source.fields_.push_back({input.name, buffer.dtype, {}});
      for (size_t d = 1; d < buffer.dims.size(); ++d) source.fields_.back().shape.push_back(buffer.dims[d].scale);
    }
  }
  REQUIRE(source.fields_.size() == 2);
  train::Executor& executor = runner.executor();
  const std::vector<int64_t> rows(24, 0);
  const std::vector<int> fields = {0, 1};
  const auto update = [&] {
    executor.run(executor.find("train_accumulate"), {&source, rows}, fields);
    executor.run(executor.find("train_step"), {&source, rows}, fields);
  };
  update();
  start_counting();
  for (int i = 0; i < 10; ++i) update();
  CHECK(stop_counting() == Counts{});
}
