// Kernel text, its parser, the verifier's refusals, cost.
#include "compiler/kernel/kernel.h"

#include <catch2/catch.hpp>

using namespace dtl;
using namespace dtl::kernel;

namespace {

/// Softmax over the last dimension, the batch in slot 0.
const char* const kSoftmax = R"(operand 0 f32[$0, 10]
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
)";

Kernel softmax() { return *parse(kSoftmax); }

std::string refused(const std::function<void(Kernel&)>& change) {
  Kernel kernel = softmax();
  change(kernel);
  return verify(kernel);
}

}  // namespace

TEST_CASE("scalars have names") {
  for (int i = 0; i <= static_cast<int>(Scalar::uniform); ++i)
    CHECK(parse_scalar(name_of(static_cast<Scalar>(i))) == static_cast<Scalar>(i));
  CHECK_FALSE(parse_scalar("sinh"));
}

TEST_CASE("kernel text reads back to the same kernel and the same text") {
  const Kernel kernel = softmax();
  CHECK(verify(kernel).empty());
  CHECK(print(kernel) == kSoftmax);
  CHECK(parse(print(kernel)) == kernel);

  Kernel all;
  all.operands = {{DType::i64, {}}, {DType::f64, {{3, 1}, {4, -1}}, true}};
  all.loops = {{1, 1}, {2, 0}, {7, -1}};
  all.outer = 2;
  const auto add = [&](Instruction instruction) { all.body.push_back(std::move(instruction)); };
  add({Scalar::load, DType::i64, {}});
  add({.scalar = Scalar::loop, .dtype = DType::i64, .args = {}, .index = 1});
  add({.scalar = Scalar::size, .dtype = DType::i64, .args = {}, .size = {3, 1}});
  for (const double number : {0.1, -1e300, 1.0, 0.0, -0.0, HUGE_VAL, 0x1p-1074, 1.0 / 3}) {
    add({.scalar = Scalar::constant, .dtype = DType::f64, .args = {}, .number = number});
  }
  add({.scalar = Scalar::uniform, .dtype = DType::f64, .args = {0, 1, 2, 2}});
  add({.scalar = Scalar::select, .dtype = DType::f64, .args = {0, 4, 5}});
  all.stages = {{{2}, {{ReduceOp::product, 4}, {ReduceOp::min, 5}}, {}}, {{}, {}, {{1, {1, 1}, 6}, {1, {2, 1}, 7}}}};
  CHECK(parse(print(all)) == all);
  CHECK(print(*parse(print(all))) == print(all));
}

TEST_CASE("what is no kernel is refused with its line") {
  std::string error;
  for (const char* bad : {"nonsense",
                          "operand 1 f32[]",
                          "operand 0 f31[]",
                          "operand 0 f32[",
                          "operand 0 f32[3*]",
                          "operand 0 f32[] wrote",
                          "inner 0 5\nouter 1 5",
                          "%1 = loop i64 0",
                          "%0 = lop i64 0",
                          "%0 = loop i64 -1",
                          "%0 = constant f32 x",
                          "%0 = add f32 %a",
                          "reduce sum %0",
                          "stage [0",
                          "stage []\n store 0[%0]",
                          "%0 = add f32 %1, ",
                          "stage []\nreduce mean %0",
                          "%0 = load f32 0",
                          "%0 = constant f32 1.0 2.0",
                          "outer 0 99999999999999999999"}) {
    INFO(bad);
    CHECK_FALSE(parse(bad, &error));
    CHECK(error.find("is no part of a kernel") != std::string::npos);
  }
  CHECK_FALSE(parse("outer 0 5\n\nfoo\n", &error));
  CHECK(error == "line 3 is no part of a kernel: foo");
}

TEST_CASE("the verifier names the first broken promise") {
  CHECK(refused([](Kernel& k) { k.body[4].args = {2, 5}; }) == "%4: %5 does not come before it");
  CHECK(refused([](Kernel& k) { k.body[4].args = {2}; }) == "%4: `subtract` takes 2 operands, not 1");
  CHECK(refused([](Kernel& k) { k.body[4].args = {2, 0}; }) == "%4: element types of `subtract` differ");
  CHECK(refused([](Kernel& k) { k.body[5].dtype = DType::f64; }) == "%5: `exp` gives the type of its operands");
  CHECK(refused([](Kernel& k) { k.body[5] = {Scalar::exp, DType::i64, {0}}; }) == "%5: `exp` takes floats");
  CHECK(refused([](Kernel& k) { k.body[2].args = {0}; }) == "%2: 1 indices for an operand of 2 dimensions");
  CHECK(refused([](Kernel& k) { k.body[2].index = 2; }) == "%2: there is no operand 2");
  CHECK(refused([](Kernel& k) { k.body[2].dtype = DType::f64; }) == "%2: a load gives its operand's element type");
  CHECK(refused([](Kernel& k) { k.body[1].index = 2; }) == "%1: there is no loop 2");
  CHECK(refused([](Kernel& k) { k.body[3].number = 1; }) == "%3: stage 0 has no result 1");
  CHECK(refused([](Kernel& k) { k.body[3].index = 7; }) == "%3: there is no stage 7");
  CHECK(refused([](Kernel& k) { k.body[3].index = 1; }) == "stage 1: %5 needs the result of stage 1");
  CHECK(refused([](Kernel& k) { k.body[4].index = 1; }) == "%4: a part that `subtract` does not have is set");
  CHECK(refused([](Kernel& k) { k.body[6].scalar = Scalar::begin, k.body[6].index = 0; }) == "%6: `begin` is for the rules of ops alone");
  CHECK(refused([](Kernel& k) { k.stages[0].loops = {}; }) == "stage 0: %2 needs loop 1, which is not in scope");
  CHECK(refused([](Kernel& k) { k.stages[0].loops = {0, 1}; }) == "stage 0: 0 is no inner loop");
  CHECK(refused([](Kernel& k) { k.stages[0].loops = {1, 1}; }) == "stage 0: loop 1 twice");
  CHECK(refused([](Kernel& k) { k.stages[2].stores = {}; }) == "stage 2: a stage either reduces or stores");
  CHECK(refused([](Kernel& k) { k.stages[2].stores[0].operand = 0; }) == "stage 2: operand 0 is not written");
  CHECK(refused([](Kernel& k) { k.stages[2].stores[0].value = 0; }) == "stage 2: a i64 is stored to an operand of f32");
  CHECK(refused([](Kernel& k) { k.stages[2].stores[0].value = 99; }) == "stage 2: there is no %99");
  CHECK(refused([](Kernel& k) { k.stages.clear(), k.body.clear(); }) == "a kernel has at least one stage");
  CHECK(refused([](Kernel& k) { k.loops[0].scale = -1; }) == "loop 0 has a negative size");
  CHECK(refused([](Kernel& k) { k.outer = 3; }) == "3 outer loops of 2 loops");
}

TEST_CASE("cost counts arithmetic and traffic") {
  const Cost result = cost(softmax(), {128});
  CHECK(result.bytes_read == 128 * 10 * 4);
  CHECK(result.bytes_written == 128 * 10 * 4);
  // subtract, exp, divide, and the two reductions, at each element
  CHECK(result.flops == 1280 * (1 + 20 + 4 + 2));
}
