// Binder: settles sizes, addresses and parts of an entry's steps, so that running them only reads lists.
#include "runtime/train/actions.h"

#include <cassert>

#include "runtime/plan/slice.h"
#include "runtime/train/rank.h"

namespace dtl::train {

using plan::Extent;
using plan::ExtentKind;
using plan::Slice;

Binder::Binder(const plan::Executable& executable, Topology topology)
    : executable_(executable), topology_(topology), storage_(executable.plan, topology) {}

int64_t Binder::coordinate(int replica, int32_t axis) const {
  const std::vector<plan::MeshAxis>& mesh = executable_.plan.mesh;
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < mesh.size(); ++i) inner *= mesh[i].size;
  return replica / inner % mesh[static_cast<size_t>(axis)].size;
}

std::vector<int64_t> Binder::extents_of(int replica, int64_t rows) const {
  const std::vector<plan::ExtentEntry>& table = executable_.plan.extents;
  std::vector<int64_t> values(table.size(), -1);
  const auto settle = [&](auto&& self, int32_t row) -> int64_t {
    int64_t& value = values[static_cast<size_t>(row)];
    if (value >= 0) return value;
    const plan::ExtentEntry& entry = table[static_cast<size_t>(row)];
    const auto share = [&] {
      return plan::share_of_rank(self(self, entry.of), coordinate(replica, entry.axis),
                                 executable_.plan.mesh[static_cast<size_t>(entry.axis)].size);
    };
    switch (entry.kind) {
      case ExtentKind::global:
        return value = rows;
      case ExtentKind::fixed:
        return value = entry.bound;
      case ExtentKind::share:
        return value = share().count();
      case ExtentKind::begin:
        return value = share().begin;
      case ExtentKind::product:
        return value = self(self, entry.of) * self(self, entry.by);
      case ExtentKind::sum:
        return value = self(self, entry.of) + self(self, entry.by);
    }
    __builtin_unreachable();
  };
  for (size_t i = 0; i < table.size(); ++i) settle(settle, static_cast<int32_t>(i));
  return values;
}

/// A replica's part of the row that `entry` divides, within that.
Slice Binder::share_of(const plan::ExtentEntry& entry, const std::vector<int64_t>& values, int replica) const {
  return plan::share_of_rank(values[static_cast<size_t>(entry.of)], coordinate(replica, entry.axis),
                             executable_.plan.mesh[static_cast<size_t>(entry.axis)].size);
}

int64_t Binder::first_row(int32_t extent, const std::vector<int64_t>& values, int replica) const {
  const plan::ExtentEntry& entry = executable_.plan.extents[static_cast<size_t>(extent)];
  if (entry.kind != ExtentKind::share) return 0;
  return share_of(entry, values, replica).begin + first_row(entry.of, values, replica);
}

Slice Binder::rows_of(int32_t buffer, int64_t rows, int replica) const {
  const Extent first = executable_.plan.buffers[static_cast<size_t>(buffer)].dims[0];
  assert(first.scale == 1 && first.slot >= 0);
  const std::vector<int64_t> extents = extents_of(replica, rows);
  const int64_t begin = first_row(first.slot, extents, replica);
  return {begin, begin + extents[static_cast<size_t>(first.slot)]};
}

Prepared Binder::prepare(int entry_index, int64_t rows) {
  const plan::Entry& entry = executable_.plan.entries[static_cast<size_t>(entry_index)];
  Prepared prepared;
  prepared.actions.resize(static_cast<size_t>(topology_.workers()));
  prepared.gathers.resize(static_cast<size_t>(topology_.workers()));
  prepared.rows.resize(static_cast<size_t>(topology_.replicas));
  bind_inputs(entry, rows, prepared);
  for (int replica = 0; replica < topology_.replicas; ++replica) {
    const std::vector<int64_t> extents = extents_of(replica, rows);
    for (size_t i = 0; i < entry.steps.size(); ++i) {
      const plan::Step& step = entry.steps[i];
      const Rank rank{replica, static_cast<int32_t>(i), step.partition, topology_, extents};
      switch (step.kind) {
        case plan::StepKind::kernel:
          bind_kernel(step.kernel, rank, prepared);
          break;
        case plan::StepKind::gemm:
          bind_gemm(step.gemm, rank, prepared);
          break;
        case plan::StepKind::scatter:
          bind_scatter(step.scatter, rank, prepared);
          break;
        case plan::StepKind::reduce:
          bind_reduce(step.reduce, rank, prepared);
          break;
        case plan::StepKind::exchange:
          bind_exchange(step.exchange, rank, prepared);
          break;
        case plan::StepKind::copy:
          bind_copy(step.copy, rank, prepared);
          break;
        case plan::StepKind::barrier: {
          const int waiting = step.barrier == plan::BarrierScope::team ? topology_.threads_per_replica : topology_.workers();
          if (waiting > 1) rank.each_thread(prepared, [&](int) { return std::optional(BarrierAction{step.barrier}); });
          break;
        }
      }
    }
  }
  return prepared;
}

