// Axes notation and the placement rows that follow from it.
#include "compiler/graph/placement_rows.h"

#include <catch2/catch.hpp>

#include "compiler/graph/axes.h"
#include "fake_ops.h"

using namespace dtl;
using namespace dtl::graph;
using dtl::graph::test::fake_ops;
using types::Attrs;
using types::Dim;
using types::TensorType;

namespace {

std::vector<std::string> rows(std::string_view op, std::vector<TensorType> operands, const Attrs& attrs = {}, int mesh_axis = 0) {
  const OpRecord& record = fake_ops()[*fake_ops().find(op)];
  std::vector<TensorType> results;
  if (record.name() != "call") results = *(*record.infer)(operands, attrs);
  std::vector<std::string> texts;
  for (const PlacementRow& row : placement_rows(record, {operands, results, attrs, mesh_axis})) {
    std::string text;
    for (const auto& one : row.operands) text += one.str() + " ";
    text += "->";
    for (const auto& one : row.results) text += " " + one.str();
    texts.push_back(text);
  }
  return texts;
}

const TensorType kMatrix{DType::f64, {Dim::symbol("batch"), 3}};

}  // namespace

TEST_CASE("axes parse") {
  const auto rule = parse_axes("m k, k n -> m n");
  REQUIRE(rule);
  CHECK(rule->operands.size() == 2);
  CHECK(rule->operands[1] == AxisGroup{{"k"}, {"n"}});
  CHECK(rule->results == std::vector<AxisGroup>{{{"m"}, {"n"}}});
  CHECK(parse_axes("a b! -> a")->operands[0][1].whole);
  CHECK(parse_axes("-> a")->operands.empty());
  CHECK(parse_axes(", a -> a")->operands.size() == 2);
  CHECK(parse_axes("a ->")->results.empty());
  for (const char* text : {"", "a", "a a -> a", "... ... -> ...", "A -> A", "a -> ?"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_axes(text));
  }
}

TEST_CASE("ellipses expand to the operand's rank") {
  const std::vector<TensorType> operands{{DType::f64, {2, 3, 4}}}, results{{DType::f64, {2, 3}}};
  const Attrs attrs;
  const Axes axes{[](const AxesContext&) { return "... k! -> ..."; }, {}, nullptr};
  const auto rule = resolve_axes(axes, {operands, attrs}, results);
  REQUIRE(rule);
  CHECK(rule->operands[0] == AxisGroup{{"...0"}, {"...1"}, {"k", true}});
  CHECK(rule->results[0] == AxisGroup{{"...0"}, {"...1"}});
  CHECK_FALSE(resolve_axes({nullptr, "none", nullptr}, {operands, attrs}, results));
}

TEST_CASE("a product of matrices has exactly five rows of its own") {
  OpRecord record = fake_ops()[*fake_ops().find("multiply")];
  record.axes.value.rule = [](const AxesContext&) { return "m k, k n -> m n"; };
  const std::vector<TensorType> operands{{DType::f64, {2, 3}}, {DType::f64, {3, 4}}}, results{{DType::f64, {2, 4}}};
  const Attrs attrs;
  std::vector<std::string> texts;
  for (const PlacementRow& row : placement_rows(record, {operands, results, attrs, 0})) {
    texts.push_back(row.operands[0].str() + ", " + row.operands[1].str() + " -> " + row.results[0].str());
  }
  CHECK(texts == std::vector<std::string>{"split(0), broadcast -> split(0)", "split(1), split(0) -> partial(sum)",
                                          "broadcast, split(1) -> split(1)", "partial(sum), broadcast -> partial(sum)",
                                          "broadcast, partial(sum) -> partial(sum)", "broadcast, broadcast -> broadcast",
                                          "varying, broadcast -> varying", "broadcast, varying -> varying", "varying, varying -> varying"});
}

TEST_CASE("rows from letters, linearity and varying operands") {
  using Rows = std::vector<std::string>;
  CHECK(rows("add", {kMatrix, kMatrix}) == Rows{"split(0) split(0) -> split(0)", "split(1) split(1) -> split(1)",
                                                "partial(sum) partial(sum) -> partial(sum)", "broadcast broadcast -> broadcast",
                                                "varying broadcast -> varying", "broadcast varying -> varying",
                                                "varying varying -> varying"});
  CHECK(rows("sum", {kMatrix}, {{"axis", int64_t{0}}}) == Rows{"split(0) -> partial(sum)", "split(1) -> split(0)",
                                                               "partial(sum) -> partial(sum)", "broadcast -> broadcast",
                                                               "varying -> varying"});
  CHECK(rows("index", {}, {{"shape", types::Dims{2, 3}}}) == Rows{"-> split(0)", "-> split(1)", "-> broadcast"});
  CHECK(rows("constant", {}, {{"value", 0.0}, {"dtype", DType::f64}, {"shape", types::Dims{}}}) == Rows{"-> broadcast"});
}

TEST_CASE("what names a share can only be varying") {
  using Rows = std::vector<std::string>;
  CHECK(rows("share", {kMatrix}) == Rows{"split(0) -> varying", "varying -> varying"});
  CHECK(rows("constant", {}, {{"value", 0.0}, {"dtype", DType::f64}, {"shape", types::Dims{Dim::symbol("batch/share")}}}) ==
        Rows{"-> varying"});
  CHECK(names_share({DType::f64, {Dim::symbol("batch/share") * 2}}));
  CHECK_FALSE(names_share(kMatrix));
}

TEST_CASE("collectives work on their own axis and pass by on others") {
  const Attrs attrs{{"op", ReduceOp::max}, {"axis", int64_t{1}}};
  CHECK(rows("all_reduce", {kMatrix, kMatrix}, attrs, 1) == std::vector<std::string>{"partial(max) partial(max) -> broadcast broadcast"});
  const auto others = rows("all_reduce", {kMatrix}, attrs, 0);
  CHECK(std::find(others.begin(), others.end(), "split(1) -> split(1)") != others.end());
  CHECK(std::find(others.begin(), others.end(), "partial(max) -> broadcast") == others.end());
}
