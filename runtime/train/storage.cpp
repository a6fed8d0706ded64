// Storage: where the buffers of a Plan lie.
#include <cassert>

#include "runtime/train/actions.h"

namespace dtl::train {
namespace {

constexpr int64_t kLine = 64;

}  // namespace

Storage::Storage(const plan::Plan& plan, Topology topology) : plan_(plan), shared_(plan.shared_bytes), state_(plan.state_bytes) {
  for (int replica = 0; replica < topology.replicas; ++replica) {
    arenas_.emplace_back(plan.arena_bytes);
    inputs_.emplace_back(plan.input_bytes);
    own_.emplace_back(plan.own_bytes);
  }
}

std::byte* Storage::address(int32_t buffer, int replica) const {
  const plan::Buffer& b = plan_.buffers[static_cast<size_t>(buffer)];
  const auto inside = [&](const Memory& memory, int64_t offset) {
    assert(offset % kLine == 0 && offset + b.bytes <= memory.bytes());
    return memory.data() + offset;
  };
  switch (b.space) {
    case plan::Space::arena:
      return inside(arenas_[static_cast<size_t>(replica)], b.offset);
    case plan::Space::input:
      return inside(inputs_[static_cast<size_t>(replica)], b.offset);
    case plan::Space::own:
      return inside(own_[static_cast<size_t>(replica)], b.offset);
    case plan::Space::shared:
      return inside(shared_, b.offset);
    case plan::Space::state:
      return inside(state_, b.offset);
  }
  __builtin_unreachable();
}

void Storage::touch(Topology topology, int worker) const {
  const int threads = topology.threads_per_replica;
  const auto replica = static_cast<size_t>(worker / threads);
  arenas_[replica].zero(worker % threads, threads);
  inputs_[replica].zero(worker % threads, threads);
  own_[replica].zero(worker % threads, threads);
  shared_.zero(worker, topology.workers());
  state_.zero(worker, topology.workers());
}

}  // namespace dtl::train
