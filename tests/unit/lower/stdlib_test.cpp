// The standard library, by the numbers: each function against its formula written here, gradients against differences.
#include <functional>

#include "program_testing.h"

using namespace dtl;
using namespace dtl::testing;
using Catch::Detail::Approx;

namespace {

/// A program whose loss is `expression` of one example's `x` (moved by a weight, so that it has a gradient) and `t`.
graph::Graph of_expression(const std::string& expression, const std::string& shape) {
  return lowered("dataset Points {\n  train = synthetic(4, seed = 1, fields = { a = normal([" + shape + "]), t = normal([" + shape +
                 "]), label = integers(0, 4, []) })\n" + "  batch = 4\n}\n" + "model M (a: f32[batch, " + shape + "], t: f32[batch, " +
                 shape + "], label: i64[batch]) -> f32[batch] {\n" + "  weight w: f32[" + shape + "] = zeros\n  let x = a + w\n  " +
                 expression + "\n}\n" +
                 "train {\n  model = M\n  data = Points\n  loss = sum(prediction)\n  optimizer = sgd(1.0)\n  epochs = 1\n}\n");
}

struct Measured {
  double value;
  std::vector<double> gradient;
};

Measured measure(const graph::Graph& graph, const std::vector<double>& x, const std::vector<double>& t, int label = 0) {
  Run run(graph);
  const auto n = static_cast<int64_t>(x.size());
  run.train({{"a", array({1, n}, x)}, {"t", array({1, n}, t)}, {"label", array({1}, {static_cast<double>(label)}, DType::i64)}});
  Measured result{run.report("train/loss"), run.weight("M/w").data};
  for (double& g : result.gradient) g = -g;
  return result;
}

using Formula = std::function<double(const std::vector<double>& x, const std::vector<double>& t, int label)>;

/// The value is the formula's, the gradient that of its differences.
void agrees(const std::string& expression, const std::vector<std::vector<double>>& xs, const std::vector<double>& t,
            const Formula& formula) {
  const graph::Graph graph = of_expression(expression, std::to_string(t.size()));
  for (const std::vector<double>& x : xs) {
    for (int label = 0; label < (expression.find("label") != std::string::npos ? static_cast<int>(t.size()) : 1); ++label) {
      CAPTURE(expression, x, label);
      const Measured measured = measure(graph, x, t, label);
      CHECK(measured.value == Approx(formula(x, t, label)).margin(1e-6));
      for (size_t i = 0; i < x.size(); ++i) {
        std::vector<double> up = x, down = x;
        up[i] += 1e-5;
        down[i] -= 1e-5;
        CHECK(measured.gradient[i] == Approx((formula(up, t, label) - formula(down, t, label)) / 2e-5).margin(1e-5));
      }
    }
  }
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double erf_gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double log_sum(const std::vector<double>& x) {
  double sum = 0, top = *std::max_element(x.begin(), x.end());
  for (const double v : x) sum += std::exp(v - top);
  return top + std::log(sum);
}

const std::vector<std::vector<double>> kLine = {{-7}, {-3.5}, {-1.1}, {-0.3}, {0.4}, {2.5}, {7}};

}  // namespace

TEST_CASE("activations are their formulas, and so are their gradients") {
  const std::vector<std::pair<std::string, std::function<double(double)>>> rows = {
      {"relu(x)", [](double x) { return std::max(x, 0.0); }},
      {"relu6(x)", [](double x) { return std::clamp(x, 0.0, 6.0); }},
      {"leaky_relu(x, alpha = 0.2)", [](double x) { return x > 0 ? x : 0.2 * x; }},
      {"elu(x)", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"selu(x)", [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }},
      {"gelu(x)", erf_gelu},
      {"gelu_tanh(x)", [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
      {"silu(x)", [](double x) { return x * sigmoid(x); }},
      {"softplus(x)", softplus},
      {"softsign(x)", [](double x) { return x / (1 + std::abs(x)); }},
      {"mish(x)", [](double x) { return x * std::tanh(softplus(x)); }},
      {"hard_sigmoid(x)", [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"hard_silu(x)", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"hard_tanh(x)", [](double x) { return std::clamp(x, -1.0, 1.0); }},
  };
  for (const auto& [name, formula] : rows) {
    agrees("sum(" + name + ", axis = 1)", kLine, {0}, [&](const auto& x, const auto&, int) { return formula(x[0]); });
  }
}

TEST_CASE("gradients at a kink are PyTorch's") {
  const std::vector<std::pair<std::string, double>> rows = {
      {"relu(x)", 0},       {"relu6(x)", 0}, {"leaky_relu(x)", 0.01},     {"elu(x)", 1},
      {"softplus(x)", 0.5}, {"abs(x)", 0},   {"absolute_error(x, t)", 0}, {"sigmoid_cross_entropy(x, t)", 0.5}};
  for (const auto& [expression, expected] : rows) {
    CAPTURE(expression);
    CHECK(measure(of_expression("sum(" + expression + ", axis = 1)", "1"), {0}, {0}).gradient[0] == expected);
  }
  CHECK(std::isnan(measure(of_expression("sum(relu(x), axis = 1)", "1"), {NAN}, {0}).value));
}

TEST_CASE("softmax and its kin do not overflow") {
  const std::vector<std::vector<double>> xs = {{0.1, -0.4, 1.2}, {500, 499, -800}};
  const std::vector<double> t = {0.2, 0.5, 0.3};
  agrees("sum(softmax(x) * t, axis = 1)", xs, t, [](const auto& x, const auto& w, int) {
    double sum = 0;
    for (size_t i = 0; i < 3; ++i) sum += w[i] * std::exp(x[i] - log_sum(x));
    return sum;
  });
  agrees("sum(log_softmax(x) * t, axis = 1)", xs, t, [](const auto& x, const auto& w, int) {
    double sum = 0;
    for (size_t i = 0; i < 3; ++i) sum += w[i] * (x[i] - log_sum(x));
    return sum;
  });
  agrees("log_sum_exp(x, axis = 1)", xs, t, [](const auto& x, const auto&, int) { return log_sum(x); });
}

TEST_CASE("losses are their formulas, and so are their gradients") {
  const std::vector<std::vector<double>> xs = {{0.1, -0.4, 1.2}, {-3, 0.6, 0.7}, {60, -60, 0.5}};
  const std::vector<double> t = {0.2, 0.5, 0.3};
  agrees("sparse_cross_entropy(x, label)", xs, t,
         [](const auto& x, const auto&, int label) { return log_sum(x) - x[static_cast<size_t>(label)]; });
  agrees("cross_entropy(x, t)", xs, t, [](const auto& x, const auto& w, int) {
    double sum = 0;
    for (size_t i = 0; i < 3; ++i) sum += w[i] * (log_sum(x) - x[i]);
    return sum;
  });
  const std::vector<std::pair<std::string, std::function<double(double, double)>>> rows = {
      {"sigmoid_cross_entropy(x, t)", [](double x, double y) { return softplus(x) - x * y; }},
      {"squared_error(x, t)", [](double x, double y) { return (x - y) * (x - y); }},
      {"absolute_error(x, t)", [](double x, double y) { return std::abs(x - y); }},
      {"huber(x, t)", [](double x, double y) { return std::abs(x - y) < 1 ? 0.5 * (x - y) * (x - y) : std::abs(x - y) - 0.5; }},
      {"log_cosh(x, t)", [](double x, double y) { return std::log(std::cosh(x - y)); }},
      {"hinge(x, t)", [](double x, double y) { return std::max(0.0, 1 - x * y); }},
  };
  for (const auto& [name, formula] : rows) {
    agrees("sum(" + name + ", axis = 1)", xs, t, [&](const auto& x, const auto& y, int) {
      double sum = 0;
      for (size_t i = 0; i < 3; ++i) sum += formula(x[i], y[i]);
      return sum;
    });
  }
}

TEST_CASE("norms give mean 0 and variance 1") {
  const auto normed = [](const std::vector<double>& x, bool centre, double epsilon) {
    double mean = 0, square = 0;
    for (const double v : x) mean += centre ? v / static_cast<double>(x.size()) : 0;
    for (const double v : x) square += (v - mean) * (v - mean) / static_cast<double>(x.size());
    std::vector<double> y;
    for (const double v : x) y.push_back((v - mean) / std::sqrt(square + epsilon));
    return y;
  };
  const std::vector<double> t = {0.2, 0.5, 0.3};
  for (const bool centre : {true, false}) {
    agrees(std::string("sum((x |> ") + (centre ? "layer_norm" : "rms_norm") + "()) * t, axis = 1)", {{0.1, -0.4, 1.2}, {3, 3, 4}}, t,
           [&](const auto& x, const auto& w, int) {
             const std::vector<double> y = normed(x, centre, centre ? 1e-5 : 1e-6);
             return y[0] * w[0] + y[1] * w[1] + y[2] * w[2];
           });
  }
}

namespace {

/// The first weight after each of five steps, the gradient of step k being `gradients[k]`.
std::vector<double> path_of(const std::string& optimizer, const std::vector<double>& gradients) {
  Run run(
      lowered("dataset Points {\n  train = synthetic(4, seed = 1, fields = { x = normal([]) })\n  batch = 4\n}\n"
              "model M (x: f32[batch]) -> f32[batch] {\n  weight w: f32[] = 0.5\n  x * w\n}\n"
              "train {\n  model = M\n  data = Points\n  loss = mean(prediction)\n  optimizer = " +
              optimizer + "\n  epochs = 1\n}\n"));
  std::vector<double> path;
  for (const double g : gradients) {
    run.train({{"x", array({1}, {g})}});
    path.push_back(run.weight("M/w").data[0]);
  }
  return path;
}

void follows(const std::string& optimizer, const std::function<double(double w, double g, int t)>& rule) {
  const std::vector<double> gradients = {0.5, -0.2, 0.9, 0.01, -3};
  double w = 0.5;
  const std::vector<double> path = path_of(optimizer, gradients);
  for (size_t i = 0; i < gradients.size(); ++i) {
    CAPTURE(optimizer, i);
    w = rule(w, gradients[i], static_cast<int>(i) + 1);
    CHECK(path[i] == Approx(w).epsilon(1e-9));
  }
}

}  // namespace

TEST_CASE("optimizers move as PyTorch's do") {
  follows("sgd(0.1)", [](double w, double g, int) { return w - 0.1 * g; });
  double v = 0, m = 0, s = 0;
  follows("sgd(0.1, momentum = 0.9)", [&](double w, double g, int) { return w - 0.1 * (v = 0.9 * v + g); });
  v = 0;
  follows("sgd(0.1, momentum = 0.9, nesterov = true)", [&](double w, double g, int) { return w - 0.1 * (g + 0.9 * (v = 0.9 * v + g)); });
  const auto adam = [&](double decay) {
    m = s = 0;
    return [&m, &s, decay](double w, double g, int t) {
      m = 0.9 * m + 0.1 * g;
      s = 0.999 * s + 0.001 * g * g;
      const double direction = m / (1 - std::pow(0.9, t)) / (std::sqrt(s / (1 - std::pow(0.999, t))) + 1e-8);
      return w - 0.01 * (direction + decay * w);
    };
  };
  follows("adam(0.01)", adam(0));
  follows("adamw(0.01, weight_decay = 0.1)", adam(0.1));
  s = 0;
  follows("adagrad(0.05)", [&](double w, double g, int) { return w - 0.05 * g / (std::sqrt(s += g * g) + 1e-10); });
  s = 0;
  follows("rmsprop(0.01)", [&](double w, double g, int) { return w - 0.01 * g / (std::sqrt(s = 0.99 * s + 0.01 * g * g) + 1e-8); });
  s = v = 0;
  follows("rmsprop(0.01, momentum = 0.5)",
          [&](double w, double g, int) { return w - 0.01 * (v = 0.5 * v + g / (std::sqrt(s = 0.99 * s + 0.01 * g * g) + 1e-8)); });
}

TEST_CASE("schedules give the rate of each update") {
  const auto rates = [](const std::string& schedule) {
    std::vector<double> path = path_of("sgd(" + schedule + ")", {1, 1, 1, 1, 1, 1, 1, 1}), result;
    double before = 0.5;
    for (const double w : path) {
      result.push_back(before - w);
      before = w;
    }
    return result;
  };
  const auto equal = [&](const std::string& schedule, const std::function<double(double)>& formula) {
    const std::vector<double> found = rates(schedule);
    for (size_t i = 0; i < found.size(); ++i) {
      CAPTURE(schedule, i);
      CHECK(found[i] == Approx(formula(static_cast<double>(i) + 1)).margin(1e-9));
    }
  };
  equal("cosine_decay(0.1, steps = 6, warmup = 2)",
        [](double t) { return t < 2 ? 0.1 * t / 2 : 0.05 * (1 + std::cos(M_PI * std::min((t - 2) / 4, 1.0))); });
  equal("cosine_decay(0.1, steps = 5, final = 0.2)",
        [](double t) { return 0.1 * (0.2 + 0.8 * 0.5 * (1 + std::cos(M_PI * std::min(t / 5, 1.0)))); });
  equal("linear_decay(0.1, steps = 6)", [](double t) { return 0.1 * (1 - std::min(t / 6, 1.0)); });
  equal("exponential_decay(0.1, steps = 3, factor = 0.5)", [](double t) { return 0.1 * std::pow(0.5, t / 3); });
  equal("exponential_decay(0.1, steps = 3, factor = 0.5, staircase = true)",
        [](double t) { return 0.1 * std::pow(0.5, std::floor(t / 3)); });
  equal("inverse_square_root(0.1, warmup = 4)", [](double t) { return 0.1 * std::min(t / 4, std::sqrt(4 / t)); });
  equal("piecewise(bounds = [2, 5], rates = [0.3, 0.2, 0.1])", [](double t) { return t <= 2 ? 0.3 : t <= 5 ? 0.2 : 0.1; });
  equal("step => 0.1 / cast(step, f32)", [](double t) { return 0.1 / t; });
}

TEST_CASE("initialisers have their distributions") {
  const auto values = [](const std::string& initialiser) {
    Run run(
        lowered("dataset Points {\n  train = synthetic(4, seed = 1, fields = { x = normal([30]) })\n  batch = 4\n}\n"
                "model M (x: f32[batch, 30]) -> f32[batch, 90] {\n  weight w: f32[30, 90] = " +
                initialiser + "\n  matmul(x, w)\n}\n" +
                "train {\n  model = M\n  data = Points\n  loss = mean(prediction)\n  optimizer = sgd(0.1)\n  epochs = 1\n}\n"));
    return run.weight("M/w").data;
  };
  const auto spread = [&](const std::string& initialiser, double mean, double deviation, double limit) {
    CAPTURE(initialiser);
    const std::vector<double> w = values(initialiser);
    double sum = 0, squares = 0;
    for (const double v : w) {
      sum += v;
      squares += (v - mean) * (v - mean);
      CHECK(std::abs(v - mean) <= limit);
    }
    CHECK(sum / static_cast<double>(w.size()) == Approx(mean).margin(4 * deviation / std::sqrt(2700.0) + 1e-12));
    CHECK(std::sqrt(squares / static_cast<double>(w.size())) == Approx(deviation).epsilon(0.06));
  };
  spread("zeros", 0, 0, 0);
  spread("ones", 1, 0, 0);
  spread("0.25", 0.25, 0, 0);
  spread("constant(0.25)", 0.25, 0, 0);
  spread("uniform(low = -1, high = 3)", 1, 4 / std::sqrt(12.0), 2);
  spread("normal(stddev = 0.02)", 0, 0.02, 0.12);
  spread("normal(mean = 3)", 3, 1, 6);
  spread("glorot_uniform", 0, std::sqrt(2.0 / 120), std::sqrt(6.0 / 120));
  spread("glorot_normal", 0, std::sqrt(2.0 / 120), 1);
  spread("he_uniform", 0, std::sqrt(2.0 / 30), std::sqrt(6.0 / 30));
  spread("he_normal", 0, std::sqrt(2.0 / 30), 2);
  spread("lecun_normal", 0, std::sqrt(1.0 / 30), 2);
  spread("lecun_uniform", 0, std::sqrt(1.0 / 30), std::sqrt(3.0 / 30));
  spread("he_uniform(slope = 1.0)", 0, std::sqrt(1.0 / 30), std::sqrt(3.0 / 30));
  spread("inverse_root_uniform", 0, std::sqrt(1.0 / 90), std::sqrt(1.0 / 30));
  spread("truncated_normal(mean = 1, stddev = 0.5)", 1, 0.5 * 0.87962566103, 1);
  spread("truncated_normal(bound = 4)", 0, 0.99946487, 4);
  spread("orthogonal", 0, std::sqrt(30.0 / 2700), 1);

  const std::vector<double> w = values("orthogonal(gain = 2)");
  for (size_t a = 0; a < 30; ++a) {
    for (size_t b = 0; b < 30; ++b) {
      double product = 0;
      for (size_t k = 0; k < 90; ++k) product += w[90 * a + k] * w[90 * b + k];
      CHECK(product == Approx(a == b ? 4 : 0).margin(1e-5));
    }
  }
}

TEST_CASE("metrics of the library") {
  const std::string program = R"(
dataset Points {
  train      = synthetic(4, seed = 1, fields = { x = normal([3]), label = integers(0, 3, []), t = normal([]) })
  validation = synthetic(4, seed = 1, fields = { x = normal([3]), label = integers(0, 3, []), t = normal([]) })
  batch      = 4
}
model M (x: f32[batch, 3]) -> f32[batch, 3] {
  weight w: f32[3] = ones
  x * w
}
train {
  model = M
  data = Points
  loss = mean(sparse_cross_entropy(prediction, label))
  metrics = {
    accuracy  = accuracy(prediction, label)
    top2      = mean(in_top_k(prediction, label, k = 2))
    precision = precision(prediction[.., 0], t)
    recall    = recall(prediction[.., 0], t)
    r2        = r_squared(prediction[.., 0], t)
    rmse      = root_mean_squared_error(prediction[.., 0], t)
  }
  optimizer = sgd(0.1)
  epochs = 1
}
)";
  Run run(lowered(program));
  const std::vector<double> x = {3, 2, 1, -1, 0, 5, 2, 1, 2, 0.5, 4, 3}, t = {1, 1, 0, 1};
  // In two batches: over an epoch the numbers are those of all examples.
  run.evaluate(
      {{"x", array({3, 3}, {x.begin(), x.begin() + 9})}, {"label", array({3}, {0, 1, 1}, DType::i64)}, {"t", array({3}, {1, 1, 0})}});
  run.evaluate({{"x", array({1, 3}, {x.begin() + 9, x.end()})}, {"label", array({1}, {2}, DType::i64)}, {"t", array({1}, {1})}});
  CHECK(run.report("eval/accuracy") == Approx(1.0 / 4));
  CHECK(run.report("eval/top2") == Approx(3.0 / 4));
  CHECK(run.report("eval/precision") == Approx(2.0 / 3));
  CHECK(run.report("eval/recall") == Approx(2.0 / 3));
  double errors = 0, mean = 0, total = 0;
  for (size_t i = 0; i < 4; ++i) mean += t[i] / 4;
  for (size_t i = 0; i < 4; ++i) {
    errors += (x[3 * i] - t[i]) * (x[3 * i] - t[i]);
    total += (t[i] - mean) * (t[i] - mean);
  }
  CHECK(run.report("eval/r2") == Approx(1 - errors / total));
  CHECK(run.report("eval/rmse") == Approx(std::sqrt(errors / 4)));
}

TEST_CASE("every strategy of the library can be named; what is not there yet says so") {
  const std::string program = R"(
dataset Points {
  train = synthetic(4, seed = 1, fields = { x = normal([2]) })
  batch = 4
}
model M (x: f32[batch, 2]) -> f32[batch] { x |> dense(1) |> squeeze(axis = -1) }
train {
  model = M
  data = Points
  loss = mean(prediction)
  optimizer = sgd(0.1)
  epochs = 1
)";
  for (const char* name : {"one_device()", "mirrored()", "mirrored(replicas = 3, communication = { bucket = 4MB, overlap = false })",
                           "sharded_optimizer(replicas = 2)", "fully_sharded(replicas = 2)"}) {
    const Checked checked = check(program + "  strategy = " + name + "\n}\n");
    INFO(name << "\n" << checked.diagnostics);
    CHECK(checked.program);
  }
  for (const auto& [name, parts] : {std::pair("central_storage()", 1), {"parameter_server()", 2}, {"local_sgd()", 2}}) {
    const Checked checked = check(program + "  strategy = " + name + "\n}\n");
    INFO(name << "\n" << checked.diagnostics);
    REQUIRE(checked.program);
    CHECK(checked.program->strategy.later.size() == static_cast<size_t>(parts));
  }
  const Checked machines = check(program + "  strategy = multi_worker()\n}\n");
  CHECK(!machines.program);
  CHECK(machines.diagnostics.find("not supported yet") != std::string::npos);
  const Checked checked = check(program + "  strategy = mirrored(replicas = 3, communication = { bucket = 4MB, overlap = false })\n}\n");
  REQUIRE(checked.program);
  CHECK(checked.program->strategy.mesh.axes[0].size == 3);
  CHECK(checked.program->strategy.communication.bucket == 4'000'000);
  CHECK(checked.program->strategy.communication.first_bucket == 1'000'000);
  CHECK(!checked.program->strategy.communication.overlap);
}
