// Texts of graphs through the verifier, every pass, the planner and, where it is small, the interpreter.
#include "compiler/graph/interpret.h"
#include "compiler/graph/parse.h"
#include "compiler/graph/print.h"
#include "compiler/graph/signature.h"
#include "compiler/ops/registry.h"
#include "compiler/transform/make_plan.h"
#include "compiler/transform/pass.h"
#include "compiler/types/dim.h"
#include "tests/fuzz/entries.h"

namespace dtl::fuzz {
namespace {

using graph::Graph;

/// How many values a type has where each symbol is `batch`; nothing where they are many or fewer than none.
std::optional<std::vector<int64_t>> small_shape(const types::TensorType& type, const std::map<std::string, int64_t>& dims) {
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (const types::Dim& dim : type.dims) {
    // A share is at most the whole.
    std::map<std::string, int64_t> sizes = dims;
    for (const auto& [name, whole] : dims) sizes[types::share_of(name)] = whole;
    for (const std::string& symbol : dim.symbols()) {
      if (!sizes.contains(symbol)) return std::nullopt;
    }
    const int64_t size = dim.evaluate(sizes);
    if (size < 0 || size > 1'000) return std::nullopt;
    elements *= size;
    if (elements > 1'000) return std::nullopt;
    shape.push_back(size);
  }
  return shape;
}

void interpret(const Graph& graph) {
  int64_t members = 1;
  for (const plan::MeshAxis& axis : graph.strategy.mesh.axes) members = std::min<int64_t>(members * axis.size, 1'000);
  if (members > 8 || graph.nodes.size() > 60) return;
  for (const graph::Node& node : graph.nodes) {
    const graph::OpRecord& op = ops::table()[node.op];
    if (!op.evaluate->local && !op.evaluate->collective && !graph::calls_function(*op.signature)) return;  // for a pass to replace
  }
  std::map<std::string, int64_t> dims;
  for (const graph::Value& value : graph.values) {
    for (const types::Dim& dim : value.type.dims) {
      for (const std::string& symbol : dim.symbols()) {
        if (!symbol.ends_with("/share")) dims[symbol] = 2;
      }
    }
  }
  for (const auto& [symbol, largest] : graph.bounds) dims[symbol] = std::min<int64_t>(largest, 3);
  for (const graph::Value& value : graph.values) {
    if (!small_shape(value.type, dims)) return;
  }
  for (size_t f = 0; f < graph.functions.size(); ++f) {
    std::vector<graph::Array> params;
    for (const graph::Port& port : graph.functions[f].params) {
      const types::TensorType& type = graph[port.value].type;
      graph::Array array{type.dtype, *small_shape(type, dims), {}};
      int64_t elements = 1;
      for (const int64_t size : array.shape) elements *= size;
      for (int64_t i = 0; i < elements; ++i) array.data.push_back(static_cast<double>(type.dtype == DType::boolean ? i % 2 : i % 3));
      params.push_back(std::move(array));
    }
    graph::interpret(graph, ops::table(), graph::FunctionId{static_cast<int32_t>(f)}, params, dims);
  }
}

void run(const Graph& graph) {
  const std::string printed = graph::print(graph, ops::table());
  std::string why;
  const std::optional<Graph> again = graph::parse(printed, ops::table(), &why);
  promise(again.has_value(), "what is printed cannot be read: {}\n{}", why, printed);
  promise(graph::print(*again, ops::table()) == printed, "what is read is printed otherwise:\n{}", printed);
  interpret(graph);
  // Each pass alone, as `dslc pass` runs it, and one after the other.
  Graph passed = graph;
  for (const transform::Pass& pass : transform::pipeline()) {
    if (const auto alone = transform::run_pass(pass, graph, ops::table())) graph::print(*alone, ops::table());
    if (auto next = transform::run_pass(pass, passed, ops::table())) passed = std::move(*next);
    interpret(passed);
  }
  static_cast<void>(transform::make_plan(graph, ops::table()));
  static_cast<void>(transform::make_plan(passed, ops::table()));
}

}  // namespace

void graph(std::string_view input) {
  try {
    std::string why;
    const std::optional<Graph> graph = graph::parse(input, ops::table(), &why);
    promise(graph.has_value() != !why.empty(), "a graph, and why there is none");
    if (graph) run(*graph);
  } catch (const types::DimOverflow&) {
    // A mistake, which `dslc pass` reports.
  }
}

}  // namespace dtl::fuzz
