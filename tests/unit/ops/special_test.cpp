// What samples drawn at random do not meet: ties, NaN, infinities, streams of random numbers, members' shares; the table as text.
#include <catch2/catch.hpp>
#include <limits>

#include "compiler/graph/builder.h"
#include "compiler/graph/interpret.h"
#include "compiler/ops/registry.h"
#include "compiler/transform/gradient.h"
#include "runtime/plan/philox.h"
#include "tests/unit/ops/laws_testing.h"

using namespace dtl;
using namespace dtl::ops::test;
using types::Dim;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

const OpRecord& op(std::string_view name) { return ops::table()[*ops::table().find(name)]; }

Array array(DType dtype, std::vector<int64_t> shape, std::vector<double> data) { return {dtype, std::move(shape), std::move(data)}; }

/// The op's meaning, which its kernel must share.
Array applied(std::string_view name, const Arrays& operands, types::Attrs attrs = {}) {
  Sample sample;
  sample.attrs = std::move(attrs);
  for (const Array& operand : operands) sample.operands.push_back({operand.dtype, {operand.shape.begin(), operand.shape.end()}});
  const OpRecord& record = op(name);
  const Array result = evaluate(record, sample, operands)[0];
  const Types types = result_types(record, sample);
  const graph::Lowering lowering = (*record.lower)({sample.operands, types, sample.attrs});
  const auto& rule = std::get<graph::KernelRule>(lowering);
  std::vector<int64_t> reduced;
  for (const Dim& dim : rule.reduced) reduced.push_back(*dim.constant());
  for (const Known known : {Known::all, Known::none}) {
    const Composed composed = compose(rule, operands, result, std::vector<int64_t>(result.shape.size(), 0), reduced, {}, known);
    INFO(kernel::print(composed.kernel));
    CHECK(difference(result, run(composed, operands, result), 1e-6) == "");
  }
  return result;
}

/// The gradient of the sum of the op's result by its f64 operands.
Arrays gradients(std::string_view name, const Arrays& operands, const types::Attrs& attrs = {}) {
  graph::Graph graph;
  graph.functions.push_back({"f", {}, {}, {}});
  graph::Builder builder(ops::table(), graph, {0});
  std::vector<graph::ValueId> params;
  for (size_t k = 0; k < operands.size(); ++k) {
    params.push_back(
        builder.param(fmt::format("x{}", k), {operands[k].dtype, {operands[k].shape.begin(), operands[k].shape.end()}}, graph::Role::none));
  }
  const graph::ValueId result = builder.add(name, params, attrs);
  types::Ints axes;
  for (size_t d = 0; d < builder.type(result).rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  std::vector<graph::ValueId> all = {builder.add("reduce", {result}, {{"op", ReduceOp::sum}, {"axes", axes}})};
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].dtype == DType::f64) all.push_back(params[k]);
  }
  for (const graph::ValueId gradient : builder.add_multi("gradient", all)) builder.result(gradient, graph::Role::none);
  return graph::interpret(transform::gradient(graph, ops::table()), ops::table(), {0}, operands, {});
}

types::Attrs along(ReduceOp by, types::Ints axes) { return {{"op", by}, {"axes", std::move(axes)}}; }

}  // namespace

TEST_CASE("argmax takes the first of equals, and a NaN for the largest") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Array x =
        array(dtype, {6, 4}, {1, 3, 3, 2, -1, -1, -1, -1, 0, kNan, 5, kNan, kNan, 1, 2, 3, -kInf, -kInf, -kInf, -kInf, 1, kInf, 7, kInf});
    CHECK(applied("argmax", {x}, {{"axis", int64_t{1}}}).data == std::vector<double>{1, 0, 1, 0, 0, 1});
  }
  const Array whole = array(DType::i64, {2, 3}, {7, 7, 7, -5, -9, -5});
  CHECK(applied("argmax", {whole}, {{"axis", int64_t{1}}}).data == std::vector<double>{0, 0});
  CHECK(applied("argmax", {whole}, {{"axis", int64_t{0}}}).data == std::vector<double>{0, 0, 0});
}

