// The numbers of tests/reference (see README.md there) as programs: one training step whose gradients tell a case's value and its
// gradients, whoever runs it.
#pragma once

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "program_testing.h"
#include "source_dir.h"

namespace dtl::testing {

/// The cases of one file; each is an object.
inline nlohmann::json reference(const std::string& name) {
  std::ifstream in(std::string(DTL_SOURCE_DIR) + "/tests/reference/" + name + ".json");
  REQUIRE(in);
  return nlohmann::json::parse(in)["cases"];
}

inline graph::Array array_of(const nlohmann::json& tensor, DType dtype) {
  return array(tensor["shape"].get<std::vector<int64_t>>(), tensor["data"].get<std::vector<double>>(), dtype);
}

/// Whoever runs a function of a graph on arrays, in order.
using Runner =
    std::function<std::vector<graph::Array>(const graph::Graph&, const std::string& function, const std::vector<graph::Array>& params)>;

/// Everything is a weight: inputs, integers as floats that are cast, and the cotangent, whose gradient is the value.
inline std::string program_of_case(const nlohmann::json& found, const std::string& precision) {
  std::string body;
  const auto weight = [&](const std::string& name, const nlohmann::json& tensor) {
    body += "  weight " + name + ": f32" + tensor["shape"].dump() + " = zeros\n";
  };
  for (const auto& [name, tensor] : found["inputs"].items()) weight(name, tensor);
  for (const auto& [name, tensor] : found["integers"].items()) {
    weight(name + "_held", tensor);
    body += "  let " + name + " = cast(" + name + "_held, i64)\n";
  }
  weight("cotangent", found["cotangent"]);
  return "dataset Nothing {\n  train = synthetic(1, fields = { a = normal([]) })\n  batch = 1\n}\n"
         "model M (a: f32[batch]) -> f32[] {\n" +
         body + "  let value = " + found["expression"].get<std::string>() +
         "\n  sum(value * cotangent) + 0 * sum(a)\n}\n"
         "train {\n  model = M\n  data = Nothing\n  loss = prediction\n  optimizer = sgd(1.0)\n  epochs = 1\n  precision = " +
         precision + "\n}\n";
}

/// Norm-relative: the largest difference, as a share of the largest number (of at least 1).
inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0, size = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::isfinite(a[i]) ? std::abs(a[i] - b[i]) : INFINITY);
    size = std::max(size, std::abs(b[i]));
  }
  return most / size;
}

/// One case: its value and every gradient, within `tolerance`.
inline void agrees_with_reference(const nlohmann::json& found, DType dtype, double tolerance, const Runner& runner) {
  INFO(found["expression"].get<std::string>());
  const graph::Graph graph = passed(lowered(program_of_case(found, dtype == DType::f64 ? "f64" : "f32")), "");
  const graph::Function& step = graph[*graph.find_function("train_step")];
  std::map<std::string, graph::Array> before;
  const auto start = [&](const char* group, const char* suffix) {
    for (const auto& [name, tensor] : found[group].items()) before["M/" + name + suffix] = array_of(tensor, dtype);
  };
  start("inputs", "");
  start("integers", "_held");
  start("weights", "");
  before["M/cotangent"] = array_of(found["cotangent"], dtype);

  std::vector<graph::Array> params;
  std::set<std::string> used;
  for (const graph::Port& port : step.params) {
    const types::TensorType& type = graph[port.value].type;
    std::vector<int64_t> shape;
    for (const types::Dim& dim : type.dims) shape.push_back(dim.constant().value_or(1));
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    if (port.role == graph::Role::weight) {
      INFO("the case says nothing of the weight " << port.path);
      REQUIRE(before.contains(port.path));
      CHECK(before[port.path].shape == shape);
      params.push_back(before[port.path]);
      used.insert(port.path);
    } else {
      // States begin as layers have them: a running variance at 1, all else at 0.
      const double value = port.path.ends_with("variance") ? 1 : 0;
      params.push_back(array(shape, std::vector<double>(static_cast<size_t>(count), value), type.dtype));
    }
  }
  for (const auto& [path, value] : before) {
    INFO("the program has no weight " << path);
    CHECK(used.contains(path));
  }

  const std::vector<graph::Array> results = runner(graph, "train_step", params);
  REQUIRE(results.size() == step.results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const graph::Port& port = step.results[i];
    const std::string name = port.path.substr(std::min<size_t>(2, port.path.size()));
    CAPTURE(port.path);
    if (port.role == graph::Role::state && found.contains("states")) {
      CHECK(difference(results[i].data, found["states"][name]["data"].get<std::vector<double>>()) < tolerance);
    }
    if (port.role != graph::Role::weight) continue;
    std::vector<double> gradient = before[port.path].data;
    for (size_t k = 0; k < gradient.size(); ++k) gradient[k] -= results[i].data[k];
    const nlohmann::json* expected = name == "cotangent"                 ? &found["value"]
                                     : found["gradients"].contains(name) ? &found["gradients"][name]
                                                                         : nullptr;
    if (expected) {
      CHECK(difference(gradient, (*expected)["data"].get<std::vector<double>>()) < tolerance);
    } else {
      CHECK(difference(gradient, std::vector<double>(gradient.size())) == 0);  // an integer has none
    }
  }
}

}  // namespace dtl::testing
