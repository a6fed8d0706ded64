// Symbolic dimensions: algebra, exact division, text.
#include "compiler/types/dim.h"

#include <catch2/catch.hpp>

using dtl::types::Dim;

namespace {
const Dim kN = Dim::symbol("n"), kM = Dim::symbol("m"), kBatch = Dim::symbol("batch");
}

TEST_CASE("equal polynomials are equal dimensions") {
  CHECK((kN + 1) * (kN - 1) == kN * kN - 1);
  CHECK(kN * kM == kM * kN);
  CHECK(kN - kN == Dim(0));
  CHECK(Dim(0) == Dim());
  CHECK(kN + kM != kN);
  CHECK(Dim(28) * Dim(28) == Dim(784));
}

TEST_CASE("constants and symbols are recognised") {
  CHECK(Dim(7).constant() == 7);
  CHECK(Dim(0).constant() == 0);
  CHECK_FALSE(kN.constant());
  CHECK(kN.as_symbol() == "n");
  CHECK_FALSE((kN * 2).as_symbol());
  CHECK_FALSE((kN * kN).as_symbol());
  CHECK((kN * kM + kBatch).symbols() == std::vector<std::string>{"batch", "m", "n"});
}

TEST_CASE("division is exact or refused") {
  CHECK((kBatch * 784).divided_by(kBatch) == Dim(784));
  CHECK((kBatch * 784).divided_by(28) == kBatch * 28);
  CHECK((kN * kN - kM * kM).divided_by(kN - kM) == kN + kM);
  CHECK((kN * kM + kM).divided_by(kM) == kN + 1);
  CHECK((kN * kM + kM).divided_by(kN + 1) == kM);
  CHECK(Dim(0).divided_by(kN) == Dim(0));
  CHECK_FALSE(kN.divided_by(2));
  CHECK_FALSE((kN + 1).divided_by(kN));
  CHECK_FALSE(kN.divided_by(kM));
  CHECK_FALSE(kN.divided_by(0));
  CHECK_FALSE(Dim(7).divided_by(2));
}

TEST_CASE("substitution and evaluation") {
  CHECK((kN * kN + kM).substitute({{"n", Dim(3)}}) == kM + 9);
  CHECK((kN * 2 + 1).substitute({{"n", kM + 1}}) == kM * 2 + 3);
  CHECK((kN * kM - 1).evaluate({{"n", 4}, {"m", 5}}) == 19);
  CHECK(Dim(3).evaluate({}) == 3);
}

TEST_CASE("printed dimensions parse back") {
  CHECK((kN * 2 + 1).str() == "2 * n + 1");
  CHECK((Dim(1) - kN).str() == "-n + 1");
  CHECK(Dim(-3).str() == "-3");
  CHECK(Dim(0).str() == "0");
  CHECK((kN * kN).str() == "n * n");
  const Dim share = Dim::symbol(dtl::types::share_of("batch"));
  CHECK(share.str() == "batch/share");
  for (const Dim& dim : {kN, kN * 2 + 1, Dim(1) - kN, Dim(-3), Dim(0), kN * kN * kM * -5 + kM - 7, share * 4 - kBatch}) {
    CHECK(Dim::parse(dim.str()) == dim);
  }
}

TEST_CASE("other texts are no dimensions") {
  for (const char* text : {"", "n +", "+ n", "n m", "2n", "n * ", "(n)", "n ** 2", "1.5", "- - n", "n, m", "9999999999999999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(Dim::parse(text));
  }
}
