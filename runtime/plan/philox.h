// Philox 4×32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/plan/dtype.h"

namespace dtl {

inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0], b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

/// Random bits of a number of this type: no more than it holds below 1, where rounding would make 1 of the largest.
constexpr int uniform_bits(DType dtype) { return dtype == DType::bf16 ? 8 : dtype == DType::f16 ? 11 : 24; }

/// One number in [0, 1) with `bits` random bits, the first ones of 24: counter (index low, index high, step,
/// stream high), key (seed low ^ stream low, seed high). Each element has a block of its own: any thread can make it.
inline double philox_uniform(uint64_t seed, uint64_t stream, uint64_t step, uint64_t index, int bits = 24) {
  const auto block = philox(
      {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(step), static_cast<uint32_t>(stream >> 32)},
      {static_cast<uint32_t>(seed) ^ static_cast<uint32_t>(stream), static_cast<uint32_t>(seed >> 32)});
  return static_cast<double>(block[0] >> (32 - bits)) / static_cast<double>(uint32_t{1} << bits);
}

}  // namespace dtl
