// Attributes: each alternative has a text of its own that parses back.
#include "compiler/types/attrs.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace dtl;
using namespace dtl::types;

TEST_CASE("attributes are sorted by name and replaced by set") {
  Attrs attrs{{"b", int64_t{1}}, {"a", true}};
  CHECK(attrs.str() == "{a = true, b = 1}");
  attrs.set("b", int64_t{2});
  attrs.set("aa", 1.0);
  CHECK(attrs.str() == "{a = true, aa = 1.0, b = 2}");
  CHECK(attrs.get<int64_t>("b") == 2);
  CHECK(attrs.get_or<int64_t>("c", 7) == 7);
  CHECK(attrs.find("c") == nullptr);
  CHECK(Attrs{}.str() == "{}");
}

TEST_CASE("every alternative parses back to equal attributes") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<AttrValue> values = {true,
                                         false,
                                         int64_t{0},
                                         int64_t{-5},
                                         std::numeric_limits<int64_t>::max(),
                                         0.0,
                                         -0.0,
                                         1.0,
                                         1e100,
                                         0.1,
                                         1.0 / 3,
                                         -2.5e-300,
                                         infinity,
                                         -infinity,
                                         std::string(),
                                         std::string("plain"),
                                         std::string("a \"quoted\" \\ text\n, b = {[(\""),
                                         std::string("split(0)"),
                                         Ints{},
                                         Ints{0, -1, 20},
                                         DType::f64,
                                         DType::boolean,
                                         ReduceOp::sum,
                                         ReduceOp::product,
                                         Dims{},
                                         Dims{Dim::symbol("batch"), Dim(10)},
                                         Dims{Dim::symbol("n") * 2 + 1},
                                         Placements{},
                                         Placements{Placement::split(0)},
                                         Placements{Placement::broadcast()},
                                         Placements{Placement::split(1), Placement::partial(ReduceOp::max)}};
  Attrs all;
  for (size_t i = 0; i < values.size(); ++i) {
    const Attrs attrs{{"value", values[i]}};
    CAPTURE(attrs.str());
    const auto back = Attrs::parse(attrs.str());
    REQUIRE(back);
    CHECK(*back == attrs);
    CHECK(back->str() == attrs.str());
    all.set(fmt::format("v{}", i), values[i]);
  }
  CHECK(Attrs::parse(all.str()) == all);
  const auto nan = Attrs::parse(Attrs{{"value", std::nan("")}}.str());
  REQUIRE(nan);
  CHECK(std::isnan(nan->get<double>("value")));
}

TEST_CASE("the text of the header's example") {
  const Attrs attrs{{"axis", int64_t{1}},
                    {"dims", Ints{0, 1}},
                    {"keep", true},
                    {"name", std::string("x")},
                    {"op", ReduceOp::sum},
                    {"placement", Placements{Placement::split(0)}},
                    {"shape", Dims{Dim::symbol("batch"), Dim(10)}},
                    {"to", DType::f32},
                    {"value", 1.5}};
  CHECK(
      attrs.str() ==
      "{axis = 1, dims = #[0, 1], keep = true, name = \"x\", op = sum, placement = split(0), shape = [batch, 10], to = f32, value = 1.5}");
  CHECK(Attrs::parse(attrs.str()) == attrs);
}

TEST_CASE("other texts are no attributes") {
  for (const char* text :
       {"", "{", "a = 1", "{a}", "{a = }", "{a = 1, a = 2}", "{a = b}", "{a = \"x}", "{a = [1}", "{a = #[x]}", "{= 1}", "{a = 1,}"}) {
    CAPTURE(text);
    CHECK_FALSE(Attrs::parse(text));
  }
}