TEST_CASE("equal winners share the gradient") {
  const Array x = array(DType::f64, {2, 4}, {1, 3, 3, 2, 5, 5, 5, 5});
  CHECK(gradients("reduce", {x}, along(ReduceOp::max, {1}))[0].data == std::vector<double>{0, 0.5, 0.5, 0, 0.25, 0.25, 0.25, 0.25});
  CHECK(gradients("reduce", {x}, along(ReduceOp::min, {1}))[0].data == std::vector<double>{1, 0, 0, 0, 0.25, 0.25, 0.25, 0.25});
  const Array a = array(DType::f64, {3}, {1, 2, 3}), b = array(DType::f64, {3}, {2, 2, 2});
  for (const char* name : {"maximum", "minimum"}) {
    const Arrays found = gradients(name, {a, b});
    const bool larger = name == std::string("maximum");
    CHECK(found[0].data == (larger ? std::vector<double>{0, 0.5, 1} : std::vector<double>{1, 0.5, 0}));
    CHECK(found[1].data == (larger ? std::vector<double>{1, 0.5, 0} : std::vector<double>{0, 0.5, 1}));
  }
}

TEST_CASE("the gradient of a product with zeros among its factors") {
  const Array x = array(DType::f64, {3, 3}, {2, 3, 4, 2, 0, 4, 0, 0, 4});
  CHECK(gradients("reduce", {x}, along(ReduceOp::product, {1}))[0].data == std::vector<double>{12, 8, 6, 0, 8, 0, 0, 0, 0});
}

TEST_CASE("gradients at points where a formula would give NaN") {
  const Array a = array(DType::f64, {4}, {0, 0, -2, 2}), b = array(DType::f64, {4}, {0, 2, 2, 0});
  const Arrays power = gradients("power", {a, b});
  CHECK(power[0].data == std::vector<double>{0, 0, -4, 0});
  CHECK(power[1].data[0] == 0);
  CHECK(power[1].data[1] == 0);
  CHECK(power[1].data[3] == Approx(std::log(2)));
  CHECK(gradients("abs", {array(DType::f64, {3}, {-1, 0, 1})})[0].data == std::vector<double>{-1, 0, 1});
  CHECK(gradients("sigmoid", {array(DType::f64, {2}, {-1000, 1000})})[0].data == std::vector<double>{0, 0});
}

TEST_CASE("NaN and infinities pass through elementwise ops as through f64") {
  const std::vector<double> points = {kNan, kInf, -kInf, 0.0, 1, -1, 2.5};
  std::vector<double> left, right;
  for (const double a : points) {
    for (const double b : points) left.push_back(a), right.push_back(b);
  }
  const auto n = static_cast<int64_t>(left.size());
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Array a = array(dtype, {n}, left), b = array(dtype, {n}, right);
    for (const char* name : {"add", "subtract", "multiply", "divide", "maximum", "minimum", "mod", "floor_div", "equal", "not_equal",
                             "less", "less_equal", "power"}) {
      INFO(name << " in " << name_of(dtype));
      applied(name, {a, b});
    }
    for (const char* name : {"negate", "abs", "exp", "log", "log1p", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "floor", "ceil", "round",
                             "sign", "is_nan", "sin", "cos"}) {
      INFO(name << " in " << name_of(dtype));
      applied(name, {a});
    }
    for (const DType to : {DType::i64, DType::i32, DType::i8, DType::u8, DType::boolean, DType::f32, DType::f64})
      applied("cast", {a}, {{"to", to}});
    CHECK(std::isnan(applied("maximum", {a, b}).data[3]));
    CHECK(std::isnan(applied("minimum", {a, b}).data[3 * points.size()]));
  }
}

TEST_CASE("NaN survives reductions, and nothing is reduced to the neutral element") {
  const Array x = array(DType::f64, {2, 3}, {1, kNan, 3, 1, 2, kInf});
  for (const ReduceOp by : {ReduceOp::sum, ReduceOp::max, ReduceOp::min, ReduceOp::product}) {
    const Array found = applied("reduce", {x}, along(by, {1}));
    CHECK(std::isnan(found.data[0]));
    CHECK_FALSE(std::isnan(found.data[1]));
  }
  const Array none = array(DType::f32, {2, 0}, {});
  CHECK(applied("reduce", {none}, along(ReduceOp::max, {1})).data == std::vector<double>{-kInf, -kInf});
  CHECK(applied("reduce", {none}, along(ReduceOp::min, {1})).data == std::vector<double>{kInf, kInf});
  CHECK(applied("reduce", {none}, along(ReduceOp::product, {1})).data == std::vector<double>{1, 1});
  const Array bytes = array(DType::u8, {2, 0}, {});
  CHECK(applied("reduce", {bytes}, along(ReduceOp::max, {1})).data == std::vector<double>{0, 0});
  CHECK(applied("reduce", {bytes}, along(ReduceOp::min, {1})).data == std::vector<double>{255, 255});
}

