// The shared part of the tests of passes.
#include "passes_testing.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "compiler/graph/builder.h"

namespace dtl::transform::test {

using graph::Builder;
using graph::Graph;
using graph::Role;
using graph::ValueId;
using types::Dim;
using types::Placement;

Graph parsed(const std::string& text) {
  std::string error;
  auto graph = graph::parse(text, ops::table(), &error);
  CAPTURE(text, error);
  REQUIRE(graph);
  return *graph;
}

Graph after(Graph graph, const std::vector<std::string>& passes) {
  for (const std::string& name : passes) {
    bool found = false;
    for (const Pass& pass : pipeline()) {
      if (pass.name != name) continue;
      auto result = run_pass(pass, graph, ops::table());
      if (!result) FAIL(result.error().text);
      graph = std::move(*result);
      found = true;
    }
    REQUIRE(found);
  }
  return graph;
}

std::string place_error(const Graph& graph) {
  for (const Pass& pass : pipeline()) {
    if (pass.name != "place") continue;
    const auto result = run_pass(pass, graph, ops::table());
    return result ? std::string() : result.error().text;
  }
  return "no pass place";
}

namespace {

graph::FunctionId function_named(const Graph& graph, const std::string& name) {
  const auto function = graph.find_function(name);
  REQUIRE(function);
  return *function;
}

}  // namespace

std::vector<graph::Array> some_params(const Graph& graph, const std::string& name, const Sizes& dims) {
  uint64_t state = 12345;
  const auto next = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  std::vector<graph::Array> params;
  for (const graph::Port& port : graph[function_named(graph, name)].params) {
    const types::TensorType& type = graph[port.value].type;
    graph::Array array{type.dtype, {}, {}};
    int64_t count = 1;
    for (const Dim& dim : type.dims) {
      array.shape.push_back(dim.evaluate(dims));
      count *= array.shape.back();
    }
    for (int64_t i = 0; i < count; ++i)
      array.data.push_back(is_float(type.dtype) ? 2 * next() - 1 : std::floor(next() * (type.dtype == DType::boolean ? 2 : 4)));
    params.push_back(std::move(array));
  }
  return params;
}

std::vector<graph::Array> run(const Graph& graph, const std::string& name, const std::vector<graph::Array>& params, const Sizes& dims) {
  return graph::interpret(graph, ops::table(), function_named(graph, name), params, dims);
}

double difference(const std::vector<graph::Array>& expected, const std::vector<graph::Array>& actual) {
  REQUIRE(expected.size() == actual.size());
  double largest = 0;
  for (size_t k = 0; k < expected.size(); ++k) {
    REQUIRE(expected[k].shape == actual[k].shape);
    double norm = 0, off = 0;
    for (size_t i = 0; i < expected[k].data.size(); ++i) {
      const double a = expected[k].data[i], b = actual[k].data[i];
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? largest : INFINITY;
      if (a == b) continue;  // infinities too
      norm += a * a;
      off += (a - b) * (a - b);
    }
    if (off > 0) largest = std::max(largest, std::sqrt(off) / std::max(1.0, std::sqrt(norm)));
  }
  return largest;
}

Graph under(Graph graph, const Placing& placing) {
  graph.strategy = {};
  for (size_t axis = 0; axis < placing.mesh.size(); ++axis)
    graph.strategy.mesh.axes.push_back({axis == 0 ? "data" : "model", placing.mesh[axis]});
  graph.strategy.batch = placing.batch;
  graph.strategy.weights = placing.weights;
  graph.strategy.gradients = placing.gradients;
  graph.strategy.optimizer = placing.optimizer;
  graph.strategy.communication.first_bucket = 64;
  graph.strategy.communication.bucket = 256;
  return graph;
}

std::vector<Placing> placings() {
  const Placement all = Placement::broadcast(), rows = Placement::split(0), columns = Placement::split(1);
  std::vector<Placing> list;
  for (const int64_t n : {1, 2, 3, 4, 8}) {
    list.push_back({{n}, {rows}, {all}, {all}, {all}});
    list.push_back({{n}, {rows}, {all}, {rows}, {rows}});  // gradients and optimizer in parts
    list.push_back({{n}, {rows}, {all}, {all}, {rows}});
    list.push_back({{n}, {rows}, {rows}, {rows}, {rows}});  // weights too
    list.push_back({{n}, {rows}, {columns}, {columns}, {columns}});
  }
  list.push_back({{2, 3}, {rows, rows}, {all, all}, {all, all}, {all, all}});
  list.push_back({{2, 3}, {rows, rows}, {all, all}, {all, rows}, {all, rows}});
  list.push_back({{2, 3}, {rows, rows}, {all, all}, {rows, rows}, {rows, rows}});
  list.push_back({{2, 2}, {rows, rows}, {all, all}, {rows, columns}, {columns, rows}});
  list.push_back({{3, 2}, {rows, all}, {all, columns}, {all, columns}, {all, columns}});  // tensor parallel
  list.push_back({{3, 2}, {rows, all}, {all, rows}, {all, rows}, {all, rows}});
  list.push_back({{2, 2}, {all, rows}, {rows, all}, {rows, rows}, {all, rows}});
  list.push_back({{2}, {all}, {all}, {all}, {rows}});
  return list;
}

std::string str(const Placing& placing) {
  return fmt::format("mesh {}, batch {}, weights {}, gradients {}, optimizer {}", fmt::join(placing.mesh, " x "), types::str(placing.batch),
                     types::str(placing.weights), types::str(placing.gradients), types::str(placing.optimizer));
}

Graph classifier_step() {
  Graph graph;
  graph.bounds = {{"batch", 16}};
  graph.functions.push_back({"train_step", {}, {}, {}});
  Builder b(ops::table(), graph, {0});
  const Dim batch = Dim::symbol("batch");
  const DType f64 = DType::f64;
  const int64_t features = 6, hidden = 5, classes = 4;
  const auto spread = [&](ValueId x, types::Dims shape, types::Ints dims) {
    return b.add("broadcast", {x}, {{"shape", shape}, {"dims", dims}});
  };
  const auto number = [&](double value, types::Dims shape) { return spread(b.constant(value, f64), shape, {}); };
  const auto reduce = [&](ReduceOp op, ValueId x, types::Ints axes, const std::string& name) {
    return b.add("reduce", {x}, {{"op", op}, {"axes", axes}}, name);
  };

  const ValueId image = b.param("image", {f64, {batch, features}}, Role::input, "image");
  const ValueId label = b.param("label", {DType::i64, {batch}}, Role::input, "label");
  const std::vector<types::Dims> shapes = {{features, hidden}, {hidden}, {hidden, classes}, {classes}};
  const std::vector<std::string> paths = {"first/kernel", "first/bias", "second/kernel", "second/bias"};
  std::vector<ValueId> weights, moments;
  for (size_t i = 0; i < 4; ++i) weights.push_back(b.param(paths[i], {f64, shapes[i]}, Role::weight, paths[i]));
  for (size_t i = 0; i < 4; ++i) moments.push_back(b.param(paths[i] + ".m", {f64, shapes[i]}, Role::optimizer, paths[i] + ":m"));
  const ValueId sum_before = b.param("loss.0", {f64, {}}, Role::metric, "train/loss.0"),
                count_before = b.param("loss.1", {f64, {}}, Role::metric, "train/loss.1");
  const ValueId worst_before = b.param("worst.0", {f64, {}}, Role::metric, "train/worst.0", identity_of(ReduceOp::max));
  const ValueId updates = b.param("updates", {DType::i64, {}}, Role::updates), seed = b.param("seed", {DType::i64, {}}, Role::seed);

  const auto dense = [&](ValueId x, size_t layer, int64_t width) {
    const ValueId y = b.add("matmul", {x, weights[2 * layer]}, {{"transpose_a", false}, {"transpose_b", false}});
    return b.add("add", {y, spread(weights[2 * layer + 1], {batch, width}, {1})});
  };
  const types::Dims wide = {batch, hidden}, narrow = {batch, classes};
  const ValueId h = b.add("maximum", {dense(image, 0, hidden), number(0, wide)}, {}, "relu");
  const ValueId random = b.add("uniform", {seed, updates}, {{"shape", wide}, {"stream", int64_t{3}}, {"dtype", f64}});
  const ValueId kept = b.add("less", {number(0.25, wide), random}, {}, "kept");
  const ValueId dropped = b.add("select", {kept, b.add("divide", {h, number(0.75, wide)}), number(0, wide)}, {}, "dropout");
  const ValueId logits = dense(dropped, 1, classes);

  const ValueId top = b.add("stop_gradient", {reduce(ReduceOp::max, logits, {1}, "top")});
  const ValueId shifted = b.add("subtract", {logits, spread(top, narrow, {0})}, {}, "shifted");
  const ValueId log_sum = b.add("log", {reduce(ReduceOp::sum, b.add("exp", {shifted}), {1}, "sum")});
  const ValueId index = b.add("iota", {}, {{"shape", narrow}, {"axis", int64_t{1}}, {"dtype", DType::i64}});
  const ValueId hit = b.add("equal", {index, spread(label, narrow, {0})}, {}, "hit");
  const ValueId picked = reduce(ReduceOp::sum, b.add("select", {hit, shifted, number(0, narrow)}), {1}, "picked");
  const ValueId per_example = b.add("subtract", {log_sum, picked}, {}, "per_example");
  const ValueId total = reduce(ReduceOp::sum, per_example, {0}, "total");
  const ValueId count = b.add("size", {}, {{"dim", types::Dims{batch}}, {"dtype", f64}}, "count");
  const ValueId loss = b.add("divide", {total, count}, {}, "loss");

  const ValueId next = b.add("add", {updates, b.constant(1, DType::i64)}, {}, "updates");
  std::vector<ValueId> by = {loss};
  by.insert(by.end(), weights.begin(), weights.end());
  const std::vector<ValueId> gradients = b.add_multi("gradient", by);
  for (size_t i = 0; i < 4; ++i) {
    const ValueId g = b.add("pin", {gradients[i]}, {{"role", std::string("gradients")}}, paths[i] + "/gradient");
    const ValueId m = b.add("add", {b.add("multiply", {number(0.9, shapes[i]), moments[i]}), g}, {}, paths[i] + ".m");
    const ValueId w = b.add("subtract", {weights[i], b.add("multiply", {number(0.1, shapes[i]), m})}, {}, paths[i]);
    b.result(w, Role::weight, paths[i]);
    b.result(m, Role::optimizer, paths[i] + ":m");
  }
  b.result(b.add("add", {sum_before, total}), Role::metric, "train/loss.0");
  b.result(b.add("add", {count_before, count}), Role::metric, "train/loss.1");
  b.result(b.add("maximum", {worst_before, reduce(ReduceOp::max, per_example, {0}, "worst")}), Role::metric, "train/worst.0");
  b.result(next, Role::updates);
  return graph;
}

}  // namespace dtl::transform::test
