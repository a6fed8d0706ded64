// Products against plain loops in f64, and equal bits for every number of threads.
#include "runtime/device/gemm.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>

#include "runtime/plan/half.h"

namespace dtl::device {
namespace {

template <class T>
constexpr DType kDType = std::is_same_v<T, double>       ? DType::f64
                         : std::is_same_v<T, float>      ? DType::f32
                         : std::is_same_v<T, plan::Bf16> ? DType::bf16
                                                         : DType::f16;

/// A number of the type; of the narrow ones by way of f32, which holds the sums of these tests exactly.
template <class T>
double number(T value) {
  if constexpr (std::is_floating_point_v<T>) return static_cast<double>(value);
  return static_cast<double>(static_cast<float>(value));
}
template <class T>
std::vector<double> numbers(const std::vector<T>& values) {
  std::vector<double> result;
  for (const T value : values) result.push_back(number(value));
  return result;
}

/// Small integers: every sum is exact, so that the product must be equal, not close.
template <class T>
std::vector<T> random_integers(int64_t n, std::mt19937& random) {
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) value = T(static_cast<float>(static_cast<int>(random() % 9) - 4));
  return values;
}

template <class T>
std::vector<T> run(const GemmShape& shape, const std::vector<T>& a, const std::vector<T>& b, std::vector<T> c, int threads) {
  const Gemm gemm(shape);
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> scratch(static_cast<size_t>(gemm.scratch_bytes() / 64 + 1));
  // The threads' parts are disjoint: one after another will do, and backwards shows that no part waits for another.
  for (int thread = threads - 1; thread >= 0; --thread) gemm.run(a.data(), b.data(), c.data(), thread, threads, scratch[0].bytes);
  return c;
}

template <class T>
std::vector<T> expected(const GemmShape& s, const std::vector<T>& a, const std::vector<T>& b, std::vector<T> c) {
  for (int64_t p = 0; p < s.batch; ++p) {
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        T& to = c[static_cast<size_t>((p * s.m + i) * s.n + j)];
        double sum = s.accumulate ? number(to) : 0;
        for (int64_t l = 0; l < s.k; ++l) {
          const int64_t in_a = p * s.m * s.k + (s.transpose_a ? l * s.m + i : i * s.k + l);
          const int64_t in_b = p * s.k * s.n + (s.transpose_b ? j * s.k + l : l * s.n + j);
          sum += number(a[static_cast<size_t>(in_a)]) * number(b[static_cast<size_t>(in_b)]);
        }
        to = T(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(sum));  // one rounding
      }
    }
  }
  return c;
}

template <class T>
void check(GemmShape shape, std::mt19937& random) {
  shape.dtype = kDType<T>;
  const auto a = random_integers<T>(shape.batch * shape.m * shape.k, random);
  const auto b = random_integers<T>(shape.batch * shape.k * shape.n, random);
  const auto c = random_integers<T>(shape.batch * shape.m * shape.n, random);
  const int threads = 1 + static_cast<int>(random() % 5);
  INFO("dtype " << name_of(shape.dtype) << " batch " << shape.batch << " m " << shape.m << " n " << shape.n << " k " << shape.k << " ta "
                << shape.transpose_a << " tb " << shape.transpose_b << " acc " << shape.accumulate << " threads " << threads);
  REQUIRE(numbers(run(shape, a, b, c, threads)) == numbers(expected(shape, a, b, c)));
}

TEST_CASE("gemm equals plain loops at every combination of small and odd sizes") {
  std::mt19937 random(1);
  const int64_t sizes[] = {0, 1, 2, 10, 17, 65};
  for (int64_t m : sizes) {
    for (int64_t n : sizes) {
      for (int64_t k : sizes) {
        const GemmShape shape{.transpose_a = random() % 2 == 0,
                              .transpose_b = random() % 2 == 0,
                              .accumulate = random() % 2 == 0,
                              .batch = 1 + static_cast<int64_t>(random() % 2),
                              .m = m,
                              .n = n,
                              .k = k};
        check<float>(shape, random);
        check<double>(shape, random);
        check<plan::Bf16>(shape, random);
        check<plan::F16>(shape, random);
      }
    }
  }
}

