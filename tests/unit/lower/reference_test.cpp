// The standard library against PyTorch, in the interpreter, in f64: values, gradients, states; paths of optimizers; rates of schedules.
#include "reference_testing.h"

using namespace dtl;
using namespace dtl::testing;
using Catch::Detail::Approx;

namespace {

constexpr double kTolerance = 1e-10;

void agree(const std::string& file) {
  const Runner interpreter = [](const graph::Graph& graph, const std::string& function, const std::vector<graph::Array>& params) {
    return graph::interpret(graph, ops::table(), *graph.find_function(function), params, {{"batch", 1}});
  };
  for (const nlohmann::json& found : reference(file)) agrees_with_reference(found, DType::f64, kTolerance, interpreter);
}

/// A weight of n numbers that is given its gradients.
std::string path_program(const std::string& optimizer, size_t n) {
  const std::string shape = std::to_string(n);
  return "dataset Points {\n  train = synthetic(1, fields = { g = normal([" + shape +
         "]) })\n  batch = 1\n}\n"
         "model M (g: f32[batch, " +
         shape + "]) -> f32[] {\n  weight w: f32[" + shape +
         "] = zeros\n  sum(g * w)\n}\n"
         "train {\n  model = M\n  data = Points\n  loss = prediction\n  optimizer = " +
         optimizer + "\n  epochs = 1\n  precision = f64\n}\n";
}

}  // namespace

TEST_CASE("activations are PyTorch's") { agree("activations"); }
TEST_CASE("losses are PyTorch's") { agree("losses"); }
TEST_CASE("layers are PyTorch's") { agree("layers"); }
TEST_CASE("convolutions, pooling and group norms are PyTorch's") { agree("images"); }
TEST_CASE("recurrent layers are PyTorch's") { agree("recurrent"); }

TEST_CASE("optimizers take PyTorch's path") {
  for (const nlohmann::json& found : reference("optimizers")) {
    INFO(found["optimizer"].get<std::string>());
    const graph::Array gradients = array_of(found["gradients"], DType::f64), path = array_of(found["path"], DType::f64);
    const auto n = static_cast<size_t>(path.shape[1]);
    Run run(lowered(path_program(found["optimizer"], n)));
    run.weight("M/w").data = found["start"]["data"].get<std::vector<double>>();
    for (size_t t = 0; t < static_cast<size_t>(path.shape[0]); ++t) {
      CAPTURE(t);
      const auto row = [&](const graph::Array& all) {
        const auto begin = all.data.begin() + static_cast<std::ptrdiff_t>(t * n);
        return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(n));
      };
      run.train({{"g", array({1, static_cast<int64_t>(n)}, row(gradients), DType::f64)}});
      CHECK(difference(run.weight("M/w").data, row(path)) < kTolerance);
    }
  }
}

TEST_CASE("schedules have PyTorch's rates") {
  for (const nlohmann::json& found : reference("schedules")) {
    INFO(found["schedule"].get<std::string>());
    const auto rates = found["rates"]["data"].get<std::vector<double>>();
    // With gradients of 1 and no momentum a weight moves by the rate.
    Run run(lowered(path_program("sgd(" + found["schedule"].get<std::string>() + ")", 1)));
    double before = run.weight("M/w").data[0];
    for (size_t t = 0; t < rates.size(); ++t) {
      CAPTURE(t);
      run.train({{"g", array({1, 1}, {1}, DType::f64)}});
      CHECK(before - run.weight("M/w").data[0] == Approx(rates[t]).margin(1e-9));
      before = run.weight("M/w").data[0];
    }
  }
}
