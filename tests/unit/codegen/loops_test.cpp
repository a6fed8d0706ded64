// Loop nests: outer loops of all sizes, ways to meet memory, reductions in stages; whole and in parts.
#include <catch2/catch.hpp>

#include "tests/unit/codegen/reference.h"

using namespace dtl;
using namespace dtl::codegen::test;

namespace {

constexpr Tolerance kExact{}, kRounded{1e-5, 1e-5};

std::string with(std::string text, const std::string& type) {
  for (size_t at = 0; (at = text.find("T", at)) != std::string::npos; at += type.size()) text.replace(at, 1, type);
  return text;
}

const std::vector<int64_t> kSizes = {0, 1, 3, 15, 16, 17, 33, 64, 65, 131, 1000};

}  // namespace

TEST_CASE("a flat loop of any size") {
  const std::string text = R"(operand 0 T[$0]
operand 1 T[$0]
operand 2 T[$0] written
outer 0 $0
%0 = loop i64 0
%1 = load T 0[%0]
%2 = load T 1[%0]
%3 = add T %1, %2
%4 = maximum T %3, %1
stage []
  store 2[%0] %4
)";
  for (const int64_t n : kSizes) {
    for (const char* type : {"f32", "f64", "i64", "i32", "i8", "u8"}) check_kernel(with(text, type), {n}, kExact);
  }
}

TEST_CASE("one element, without loops") {
  check_kernel("operand 0 f32[]\noperand 1 f32[] written\n%0 = load f32 0[]\n%1 = exp f32 %0\nstage []\n  store 1[] %1\n", {}, kRounded);
}

TEST_CASE("two and three outer loops, with broadcast operands") {
  const std::string two = R"(operand 0 f32[$0, 37]
operand 1 f32[37]
operand 2 f32[$0]
operand 3 f32[]
operand 4 f32[$0, 37] written
outer 0 $0
outer 1 37
%0 = loop i64 0
%1 = loop i64 1
%2 = load f32 0[%0, %1]
%3 = load f32 1[%1]
%4 = load f32 2[%0]
%5 = load f32 3[]
%6 = exp f32 %4
%7 = multiply f32 %2, %3
%8 = add f32 %7, %6
%9 = subtract f32 %8, %5
stage []
  store 4[%0, %1] %9
)";
  for (const int64_t n : {0, 1, 2, 5}) check_kernel(two, {n}, kRounded);
  const std::string three = R"(operand 0 f64[$0, 3, $1]
operand 1 f64[3]
operand 2 f64[$0, 3, $1] written
outer 0 $0
outer 1 3
outer 2 $1
%0 = loop i64 0
%1 = loop i64 1
%2 = loop i64 2
%3 = load f64 0[%0, %1, %2]
%4 = load f64 1[%1]
%5 = multiply f64 %3, %4
stage []
  store 2[%0, %1, %2] %5
)";
  for (const int64_t n : {0, 1, 4}) {
    for (const int64_t m : {0, 1, 3, 17, 40}) check_kernel(three, {n, m}, kExact);
  }
}

TEST_CASE("transposed, strided and reversed loads") {
  const std::string transposed = R"(operand 0 T[19, $0]
operand 1 T[$0, 19] written
outer 0 $0
outer 1 19
%0 = loop i64 0
%1 = loop i64 1
%2 = load T 0[%1, %0]
stage []
  store 1[%0, %1] %2
)";
  for (const char* type : {"f32", "f64", "i64", "u8", "bool"}) {
    for (const int64_t n : {0, 1, 5, 23})
      check_kernel(with(transposed, type), {n}, kExact, [](size_t, int64_t i) { return static_cast<double>(i % 7 % 2 + i % 2); });
  }
  // Every second element, from the end: 2·(n − 1 − i).
  const std::string strided = R"(operand 0 T[2*$0]
operand 1 T[$0] written
outer 0 $0
%0 = loop i64 0
%1 = size i64 $0
%2 = constant i64 1.0
%3 = subtract i64 %1, %2
%4 = subtract i64 %3, %0
%5 = constant i64 2.0
%6 = multiply i64 %4, %5
%7 = load T 0[%6]
stage []
  store 1[%0] %7
)";
  for (const char* type : {"f32", "f64", "i32", "i8"}) {
    for (const int64_t n : kSizes) check_kernel(with(strided, type), {n}, kExact);
  }
}

