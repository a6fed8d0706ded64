// What tests of lowering share: a program's text to its graph, and a run of that graph by the interpreter.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/embedded.h"
#include "compiler/graph/interpret.h"
#include "compiler/graph/print.h"
#include "compiler/graph/verify.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/registry.h"
#include "compiler/sema/sema.h"
#include "compiler/source/render.h"
#include "compiler/syntax/parse.h"
#include "compiler/transform/pass.h"

namespace dtl::testing {

/// A text through parser and sema, with the standard library; data is synthetic and never made.
struct Checked {
  std::optional<sema::Program> program;
  std::string diagnostics;  ///< rendered
};

struct Library {
  source::SourceSet sources;
  std::vector<std::unique_ptr<syntax::Ast>> asts;
  std::vector<std::unique_ptr<syntax::Ast>> programs;  ///< kept: programs point into them
};

/// Adds a file of the standard library, under its own text or another.
inline void add_file(Library& library, std::string_view name, std::string text) {
  source::Sink sink;
  const source::FileId id = library.sources.add("<stdlib>/" + std::string(name), std::move(text));
  library.asts.push_back(syntax::parse(library.sources, id, sink));
  for (const source::Diagnostic* diagnostic : sink.all()) FAIL(source::render(*diagnostic, library.sources, false));
  REQUIRE(library.asts.back());
}

/// Parsed once for all tests.
inline Library& library() {
  static Library library;
  if (library.asts.empty()) {
    for (const driver::EmbeddedFile& file : driver::stdlib_files()) add_file(library, file.name, std::string(file.text));
  }
  return library;
}

inline Checked check(const std::string& text, int64_t devices = 4, Library& shared = library()) {
  source::Sink sink;
  const source::FileId id = shared.sources.add("test.dtl", text);
  Checked result;
  auto ast = syntax::parse(shared.sources, id, sink);
  if (ast && !sink.has_errors()) {
    const auto open = [](const sema::SourceSpec& spec, source::Sink&) {
      sema::SplitInfo info;
      for (const sema::SourceStage& stage : spec.stages) {
        if (stage.function == "synthetic") info.examples = stage.integers.at("examples");
        for (const auto& field : stage.fields) {
          info.fields.push_back({field.name, field.generator == "integers" ? DType::i64 : DType::f32, field.shape});
        }
      }
      return std::optional(info);
    };
    sema::Options options;
    options.devices = devices;
    result.program = sema::check(*ast, shared.asts, ops::table(), {open, {}}, options, sink);
  }
  for (const source::Diagnostic* diagnostic : sink.all()) result.diagnostics += source::render(*diagnostic, shared.sources, false) + "\n";
  if (ast) shared.programs.push_back(std::move(ast));
  return result;
}

inline graph::Graph lowered(const std::string& text) {
  const Checked checked = check(text);
  INFO(text << "\n" << checked.diagnostics);
  REQUIRE(checked.program);
  graph::Graph graph = lower::lower(*checked.program, ops::table());
  REQUIRE(graph::verify(graph, ops::table()) == "");
  return graph;
}

/// After the passes up to `stop_after`; all of them where it is empty.
inline graph::Graph passed(graph::Graph graph, const std::string& stop_after) {
  auto result = transform::run_pipeline(std::move(graph), ops::table(), stop_after);
  if (!result) FAIL(result.error().text);
  return std::move(*result);
}

inline graph::Array array(std::vector<int64_t> shape, std::vector<double> data, DType dtype = DType::f32) {
  return {dtype, std::move(shape), std::move(data)};
}

/// Numbers from −1 to 1, the same on every run.
inline graph::Array noise(std::vector<int64_t> shape, uint64_t seed) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  graph::Array result{DType::f32, std::move(shape), {}};
  uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    result.data.push_back(static_cast<double>(static_cast<int32_t>(state >> 32)) * 0x1p-31);
  }
  return result;
}

/// A training run in the interpreter: what a step returns is what the next one is given.
class Run {
 public:
  using Fields = std::map<std::string, graph::Array>;

  /// A lowered graph is differentiated first; one that has been through passes is left as it is.
  explicit Run(graph::Graph graph, int64_t seed = 7) : graph_(std::move(graph)), seed_(seed) {
    const auto is_gradient = [](const graph::Node& node) { return ops::table()[node.op].name() == "gradient"; };
    if (std::any_of(graph_.nodes.begin(), graph_.nodes.end(), is_gradient)) graph_ = passed(std::move(graph_), "gradient");
    call("init", {}, 1);
  }

  /// One call of a function on a batch of `rows` examples.
  void call(const std::string& name, const Fields& fields, int64_t rows) {
    const auto id = graph_.find_function(name);
    REQUIRE(id);
    const graph::Function& function = graph_[*id];
    std::vector<graph::Array> params;
    for (const graph::Port& port : function.params) params.push_back(value_of(port, fields));
    auto results = graph::interpret(graph_, ops::table(), *id, params, {{"batch", rows}});
    for (size_t i = 0; i < results.size(); ++i) values_[{function.results[i].role, function.results[i].path}] = std::move(results[i]);
  }

  void train(const Fields& fields) { call("train_step", fields, fields.begin()->second.shape[0]); }
  void evaluate(const Fields& fields) { call("eval_step", fields, fields.begin()->second.shape[0]); }

  /// What is reported of the steps since the last start, `train/loss`.
  double report(const std::string& path) {
    call(path.substr(0, path.find('/')) + "_report", {}, 1);
    return at(graph::Role::report, path).data[0];
  }
  /// Accumulators start over, as an epoch does.
  void start() {
    std::erase_if(values_, [](const auto& entry) { return entry.first.first == graph::Role::metric; });
  }

  graph::Array& weight(const std::string& path) { return at(graph::Role::weight, path); }
  graph::Array& state(const std::string& path) { return at(graph::Role::state, path); }
  graph::Array& optimizer(const std::string& path) { return at(graph::Role::optimizer, path); }
  graph::Array& at(graph::Role role, const std::string& path) {
    const auto found = values_.find({role, path});
    INFO("no " << name_of(role) << " `" << path << "`");
    REQUIRE(found != values_.end());
    return found->second;
  }
  /// Everything that is kept from step to step, by role and path.
  const std::map<std::pair<graph::Role, std::string>, graph::Array>& values() const { return values_; }
  const graph::Graph& graph() const { return graph_; }

 private:
  graph::Array value_of(const graph::Port& port, const Fields& fields) const {
    if (port.role == graph::Role::seed) return array({}, {static_cast<double>(seed_)}, DType::i64);
    if (port.role == graph::Role::input) {
      INFO("no field `" << port.path << "`");
      REQUIRE(fields.contains(port.path));
      return fields.at(port.path);
    }
    const auto known = values_.find({port.role, port.path});
    if (known != values_.end()) return known->second;
    const types::TensorType& type = graph_[port.value].type;
    if (port.role == graph::Role::updates) return array({}, {0}, DType::i64);
    REQUIRE((port.role == graph::Role::metric || port.role == graph::Role::pending));
    graph::Array start{type.dtype, {}, {port.identity}};
    for (const types::Dim& dim : type.dims) start.shape.push_back(*dim.constant());
    int64_t count = 1;
    for (const int64_t size : start.shape) count *= size;
    start.data.assign(static_cast<size_t>(count), port.identity);
    return start;
  }

  graph::Graph graph_;
  int64_t seed_;
  std::map<std::pair<graph::Role, std::string>, graph::Array> values_;
};

}  // namespace dtl::testing
