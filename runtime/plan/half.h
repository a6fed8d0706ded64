// The two 16-bit float types, converted to and from f32: exact one way, to nearest even the other.
#pragma once

#include <bit>
#include <cstdint>

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

static_assert(sizeof(Bf16) == 2 && sizeof(F16) == 2);

}  // namespace dtl::plan
