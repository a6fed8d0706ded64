// The seven laws of compiler/graph/op.h, over every record of the table and every sample.
#include <catch2/catch.hpp>

#include "compiler/graph/builder.h"
#include "compiler/graph/interpret.h"
#include "compiler/graph/parse.h"
#include "compiler/graph/placement_rows.h"
#include "compiler/graph/print.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/registry.h"
#include "compiler/transform/gradient.h"
#include "tests/unit/ops/laws_testing.h"

using namespace dtl;
using namespace dtl::ops::test;
using graph::ValueId;
using types::Dim;
using types::Placement;
using types::PlacementKind;

namespace {

constexpr double kExact = 1e-12;

/// Symbols replaced by numbers.
Types in_numbers(Types types, const Sizes& dims) {
  for (TensorType& type : types) {
    for (Dim& dim : type.dims) dim = Dim(dim.evaluate(dims));
  }
  return types;
}

types::Attrs in_numbers(const types::Attrs& attrs, const Sizes& dims) {
  types::Attrs result = attrs;
  for (const auto& [name, value] : attrs.values()) {
    if (const auto* shape = std::get_if<types::Dims>(&value)) {
      types::Dims numbers;
      for (const Dim& dim : *shape) numbers.push_back(Dim(dim.evaluate(dims)));
      result.set(name, numbers);
    }
  }
  return result;
}

/// A graph whose one function applies the op to its parameters; a function that the op calls stands before it.
struct Applied {
  graph::Graph graph;
  std::vector<ValueId> params, results;
};
Applied apply(const OpRecord& op, const Sample& sample, const std::function<void(graph::Builder&, Applied&)>& more = {}) {
  Applied it;
  for (const auto& [name, size] : sample.dims) {
    if (name.find('/') == std::string::npos) it.graph.bounds.emplace_back(name, size);
  }
  if (const types::AttrValue* called = sample.attrs.find("function")) {
    it.graph.functions.push_back({std::get<std::string>(*called), {}, {}, {}});
    graph::Builder builder(ops::table(), it.graph, {static_cast<int32_t>(it.graph.functions.size()) - 1});
    for (size_t k = 0; k < sample.operands.size(); ++k) builder.param(fmt::format("x{}", k), sample.operands[k], graph::Role::none);
    for (const TensorType& type : result_types(op, sample)) builder.result(builder.constant(1, type.dtype, type.dims), graph::Role::none);
  }
  it.graph.functions.push_back({"f", {}, {}, {}});
  graph::Builder builder(ops::table(), it.graph, {static_cast<int32_t>(it.graph.functions.size()) - 1});
  for (size_t k = 0; k < sample.operands.size(); ++k)
    it.params.push_back(builder.param(fmt::format("x{}", k), sample.operands[k], graph::Role::none));
  it.results = builder.add_multi(op.name(), it.params, sample.attrs);
  if (more) {
    more(builder, it);
  } else {
    for (const ValueId result : it.results) builder.result(result, graph::Role::none);
  }
  return it;
}

}  // namespace

TEST_CASE("samples show every op working and refusing") {
  for (const OpRecord& op : ops::table().records()) {
    INFO(op.name());
    int good = 0, bad = 0;
    for (const Sample& sample : *op.samples) ++(sample.fails.empty() ? good : bad);
    CHECK(good >= 2);
    CHECK(bad >= 1);
    CHECK(op.samples->front().fails.empty());
  }
}

TEST_CASE("law 1: infer agrees with evaluate") {
  each_sample([](const OpRecord& op, const Sample& sample, Random& random) {
    if (!op.evaluate->local) return;
    const Types types = result_types(op, sample);
    const Arrays results = evaluate(op, sample, draw_operands(sample, random));
    REQUIRE(results.size() == types.size());
    if (op.signature->results >= 0) CHECK(static_cast<int>(types.size()) == op.signature->results);
    for (size_t r = 0; r < types.size(); ++r) {
      CHECK(results[r].dtype == types[r].dtype);
      CHECK(results[r].shape == shape_of(types[r], dims_of(sample)));
      int64_t elements = 1;
      for (const int64_t size : results[r].shape) elements *= size;
      CHECK(static_cast<int64_t>(results[r].data.size()) == elements);
    }
  });
}