TEST_CASE("gathered rows, clamped to the table") {
  const std::string text = R"(operand 0 f32[5, 7]
operand 1 i64[$0]
operand 2 f32[$0, 7] written
outer 0 $0
outer 1 7
%0 = loop i64 0
%1 = loop i64 1
%2 = load i64 1[%0]
%3 = constant i64 0.0
%4 = maximum i64 %2, %3
%5 = constant i64 4.0
%6 = minimum i64 %4, %5
%7 = load f32 0[%6, %1]
stage []
  store 2[%0, %1] %7
)";
  for (const int64_t n : {0, 1, 9, 40}) {
    check_kernel(text, {n}, kExact,
                 [](size_t k, int64_t i) { return k == 1 ? static_cast<double>(i * 5 % 9 - 2) : static_cast<double>(i); });
  }
  // A gather over lanes.
  const std::string flat = R"(operand 0 f64[11]
operand 1 i32[$0]
operand 2 f64[$0] written
outer 0 $0
%0 = loop i64 0
%1 = load i32 1[%0]
%2 = cast i64 %1
%3 = load f64 0[%2]
stage []
  store 2[%0] %3
)";
  for (const int64_t n : kSizes) {
    check_kernel(flat, {n}, kExact,
                 [](size_t k, int64_t i) { return k == 1 ? static_cast<double>(i * 7 % 11) : static_cast<double>(i) * 0.5; });
  }
}

TEST_CASE("an operand that is empty in this run is not touched by a clamped index") {
  const std::string text = R"(operand 0 f32[$0]
operand 1 f32[$1] written
outer 0 $1
%0 = loop i64 0
%1 = size i64 $0
%2 = constant i64 1.0
%3 = subtract i64 %1, %2
%4 = minimum i64 %0, %3
%5 = load f32 0[%4]
%6 = less bool %0, %1
%7 = constant f32 0.0
%8 = select f32 %6, %5, %7
stage []
  store 1[%0] %8
)";
  check_kernel(text, {5, 40}, kExact);
  const kernel::Kernel kernel = parsed(text);
  for (const int bits : vector_widths()) {
    Memories operands = make_operands(kernel, {0, 40});
    call(compiled(kernel, bits), operands, {0, 40}, 0, 40);
    for (int64_t i = 0; i < 40; ++i) CHECK(operands[1].get(i).real == 0);
  }
}

TEST_CASE("softmax of rows: three stages, the last one stores") {
  const std::string text = R"(operand 0 T[$0, $1]
operand 1 T[$0, $1] written
outer 0 $0
inner 1 $1
%0 = loop i64 0
%1 = loop i64 1
%2 = load T 0[%0, %1]
%3 = reduced T 0.0
%4 = subtract T %2, %3
%5 = exp T %4
%6 = reduced T 1.0
%7 = divide T %5, %6
stage [1]
  reduce max %2
stage [1]
  reduce sum %5
stage [1]
  store 1[%0, %1] %7
)";
  for (const char* type : {"f32", "f64"}) {
    for (const int64_t n : {0, 1, 3, 20}) {
      for (const int64_t m : {0, 1, 3, 10, 16, 33, 130}) check_kernel(with(text, type), {n, m}, {1e-5, 1e-6});
    }
  }
  // Ten columns, known when the kernel is compiled.
  std::string ten = text;
  for (size_t at = 0; (at = ten.find("$1", at)) != std::string::npos;) ten.replace(at, 2, "10");
  for (const int64_t n : {0, 1, 3, 16, 20, 133}) check_kernel(with(ten, "f32"), {n}, {1e-5, 1e-6});
}

TEST_CASE("sums of columns: lanes along the last outer loop") {
  const std::string text = R"(operand 0 T[$1, $0]
operand 1 T[$0] written
outer 0 $0
inner 1 $1
%0 = loop i64 0
%1 = loop i64 1
%2 = load T 0[%1, %0]
%3 = reduced T 0.0
stage [1]
  reduce OP %2
stage []
  store 1[%0] %3
)";
  for (const char* op : {"sum", "max", "min", "product"}) {
    for (const char* type : {"f32", "f64", "i64", "i32", "u8"}) {
      std::string one = with(text, type);
      one.replace(one.find("OP"), 2, op);
      for (const int64_t n : {0, 1, 17, 80}) {
        for (const int64_t m : {0, 1, 5, 21}) check_kernel(one, {n, m}, {1e-5, 1e-5});
      }
    }
  }
}

TEST_CASE("sums of rows, of all types and sizes, by every reduction") {
  const std::string text = R"(operand 0 T[$0, $1]
operand 1 T[$0] written
outer 0 $0
inner 1 $1
%0 = loop i64 0
%1 = loop i64 1
%2 = load T 0[%0, %1]
%3 = reduced T 0.0
stage [1]
  reduce OP %2
stage []
  store 1[%0] %3
)";
  for (const char* op : {"sum", "max", "min", "product"}) {
    for (const char* type : {"f32", "f64", "i64", "i32", "i8", "u8"}) {
      std::string one = with(text, type);
      one.replace(one.find("OP"), 2, op);
      for (const int64_t m : kSizes) check_kernel(one, {3, m}, {1e-4, 1e-4});
    }
  }
}

