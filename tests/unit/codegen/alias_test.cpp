// Operands in one memory: written at the index at which another is read.
#include <catch2/catch.hpp>

#include "tests/unit/codegen/reference.h"

using namespace dtl;
using namespace dtl::codegen::test;

TEST_CASE("an operand may be written at the index at which another is read") {
  // Momentum in place: v ← 0.9·v + g, w ← w − 0.1·v, with operands 3 and 4 in the memory of 0 and 1.
  const kernel::Kernel kernel = parsed(R"(operand 0 f32[$0]
operand 1 f32[$0]
operand 2 f32[$0]
operand 3 f32[$0] written
operand 4 f32[$0] written
outer 0 $0
%0 = loop i64 0
%1 = load f32 0[%0]
%2 = load f32 1[%0]
%3 = load f32 2[%0]
%4 = constant f32 0.9
%5 = multiply f32 %4, %2
%6 = add f32 %5, %3
%7 = constant f32 0.1
%8 = multiply f32 %7, %6
%9 = subtract f32 %1, %8
stage []
  store 3[%0] %9
  store 4[%0] %6
)");
  for (const int64_t n : {0, 1, 3, 15, 16, 17, 33, 64, 65, 131, 1000}) {
    for (const int bits : vector_widths()) {
      Memories apart = make_operands(kernel, {n});
      call(compiled(kernel, bits), apart, {n}, 0, n);
      Memories alias = make_operands(kernel, {n});
      void* const pointers[] = {alias[0].data(), alias[1].data(), alias[2].data(), alias[0].data(), alias[1].data()};
      compiled(kernel, bits)(pointers, &n, 0, n);
      CHECK(apart[3].bits() == alias[0].bits());
      CHECK(apart[4].bits() == alias[1].bits());
    }
  }
}

TEST_CASE("an operand that is read and written at one index is updated in place") {
  const std::string text = R"(operand 0 f32[$0, 9] written
operand 1 f32[9]
outer 0 $0
outer 1 9
%0 = loop i64 0
%1 = loop i64 1
%2 = load f32 0[%0, %1]
%3 = load f32 1[%1]
%4 = add f32 %2, %3
stage []
  store 0[%0, %1] %4
)";
  for (const int64_t n : {0, 1, 7, 33}) check_kernel(text, {n}, {});
  // An accumulator: read outside the loop that is summed, written after it.
  check_kernel(R"(operand 0 f64[] written
operand 1 f64[$0]
inner 0 $0
%0 = load f64 0[]
%1 = loop i64 0
%2 = load f64 1[%1]
%3 = reduced f64 0.0
%4 = add f64 %0, %3
stage [0]
  reduce sum %2
stage []
  store 0[] %4
)",
               {50}, {1e-12, 1e-12});
}

TEST_CASE("softmax in place gives the bits of softmax apart") {
  const kernel::Kernel kernel = parsed(R"(operand 0 f32[$0, 10]
operand 1 f32[$0, 10] written
outer 0 $0
inner 1 10
%0 = loop i64 0
%1 = loop i64 1
%2 = load f32 0[%0, %1]
%3 = reduced f32 0.0
%4 = subtract f32 %2, %3
%5 = exp f32 %4
%6 = reduced f32 1.0
%7 = divide f32 %5, %6
stage [1]
  reduce max %2
stage [1]
  reduce sum %5
stage [1]
  store 1[%0, %1] %7
)");
  for (const int bits : vector_widths()) {
    const int64_t n = 37;
    Memories apart = make_operands(kernel, {n}), alias = make_operands(kernel, {n});
    call(compiled(kernel, bits), apart, {n}, 0, n);
    void* const pointers[] = {alias[0].data(), alias[0].data()};
    compiled(kernel, bits)(pointers, &n, 0, n);
    CHECK(apart[1].bits() == alias[0].bits());
  }
}