TEST_CASE("law 2: symbols then numbers is numbers then symbols") {
  each_sample([](const OpRecord& op, const Sample& sample, Random& random) {
    const Sizes dims = dims_of(sample);
    Sample numbers = sample;
    numbers.operands = in_numbers(sample.operands, dims);
    numbers.attrs = in_numbers(sample.attrs, dims);
    CHECK(in_numbers(result_types(op, sample), dims) == in_numbers(result_types(op, numbers), dims));
    if (!op.evaluate->local) return;
    const Arrays operands = draw_operands(sample, random);
    const Arrays first = evaluate(op, sample, operands), second = evaluate(op, numbers, operands);
    for (size_t r = 0; r < first.size(); ++r) CHECK(difference(first[r], second[r], 0) == "");
  });
}

TEST_CASE("law 3: gradients agree with finite differences") {
  std::set<std::string> tested;
  each_sample([&](const OpRecord& op, const Sample& sample, Random& random) {
    if (!op.evaluate->local || std::holds_alternative<graph::NotDifferentiable>(*op.gradient)) return;
    if (op.name() == "stop_gradient") return;  // a constant to the gradient alone
    const Types types = result_types(op, sample);
    const auto narrow = [](const TensorType& type) { return is_float(type.dtype) && type.dtype != DType::f64; };
    if (std::any_of(types.begin(), types.end(), [](const TensorType& type) { return type.dtype != DType::f64; })) return;
    if (std::any_of(sample.operands.begin(), sample.operands.end(), narrow)) return;
    std::vector<size_t> by;
    for (size_t k = 0; k < sample.operands.size(); ++k) {
      if (sample.operands[k].dtype == DType::f64) by.push_back(k);
    }
    if (by.empty()) return;

    // The loss is a weighted sum of all elements of all results.
    const Applied it = apply(op, sample, [&](graph::Builder& builder, Applied& applied) {
      std::vector<ValueId> operands;
      for (const ValueId result : applied.results) {
        const TensorType type = builder.type(result);
        const ValueId weights = builder.param("weights", type, graph::Role::none);
        const ValueId product = builder.add("multiply", {result, weights});
        types::Ints axes;
        for (size_t d = 0; d < type.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
        const ValueId sum = builder.add("reduce", {product}, {{"op", ReduceOp::sum}, {"axes", axes}});
        operands = {operands.empty() ? sum : builder.add("add", {operands[0], sum})};
      }
      for (const size_t k : by) operands.push_back(applied.params[k]);
      for (const ValueId gradient : builder.add_multi("gradient", operands)) builder.result(gradient, graph::Role::none);
    });
    REQUIRE(graph::verify(it.graph, ops::table()) == "");
    const graph::Graph derived = transform::gradient(it.graph, ops::table());
    REQUIRE(graph::verify(derived, ops::table()) == "");

    Arrays params = draw_operands(sample, random);
    const Sample unit{{}, {}, {}, {}, -1, 1};
    std::vector<Array> weights;
    for (const TensorType& type : types) weights.push_back(draw(type, dims_of(sample), unit, random));
    const auto loss = [&](const Arrays& operands) {
      double sum = 0;
      const Arrays results = evaluate(op, sample, operands);
      for (size_t r = 0; r < results.size(); ++r) {
        for (size_t i = 0; i < results[r].data.size(); ++i) sum += results[r].data[i] * weights[r].data[i];
      }
      return sum;
    };
    Arrays all = params;
    all.insert(all.end(), weights.begin(), weights.end());
    const Arrays gradients = graph::interpret(derived, ops::table(), *derived.find_function("f"), all, sample.dims);
    for (size_t g = 0; g < by.size(); ++g) {
      Array expected = params[by[g]];
      for (size_t i = 0; i < expected.data.size(); ++i) {
        constexpr double kStep = 1e-5;
        Arrays moved = params;
        double& x = moved[by[g]].data[i];
        const double middle = x;
        x = middle + kStep;
        const double above = loss(moved);
        x = middle - kStep;
        expected.data[i] = (above - loss(moved)) / (2 * kStep);
      }
      INFO("by operand " << by[g]);
      CHECK(difference(expected, gradients[g], 1e-6) == "");
      if (!expected.data.empty()) tested.insert(op.name());
    }
  });
  // A rule that no sample reaches would be no rule.
  for (const OpRecord& op : ops::table().records()) {
    if (std::holds_alternative<graph::GradientRule>(*op.gradient)) CHECK(tested.count(op.name()) == 1);
  }
}

namespace {

/// One placement row on one mesh: operands as members hold them, and what their results should be together.
struct Placed {
  const OpRecord& op;
  const Sample& sample;
  const Types& types;
  const graph::PlacementRow& row;
  const Mesh& mesh;
  Arrays wholes = {};
  std::vector<Arrays> held = {};

  size_t members() const { return mesh.members.count(); }

  bool any(PlacementKind kind) const {
    return std::any_of(row.operands.begin(), row.operands.end(), [&](const Placement& placement) { return placement.kind == kind; });
  }

  /// No op makes bools that are to be added up, and what varies has no rows to give a share of.
  bool has_meaning() const {
    if (op.name() == "local_share" && any(PlacementKind::varying)) return false;
    for (size_t k = 0; k < row.operands.size(); ++k) {
      const Placement& placement = row.operands[k];
      if (sample.operands[k].dtype == DType::boolean && placement.kind == PlacementKind::partial && placement.op == ReduceOp::sum)
        return false;
    }
    return true;
  }

  void draw_operands(Random& random) {
    for (size_t k = 0; k < row.operands.size(); ++k) {
      const TensorType& type = sample.operands[k];
      wholes.push_back(draw(type, dims_of(sample), sample, random));
      held.emplace_back();
      for (size_t m = 0; m < members() && row.operands[k].kind == PlacementKind::varying; ++m)
        held[k].push_back(draw(type, mesh.members.dims(m), sample, random));
      if (held[k].empty()) held[k] = spread(wholes[k], type, row.operands[k], mesh.members, random);
    }
  }

  Array combined(ReduceOp by, const Arrays& parts) const {
    Array result = parts[0];
    for (size_t m = 1; m < parts.size(); ++m) {
      for (size_t i = 0; i < result.data.size(); ++i) result.data[i] = combine(by, result.data[i], parts[m].data[i]);
    }
    if (!is_float(result.dtype)) {
      for (double& x : result.data) x = wrapped(result.dtype, static_cast<int64_t>(x));
    }
    return result;
  }

  /// Members' own values leave a region as contributions to a combination, also where all hold the same.
  Arrays expected() const {
    if (any(PlacementKind::varying) || op.name() == "reduce_varying") {
      Arrays result;
      for (const Arrays& parts : held) result.push_back(combined(sample.attrs.get<ReduceOp>("op"), parts));
      return result;
    }
    return op.evaluate->collective ? wholes : evaluate(op, sample, wholes);
  }

  void check_result(size_t r, const Arrays& found, const Array& whole) const {
    graph::Value value;
    value.type = types[r];
    value.placements = {row.results[r]};
    for (size_t m = 0; m < members(); ++m) REQUIRE(found[m].shape == mesh.members.part(types[r], value.placements, m).shape);
    if (row.results[r].kind == PlacementKind::partial) {
      CHECK(difference(whole, combined(row.results[r].op, found), 1e-9) == "");
      return;
    }
    const Arrays parts = mesh.members.cut(whole, value);
    for (size_t m = 0; m < members(); ++m) CHECK(difference(parts[m], found[m], 1e-9) == "");
  }

  void check(Random& random) {
    draw_operands(random);
    const std::vector<Arrays> results = evaluate_members(op, sample, types, row.results, held, mesh.members);
    // What members hold of their own is nothing together: each result is what the op makes of that member's operands.
    for (size_t r = 0; r < types.size(); ++r) {
      if (row.results[r].kind != PlacementKind::varying) {
        check_result(r, results[r], expected()[r]);
        continue;
      }
      for (size_t m = 0; m < members(); ++m) CHECK(results[r][m].shape == shape_of(types[r], mesh.members.dims(m)));
    }
  }
};

}  // namespace

TEST_CASE("law 4: every placement on uneven and empty shards agrees with the whole") {
  std::map<std::string, int> tested;
  each_sample([&](const OpRecord& op, const Sample& sample, Random& random) {
    if (!op.evaluate->local && !op.evaluate->collective) return;
    const Types types = result_types(op, sample);
    for (const int64_t size : {1, 2, 3, 8}) {
      const Mesh mesh(size, sample.dims);
      for (const graph::PlacementRow& row : graph::placement_rows(op, {sample.operands, types, sample.attrs, 0})) {
        std::string text;
        for (const Placement& placement : row.operands) text += placement.str() + " ";
        for (const Placement& placement : row.results) text += "-> " + placement.str();
        INFO(text << " over " << size);
        Placed placed{op, sample, types, row, mesh};
        if (!placed.has_meaning()) continue;
        placed.check(random);
        ++tested[op.name()];
      }
    }
  });
  for (const OpRecord& op : ops::table().records()) {
    if (op.evaluate->local || op.evaluate->collective) CHECK(tested[op.name()] > 0);
  }
}

namespace {

void check_kernel_rule(const graph::KernelRule& rule, const Sample& sample, const Arrays& operands, const Array& expected,
                       const std::vector<int64_t>& offset) {
  std::vector<int64_t> reduced, sizes;
  for (const Dim& dim : rule.reduced) reduced.push_back(dim.evaluate(dims_of(sample)));
  for (const Dim& dim : rule.sizes) sizes.push_back(dim.evaluate(dims_of(sample)));
  double tolerance = is_narrow(expected.dtype)      ? (expected.dtype == DType::bf16 ? 8e-3 : 1e-3)
                     : expected.dtype == DType::f32 ? 2e-6
                                                    : 1e-13;
  for (const Array& operand : operands) tolerance = operand.dtype == DType::f32 ? std::max(tolerance, 2e-6) : tolerance;
  for (const Known known : {Known::all, Known::none}) {
    const Composed composed = compose(rule, operands, expected, offset, reduced, sizes, known);
    INFO(kernel::print(composed.kernel));
    CHECK(difference(expected, run(composed, operands, expected), tolerance) == "");
  }
}

/// op(A) · op(B), each element of the batch on its own, in memory as the runtime sees it.
Array product(const graph::GemmRule& rule, const Sizes& dims, const Array& a, const Array& b, const Array& like) {
  const int64_t batch = rule.batch.evaluate(dims), m = rule.m.evaluate(dims), n = rule.n.evaluate(dims), k = rule.k.evaluate(dims);
  Array result = like;
  for (int64_t q = 0; q < batch; ++q) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          const int64_t in_a = q * m * k + (rule.transpose_a ? l * m + i : i * k + l),
                        in_b = q * k * n + (rule.transpose_b ? j * k + l : l * n + j);
          sum += a.data.at(static_cast<size_t>(in_a)) * b.data.at(static_cast<size_t>(in_b));
        }
        result.data.at(static_cast<size_t>(q * m * n + i * n + j)) = sum;
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("law 5: the kernel of an op computes what the op means") {
  each_sample([](const OpRecord& op, const Sample& sample, Random& random) {
    const Types types = result_types(op, sample);
    const graph::Lowering lowering = (*op.lower)({sample.operands, types, sample.attrs});
    CHECK(std::holds_alternative<graph::CollectiveRule>(lowering) == static_cast<bool>(op.evaluate->collective));
    CHECK(std::holds_alternative<graph::ExpandedRule>(lowering) == !(op.evaluate->local || op.evaluate->collective));
    if (!op.evaluate->local) return;
    REQUIRE(types.size() == 1);
    for (int round = 0; round < 3; ++round) {
      const Arrays operands = draw_operands(sample, random);
      const Array expected = evaluate(op, sample, operands)[0];
      if (const auto* rule = std::get_if<graph::KernelRule>(&lowering)) {
        check_kernel_rule(*rule, sample, operands, expected, std::vector<int64_t>(types[0].rank(), 0));
      } else if (const auto* gemm = std::get_if<graph::GemmRule>(&lowering)) {
        CHECK(difference(expected, product(*gemm, dims_of(sample), operands[0], operands[1], expected), kExact) == "");
      } else if (const auto* scatter = std::get_if<graph::ScatterRule>(&lowering)) {
        CHECK(difference(expected, run(*scatter, dims_of(sample), operands, expected), 2e-6) == "");
      } else {
        CHECK(expected.data == operands[static_cast<size_t>(std::get<graph::ViewRule>(lowering).operand)].data);
      }
    }
  });
}

TEST_CASE("law 5 for members: kernels of parts compute parts") {
  each_sample([](const OpRecord& op, const Sample& sample, Random& random) {
    if (!op.evaluate->local) return;
    const Types types = result_types(op, sample);
    const graph::Lowering lowering = (*op.lower)({sample.operands, types, sample.attrs});
    const auto* rule = std::get_if<graph::KernelRule>(&lowering);
    if (!rule || rule->combine) return;
    const Mesh mesh(3, sample.dims);
    for (const graph::PlacementRow& row : graph::placement_rows(op, {sample.operands, types, sample.attrs, 0})) {
      if (row.results[0].kind != PlacementKind::split) continue;
      std::vector<Arrays> held;
      for (size_t k = 0; k < row.operands.size(); ++k) {
        held.push_back(
            spread(draw(sample.operands[k], sample.dims, sample, random), sample.operands[k], row.operands[k], mesh.members, random));
      }
      const Arrays expected = evaluate_members(op, sample, types, row.results, held, mesh.members)[0];
      for (size_t m = 0; m < mesh.members.count(); ++m) {
        INFO(row.results[0].str() << ", member " << m);
        Arrays own;
        for (const Arrays& operand : held) own.push_back(operand[m]);
        check_kernel_rule(*rule, sample, own, expected[m], mesh.members.part(types[0], row.results, m).offset);
      }
    }
  });
}

TEST_CASE("law 6: a node's text reads back to the same text") {
  each_sample([](const OpRecord& op, const Sample& sample, Random&) {
    const Applied it = apply(op, sample);
    CHECK(graph::verify(it.graph, ops::table()) == "");
    const std::string text = graph::print(it.graph, ops::table());
    std::string error;
    const auto again = graph::parse(text, ops::table(), &error);
    INFO(text << error);
    REQUIRE(again.has_value());
    CHECK(graph::print(*again, ops::table()) == text);
  });
}

TEST_CASE("law 7: samples that fail give exactly their message") {
  for (const OpRecord& op : ops::table().records()) {
    for (size_t at = 0; at < op.samples->size(); ++at) {
      const Sample& sample = (*op.samples)[at];
      if (sample.fails.empty()) continue;
      INFO(str(op, at));
      const auto types = (*op.infer)(sample.operands, sample.attrs);
      REQUIRE_FALSE(static_cast<bool>(types));
      CHECK(types.error().text == sample.fails);
      CHECK(types.error().operand >= -1);
      CHECK(types.error().operand < std::max(static_cast<int>(sample.operands.size()), 1));
    }
  }
}