TEST_CASE("gemm equals plain loops at random sizes") {
  std::mt19937 random(2);
  for (int i = 0; i < 60; ++i) {
    const auto size = [&](unsigned most) { return static_cast<int64_t>(random() % (random() % 4 == 0 ? most : 40) + 1); };
    const GemmShape shape{.transpose_a = random() % 2 == 0,
                          .transpose_b = random() % 2 == 0,
                          .accumulate = random() % 2 == 0,
                          .batch = static_cast<int64_t>(random() % 4),
                          .m = size(200),
                          .n = size(200),
                          .k = size(600)};
    check<float>(shape, random);
    check<double>(shape, random);
    check<plan::Bf16>(shape, random);
    check<plan::F16>(shape, random);
  }
}

TEST_CASE("gemm takes every transpose and accumulates over several depths of k") {
  std::mt19937 random(3);
  for (unsigned bits = 0; bits < 8; ++bits) {
    const GemmShape shape{.transpose_a = (bits & 1u) != 0,
                          .transpose_b = (bits & 2u) != 0,
                          .accumulate = (bits & 4u) != 0,
                          .batch = 2,
                          .m = 70,
                          .n = 130,
                          .k = 530};
    check<float>(shape, random);
    check<double>(shape, random);
    check<plan::Bf16>(shape, random);
    check<plan::F16>(shape, random);
  }
}

TEST_CASE("gemm takes a transposed A whose rows lie 4 KB apart, and more strips than a group holds") {
  std::mt19937 random(5);
  check<float>({.transpose_a = true, .m = 1024, .n = 70, .k = 150}, random);
  check<double>({.transpose_a = true, .transpose_b = true, .accumulate = true, .batch = 2, .m = 512, .n = 40, .k = 90}, random);
  check<float>({.m = 600, .n = 70, .k = 20}, random);
  check<plan::Bf16>({.transpose_a = true, .m = 1024, .n = 70, .k = 150}, random);
  check<plan::F16>({.m = 600, .n = 70, .k = 20}, random);
}

TEST_CASE("gemm gives the same bits for every number of threads") {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  for (const bool transposed : {false, true}) {
    const GemmShape shape{.transpose_a = transposed, .transpose_b = transposed, .m = 43, .n = 150, .k = 401};
    std::vector<float> a(static_cast<size_t>(shape.m * shape.k)), b(static_cast<size_t>(shape.k * shape.n));
    for (float& x : a) x = normal(random);
    for (float& x : b) x = normal(random);
    const std::vector<float> c(static_cast<size_t>(shape.m * shape.n));
    const auto one = run(shape, a, b, c, 1);
    for (int threads = 2; threads <= 9; ++threads) {
      const auto some = run(shape, a, b, c, threads);
      REQUIRE(std::memcmp(one.data(), some.data(), one.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("an infinite or undefined element reaches its row of the product") {
  const GemmShape shape{.m = 3, .n = 4, .k = 2};
  const std::vector<float> a = {1, 1, std::nanf(""), 1, 1, INFINITY}, b(8, 1.0f), c(12, std::nanf(""));
  const auto result = run(shape, a, b, c, 1);
  for (size_t j = 0; j < 4; ++j) {
    REQUIRE(result[j] == 2);  // what C held before does not matter
    REQUIRE(std::isnan(result[4 + j]));
    REQUIRE(std::isinf(result[8 + j]));
  }
}

TEST_CASE("sums of bf16 and f16 are kept in f32 and rounded once, to infinity where f16 ends") {
  // 4096 ones: a running sum in bf16 would stand still at 256, and one in f16 at 2048.
  const GemmShape shape{.dtype = DType::bf16, .m = 1, .n = 3, .k = 4096};
  const std::vector<plan::Bf16> a(4096, plan::Bf16(1)), b(3 * 4096, plan::Bf16(1)), c(3);
  CHECK(numbers(run(shape, a, b, c, 1)) == std::vector<double>(3, 4096));
  GemmShape halves = shape;
  halves.dtype = DType::f16;
  for (const float x : {1.0F, 5.0F}) {
    const std::vector<plan::F16> row(4096, plan::F16(x)), matrix(3 * 4096, plan::F16(x)), none(3);
    CHECK(numbers(run(halves, row, matrix, none, 1)) == std::vector<double>(3, x == 1 ? 4096 : static_cast<double>(INFINITY)));
  }
}

TEST_CASE("gemm cuts enough tiles for eight threads") {
  REQUIRE(Gemm({.m = 128, .n = 512, .k = 784}).tiles() >= 16);
  REQUIRE(Gemm({.m = 128, .n = 10, .k = 512}).tiles() >= 8);
  REQUIRE(Gemm({.transpose_a = true, .m = 512, .n = 10, .k = 128}).tiles() >= 16);
}

}  // namespace
}  // namespace dtl::device
