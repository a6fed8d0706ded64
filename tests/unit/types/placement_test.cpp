// Placements: text.
#include "compiler/types/placement.h"

#include <catch2/catch.hpp>

using dtl::ReduceOp;
using dtl::types::parse_placements;
using dtl::types::Placement;
using dtl::types::PlacementKind;
using dtl::types::Placements;

TEST_CASE("placements print and parse back") {
  CHECK(Placement::split(2).str() == "split(2)");
  CHECK(Placement::partial(ReduceOp::max).str() == "partial(max)");
  const Placement server{PlacementKind::at, 0, ReduceOp::sum, "server.0"};
  CHECK(server.str() == "at(server.0)");
  for (const Placement& one : {Placement::split(0), Placement::split(11), Placement::broadcast(), Placement::partial(ReduceOp::sum),
                               Placement::partial(ReduceOp::product), Placement::varying(), server}) {
    CHECK(Placement::parse(one.str()) == one);
    CHECK(parse_placements(str(Placements{one})) == Placements{one});
  }
  for (const char* text : {"", "split", "split()", "split(-1)", "split(x)", "partial(mean)", "broadcast()", "at()",
                           "split(0) "
                           "x"}) {
    CAPTURE(text);
    CHECK_FALSE(Placement::parse(text));
  }
}

TEST_CASE("placements over several mesh axes are a tuple") {
  const Placements two{Placement::split(0), Placement::broadcast()};
  CHECK(str(two) == "(split(0), broadcast)");
  CHECK(parse_placements(str(two)) == two);
  CHECK(str(Placements{}) == "()");
  CHECK(parse_placements("()") == Placements{});
  CHECK_FALSE(parse_placements("(split(0))"));
  CHECK_FALSE(parse_placements("(split(0), )"));
}