TEST_CASE("a NaN survives every reduction and the larger and smaller of two, wherever it is") {
  for (const char* op : {"sum", "max", "min", "product"}) {
    for (const char* layout : {"row", "column"}) {
      const bool row = layout == std::string("row");
      const std::string text = fmt::format(
          "operand 0 f32[{0}]\noperand 1 f32[$0] written\nouter 0 $0\ninner 1 $1\n%0 = loop i64 0\n%1 = loop i64 1\n%2 = load f32 "
          "0[{1}]\n%3 = reduced f32 0.0\nstage [1]\n"
          "  reduce {2} %2\nstage []\n  store 1[%0] %3\n",
          row ? "$0, $1" : "$1, $0", row ? "%0, %1" : "%1, %0", op);
      const int64_t m = 75;
      for (int64_t at = 0; at < m; at += 7) {
        const auto fill = [&](size_t, int64_t i) { return i == (row ? 2 * m + at : at * 5 + 2) ? NAN : 1.0; };
        const kernel::Kernel kernel = parsed(text);
        for (const int bits : vector_widths()) {
          Memories operands = make_operands(kernel, {5, m}, fill);
          call(compiled(kernel, bits), operands, {5, m}, 0, 5);
          for (int64_t i = 0; i < 5; ++i) CHECK(std::isnan(operands[1].get(i).real) == (i == 2));
        }
      }
    }
  }
}

TEST_CASE("two results of one stage, and a sum of products over two inner loops") {
  const std::string text = R"(operand 0 f64[$0, 5, 13]
operand 1 f64[5, 13]
operand 2 f64[$0] written
operand 3 f64[$0] written
outer 0 $0
inner 1 5
inner 2 13
%0 = loop i64 0
%1 = loop i64 1
%2 = loop i64 2
%3 = load f64 0[%0, %1, %2]
%4 = load f64 1[%1, %2]
%5 = multiply f64 %3, %4
%6 = multiply f64 %3, %3
%7 = reduced f64 0.0
%8 = reduced f64 0.1
stage [1, 2]
  reduce sum %5
  reduce sum %6
stage []
  store 2[%0] %7
  store 3[%0] %8
)";
  for (const int64_t n : {0, 1, 6, 17}) check_kernel(text, {n}, {1e-12, 1e-12});
}

TEST_CASE("the first place of the largest: a result of one stage inside another") {
  const std::string text = R"(operand 0 f32[$0, $1]
operand 1 i64[$0] written
outer 0 $0
inner 1 $1
%0 = loop i64 0
%1 = loop i64 1
%2 = load f32 0[%0, %1]
%3 = reduced f32 0.0
%4 = equal bool %2, %3
%5 = is_nan bool %2
%6 = logical_or bool %4, %5
%7 = constant i64 9007199254740992.0
%8 = select i64 %6, %1, %7
%9 = reduced i64 1.0
stage [1]
  reduce max %2
stage [1]
  reduce min %8
stage []
  store 1[%0] %9
)";
  for (const int64_t m : {1, 3, 10, 16, 50}) {
    check_kernel(text, {9, m}, kExact, [](size_t, int64_t i) { return static_cast<double>(i * 7 % 5); });
    check_kernel(text, {9, m}, kExact, [](size_t, int64_t i) { return i % 11 == 4 ? NAN : static_cast<double>(i * 7 % 5); });
  }
}

TEST_CASE("a whole reduction without outer loops") {
  const std::string text = R"(operand 0 f32[$0]
operand 1 f32[] written
inner 0 $0
%0 = loop i64 0
%1 = load f32 0[%0]
%2 = multiply f32 %1, %1
%3 = reduced f32 0.0
%4 = sqrt f32 %3
stage [0]
  reduce sum %2
stage []
  store 1[] %4
)";
  for (const int64_t n : kSizes) check_kernel(text, {n}, {1e-5, 1e-6});
}

