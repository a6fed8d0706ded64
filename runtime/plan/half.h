// The two 16-bit float types, converted to and from f32: exact one way, to nearest even the other.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/plan/dtype.h"

namespace dtl::plan {

/// bf16 is the upper half of an f32.
struct Bf16 {
  uint16_t bits = 0;

  Bf16() = default;
  explicit Bf16(float value) {
    const auto wide = std::bit_cast<uint32_t>(value);
    // A NaN keeps its upper bits, and one that lives in the lower half alone must not round to infinity.
    const bool nan = value != value;
    bits = static_cast<uint16_t>(nan ? (wide >> 16) | 0x40u : (wide + 0x7fffu + ((wide >> 16) & 1u)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

/// IEEE 754 binary16, as the compiler has it.
struct F16 {
  _Float16 value = 0;

  F16() = default;
  explicit F16(float wide) : value(static_cast<_Float16>(wide)) {}
  explicit operator float() const { return static_cast<float>(value); }
};

/// The value that an element of bf16 or f16 holds after `value` is put there; other types keep it as it is. By way of f32, as
/// every conversion to them.
inline double narrowed(DType dtype, double value) {
  if (dtype == DType::bf16) return static_cast<double>(static_cast<float>(Bf16(static_cast<float>(value))));
  if (dtype == DType::f16) return static_cast<double>(static_cast<float>(F16(static_cast<float>(value))));
  return value;
}

static_assert(sizeof(Bf16) == 2 && sizeof(F16) == 2);

}  // namespace dtl::plan
