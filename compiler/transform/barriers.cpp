// Hazards between steps: read after write, write after read, write after write, reuse of memory included.
#include "compiler/transform/barriers.h"

#include <algorithm>

namespace dtl::transform {
namespace {

using plan::Extent;
using plan::Step;
using plan::StepKind;

/// How a step's threads meet one buffer.
struct Access {
  plan::Space space;
  int64_t begin, end;  ///< bytes
  bool write;
  bool across = false;  ///< reads or writes the memory of other replicas
  /// Each thread keeps to its part of `outer` equal pieces of the buffer: two steps that do so alike do not meet.
  bool in_parts = false;
  plan::Partition partition{};
  Extent outer{};
  int64_t grain = 1;
};

class Hazards {
 public:
  Hazards(const plan::Plan& plan, const std::vector<kernel::Kernel>& kernels) : plan_(plan), kernels_(kernels) {}

  std::vector<Access> of(const Step& step) const {
    std::vector<Access> result;
    switch (step.kind) {
      case StepKind::kernel: {
        const kernel::Kernel& kernel = kernels_[static_cast<size_t>(step.kernel.kernel)];
        for (size_t k = 0; k < step.kernel.buffers.size(); ++k) {
          Access access = whole(step.kernel.buffers[k], kernel.operands[k].written);
          access.in_parts = keeps_to_iteration(kernel, static_cast<int32_t>(k));
          access.partition = step.partition;
          access.outer = step.kernel.outer;
          access.grain = step.kernel.grain;
          result.push_back(access);
        }
        break;
      }
      case StepKind::gemm:
        result = {whole(step.gemm.a, false), whole(step.gemm.b, false), whole(step.gemm.c, true)};
        break;
      case StepKind::scatter:
        result = {whole(step.scatter.index, false), whole(step.scatter.update, false), whole(step.scatter.table, true)};
        break;
      case StepKind::reduce:
        for (size_t k = 0; k < step.reduce.from.size(); ++k) {
          const bool common = is_common(step.reduce.to[k]);
          Access from = common ? in_slices(step.reduce.from[k], step.partition, false) : whole(step.reduce.from[k], false);
          from.across = true;
          result.push_back(from);
          Access to = common ? in_slices(step.reduce.to[k], step.partition, true) : whole(step.reduce.to[k], true);
          to.across = !common && step.partition == plan::Partition::sliced;
          result.push_back(to);
        }
        break;
      case StepKind::exchange: {
        Access from = whole(step.exchange.from, false);
        from.across = !is_common(step.exchange.to);
        result = {from, whole(step.exchange.to, true)};
        break;
      }
      case StepKind::copy:
        result = {in_slices(step.copy.from, step.partition, false), in_slices(step.copy.to, step.partition, true)};
        break;
      case StepKind::barrier:
        break;
    }
    return result;
  }

 private:
  bool is_common(int32_t buffer) const { return plan::is_common(plan_.buffers[static_cast<size_t>(buffer)].space); }

  Access whole(int32_t buffer, bool write) const {
    const plan::Buffer& at = plan_.buffers[static_cast<size_t>(buffer)];
    return {at.space, at.offset, at.offset + at.bytes, write};
  }

  Access in_slices(int32_t buffer, plan::Partition partition, bool write) const {
    Access access = whole(buffer, write);
    access.in_parts = true;
    access.partition = partition;
    access.grain = 16;
    for (const Extent& dim : plan_.buffers[static_cast<size_t>(buffer)].dims) {
      // The product of two sizes that only a step knows has a row of its own; no row stands for it here.
      if (dim.slot >= 0 && access.outer.slot >= 0) access.in_parts = false;
      access.outer = {access.outer.scale * dim.scale, std::max(access.outer.slot, dim.slot)};
    }
    return access;
  }

  /// Does iteration i of the outermost loop touch only the i-th row of the operand? Without outer loops one thread does all.
  static bool keeps_to_iteration(const kernel::Kernel& kernel, int32_t operand) {
    if (kernel.outer == 0) return true;
    const kernel::Operand& memory = kernel.operands[static_cast<size_t>(operand)];
    if (memory.dims.empty() || memory.dims[0] != kernel.loops[0]) return false;
    const auto by_row = [&](const std::vector<int32_t>& index) {
      const kernel::Instruction& first = kernel.body[static_cast<size_t>(index[0])];
      return first.scalar == kernel::Scalar::loop && first.index == 0;
    };
    for (const kernel::Instruction& it : kernel.body) {
      if (it.scalar == kernel::Scalar::load && it.index == operand && !by_row(it.args)) return false;
    }
    for (const kernel::Stage& stage : kernel.stages) {
      for (const kernel::Store& store : stage.stores) {
        if (store.operand == operand && !by_row(store.indices)) return false;
      }
    }
    return true;
  }

  const plan::Plan& plan_;
  const std::vector<kernel::Kernel>& kernels_;
};

bool meet(const Access& a, const Access& b) {
  if (a.space != b.space || a.end <= b.begin || b.end <= a.begin || (!a.write && !b.write)) return false;
  const bool alike = a.in_parts && b.in_parts && a.begin == b.begin && a.end == b.end && a.partition == b.partition && a.outer == b.outer &&
                     a.grain == b.grain;
  // Slices of all replicas' arenas are read by threads of one; the arenas are written by their own.
  return !alike || a.across != b.across;
}

bool needs_all(const Access& a, const Access& b) { return plan::is_common(a.space) || a.across || b.across; }

Step barrier(plan::BarrierScope scope) {
  Step step{};
  step.kind = StepKind::barrier;
  step.barrier = scope;
  return step;
}

}  // namespace

std::vector<Step> with_barriers(const plan::Plan& plan, const std::vector<kernel::Kernel>& kernels, std::vector<Step> steps) {
  const Hazards hazards(plan, kernels);
  std::vector<Step> result;
  std::vector<Access> before;  // since the last barrier of all
  size_t team = 0;             // those from here on are since the last barrier of any kind
  for (Step& step : steps) {
    const std::vector<Access> now = hazards.of(step);
    bool wait_team = false, wait_all = false;
    for (size_t i = 0; i < before.size() && !wait_all; ++i) {
      for (const Access& access : now) {
        if (!meet(before[i], access)) continue;
        if (needs_all(before[i], access))
          wait_all = true;
        else if (i >= team)
          wait_team = true;
      }
    }
    if (wait_all) {
      result.push_back(barrier(plan::BarrierScope::all));
      before.clear();
      team = 0;
    } else if (wait_team) {
      result.push_back(barrier(plan::BarrierScope::team));
      team = before.size();
    }
    before.insert(before.end(), now.begin(), now.end());
    result.push_back(std::move(step));
  }
  return result;
}

}  // namespace dtl::transform
