// The Plan: what the runtime runs. Plain data, the same for every rank; it can be printed, hashed and costed unrun.
//
// takes:    nothing (make_plan fills it)
// gives:    buffers with offsets, and per entry point the steps in order
// promises: no two live buffers of one space overlap; every hazard between threads has a barrier between its two steps
// print it: `dslc emit --stage plan`
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/dtype.h"

namespace dtl::plan {

/// A size known when a step starts: `scale * extents[slot]`, or just `scale` where slot is −1.
struct Extent {
  int64_t scale = 1;
  int32_t slot = -1;
  bool operator==(const Extent&) const = default;
};

/// One row of the extent table. The executor fills a rank's values before each run from the number of global rows.
enum class ExtentKind : uint8_t {
  global,   ///< a run-time dimension of the whole program, such as `batch`; `bound` is its largest value
  share,    ///< this rank's part of row `of`, split over mesh axis `axis`: n mod N first ranks get one more
  begin,    ///< the index, in row `of`, at which this rank's part begins
  fixed,    ///< a static size `bound` that is split over an axis (weights); the source of share and begin rows
  product,  ///< row `of` times row `by`: elements of what is split along two dimensions
  sum,      ///< row `of` plus row `by`: where a part of a part begins in the whole
};

struct ExtentEntry {
  std::string name;  ///< `batch`, `batch/data`, `batch/data.begin`
  ExtentKind kind;
  int64_t bound = 0;  ///< largest value over all ranks and runs
  int32_t of = -1;    ///< share, begin: the row that is divided; product, sum: the first row
  int32_t axis = -1;  ///< share, begin: the mesh axis
  int32_t by = -1;    ///< product, sum: the second row
};

/// Where a buffer lives.
enum class Space : uint8_t {
  arena,   ///< one per replica, planned offsets, contents die with the run of an entry
  shared,  ///< one per address space, planned offsets, contents die with the run: reduced gradients
  state,   ///< one per address space, lives as long as the job: weights, optimizer state, metrics, counters
  own,     ///< one per replica, lives as long as the job: its part of a split state, what waits for a reduction, outputs for its rows
  input,   ///< one per replica: this replica's rows of a field of the batch, filled before the first step
};

/// Is there one for all replicas of the address space?
inline bool is_common(Space space) { return space == Space::shared || space == Space::state; }

struct Buffer {
  std::string name;
  DType dtype;
  std::vector<Extent> dims;  ///< row-major
  Space space;
  int64_t offset = 0;  ///< bytes from the start of its space, 64-byte aligned
  int64_t bytes = 0;   ///< at the bound of every extent
};

/// How a step's outermost loop is divided among threads. Tiles are cut by shape, never by the number of threads.
enum class Partition : uint8_t {
  team,    ///< over the threads of this replica
  sliced,  ///< over all threads of all replicas in this address space: each writes its slice of a shared or state buffer
};

enum class StepKind : uint8_t { kernel, gemm, scatter, reduce, exchange, copy, barrier };

/// Who waits in a barrier step.
enum class BarrierScope : uint8_t { team, all };

/// A JIT-compiled loop nest.
struct KernelStep {
  int32_t kernel;                ///< index into Plan::kernels
  std::vector<int32_t> buffers;  ///< one for each operand of the kernel
  std::vector<Extent> extents;   ///< one for each extent slot of the kernel
  Extent outer;                  ///< trip count of the outermost loop, the one that is divided; 1 for no outer loop
  int64_t grain = 1;             ///< it is cut at multiples of this (plan::slice); sliced steps: 16, as ReduceStep
};

/// C = op(A) · op(B), or C += with `accumulate`; row-major, op(A) is m × k, op(B) is k × n. A batch of them when `batch` > 1.
struct GemmStep {
  DType dtype;
  bool transpose_a = false, transpose_b = false, accumulate = false;
  Extent batch, m, n, k;
  int32_t a, b, c;  ///< buffers
};

/// A table of `rows` × `width` zeros to whose row index[k] update k is added; an index outside means the nearest end.
struct ScatterStep {
  DType dtype, index_dtype;
  Extent updates, rows, width;
  int32_t index, update, table;  ///< buffers
};

/// Collective: part of an all-reduce or reduce-scatter between the replicas of one address space that differ in their place
/// along `axis`, combined in rank order. `from` is each replica's own memory.
///   sliced, `to` in shared space: the result is the same for every replica of the mesh; each thread of each replica makes a slice
///   sliced, `to` in the arena: each thread of these replicas makes a slice, and writes it into the `to` of each of them
///   team: a reduce-scatter; each replica makes its part along dimension `dim`
struct ReduceStep {
  ReduceOp op;
  int32_t bucket = 0;
  int32_t axis = 0;
  int32_t dim = -1;
  std::vector<int32_t> from, to;
};

/// Collective: parts along dimension `dim`, one for each replica along `axis`, are put together.
///   `to` in shared space: an all-gather that is the same for every replica of the mesh; each writes its part
///   else: each replica reads the parts of the others; with `cut` >= 0, what lies in its part along that dimension (all-to-all)
struct ExchangeStep {
  int32_t axis, dim, cut = -1;
  int32_t from, to;
};

struct CopyStep {
  int32_t from, to;  ///< equal shape and dtype
};

struct Step {
  StepKind kind;
  Partition partition = Partition::team;
  std::string note;  ///< for people: the op or ops, the source line
  KernelStep kernel{};
  GemmStep gemm{};
  ScatterStep scatter{};
  ReduceStep reduce{};
  ExchangeStep exchange{};
  CopyStep copy{};
  BarrierScope barrier = BarrierScope::team;
};

/// One field of the batch, as an entry point wants it.
struct InputField {
  std::string name;
  int32_t buffer;
};

/// An entry point: `init`, `train_step`, `eval_step`, `train_report`, `eval_report`, `predict_step`.
struct Entry {
  std::string name;
  std::vector<InputField> inputs;
  std::vector<Step> steps;
};

/// What a state buffer is to the training loop.
enum class StateRole : uint8_t {
  weight,
  state,
  optimizer,
  metric,   ///< an accumulator, reset to `identity` when an epoch or an evaluation starts
  pending,  ///< each replica's part of a reduction to come, in its own space; `identity` between updates
  report,   ///< a scalar written by a report entry
  output,   ///< what predict_step gives for each replica's rows, in its own space
  least,    ///< the smallest of a replica's numbers that are indices; below 0 is a fault after the run
  most,     ///< the largest of them; `identity` or more is a fault after the run
  updates,  ///< i64, count of optimizer updates made
  seed,     ///< i64, set by the loop before init
};

struct StateEntry {
  std::string path;  ///< `Classifier/dense.0/kernel`; a metric or report: `train/loss`, `eval/accuracy`; f16's scale of
                     ///< a loss, a state: `loss_scale/0`
  StateRole role;
  int32_t buffer;
  double identity = 0;        ///< metric, pending: what a reset writes; least, most: how many things are indexed
  std::vector<Extent> whole;  ///< dimensions of the whole value, of which the buffer may hold a replica's part
  std::string user{};         ///< least, most: for people: what uses the indices, and where
};

struct KernelEntry {
  std::string name;  ///< readable, not unique
  std::string text;  ///< printed kernel, parsed back by codegen; equal text means one kernel
};

struct MeshAxis {
  std::string name;
  int64_t size;
  bool operator==(const MeshAxis&) const = default;
};

struct Plan {
  std::vector<MeshAxis> mesh;
  std::vector<ExtentEntry> extents;
  std::vector<Buffer> buffers;
  std::vector<StateEntry> states;
  std::vector<KernelEntry> kernels;
  std::vector<Entry> entries;
  int64_t arena_bytes = 0, input_bytes = 0, shared_bytes = 0, state_bytes = 0, own_bytes = 0;
};

/// With `only`, an entry's name: what that entry uses.
std::string print(const Plan& plan, std::string_view only = {});
/// FNV-1a over the printed form; ranks compare it before they start.
uint64_t hash(const Plan& plan);

/// Called with the operands' base pointers, the values of the kernel's extent slots, and the part [begin, end) of the
/// outermost loop to run.
using KernelFunction = void (*)(void* const* operands, const int64_t* extents, int64_t begin, int64_t end);

/// A plan with the addresses of its kernels. Whoever compiled them keeps them alive as long as the Executable.
struct Executable {
  Plan plan;
  std::vector<KernelFunction> kernels;
};

}  // namespace dtl::plan
