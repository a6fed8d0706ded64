// Arena: offsets for blocks that are live for a part of the steps.
#pragma once

#include <cstdint>
#include <vector>

namespace dtl::transform {

struct Block {
  int64_t bytes = 0;
  int32_t first = 0, last = 0;  ///< the steps at which it is used, first and last included
  int64_t offset = 0;           ///< set by lay_out
};

/// Sets the offsets, multiples of 64, so that blocks live at one time do not overlap; the bytes needed. The largest block
/// first, each at the lowest gap that fits (greedy by size: Pisarchyk and Lee, "Efficient memory management for deep neural
/// net inference", 2020).
int64_t lay_out(std::vector<Block>& blocks);

}  // namespace dtl::transform