TEST_CASE("a stage that stores in its inner loop what another stage reduces again, and once after it") {
  // Layer norm of a row: mean, then variance about it, then the row; the mean goes out as well.
  const std::string text = R"(operand 0 f32[$0, 20]
operand 1 f32[$0, 20] written
operand 2 f32[$0] written
outer 0 $0
inner 1 20
%0 = loop i64 0
%1 = loop i64 1
%2 = load f32 0[%0, %1]
%3 = reduced f32 0.0
%4 = constant f32 0.05
%5 = multiply f32 %3, %4
%6 = subtract f32 %2, %5
%7 = multiply f32 %6, %6
%8 = reduced f32 1.0
%9 = multiply f32 %8, %4
%10 = rsqrt f32 %9
%11 = multiply f32 %6, %10
stage [1]
  reduce sum %2
stage [1]
  reduce sum %7
stage [1]
  store 1[%0, %1] %11
stage []
  store 2[%0] %5
)";
  for (const int64_t n : {0, 1, 5, 40}) check_kernel(text, {n}, {1e-4, 1e-5});
}

TEST_CASE("booleans are bytes of 0 and 1") {
  check_kernel(R"(operand 0 f32[$0]
operand 1 bool[$0]
operand 2 bool[$0] written
outer 0 $0
%0 = loop i64 0
%1 = load f32 0[%0]
%2 = load bool 1[%0]
%3 = constant f32 0.0
%4 = less bool %3, %1
%5 = logical_and bool %4, %2
stage []
  store 2[%0] %5
)",
               {83}, kExact, [](size_t k, int64_t i) { return k == 0 ? static_cast<double>(i % 5) - 2 : static_cast<double>(i % 2); });
}

TEST_CASE("bytes to floats, scaled: narrow loads beside wide arithmetic") {
  check_kernel(R"(operand 0 u8[$0, 7, 9]
operand 1 f32[$0, 63] written
outer 0 $0
outer 1 63
%0 = loop i64 0
%1 = loop i64 1
%2 = constant i64 9.0
%3 = floor_div i64 %1, %2
%4 = mod i64 %1, %2
%5 = load u8 0[%0, %3, %4]
%6 = cast f32 %5
%7 = constant f32 255.0
%8 = divide f32 %6, %7
stage []
  store 1[%0, %1] %8
)",
               {5}, kExact, [](size_t, int64_t i) { return static_cast<double>(i % 256); });
}

TEST_CASE("scalars in f64 beside lanes of f32: Adam's update as the standard library writes it") {
  const std::string text = R"(operand 0 f32[$0]
operand 1 f32[$0]
operand 2 f32[$0]
operand 3 f32[$0]
operand 4 i64[]
operand 5 f32[$0] written
operand 6 f32[$0] written
operand 7 f32[$0] written
outer 0 $0
%0 = loop i64 0
%1 = load f32 0[%0]
%2 = load f32 1[%0]
%3 = load f32 2[%0]
%4 = load f32 3[%0]
%5 = load i64 4[]
%6 = cast f64 %5
%7 = constant f64 0.9
%8 = constant f64 0.999
%9 = constant f64 1.0
%10 = power f64 %7, %6
%11 = power f64 %8, %6
%12 = subtract f64 %9, %10
%13 = subtract f64 %9, %11
%14 = divide f64 %9, %12
%15 = sqrt f64 %13
%16 = divide f64 %9, %15
%17 = cast f32 %14
%18 = cast f32 %16
%19 = constant f32 0.9
%20 = constant f32 0.1
%21 = constant f32 0.999
%22 = constant f32 0.001
%23 = multiply f32 %19, %2
%24 = multiply f32 %20, %4
%25 = add f32 %23, %24
%26 = multiply f32 %4, %4
%27 = multiply f32 %21, %3
%28 = multiply f32 %22, %26
%29 = add f32 %27, %28
%30 = multiply f32 %17, %25
%31 = sqrt f32 %29
%32 = multiply f32 %18, %31
%33 = constant f32 1e-08
%34 = add f32 %32, %33
%35 = divide f32 %30, %34
%36 = multiply f32 %22, %35
%37 = subtract f32 %1, %36
stage []
  store 5[%0] %37
  store 6[%0] %25
  store 7[%0] %29
)";
  const auto fill = [](size_t k, int64_t i) {
    return k == 4 ? 3.0 : k == 2 ? 0.01 * static_cast<double>(i % 17) : 0.1 * static_cast<double>(i % 23) - 1;
  };
  for (const int64_t n : kSizes) check_kernel(text, {n}, {1e-5, 1e-6}, fill);
  // A scalar in f64 is stored to every element of an f64 operand by lanes of f32.
  check_kernel(R"(operand 0 f64[]
operand 1 f32[$0]
operand 2 f64[$0] written
operand 3 f32[$0] written
outer 0 $0
%0 = loop i64 0
%1 = load f64 0[]
%2 = exp f64 %1
%3 = load f32 1[%0]
%4 = exp f32 %3
stage []
  store 2[%0] %2
  store 3[%0] %4
)",
               {37}, {1e-6, 0});
}
