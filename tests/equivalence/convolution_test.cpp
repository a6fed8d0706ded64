// Convolutional models on replicas: windows, pooling, norms of the global batch and augmentation, against one device.
#include "plan_runner.h"
#include "tests/unit/lower/program_testing.h"

using namespace dtl;
using namespace dtl::testing;

namespace {

constexpr int64_t kSide = 6;

/// The example program of a convolutional network, smaller, on generated images.
const std::string kClassifier = R"(
dataset Images {
  train = synthetic(64, fields = { image = normal([6, 6, 1]), label = integers(0, 4, []) })
  batch = 8
  augment (image) { image = image |> random_flip(axis = 1) |> random_shift(2) }
}
layer conv_block (filters: int) (x: float[batch, h, w, c]) -> float[batch, h, w, filters] {
  x |> conv2d(filters, kernel = 3, padding = same, use_bias = false) |> batch_norm() |> relu()
}
model Net (image: float[batch, 6, 6, 1]) -> float[batch, 4] {
  image |> conv_block(3) |> conv_block(3) |> max_pool(2) |> conv_block(4) |> flatten() |> dense(5, activation = relu) |> dropout(0.5) |> dense(4)
}
train {
  model     = Net
  data      = Images
  loss      = mean(sparse_cross_entropy(prediction, label))
  metrics   = { accuracy = mean(argmax(prediction) == label), top2 = mean(in_top_k(prediction, label, k = 2)) }
  optimizer = adamw(learning_rate = 1e-2, weight_decay = 0.1)
  epochs    = 1
)";

/// Every other layer over windows, every other augmentation, order and running sums.
const std::string kOthers = R"(
dataset Images {
  train = synthetic(64, fields = { image = normal([6, 6, 2]), label = integers(0, 4, []) })
  batch = 8
  augment (image) {
    image = image |> random_rotation(20.0) |> random_crop(6, padding = 1) |> random_erase(2) |> random_brightness(0.1)
      |> random_contrast(0.8, 1.2)
  }
}
model Net (image: float[batch, 6, 6, 2]) -> float[batch, 4] {
  let strided = image |> conv2d(4, kernel = [3, 2], stride = 2, groups = 2, padding = same)
  let wide = strided |> conv2d_transpose(4, stride = 2, padding = same) |> depthwise_conv2d(multiplier = 2, padding = 1)
    |> group_norm(2)
  let pooled = wide |> avg_pool(3, stride = 2, padding = same) |> upsample(2) |> max_pool(3, stride = 2, padding = 1)
  let rows = pooled |> global_avg_pool() |> dense(4)
  let (best, index) = top_k(rows, 2)
  let sequence = reshape(pooled, [batch, 9, 8]) |> conv1d(4, padding = causal) |> global_max_pool()
  cumsum(sort(rows)) + sequence + sum(best * index, axis = 1, keep = true)
}
train {
  model     = Net
  data      = Images
  loss      = mean(sparse_cross_entropy(prediction, label))
  optimizer = sgd(0.05)
  epochs    = 1
)";

graph::Graph replicated(const std::string& program, const std::string& strategy) {
  return passed(lowered(program + "  strategy = " + strategy + "\n  precision = f64\n}\n"), "");
}

std::map<std::string, graph::Array> batch_of(int64_t rows, int64_t channels, uint64_t seed) {
  graph::Array label = noise({rows}, seed + 1000);
  label.dtype = DType::i64;
  for (double& value : label.data) value = std::floor((value + 1) * 2);
  return {{"image", noise({rows, kSide, kSide, channels}, seed)}, {"label", label}};
}

struct Trained {
  std::vector<double> weights, losses;
};

/// After so many steps, with short and single batches among them.
Trained trained(const graph::Graph& graph, int64_t channels, int steps) {
  test::PlanRunner runner(graph, 1);
  runner.start(7);
  Trained result;
  const int64_t sizes[] = {8, 8, 5, 8, 2, 8, 1};
  for (int step = 0; step < steps; ++step) {
    runner.reset_metrics();
    runner.run("train_step", batch_of(sizes[step % 7], channels, static_cast<uint64_t>(step)));
    runner.run("train_report", {});
    result.losses.push_back(runner.state(plan::StateRole::report, "train/loss").data[0]);
  }
  for (const plan::StateEntry& state : runner.plan().states) {
    if (state.role != plan::StateRole::weight) continue;
    const graph::Array array = runner.state(state.role, state.path);
    result.weights.insert(result.weights.end(), array.data.begin(), array.data.end());
  }
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

void check_equivalence(const std::string& program, int64_t channels, int steps) {
  const Trained one = trained(replicated(program, "one_device()"), channels, steps);
  CHECK(std::all_of(one.losses.begin(), one.losses.end(), [](double loss) { return std::isfinite(loss); }));
  for (const int replicas : {2, 3}) {
    CAPTURE(replicas);
    const Trained many = trained(replicated(program, fmt::format("mirrored(replicas = {})", replicas)), channels, steps);
    CHECK(relative(one.weights, many.weights) < 1e-9);
    CHECK(relative(one.losses, many.losses) < 1e-9);
  }
}

}  // namespace

TEST_CASE("a convolutional network trains on replicas as on one device, augmentation included") { check_equivalence(kClassifier, 1, 50); }

TEST_CASE("strides, groups, transposes, pooling with padding and every augmentation mean the same on replicas") {
  check_equivalence(kOthers, 2, 20);
}

TEST_CASE("examples of one batch, and one example in two steps, are augmented differently; evaluation is not") {
  const std::string program = R"(dataset Images {
  train = synthetic(64, fields = { image = normal([64]) })
  batch = 8
  augment (image) { image = random_shift(image, 20) }
}
model Net (image: float[batch, 64]) -> float[batch] {
  weight w: float[] = ones
  w * sum(image * cast(iota([64]), dtype_of(image)), axis = 1)
}
train {
  model = Net
  data = Images
  loss = sum(prediction)
  metrics = { low = min(prediction), high = max(prediction) }
  optimizer = sgd(0.0)
  epochs = 1
}
)";
  Run run(lowered(program));
  graph::Array image = array({8, 64}, std::vector<double>(8 * 64, 0));
  for (size_t row = 0; row < 8; ++row) image.data[row * 64 + 32] = 1;  // prediction: where the 1 went
  std::set<double> lows;
  for (int step = 0; step < 6; ++step) {
    run.start();
    run.train({{"image", image}});
    const double low = run.report("train/low"), high = run.report("train/high");
    CHECK(low >= 12);
    CHECK(high <= 52);
    CHECK(low == std::floor(low));
    CHECK(low < high);
    lows.insert(low);
  }
  CHECK(lows.size() > 1);
  run.start();
  run.evaluate({{"image", image}});
  CHECK(run.report("eval/low") == 32);
  CHECK(run.report("eval/high") == 32);
}
