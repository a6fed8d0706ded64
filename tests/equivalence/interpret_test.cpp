// A program means the same under every strategy: its replicated graph, run by the interpreter, against its whole graph.
#include "tests/unit/lower/program_testing.h"

using namespace dtl;
using namespace dtl::testing;

namespace {

/// Largest distance of anything that is kept or reported, relative to its norm where that is above 1.
double distance(const Run& a, const Run& b) {
  double largest = 0;
  REQUIRE(a.values().size() == b.values().size());
  for (const auto& [key, expected] : a.values()) {
    const graph::Array& actual = b.values().at(key);
    REQUIRE(expected.shape == actual.shape);
    double norm = 0, off = 0;
    for (size_t i = 0; i < expected.data.size(); ++i) {
      if (expected.data[i] == actual.data[i]) continue;
      norm += expected.data[i] * expected.data[i];
      off += (expected.data[i] - actual.data[i]) * (expected.data[i] - actual.data[i]);
    }
    CAPTURE(key.second);
    CHECK(!std::isnan(off));
    largest = std::max(largest, std::sqrt(off) / std::max(1.0, std::sqrt(norm)));
  }
  return largest;
}

Run::Fields batch_of(const graph::Graph& graph, int64_t rows, uint64_t seed) {
  Run::Fields fields;
  const graph::Function& step = graph[*graph.find_function("train_step")];
  for (const graph::Port& port : step.params) {
    if (port.role != graph::Role::input) continue;
    const types::TensorType& type = graph[port.value].type;
    std::vector<int64_t> shape{rows};
    for (size_t i = 1; i < type.dims.size(); ++i) shape.push_back(*type.dims[i].constant());
    graph::Array values = noise(shape, seed += 11);
    values.dtype = type.dtype;
    // Labels: 0, 1, 2.
    if (is_integer(type.dtype)) {
      for (double& value : values.data) value = std::floor((value + 1) * 1.5);
    }
    fields.emplace(port.path, std::move(values));
  }
  return fields;
}

/// Batches of these sizes under `strategy` against the same on one device.
void same(const std::string& program, const std::string& strategy, const std::vector<int64_t>& batches, double tolerance = 1e-10) {
  CAPTURE(program, strategy, batches);
  const auto text = [&](const std::string& chosen) { return program + "  strategy = " + chosen + "\n}\n"; };
  const graph::Graph whole = passed(lowered(text("one_device()")), "simplify");
  const graph::Graph replicated = passed(lowered(text(strategy)), "");
  int64_t members = 1;
  for (const auto& axis : replicated.strategy.mesh.axes) members *= axis.size;
  const auto is_collective = [](const graph::Node& node) { return static_cast<bool>(ops::table()[node.op].evaluate->collective); };
  CHECK((members == 1 || std::any_of(replicated.nodes.begin(), replicated.nodes.end(), is_collective)));
  Run one(whole), many(replicated);
  CHECK(distance(one, many) <= tolerance);
  uint64_t seed = 5;
  for (const int64_t rows : batches) {
    CAPTURE(rows);
    const Run::Fields fields = batch_of(whole, rows, seed += 100);
    for (Run* run : {&one, &many}) {
      run->train(fields);
      if (run->graph().find_function("eval_step")) run->evaluate(fields);
    }
    CHECK(distance(one, many) <= tolerance);
  }
  for (Run* run : {&one, &many}) {
    for (const char* report : {"train_report", "eval_report"}) {
      if (run->graph().find_function(report)) run->call(report, {}, 1);
    }
  }
  CHECK(distance(one, many) <= tolerance);
}

std::string mirrored(int replicas) { return "mirrored(replicas = " + std::to_string(replicas) + ")"; }

const std::vector<int> kReplicas = {1, 2, 3, 4, 8};
/// Full, short, smaller than eight or four replicas, one example: shares are uneven, then empty.
const std::vector<int64_t> kBatches = {12, 7, 3, 1, 12};

const std::string kData = R"(
dataset Points {
  train      = synthetic(48, seed = 1, fields = { x = normal([5]), y = normal([]), label = integers(0, 3, []) })
  validation = synthetic(48, seed = 2, fields = { x = normal([5]), y = normal([]), label = integers(0, 3, []) })
  batch      = 12
}
)";
const std::string kTrain = "train {\n  data = Points\n  model = M\n  epochs = 1\n";

const std::string kClassifier = kData + R"(
model M (x: f32[batch, 5]) -> f32[batch, 3] { x |> dense(6, activation = relu) |> dropout(0.3) |> dense(3) }
)" + kTrain + R"(
  loss = mean(sparse_cross_entropy(prediction, label))
  metrics = {
    accuracy = mean(argmax(prediction) == label)
    highest = max(prediction)
    lowest = min(prediction)
    perplexity = exp(mean(sparse_cross_entropy(prediction, label)))
  }
  optimizer = adam(1e-2)
)";

}  // namespace

