// Reduce slices against plain loops, for every op, dtype and number of sources.
#include "runtime/collective/reduce.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "runtime/plan/half.h"

namespace dtl::collective {
namespace {

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, int8_t>) return DType::i8;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, plan::Bf16>) return DType::bf16;
  if constexpr (std::is_same_v<T, plan::F16>) return DType::f16;
}

template <class T>
std::vector<const void*> addresses(const std::vector<std::vector<T>>& sources) {
  std::vector<const void*> all;
  for (const auto& source : sources) all.push_back(source.data());
  return all;
}

template <class T>
T combined(ReduceOp op, T a, T b) {
  switch (op) {
    case ReduceOp::sum:
      return static_cast<T>(a + b);
    case ReduceOp::product:
      return static_cast<T>(a * b);
    case ReduceOp::max:
      return a > b ? a : b;
    case ReduceOp::min:
      return a < b ? a : b;
  }
  return a;
}

constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::max, ReduceOp::min, ReduceOp::product};

TEMPLATE_TEST_CASE("a slice is combined in rank order, and nothing beside it is written", "", double, float, int64_t, int32_t, int8_t,
                   uint8_t) {
  using T = TestType;
  std::mt19937 random(7);
  for (const int64_t n : {int64_t{1}, int64_t{15}, int64_t{1000}, int64_t{20000}}) {
    for (const size_t ranks : {1u, 2u, 3u, 5u}) {
      std::vector<std::vector<T>> sources(ranks, std::vector<T>(static_cast<size_t>(n)));
      for (auto& source : sources) {
        for (T& x : source) {
          if constexpr (std::is_floating_point_v<T>) {
            x = std::normal_distribution<T>()(random);
          } else {
            x = static_cast<T>(random() % 3);
          }
        }
      }
      const auto from = addresses(sources);
      for (const ReduceOp op : kOps) {
        const int64_t begin = n / 3, end = n - n / 4;
        std::vector<T> to(static_cast<size_t>(n), T(77)), expected = to;
        for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
          expected[i] = sources[0][i];
          for (size_t rank = 1; rank < ranks; ++rank) expected[i] = combined(op, expected[i], sources[rank][i]);
        }
        SharedMemory().reduce({op, dtype_of<T>(), from, to.data(), begin, end});
        INFO(name_of(op) << " of " << n << " from " << ranks);
        REQUIRE(to == expected);  // floats too: the order is fixed
      }
    }
  }
}

TEST_CASE("the result may replace one of the sources") {
  for (const size_t target : {0u, 1u, 2u}) {
    std::vector<std::vector<float>> sources(3, std::vector<float>(5000));
    for (size_t rank = 0; rank < 3; ++rank) {
      for (size_t i = 0; i < 5000; ++i) sources[rank][i] = static_cast<float>(i * (rank + 1));
    }
    const auto from = addresses(sources);
    SharedMemory().reduce({ReduceOp::sum, DType::f32, from, sources[target].data(), 0, 5000});
    for (size_t i = 0; i < 5000; ++i) REQUIRE(sources[target][i] == static_cast<float>(6 * i));
  }
}

TEST_CASE("a NaN of any rank is in the maximum and the minimum") {
  for (const size_t ranks : {2u, 3u}) {
    for (size_t rank = 0; rank < ranks; ++rank) {
      std::vector<std::vector<float>> sources(ranks, std::vector<float>(37, 1.0f));
      for (const size_t at : {0u, 36u}) sources[rank][at] = std::numeric_limits<float>::quiet_NaN();  // in a vector, in the tail
      const auto from = addresses(sources);
      for (const ReduceOp op : {ReduceOp::max, ReduceOp::min}) {
        std::vector<float> to(37);
        SharedMemory().reduce({op, DType::f32, from, to.data(), 0, 37});
        for (size_t i = 0; i < 37; ++i) REQUIRE(std::isnan(to[i]) == (i == 0 || i == 36));
      }
    }
  }
}

TEMPLATE_TEST_CASE("halves are summed in f32 and rounded once", "", plan::Bf16, plan::F16) {
  using T = TestType;
  // 256 + 0.75 + 0.75: rounded after each addition, a bf16 would stay at 256 or reach 258 by luck; the sum is 257.5.
  std::vector<std::vector<T>> sources = {std::vector<T>(50, T(256.0f)), std::vector<T>(50, T(0.75f)), std::vector<T>(50, T(0.75f))};
  const auto from = addresses(sources);
  std::vector<T> to(50);
  SharedMemory().reduce({ReduceOp::sum, dtype_of<T>(), from, to.data(), 0, 50});
  for (const T& x : to) REQUIRE(static_cast<float>(x) == static_cast<float>(T(257.5f)));
}

TEST_CASE("bf16 rounds to nearest even and keeps NaN") {
  REQUIRE(static_cast<float>(plan::Bf16(1.0f)) == 1.0f);
  REQUIRE(static_cast<float>(plan::Bf16(1.00390625f)) == 1.0f);       // half way, to even
  REQUIRE(static_cast<float>(plan::Bf16(1.01171875f)) == 1.015625f);  // half way, to even
  REQUIRE(std::isinf(static_cast<float>(plan::Bf16(3.4e38f))));
  REQUIRE(std::isnan(static_cast<float>(plan::Bf16(std::bit_cast<float>(0x7f800001u)))));
}

TEST_CASE("bools are combined as and, or") {
  const std::vector<std::vector<uint8_t>> sources = {{0, 0, 1, 1}, {0, 1, 0, 1}};
  const auto from = addresses(sources);
  std::vector<uint8_t> to(4);
  SharedMemory().reduce({ReduceOp::max, DType::boolean, from, to.data(), 0, 4});
  REQUIRE(to == std::vector<uint8_t>{0, 1, 1, 1});
  SharedMemory().reduce({ReduceOp::min, DType::boolean, from, to.data(), 0, 4});
  REQUIRE(to == std::vector<uint8_t>{0, 0, 0, 1});
}

}  // namespace
}  // namespace dtl::collective
