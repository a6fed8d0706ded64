// Loops over time, by the numbers: scan against closed forms, recurrent layers against loops written here, gradients against
// differences.
#include "program_testing.h"

using namespace dtl;
using namespace dtl::testing;
using Catch::Detail::Approx;

namespace {

constexpr int64_t kRows = 2, kTime = 3, kWidth = 2;

/// A program whose prediction is `body` of x: f64[batch, 3, 2]; the loss is its sum of squares, a step moves by the gradient.
graph::Graph of_model(const std::string& body) {
  return lowered(R"(
dataset Series {
  train = synthetic(8, fields = { x = normal([3, 2]) })
  batch = 2
}
model M (x: float[batch, time, width]) -> float[...] {
)" + body + R"(
}
train {
  model     = M
  data      = Series
  loss      = sum(square(prediction))
  optimizer = sgd(1.0)
  epochs    = 1
  precision = f64
}
)");
}

graph::Array series() {
  graph::Array x = noise({kRows, kTime, kWidth}, 3);
  x.dtype = DType::f64;
  return x;
}
double x_at(const graph::Array& x, int64_t row, int64_t time, int64_t column) {
  return x.data[static_cast<size_t>((row * kTime + time) * kWidth + column)];
}

using Weights = std::map<std::string, std::vector<double>>;
/// The loss by a loop written out, of weights by name.
using Loss = std::function<double(const graph::Array& x, const Weights& weights)>;

/// The loss is the formula's, the step of every weight that of its differences.
void agrees(const std::string& body, const std::string& instance, const std::vector<std::string>& names, const Loss& formula) {
  CAPTURE(body);
  const graph::Graph graph = of_model(body);
  Run run(graph);
  const graph::Array x = series();
  Weights weights;
  for (const std::string& name : names) {
    graph::Array& weight = run.weight(instance + name);
    const graph::Array moved = noise(weight.shape, name.size());
    for (size_t i = 0; i < moved.data.size(); ++i) weight.data[i] += 0.3 * moved.data[i];
    weights[name] = weight.data;
  }
  run.start();
  run.train({{"x", x}});
  CHECK(run.report("train/loss") == Approx(formula(x, weights)).epsilon(1e-9));
  for (const std::string& name : names) {
    for (size_t i = 0; i < weights[name].size(); ++i) {
      CAPTURE(name, i);
      Weights up = weights, down = weights;
      up[name][i] += 1e-5;
      down[name][i] -= 1e-5;
      const double expected = (formula(x, up) - formula(x, down)) / 2e-5;
      CHECK(weights[name][i] - run.weight(instance + name).data[i] == Approx(expected).epsilon(1e-6).margin(1e-7));
    }
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// input · kernel + bias, the kernel of `columns` columns.
std::vector<double> affine(const std::vector<double>& input, const std::vector<double>& kernel, const std::vector<double>& bias) {
  std::vector<double> result = bias;
  for (size_t i = 0; i < input.size(); ++i) {
    for (size_t c = 0; c < bias.size(); ++c) result[c] += input[i] * kernel[i * bias.size() + c];
  }
  return result;
}

std::vector<double> entry(const graph::Array& x, int64_t row, int64_t time) { return {x_at(x, row, time, 0), x_at(x, row, time, 1)}; }

double squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

constexpr size_t kUnits = 2;

Loss lstm_loss(bool sequences) {
  return [sequences](const graph::Array& x, const Weights& w) {
    double loss = 0;
    for (int64_t row = 0; row < kRows; ++row) {
      std::vector<double> h(kUnits), c(kUnits);
      for (int64_t time = 0; time < kTime; ++time) {
        const auto gates = affine(h, w.at("recurrent_kernel"), affine(entry(x, row, time), w.at("kernel"), w.at("bias")));
        for (size_t u = 0; u < kUnits; ++u) {
          const double i = sigmoid(gates[u]), f = sigmoid(gates[kUnits + u]), g = std::tanh(gates[2 * kUnits + u]);
          c[u] = f * c[u] + i * g;
          h[u] = sigmoid(gates[3 * kUnits + u]) * std::tanh(c[u]);
        }
        if (sequences) loss += squares(h);
      }
      if (!sequences) loss += squares(h);
    }
    return loss;
  };
}

double gru_loss(const graph::Array& x, const Weights& w) {
  double loss = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    std::vector<double> h(kUnits);
    for (int64_t time = 0; time < kTime; ++time) {
      const auto a = affine(entry(x, row, time), w.at("kernel"), w.at("bias"));
      const auto b = affine(h, w.at("recurrent_kernel"), w.at("recurrent_bias"));
      for (size_t u = 0; u < kUnits; ++u) {
        const double z = sigmoid(a[u] + b[u]), r = sigmoid(a[kUnits + u] + b[kUnits + u]);
        h[u] = z * h[u] + (1 - z) * std::tanh(a[2 * kUnits + u] + r * b[2 * kUnits + u]);
      }
    }
    loss += squares(h);
  }
  return loss;
}

/// Backwards in time.
double rnn_loss(const graph::Array& x, const Weights& w) {
  double loss = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    std::vector<double> h(kUnits);
    for (int64_t time = kTime; time-- > 0;) {
      h = affine(h, w.at("recurrent_kernel"), affine(entry(x, row, time), w.at("kernel"), w.at("bias")));
      for (double& value : h) value = std::tanh(value);
    }
    loss += squares(h);
  }
  return loss;
}

}  // namespace

