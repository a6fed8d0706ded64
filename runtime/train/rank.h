// Rank: one replica while a step is bound for its threads. For the Binder's files only.
#pragma once

#include <optional>
#include <vector>

#include "runtime/train/actions.h"

namespace dtl::train {

struct Binder::Rank {
  int replica;
  int32_t step;
  plan::Partition partition;
  Topology topology;
  const std::vector<int64_t>& extents;

  int64_t value(plan::Extent e) const { return e.slot < 0 ? e.scale : e.scale * extents[static_cast<size_t>(e.slot)]; }
  std::vector<int64_t> sizes(const plan::Buffer& buffer) const {
    std::vector<int64_t> result;
    for (const plan::Extent& dim : buffer.dims) result.push_back(value(dim));
    return result;
  }
  int64_t elements(const plan::Buffer& buffer) const {
    int64_t n = 1;
    for (const plan::Extent& dim : buffer.dims) n *= value(dim);
    return n;
  }
  int worker(int thread) const { return replica * topology.threads_per_replica + thread; }
  /// The part of thread `thread`, of how many, under the step's partition.
  int part(int thread) const { return partition == plan::Partition::team ? thread : worker(thread); }
  int parts() const { return partition == plan::Partition::team ? topology.threads_per_replica : topology.workers(); }

  /// `make(thread)` gives the action of a thread; nothing, if its part is empty.
  template <class Make>
  void each_thread(Prepared& to, Make make) const {
    for (int thread = 0; thread < topology.threads_per_replica; ++thread) {
      if (auto what = make(thread)) to.actions[static_cast<size_t>(worker(thread))].push_back({step, *what});
    }
  }
};

}  // namespace dtl::train