void Binder::bind_inputs(const plan::Entry& entry, int64_t rows, Prepared& to) const {
  for (int replica = 0; replica < topology_.replicas; ++replica) {
    const std::vector<int64_t> extents = extents_of(replica, rows);
    for (const plan::InputField& input : entry.inputs) {
      const plan::Buffer& buffer = executable_.plan.buffers[static_cast<size_t>(input.buffer)];
      assert(buffer.space == plan::Space::input && !buffer.dims.empty() && buffer.dims[0].scale == 1 && buffer.dims[0].slot >= 0);
      const auto slot = static_cast<size_t>(buffer.dims[0].slot);
      const int64_t count = extents[slot];
      assert(count <= executable_.plan.extents[slot].bound && "the batch is larger than the plan's bound");
      to.rows[static_cast<size_t>(replica)] = count;
      const int64_t begin = first_row(buffer.dims[0].slot, extents, replica);
      for (int thread = 0; thread < topology_.threads_per_replica; ++thread) {
        const Slice mine = plan::slice(count, thread, topology_.threads_per_replica, 1);
        to.gathers[static_cast<size_t>(replica * topology_.threads_per_replica + thread)].push_back(
            {begin + mine.begin, mine.count(), mine.begin, input.buffer, storage_.address(input.buffer, replica)});
      }
    }
  }
}

void Binder::bind_kernel(const plan::KernelStep& step, const Rank& rank, Prepared& to) {
  auto& by_replica = operands_[step.buffers];
  by_replica.resize(static_cast<size_t>(topology_.replicas));
  std::unique_ptr<void*[]>& operands = by_replica[static_cast<size_t>(rank.replica)];
  if (operands == nullptr) {
    operands = std::make_unique<void*[]>(step.buffers.size());
    for (size_t i = 0; i < step.buffers.size(); ++i) operands[i] = storage_.address(step.buffers[i], rank.replica);
  }
  auto extents = std::make_unique<int64_t[]>(step.extents.size());
  for (size_t i = 0; i < step.extents.size(); ++i) extents[i] = rank.value(step.extents[i]);
  const plan::KernelFunction function = executable_.kernels[static_cast<size_t>(step.kernel)];
  const int64_t outer = rank.value(step.outer);
  rank.each_thread(to, [&](int thread) -> std::optional<KernelAction> {
    const Slice mine = plan::slice(outer, rank.part(thread), rank.parts(), step.grain);
    if (mine.count() == 0) return std::nullopt;
    return KernelAction{function, operands.get(), extents.get(), mine.begin, mine.end};
  });
  to.extents.push_back(std::move(extents));
}

const device::Gemm* Binder::gemm_of(const device::GemmShape& shape) {
  std::unique_ptr<const device::Gemm>& gemm = gemms_[shape];
  if (gemm == nullptr) {
    gemm = std::make_unique<const device::Gemm>(shape);
    scratch_bytes_ = std::max(scratch_bytes_, gemm->scratch_bytes());
  }
  return gemm.get();
}

void Binder::bind_gemm(const plan::GemmStep& step, const Rank& rank, Prepared& to) {
  const device::Gemm* gemm = gemm_of({.dtype = step.dtype,
                                      .transpose_a = step.transpose_a,
                                      .transpose_b = step.transpose_b,
                                      .accumulate = step.accumulate,
                                      .batch = rank.value(step.batch),
                                      .m = rank.value(step.m),
                                      .n = rank.value(step.n),
                                      .k = rank.value(step.k)});
  rank.each_thread(to, [&](int thread) -> std::optional<GemmAction> {
    if (plan::slice(gemm->tiles(), rank.part(thread), rank.parts(), 1).count() == 0) return std::nullopt;
    return GemmAction{gemm,
                      storage_.address(step.a, rank.replica),
                      storage_.address(step.b, rank.replica),
                      storage_.address(step.c, rank.replica),
                      rank.part(thread),
                      rank.parts()};
  });
}

void Binder::bind_scatter(const plan::ScatterStep& step, const Rank& rank, Prepared& to) {
  const device::ScatterShape shape{step.dtype, step.index_dtype, rank.value(step.updates), rank.value(step.rows), rank.value(step.width)};
  rank.each_thread(to, [&](int thread) {
    return std::optional(ScatterAction{shape, storage_.address(step.index, rank.replica), storage_.address(step.update, rank.replica),
                                       storage_.address(step.table, rank.replica), rank.part(thread), rank.parts()});
  });
}

void Binder::bind_copy(const plan::CopyStep& step, const Rank& rank, Prepared& to) {
  const plan::Buffer& buffer = executable_.plan.buffers[static_cast<size_t>(step.from)];
  const int64_t elements = rank.elements(buffer), width = size_of(buffer.dtype);
  rank.each_thread(to, [&](int thread) -> std::optional<CopyAction> {
    const Slice mine = plan::slice(elements, rank.part(thread), rank.parts());
    if (mine.count() == 0) return std::nullopt;
    return CopyAction{storage_.address(step.from, rank.replica) + mine.begin * width,
                      storage_.address(step.to, rank.replica) + mine.begin * width, static_cast<size_t>(mine.count() * width)};
  });
}

}  // namespace dtl::train