TEST_CASE("integers wrap, and division by zero and by −1 gives what the doc says") {
  const Array a = array(DType::i8, {6}, {127, -128, -128, 7, -7, 100}), b = array(DType::i8, {6}, {1, -1, 0, -2, 2, 100});
  CHECK(applied("add", {a, b}).data == std::vector<double>{-128, 127, -128, 5, -5, -56});
  CHECK(applied("floor_div", {a, b}).data == std::vector<double>{127, -128, 0, -4, -4, 1});
  CHECK(applied("mod", {a, b}).data == std::vector<double>{0, 0, 0, -1, 1, 0});
  CHECK(applied("negate", {a}).data == std::vector<double>{-127, -128, -128, -7, 7, -100});
  CHECK(applied("multiply", {a, b}).data == std::vector<double>{127, -128, 0, -14, -14, 16});
  CHECK(applied("round", {array(DType::f32, {5}, {0.5, 1.5, 2.5, -0.5, -1.5})}).data == std::vector<double>{0, 2, 2, 0, -2});
}

TEST_CASE("uniform numbers are those of philox, for any part") {
  Sample sample{{{DType::i64, {}}, {DType::i64, {}}}, {{"shape", types::Dims{7, 3}}, {"stream", int64_t{5}}, {"dtype", DType::f32}}};
  const Arrays operands = {array(DType::i64, {}, {123}), array(DType::i64, {}, {9})};
  const Array whole = evaluate(op("uniform"), sample, operands)[0];
  for (uint64_t i = 0; i < 21; ++i) CHECK(whole.data[i] == philox_uniform(123, 5, 9, i));
}

TEST_CASE("uniform numbers of a batch go on where those of the rows before it ended") {
  const auto batch_of = [](int64_t rows, double before) {
    const TensorType scalar{DType::i64, {}};
    Sample sample{
        {scalar, scalar, scalar},
        {{"shape", types::Dims{2, Dim::symbol("batch") * Dim(2)}}, {"stream", int64_t{5}}, {"dtype", DType::f32}, {"axis", int64_t{1}}},
        {},
        {{"batch", rows}}};
    return evaluate(op("uniform"), sample, {array(DType::i64, {}, {123}), array(DType::i64, {}, {9}), array(DType::i64, {}, {before})})[0];
  };
  const Array whole = batch_of(5, 0), first = batch_of(2, 0), second = batch_of(3, 4);
  for (size_t line = 0; line < 2; ++line) {
    for (size_t i = 0; i < 4; ++i) CHECK(first.data[line * 4 + i] == whole.data[line * 10 + i]);
    for (size_t i = 0; i < 6; ++i) CHECK(second.data[line * 6 + i] == whole.data[line * 10 + 4 + i]);
  }
}

TEST_CASE("members know their own share of a batch") {
  const Sizes dims = {{"batch", 5}};
  const Dim batch = Dim::symbol("batch"), share = Dim::symbol(types::share_of("batch"));
  const Mesh mesh(3, dims);
  const std::vector<double> counts = {2, 2, 1};
  const Sample size{{}, {{"dim", types::Dims{share}}, {"dtype", DType::f32}}, {}, dims};
  const Arrays sizes =
      evaluate_members(op("size"), size, result_types(op("size"), size), {types::Placement::varying()}, {}, mesh.members)[0];
  for (size_t m = 0; m < 3; ++m) CHECK(sizes[m].data == std::vector<double>{counts[m]});

  const Sample door{{{DType::f64, {batch}}}, {}, {}, dims};
  const Array x = array(DType::f64, {5}, {1, 2, 3, 4, 5});
  Random random(1);
  const Arrays held = spread(x, door.operands[0], types::Placement::split(0), mesh.members, random);
  const Arrays inside = evaluate_members(op("local_share"), door, result_types(op("local_share"), door), {types::Placement::varying()},
                                         {held}, mesh.members)[0];
  CHECK(inside[0].data == std::vector<double>{1, 2});
  CHECK(inside[1].data == std::vector<double>{3, 4});
  CHECK(inside[2].data == std::vector<double>{5});
}

TEST_CASE("the table of ops has a row for each, in six columns") {
  const std::string text = ops::ops_table();
  for (const OpRecord& record : ops::table().records()) {
    const size_t at = text.find(fmt::format("\n| `{}(", record.name()));
    REQUIRE(at != std::string::npos);
    const std::string row = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    int bars = 0;
    for (size_t i = 0; i < row.size(); ++i) bars += row[i] == '|' && row[std::max(i, size_t{1}) - 1] != '\\';
    CHECK(bars == 7);
  }
  CHECK(text.starts_with("# Primitive ops\n"));
}