TEST_CASE("a classifier with dropout and adam, whatever the replicas and the batch") {
  for (const int n : kReplicas) same(kClassifier, mirrored(n), kBatches);
}

TEST_CASE("losses by sum and by maximum") {
  const std::string model =
      kData + "model M (x: f32[batch, 5]) -> f32[batch] { x |> dense(4, activation = tanh) |> dense(1) |> squeeze(axis = -1) }\n" + kTrain;
  for (const char* loss : {"sum(squared_error(prediction, y))", "max(squared_error(prediction, y))",
                           "mean(prediction * y) + 0.1 * min(prediction)", "sqrt(mean(squared_error(prediction, y)))"}) {
    for (const int n : kReplicas) same(model + "  loss = " + loss + "\n  optimizer = sgd(0.05, momentum = 0.9)\n", mirrored(n), kBatches);
  }
}

TEST_CASE("a loss with one batch reduction inside another") {
  const std::string program = kData + "model M (x: f32[batch, 5]) -> f32[batch] { x |> dense(1) |> squeeze(axis = -1) }\n" +
                              "train {\n  data = Points\n  epochs = 1\n  step (x, y) {\n" +
                              "    minimize(log_sum_exp(squared_error(M(x), y)) + variance(M(x)), over = M, using = sgd(0.05))\n  }\n";
  for (const int n : kReplicas) same(program, mirrored(n), kBatches);
}

TEST_CASE("batch statistics are those of the global batch") {
  const std::string program = kData +
                              "model M (x: f32[batch, 5]) -> f32[batch, 3] { x |> dense(6) |> batch_norm() |> relu() |> dense(3) }\n" +
                              kTrain + "  loss = mean(sparse_cross_entropy(prediction, label))\n  optimizer = sgd(0.1)\n";
  for (const int n : kReplicas) same(program, mirrored(n), {12, 7, 3, 12});
}

TEST_CASE("a written step with shares, reductions and two updates") {
  const std::string program = kData + R"(
model M (x: f32[batch, 5]) -> f32[batch, 3] { x |> layer_norm() |> dense(4, activation = gelu) |> dense(3) }
train {
  data = Points
  epochs = 1
  step (x, label) {
    let per_example = sparse_cross_entropy(M(x), label)
    let loss = mean(per_example)
    minimize(loss, over = M, using = adamw(1e-2))
    let share = per_replica { sum(per_example) }
    let count_of = per_replica { count(label) }
    let after = mean(sparse_cross_entropy(M(x), label))
    minimize(after, over = M, using = sgd(0.1))
    report(loss = loss, after = after, check = reduce(sum, share) / reduce(sum, count_of))
  }
)";
  for (const int n : kReplicas) same(program, mirrored(n), kBatches);
}

TEST_CASE("sharded strategies mean the same") {
  for (const int n : kReplicas) {
    same(kClassifier, "sharded_optimizer(replicas = " + std::to_string(n) + ")", kBatches);
    same(kClassifier, "fully_sharded(replicas = " + std::to_string(n) + ")", kBatches);
  }
}

TEST_CASE("embeddings, attention and repetition") {
  const std::string program = R"(
dataset Texts {
  train = synthetic(48, seed = 1, fields = { words = integers(0, 3, [4]), label = integers(0, 3, []) })
  batch = 12
}
layer block (heads: int) (x: f32[batch, time, width]) -> f32[batch, time, width] {
  let normed = x |> layer_norm()
  let q = normed |> dense(width) |> split_heads(heads)
  let k = normed |> dense(width) |> split_heads(heads)
  x + (attention(q, k, q, causal = true) |> merge_heads())
}
model M (words: i64[batch, time]) -> f32[batch, 3] {
  let x = embedding(3, width = 4)(words) |> repeat(2, block(2))
  mean(x, axis = 1) |> dense(3)
}
train {
  data = Texts
  model = M
  epochs = 1
  loss = mean(sparse_cross_entropy(prediction, label))
  optimizer = adamw(cosine_decay(1e-2, steps = 20, warmup = 2))
)";
  for (const int n : {1, 2, 3, 8}) same(program, mirrored(n), {12, 5, 1});
}

TEST_CASE("two mesh axes that both split the batch") {
  const std::string program =
      "strategy both (rows: int, columns: int) {\n  mesh = { outer = rows, inner = columns }\n  batch = split(over = [outer, inner])\n  "
      "weights = broadcast\n}\n" +
      kClassifier;
  same(program, "both(rows = 2, columns = 2)", kBatches);
  same(program, "both(rows = 2, columns = 3)", kBatches);
}
