// Graphs made at random: as a plan on several replicas against the interpreter of the whole graph, before any pass.
#include <catch2/catch.hpp>
#include <random>

#include "compiler/graph/builder.h"
#include "compiler/graph/verify.h"
#include "plan_runner.h"
#include "tests/unit/transform/passes_testing.h"

using namespace dtl;
using graph::Builder;
using graph::Role;
using graph::ValueId;
using types::Dim;
using types::Dims;
using types::Ints;

namespace {

const Dim kBatch = Dim::symbol("batch");

/// A function of inputs with a batch and of parameters without, and results without a batch; every value f64 but indices.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    graph.bounds = {{"batch", 12}};
    graph.functions.push_back({"f", {}, {}, {}});
    builder_.emplace(ops::table(), graph, graph::FunctionId{0});
    for (const auto& [name, dims] : std::vector<std::pair<std::string, Dims>>{{"x", {kBatch, 4}}, {"y", {kBatch}}, {"z", {kBatch, 3, 4}}}) {
      values_.push_back(builder_->param(name, {DType::f64, dims}, Role::input, name));
    }
    index_ = builder_->param("k", {DType::i64, {kBatch}}, Role::input, "k");
    for (const auto& [name, dims] : std::vector<std::pair<std::string, Dims>>{{"v", {4}}, {"w", {4, 5}}, {"u", {5, 4}}, {"s", {}}}) {
      values_.push_back(builder_->param(name, {DType::f64, dims}, Role::weight, name));
      weights_.emplace_back(name, values_.back());
    }
    seed_ = builder_->param("seed", {DType::i64, {}}, Role::none);
    for (int i = 0; i < 30; ++i) grow();
    finish();
  }

  graph::Graph graph;

 private:
  int number(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }
  /// Late values more often than early ones.
  ValueId any() {
    return values_[std::max<size_t>(static_cast<size_t>(number(static_cast<int>(values_.size()))),
                                    static_cast<size_t>(number(static_cast<int>(values_.size()))))];
  }
  Dims dims(ValueId value) { return graph[value].type.dims; }
  bool small(const Dims& dims) {
    int64_t elements = 1;
    for (const Dim& dim : dims) elements *= dim.constant().value_or(12);
    return elements <= 4000;
  }
  void add(std::string_view op, std::vector<ValueId> operands, types::Attrs attrs = {}) {
    values_.push_back(builder_->add(op, std::move(operands), std::move(attrs)));
  }

  std::optional<ValueId> like(ValueId value) {
    std::vector<ValueId> found;
    for (const ValueId other : values_) {
      if (other != value && dims(other) == dims(value)) found.push_back(other);
    }
    if (found.empty()) return std::nullopt;
    return found[static_cast<size_t>(number(static_cast<int>(found.size())))];
  }

  void grow() {
    const ValueId x = any();
    const Dims shape = dims(x);
    const auto rank = static_cast<int>(shape.size());
    switch (number(14)) {
      case 0: {
        const char* names[] = {"tanh", "sigmoid", "negate", "abs", "sin", "cos", "erf"};
        return add(names[number(7)], {x});
      }
      case 1:
      case 2:
      case 3: {
        const char* names[] = {"add", "subtract", "multiply", "maximum", "minimum"};
        const auto y = like(x);
        return add(names[number(5)], {x, y ? *y : x});
      }
      case 4: {
        const ReduceOp reductions[] = {ReduceOp::sum, ReduceOp::max, ReduceOp::min};
        Ints axes;
        for (int d = 0; d < rank; ++d) {
          if (number(2)) axes.push_back(d);
        }
        return add("reduce", {x}, {{"op", reductions[number(3)]}, {"axes", axes}});
      }
      case 5: {  // new dimensions before, behind or between
        Dims wide = shape;
        Ints places;
        wide.insert(wide.begin() + number(rank + 1), number(2) && !has_batch(shape) ? kBatch : Dim(2 + number(3)));
        int at = 0;
        for (int d = 0; d < rank + 1 && at < rank; ++d) {
          if (wide[static_cast<size_t>(d)] == shape[static_cast<size_t>(at)]) places.push_back(d), ++at;
        }
        if (at == rank && small(wide)) add("broadcast", {x}, {{"shape", wide}, {"dims", places}});
        return;
      }
      case 6: {
        Ints permutation;
        for (int d = 0; d < rank; ++d) permutation.push_back(d);
        std::shuffle(permutation.begin(), permutation.end(), random_);
        return add("transpose", {x}, {{"permutation", permutation}});
      }
      case 7: {  // dimensions of size 1 come and go; others join, the batch among them, and part again
        Dims other = shape;
        const auto joined = std::find_if(other.begin(), other.end(), [](const Dim& dim) { return !dim.is_constant() && dim != kBatch; });
        if (joined != other.end() && number(3) > 0) {
          const Dim rest = *joined->divided_by(kBatch);
          *joined = number(2) ? rest : kBatch;
          other.insert(joined, *joined == rest ? kBatch : rest);
          return add("reshape", {x}, {{"shape", other}});
        }
        if (number(2) || rank < 2) {
          other.insert(other.begin() + number(rank + 1), Dim(1));
        } else {
          const auto d = static_cast<size_t>(number(rank - 1));
          other[d] = other[d] * other[d + 1];
          other.erase(other.begin() + static_cast<std::ptrdiff_t>(d) + 1);
        }
        return add("reshape", {x}, {{"shape", other}});
      }
      case 8: {
        for (const ValueId y : values_) {
          const Dims right = dims(y);
          const size_t lead = shape.size() - 2;
          if (rank < 2 || right.size() != shape.size() || !std::equal(shape.begin(), shape.end() - 2, right.begin())) continue;
          for (const bool ta : {false, true}) {
            for (const bool tb : {false, true}) {
              if (number(3) == 0 && shape[lead + (ta ? 0 : 1)] == right[lead + (tb ? 1 : 0)])
                return add("matmul", {x, y}, {{"transpose_a", ta}, {"transpose_b", tb}});
            }
          }
        }
        return;
      }
      case 9: {
        const auto a = like(x), b = like(x);
        const ValueId condition = builder_->add("less", {x, a ? *a : x});
        return add("select", {condition, b ? *b : x, x});
      }
      case 10: {
        const auto axis = fixed_axis(shape);
        if (!axis) return;
        return add("concat", {x, x}, {{"axis", int64_t{*axis}}});
      }
      case 11: {
        const auto axis = fixed_axis(shape);
        if (!axis || shape[static_cast<size_t>(*axis)].constant() == 1) return;
        Dims part = shape;
        Ints starts(shape.size(), 0);
        starts[static_cast<size_t>(*axis)] = 1;
        part[static_cast<size_t>(*axis)] = part[static_cast<size_t>(*axis)] - Dim(1);
        return add("slice", {x}, {{"starts", starts}, {"shape", part}});
      }
      case 12: {
        if (rank == 0 || !shape[0].is_constant()) return;
        return add("gather", {x, index_});
      }
      case 13: {
        const ValueId step = builder_->constant(3, DType::i64);
        return add("uniform", {seed_, step}, {{"shape", shape}, {"stream", int64_t{number(1000)}}, {"dtype", DType::f64}});
      }
    }
  }

  static bool has_batch(const Dims& dims) {
    return std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return !dim.is_constant(); });
  }
  std::optional<int> fixed_axis(const Dims& dims) {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].is_constant() && small(dims)) return static_cast<int>(d);
    }
    return std::nullopt;
  }

  /// Every value that nothing reads is summed up over its batch and returned, five at most.
  void finish() {
    const std::vector<int> uses = [&] {
      std::vector<int> counts(graph.values.size());
      for (const graph::Node& node : graph.nodes) {
        for (const ValueId value : node.operands) ++counts[static_cast<size_t>(value.index)];
      }
      return counts;
    }();
    int results = 0;
    for (size_t i = values_.size(); i-- > 0 && results < 5;) {
      if (uses[static_cast<size_t>(values_[i].index)] > 0 || !graph[values_[i]].node) continue;
      ValueId value = values_[i];
      const Dims shape = dims(value);
      Ints axes;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (!shape[d].is_constant()) axes.push_back(static_cast<int64_t>(d));
      }
      if (!axes.empty()) value = builder_->add("reduce", {value}, {{"op", ReduceOp::sum}, {"axes", axes}});
      builder_->result(builder_->add("tanh", {value}), Role::none);
      ++results;
    }
    for (const auto& [name, weight] : weights_) builder_->result(builder_->add("tanh", {weight}), Role::weight, name);
  }

  std::mt19937 random_;
  std::optional<Builder> builder_;
  std::vector<ValueId> values_;
  std::vector<std::pair<std::string, ValueId>> weights_;
  ValueId index_, seed_;
};

}  // namespace

