// Greedy layout of memory by size.
#include "compiler/transform/arena.h"

#include <algorithm>
#include <numeric>

namespace dtl::transform {

int64_t lay_out(std::vector<Block>& blocks) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<size_t> placed;  // by offset
  int64_t total = 0;
  for (const size_t index : order) {
    Block& block = blocks[index];
    int64_t at = 0;
    for (const size_t other_index : placed) {
      const Block& other = blocks[other_index];
      if (other.last < block.first || block.last < other.first) continue;
      if (at + block.bytes <= other.offset) break;
      at = std::max(at, (other.offset + other.bytes + 63) / 64 * 64);
    }
    block.offset = at;
    total = std::max(total, at + block.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), index, [&](size_t a, size_t b) { return blocks[a].offset < blocks[b].offset; }),
        index);
  }
  return (total + 63) / 64 * 64;
}

}  // namespace dtl::transform
