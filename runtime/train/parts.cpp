// States that replicas hold in parts: where each part lies in the whole value.
#include "runtime/train/actions.h"

namespace dtl::train {

std::vector<Binder::Run> Binder::runs_of(const plan::StateEntry& state, int replica) const {
  const plan::Buffer& buffer = executable_.plan.buffers[static_cast<size_t>(state.buffer)];
  const std::vector<int64_t> extents = extents_of(replica, 0);
  const size_t rank = buffer.dims.size();
  std::vector<int64_t> sizes, begins, whole;
  for (size_t d = 0; d < rank; ++d) {
    const plan::Extent dim = buffer.dims[d];
    sizes.push_back(dim.slot < 0 ? dim.scale : dim.scale * extents[static_cast<size_t>(dim.slot)]);
    begins.push_back(dim.slot < 0 ? 0 : dim.scale * first_row(dim.slot, extents, replica));
    whole.push_back(state.whole[d].scale);
  }
  // Behind the last dimension that is split everything is one run.
  size_t last = rank;
  while (last > 0 && sizes[last - 1] == whole[last - 1]) --last;
  int64_t after = size_of(buffer.dtype), count = 1;
  for (size_t d = last; d < rank; ++d) after *= sizes[d];
  for (size_t d = 0; d + 1 < last; ++d) count *= sizes[d];
  const int64_t bytes = last == 0 ? after : sizes[last - 1] * after;
  std::vector<Run> runs;
  if (bytes == 0) return runs;
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = last == 0 ? 0 : begins[last - 1], step = last == 0 ? 1 : whole[last - 1], rest = i;
    for (size_t d = last < 2 ? 0 : last - 1; d-- > 0;) {
      at += (begins[d] + rest % sizes[d]) * step;
      rest /= sizes[d];
      step *= whole[d];
    }
    runs.push_back({at * after, i * bytes, bytes});
  }
  return runs;
}

}  // namespace dtl::train