TEST_CASE("random graphs mean the same as plans, whatever the mesh and the placements") {
  using types::Placement;
  std::vector<transform::test::Placing> placings = transform::test::placings();
  const Placement all = Placement::broadcast(), rows = Placement::split(0), columns = Placement::split(1);
  placings.push_back({{2, 2}, {rows, all}, {all, columns}, {all, columns}, {all, columns}});
  placings.push_back({{3, 2}, {rows, all}, {rows, rows}, {rows, rows}, {rows, rows}});
  placings.push_back({{2, 3}, {rows, rows}, {columns, rows}, {columns, rows}, {columns, rows}});
  for (uint32_t seed = 0; seed < 160; ++seed) {
    const graph::Graph whole = RandomGraph(seed).graph;
    REQUIRE(graph::verify(whole, ops::table()) == "");
    for (const size_t at : {seed % placings.size(), (seed * 7 + 3) % placings.size()}) {
      const graph::Graph asked = transform::test::under(whole, placings[at]);
      CAPTURE(seed, transform::test::str(placings[at]));
      const graph::Graph replicated = transform::test::after(asked, {"simplify", "place", "bucket"});
      test::PlanRunner runner(replicated, 1 + static_cast<int>(seed % 2));
      for (const int64_t rows : {12, 7, 1}) {
        CAPTURE(rows);
        const auto params = transform::test::some_params(whole, "f", {{"batch", rows}});
        const auto expected = transform::test::run(whole, "f", params, {{"batch", rows}});
        const auto actual = runner.run("f", params, {{"batch", rows}});
        CHECK(transform::test::difference(expected, actual) < 1e-9);
      }
    }
  }
}
