// How work is divided among ranks and threads.
#include "runtime/plan/slice.h"

#include <algorithm>

namespace dtl::plan {

Slice share_of_rank(int64_t n, int64_t rank, int64_t ranks) {
  const int64_t each = n / ranks, more = n % ranks;
  const int64_t begin = rank * each + std::min(rank, more);
  return {begin, begin + each + (rank < more ? 1 : 0)};
}

Slice slice(int64_t n, int64_t worker, int64_t workers, int64_t grain) {
  const int64_t grains = (n + grain - 1) / grain;
  const Slice part = share_of_rank(grains, worker, workers);
  return {std::min(n, part.begin * grain), std::min(n, part.end * grain)};
}

}  // namespace dtl::plan
