// How work is divided: rows among ranks, elements among threads. One rule for the compiler, the runtime and its tests.
#pragma once

#include <cstdint>

namespace dtl::plan {

struct Slice {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
  bool operator==(const Slice&) const = default;
};

/// Part `rank` of n rows over `ranks`: the first n mod ranks parts hold one more, in order of rank.
Slice share_of_rank(int64_t n, int64_t rank, int64_t ranks);

/// Worker `worker`'s part of n elements, cut at multiples of `grain` (the last one takes the rest): parts are equal in
/// grains up to one. With grain 16 no two workers write one cache line of 4-byte elements.
Slice slice(int64_t n, int64_t worker, int64_t workers, int64_t grain = 16);

}  // namespace dtl::plan
