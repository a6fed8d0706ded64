// Actions: an entry of the Plan, bound to one number of rows: what each worker does, with every size and address settled.
//
// takes:    a Plan, where its buffers lie, a number of global rows
// gives:    per worker, a list of actions in order
// promises: an action whose part is empty is left out; all workers of a barrier's scope have that barrier
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "runtime/collective/collective.h"
#include "runtime/device/gemm.h"
#include "runtime/device/scatter.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/slice.h"
#include "runtime/train/executor.h"
#include "runtime/train/memory.h"

namespace dtl::train {

struct KernelAction {
  plan::KernelFunction function;
  void* const* operands;
  const int64_t* extents;
  int64_t begin, end;
};

struct GemmAction {
  const device::Gemm* gemm;
  const std::byte *a, *b;
  std::byte* c;
  int part, parts;
};

struct ScatterAction {
  device::ScatterShape shape;
  const std::byte *index, *update;
  std::byte* table;
  int part, parts;
};

struct ReduceAction {
  ReduceOp op;
  DType dtype;
  const void* const* sources;  ///< `count` of them
  size_t count;
  std::byte* to;
  int64_t begin, end;  ///< elements of a row
  int64_t first = 0;   ///< the element with which a row of `to` begins
  int64_t first_row = 0, rows = 1;
  int64_t row = 0, to_row = 0;         ///< from one row to the next, in elements
  std::byte* const* others = nullptr;  ///< memory of other replicas that gets the same elements as `to`
  size_t others_count = 0;
};

/// Runs of bytes from one replica's memory to another's: run i of count[0] × count[1] × count[2] in row-major order.
struct MoveAction {
  const std::byte* from;
  std::byte* to;
  size_t bytes;
  int64_t count[3], from_stride[3], to_stride[3];  ///< strides in bytes
  int64_t begin, end;                              ///< runs
};

struct CopyAction {
  const std::byte* from;
  std::byte* to;
  size_t bytes;
};

struct BarrierAction {
  plan::BarrierScope scope;
};

struct Action {
  int32_t step;  ///< index into Entry::steps
  std::variant<KernelAction, GemmAction, ScatterAction, ReduceAction, MoveAction, CopyAction, BarrierAction> what;
};

/// Does a worker's part of a step; barriers are the caller's. `scratch`: Binder::scratch_bytes of them, the worker's own.
void perform(const Action& action, const collective::Collective& collective, std::byte* scratch);

/// A worker's part of its replica's rows of one input: rows [begin, begin + count) of the global batch.
struct Gather {
  int64_t begin, count;
  int64_t row;  ///< the row of the buffer where they begin
  int32_t buffer;
  std::byte* buffer_data;
};

/// One entry with one number of rows.
struct Prepared {
  std::vector<std::vector<Gather>> gathers;  ///< [worker][input]
  std::vector<std::vector<Action>> actions;  ///< [worker]
  std::vector<int64_t> rows;                 ///< [replica] of its inputs; 0 without inputs

  // What the actions point to.
  std::vector<std::unique_ptr<int64_t[]>> extents;
  std::vector<std::unique_ptr<const void*[]>> sources;
  std::vector<std::unique_ptr<std::byte*[]>> others;
};

/// The memory of a job in this process.
class Storage {
 public:
  Storage(const plan::Plan& plan, Topology topology);

  std::byte* address(int32_t buffer, int replica) const;
  /// First touch by worker `worker`, from its own thread.
  void touch(Topology topology, int worker) const;

 private:
  const plan::Plan& plan_;
  std::vector<Memory> arenas_, inputs_, own_;  ///< [replica]
  Memory shared_, state_;
};

class Binder {
 public:
  Binder(const plan::Executable& executable, Topology topology);

  const Storage& storage() const { return storage_; }
  /// Settles everything for `rows` global rows. Compiles products of sizes that were not seen before.
  Prepared prepare(int entry, int64_t rows);
  /// Which of `rows` global rows a replica has in a buffer whose first dimension counts them.
  plan::Slice rows_of(int32_t buffer, int64_t rows, int replica) const;
  /// Scratch that one worker needs for everything prepared so far.
  int64_t scratch_bytes() const { return scratch_bytes_; }
  /// A replica's part of a state as runs of bytes of the whole value: where they begin there, and in the replica's memory.
  struct Run {
    int64_t whole, part, bytes;
  };
  std::vector<Run> runs_of(const plan::StateEntry& state, int replica) const;

 private:
  struct Rank;
  std::vector<int64_t> extents_of(int replica, int64_t rows) const;
  plan::Slice share_of(const plan::ExtentEntry& entry, const std::vector<int64_t>& values, int replica) const;
  int64_t first_row(int32_t extent, const std::vector<int64_t>& values, int replica) const;
  int64_t coordinate(int replica, int32_t axis) const;
  std::vector<int> group(int replica, int32_t axis) const;
  plan::Slice part_of(int32_t buffer, size_t dim, int32_t axis, int member, const std::vector<int64_t>& extents) const;
  void bind_inputs(const plan::Entry& entry, int64_t rows, Prepared& to) const;
  void bind_kernel(const plan::KernelStep& step, const Rank& rank, Prepared& to);
  void bind_gemm(const plan::GemmStep& step, const Rank& rank, Prepared& to);
  void bind_scatter(const plan::ScatterStep& step, const Rank& rank, Prepared& to);
  void bind_reduce(const plan::ReduceStep& step, const Rank& rank, Prepared& to);
  void bind_exchange(const plan::ExchangeStep& step, const Rank& rank, Prepared& to);
  void bind_copy(const plan::CopyStep& step, const Rank& rank, Prepared& to);
  const device::Gemm* gemm_of(const device::GemmShape& shape);

  const plan::Executable& executable_;
  const Topology topology_;
  Storage storage_;
  std::map<device::GemmShape, std::unique_ptr<const device::Gemm>> gemms_;
  std::map<std::vector<int32_t>, std::vector<std::unique_ptr<void*[]>>> operands_;  ///< by buffers, then replica
  int64_t scratch_bytes_ = 0;
};

}  // namespace dtl::train
