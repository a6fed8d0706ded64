// SharedMemory: the collective between replicas of one address space.
#pragma once

#include "runtime/collective/collective.h"

namespace dtl::collective {

/// Reads the other replicas' memory directly: each worker's slice is one pass over the sources, at the speed of memory.
class SharedMemory final : public Collective {
 public:
  void reduce(const ReduceSlice& slice) const override;
};

}  // namespace dtl::collective