TEST_CASE("recurrent layers are their formulas, and so are their gradients") {
  agrees("lstm(2)(x)", "M/lstm.0/", {"kernel", "recurrent_kernel", "bias"}, lstm_loss(false));
  agrees("lstm(2, return_sequences = true)(x)", "M/lstm.0/", {"kernel", "recurrent_kernel", "bias"}, lstm_loss(true));
  agrees("gru(2)(x)", "M/gru.0/", {"kernel", "recurrent_kernel", "bias", "recurrent_bias"}, gru_loss);
  agrees("rnn(2, reverse = true)(x)", "M/rnn.0/", {"kernel", "recurrent_kernel", "bias"}, rnn_loss);
}

TEST_CASE("the forget gate of an lstm starts open") {
  Run run(of_model("lstm(2)(x)"));
  CHECK(run.weight("M/lstm.0/bias").data == std::vector<double>{0, 0, 1, 1, 0, 0, 0, 0});
}

TEST_CASE("a scan is the loop it says") {
  // Discounted sums of w · x, from either end; the loss of all of them.
  const auto discounted = [](bool reverse) {
    return [reverse](const graph::Array& x, const Weights& w) {
      double loss = 0;
      for (int64_t row = 0; row < kRows; ++row) {
        for (int64_t column = 0; column < kWidth; ++column) {
          double sum = 0;
          for (int64_t turn = 0; turn < kTime; ++turn) {
            sum = 0.5 * sum + w.at("w")[static_cast<size_t>(column)] * x_at(x, row, reverse ? kTime - 1 - turn : turn, column);
            // Each is weighted by the time it belongs to.
            loss += sum * sum * static_cast<double>((reverse ? kTime - 1 - turn : turn) + 1);
          }
        }
      }
      return loss;
    };
  };
  const std::string weighted = "  all * sqrt(1.0 + cast(iota([time, 2], axis = 0), f64))";
  for (const bool reverse : {false, true}) {
    agrees(
        "  weight w: float[2] = ones\n  let (last, all) = scan(0 * x[.., 0], x, (s, v) => (0.5 * s + w * v, 0.5 * s + w * v), reverse = " +
            std::string(reverse ? "true" : "false") + ")\n" + weighted,
        "M/", {"w"}, discounted(reverse));
  }
  // Tuples and records of states and inputs, another axis, nothing made; only the last state counts: (Σx)² and w · Σx · t.
  agrees(R"(  weight w: float[2] = ones
  let turned = transpose(x, [1, 0, 2])
  let (last, none_made) = scan({ sum = 0 * x[.., 0], pair = (0 * x[.., 0], 0 * x[.., 0]) }, (turned, turned),
    (s, v) => ({ sum = s.sum + w * v[0], pair = (s.pair[0] + v[1], s.sum) }, none), axis = 0)
  last.sum + last.pair[0])",
         "M/", {"w"}, [](const graph::Array& x, const Weights& w) {
           double loss = 0;
           for (int64_t row = 0; row < kRows; ++row) {
             for (int64_t column = 0; column < kWidth; ++column) {
               double sum = 0;
               for (int64_t time = 0; time < kTime; ++time) sum += x_at(x, row, time, column);
               loss += squares({sum + w.at("w")[static_cast<size_t>(column)] * sum});
             }
           }
           return loss;
         });
}

TEST_CASE("a layer in the body of a scan is one instance at all steps, and calls after it are others") {
  Run run(of_model(R"(  let (h, all) = scan(0 * x[.., 0], x, (h, v) => (tanh(dense(2)(h) + dense(2, use_bias = false)(v)), none))
  dense(2)(h))"));
  std::vector<std::string> weights;
  for (const auto& [key, value] : run.values()) {
    if (key.first == graph::Role::weight) weights.push_back(key.second);
  }
  CHECK(weights ==
        std::vector<std::string>{"M/dense.0/bias", "M/dense.0/kernel", "M/dense.1/kernel", "M/dense.2/bias", "M/dense.2/kernel"});
}
