// The processor that kernels are made for.
#pragma once

#include <string>

namespace dtl::codegen {

struct Host {
  std::string cpu, features;
  int vector_bits = 128;  ///< 512, 256 or 128
  bool fma = false;
  bool f16c = false;  ///< converts f16 by an instruction

  /// Elements of a vector of 4-byte values, or of 8-byte ones.
  int lanes(bool wide) const { return vector_bits / (wide ? 64 : 32); }
};

/// The processor at hand; with `vector_bits`, a lesser one whose vectors have that many bits.
Host host(int vector_bits = 0);

}  // namespace dtl::codegen
