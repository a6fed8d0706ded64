// bf16 and f16, bit by bit: every pattern there and back, and rounding against integer arithmetic written on its own.
#include <bit>
#include <catch2/catch.hpp>
#include <random>

#include "runtime/plan/half.h"
#include "tests/unit/codegen/reference.h"

using namespace dtl;
using namespace dtl::codegen::test;

namespace {

/// An IEEE 754 format of 16 bits.
struct Format {
  DType dtype;
  int exponent_bits, fraction_bits;
};
const Format kFormats[] = {{DType::bf16, 8, 7}, {DType::f16, 5, 10}};

/// The nearest number of the format, ties to even, by the definition: an integer multiple of the last place at its size.
uint16_t rounded(const Format& format, float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>(bits >> 31 << 15);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const auto infinity = static_cast<uint16_t>(((1 << format.exponent_bits) - 1) << format.fraction_bits);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(sign | infinity | 1 << (format.fraction_bits - 1) | (bits & 0x7fffff) >> (23 - format.fraction_bits));
  if ((bits & 0x7fffffff) == 0x7f800000) return sign | infinity;
  // |x| = fraction · 2^exponent with a whole fraction.
  const auto raw = static_cast<int>(bits >> 23 & 0xff);
  const uint64_t fraction = (bits & 0x7fffff) | (raw == 0 ? 0 : 0x800000);
  const int exponent = (raw == 0 ? 1 : raw) - 127 - 23;
  // The last place of the result: that of x's binade, or of the subnormals.
  int binade = exponent;
  for (uint64_t f = fraction; f > 1; f >>= 1) ++binade;
  const int last = std::max(binade, 1 - bias) - format.fraction_bits;
  const int shift = last - exponent;
  uint64_t units = fraction;
  if (shift > 60) {
    units = 0;
  } else if (shift > 0) {
    const uint64_t rest = fraction & ((uint64_t{1} << shift) - 1), half = uint64_t{1} << (shift - 1);
    units = fraction >> shift;
    if (rest > half || (rest == half && (units & 1) != 0)) ++units;
  }
  // As units count on through the binades, so do the bit patterns.
  const auto first = static_cast<uint64_t>(last + format.fraction_bits - (1 - bias)) << format.fraction_bits;
  return static_cast<uint16_t>(sign | std::min<uint64_t>(first + units, infinity));
}

bool is_nan(const Format& format, uint16_t bits) { return (bits & 0x7fff) > ((1 << format.exponent_bits) - 1) << format.fraction_bits; }

/// The number of a pattern, by the definition.
double value_of(const Format& format, uint16_t bits) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1, raw = bits >> format.fraction_bits & ((1 << format.exponent_bits) - 1);
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  double size = std::ldexp(fraction + (raw == 0 ? 0 : 1 << format.fraction_bits), std::max(raw, 1) - bias - format.fraction_bits);
  if (raw == (1 << format.exponent_bits) - 1) size = fraction == 0 ? HUGE_VAL : NAN;
  return bits >> 15 ? -size : size;
}

std::vector<float> floats() {
  std::vector<float> result;
  std::mt19937 random(3);
  for (int i = 0; i < 60000; ++i) result.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  // Every pattern of both formats, what lies half-way to the next, and the neighbours of that.
  for (const Format& format : kFormats) {
    for (uint32_t bits = 0; bits < 0x8000; ++bits) {
      const double here = value_of(format, static_cast<uint16_t>(bits)), next = value_of(format, static_cast<uint16_t>(bits + 1));
      if (!std::isfinite(here)) continue;
      const auto half = static_cast<float>(std::isfinite(next) ? (here + next) / 2 : here * (1 + std::ldexp(1.0, -format.fraction_bits - 2)));
      for (const float x : {static_cast<float>(here), half, std::nextafterf(half, 0), std::nextafterf(half, HUGE_VALF)}) {
        result.push_back(x);
        result.push_back(-x);
      }
    }
  }
  for (const uint32_t nan : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0x7fc00000u, 0x7f801fffu, 0x7f80ffffu})
    result.push_back(std::bit_cast<float>(nan));
  for (const float edge : {0.0f, 65504.0f, 65519.996f, 65520.0f, HUGE_VALF, 3.4028235e38f, 1e-45f, 2.9802322e-8f})
    result.insert(result.end(), {edge, -edge});
  return result;
}

kernel::Kernel cast_kernel(DType from, DType to) {
  return parsed(fmt::format("operand 0 {0}[$0]\noperand 1 {1}[$0] written\nouter 0 $0\n%0 = loop i64 0\n%1 = load {0} 0[%0]\n%2 = cast {1} "
                            "%1\nstage []\n  store 1[%0] %2\n",
                            name_of(from), name_of(to)));
}

template <class To, class From>
std::vector<To> converted(const std::vector<From>& from, DType from_type, DType to_type, int bits) {
  std::vector<To> to(from.size());
  void* operands[] = {const_cast<From*>(from.data()), to.data()};
  const auto n = static_cast<int64_t>(from.size());
  compiled(cast_kernel(from_type, to_type), bits)(operands, &n, 0, n);
  return to;
}

}  // namespace

TEST_CASE("all 65536 patterns of bf16 and f16 become the f32 that they are, and come back") {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (const Format& format : kFormats) {
    for (const int bits : vector_widths()) {
      CAPTURE(name_of(format.dtype), bits);
      const auto wide = converted<float>(all, format.dtype, DType::f32, bits);
      const auto back = converted<uint16_t>(wide, DType::f32, format.dtype, bits);
      size_t wrong = 0;
      for (size_t i = 0; i < all.size(); ++i) {
        if (is_nan(format, all[i])) {
          wrong += !std::isnan(wide[i]) || !is_nan(format, back[i]);
        } else {
          wrong += static_cast<double>(wide[i]) != value_of(format, all[i]) || std::signbit(wide[i]) != (i >> 15 != 0) || back[i] != all[i];
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("f32 rounds to bf16 and f16 as integer arithmetic does, in kernels and in the runtime") {
  const std::vector<float> values = floats();
  for (const Format& format : kFormats) {
    std::vector<uint16_t> expected;
    for (const float x : values) expected.push_back(rounded(format, x));
    const auto check = [&](const std::vector<uint16_t>& found) {
      size_t wrong = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        const bool right = is_nan(format, expected[i]) ? is_nan(format, found[i]) : found[i] == expected[i];
        if (!right && ++wrong == 1) FAIL_CHECK(fmt::format("{} becomes {:#x}, not {:#x}", values[i], found[i], expected[i]));
      }
      CHECK(wrong == 0);
    };
    CAPTURE(name_of(format.dtype));
    for (const int bits : vector_widths()) {
      CAPTURE(bits);
      check(converted<uint16_t>(values, DType::f32, format.dtype, bits));
    }
    std::vector<uint16_t> by_runtime;
    for (const float x : values)
      by_runtime.push_back(format.dtype == DType::bf16 ? plan::Bf16(x).bits : std::bit_cast<uint16_t>(plan::F16(x)));
    check(by_runtime);
  }
}
