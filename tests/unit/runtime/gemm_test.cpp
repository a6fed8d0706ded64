// Products against plain loops in f64, and equal bits for every number of threads.
#include "runtime/device/gemm.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>

namespace dtl::device {
namespace {

/// Small integers: every sum is exact, so that the product must be equal, not close.
template <class T>
std::vector<T> random_integers(int64_t n, std::mt19937& random) {
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) value = static_cast<T>(static_cast<int>(random() % 9) - 4);
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
        double sum = s.accumulate ? static_cast<double>(to) : 0;
        for (int64_t l = 0; l < s.k; ++l) {
          const int64_t in_a = p * s.m * s.k + (s.transpose_a ? l * s.m + i : i * s.k + l);
          const int64_t in_b = p * s.k * s.n + (s.transpose_b ? j * s.k + l : l * s.n + j);
          sum += static_cast<double>(a[static_cast<size_t>(in_a)]) * static_cast<double>(b[static_cast<size_t>(in_b)]);
        }
        to = static_cast<T>(sum);
      }
    }
  }
  return c;
}

template <class T>
void check(GemmShape shape, std::mt19937& random) {
  shape.dtype = std::is_same_v<T, float> ? DType::f32 : DType::f64;
  const auto a = random_integers<T>(shape.batch * shape.m * shape.k, random);
  const auto b = random_integers<T>(shape.batch * shape.k * shape.n, random);
  const auto c = random_integers<T>(shape.batch * shape.m * shape.n, random);
  const int threads = 1 + static_cast<int>(random() % 5);
  INFO("dtype " << name_of(shape.dtype) << " batch " << shape.batch << " m " << shape.m << " n " << shape.n << " k " << shape.k << " ta "
                << shape.transpose_a << " tb " << shape.transpose_b << " acc " << shape.accumulate << " threads " << threads);
  REQUIRE(run(shape, a, b, c, threads) == expected(shape, a, b, c));
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
  }
}

TEST_CASE("gemm takes a transposed A whose rows lie 4 KB apart, and more strips than a group holds") {
  std::mt19937 random(5);
  check<float>({.transpose_a = true, .m = 1024, .n = 70, .k = 150}, random);
  check<double>({.transpose_a = true, .transpose_b = true, .accumulate = true, .batch = 2, .m = 512, .n = 40, .k = 90}, random);
  check<float>({.m = 600, .n = 70, .k = 20}, random);
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

TEST_CASE("gemm cuts enough tiles for eight threads") {
  REQUIRE(Gemm({.m = 128, .n = 512, .k = 784}).tiles() >= 16);
  REQUIRE(Gemm({.m = 128, .n = 10, .k = 512}).tiles() >= 8);
  REQUIRE(Gemm({.transpose_a = true, .m = 512, .n = 10, .k = 128}).tiles() >= 16);
}

}  // namespace
}  // namespace dtl::device
