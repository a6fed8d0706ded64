// Executor: threads, and the walk over a worker's actions.
#include "runtime/train/executor.h"

#include <cassert>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <unordered_map>

#include "runtime/collective/barrier.h"
#include "runtime/collective/reduce.h"
#include "runtime/plan/fault.h"
#include "runtime/train/actions.h"

namespace dtl::train {
namespace {

using Clock = std::chrono::steady_clock;

int64_t replicas_of(const plan::Plan& plan) {
  int64_t n = 1;
  for (const plan::MeshAxis& axis : plan.mesh) n *= axis.size;
  return n;
}

/// A step's kind, or whom it waits for.
std::string_view name_of(const plan::Step& step) {
  switch (step.kind) {
    case plan::StepKind::kernel:
      return "kernel";
    case plan::StepKind::gemm:
      return "gemm";
    case plan::StepKind::scatter:
      return "scatter";
    case plan::StepKind::reduce:
      return "reduce";
    case plan::StepKind::exchange:
      return "exchange";
    case plan::StepKind::copy:
      return "copy";
    case plan::StepKind::barrier:
      return step.barrier == plan::BarrierScope::all ? "all" : "team";
  }
  __builtin_unreachable();
}

/// What the steps of one entry took on worker 0.
struct Timing {
  std::vector<int64_t> ns;  ///< by step, then gathering the inputs, then waiting at the end
  int64_t runs = 0;
};

}  // namespace

Topology topology_of(const plan::Plan& plan, int cores) {
  const auto replicas = static_cast<int>(replicas_of(plan));
  return {.replicas = replicas, .threads_per_replica = std::max(1, cores / replicas)};
}

struct Executor::Parts {
  Parts(const plan::Executable& executable_of, Topology topology_of);
  ~Parts();

  const Prepared& prepared(int entry, int64_t rows);
  void thread_main(int worker);
  template <bool timed>
  void work(int worker, Timing* timing);
  void gather(int worker);
  void wait(const BarrierAction& barrier, int worker);

  const plan::Executable executable;
  const Topology topology;
  Binder binder;
  collective::SharedMemory collective;
  collective::SpinBarrier all;
  std::vector<std::unique_ptr<collective::SpinBarrier>> teams;
  std::vector<std::unordered_map<int64_t, Prepared>> entries;  ///< by entry, then rows
  std::vector<Memory> scratch;                                 ///< by worker
  std::vector<int64_t> rows_of_replicas;
  std::vector<int> index_states;  ///< those that are `least` or `most`
  bool profiling = false;
  std::vector<Timing> timings;

  // The run at hand: written by the caller of `run` before the barrier that releases the workers.
  const Prepared* current = nullptr;
  const data::Source* source = nullptr;
  std::span<const int64_t> rows;
  std::span<const int> fields;
  bool stop = false;

  std::vector<std::thread> threads;  ///< workers 1 and up; the caller of `run` is worker 0
};

Executor::Parts::Parts(const plan::Executable& executable_of, Topology topology_of)
    : executable(executable_of),
      topology(topology_of),
      binder(executable, topology),
      all(topology.workers(), topology.workers()),
      entries(executable.plan.entries.size()),
      scratch(static_cast<size_t>(topology.workers())),
      rows_of_replicas(static_cast<size_t>(topology.replicas)),
      timings(executable.plan.entries.size()) {
  assert(topology.replicas == replicas_of(executable.plan) && topology.threads_per_replica >= 1);
  assert(executable.kernels.size() == executable.plan.kernels.size());
  for (int replica = 0; replica < topology.replicas; ++replica) {
    teams.push_back(std::make_unique<collective::SpinBarrier>(topology.threads_per_replica, topology.workers()));
  }
  for (size_t i = 0; i < executable.plan.states.size(); ++i) {
    const plan::StateRole role = executable.plan.states[i].role;
    if (role == plan::StateRole::least || role == plan::StateRole::most) index_states.push_back(static_cast<int>(i));
  }
  for (size_t i = 0; i < timings.size(); ++i) timings[i].ns.resize(executable.plan.entries[i].steps.size() + 2);
  for (int worker = 1; worker < topology.workers(); ++worker) threads.emplace_back([this, worker] { thread_main(worker); });
  binder.storage().touch(topology, 0);
  all.wait();
}

Executor::Parts::~Parts() {
  stop = true;
  all.wait();
  for (std::thread& thread : threads) thread.join();
}

void Executor::Parts::thread_main(int worker) {
  binder.storage().touch(topology, worker);
  all.wait();
  while (true) {
    all.wait();
    if (stop) return;
    work<false>(worker, nullptr);
  }
}

const Prepared& Executor::Parts::prepared(int entry, int64_t n) {
  auto& by_rows = entries[static_cast<size_t>(entry)];
  const auto found = by_rows.find(n);
  if (found != by_rows.end()) return found->second;
  const Prepared& made = by_rows.emplace(n, binder.prepare(entry, n)).first->second;
  for (Memory& memory : scratch) {
    if (memory.bytes() < binder.scratch_bytes()) memory = Memory(binder.scratch_bytes());
  }
  return made;
}

template <bool timed>
void Executor::Parts::work(int worker, Timing* timing) {
  Clock::time_point last;
  if constexpr (timed) last = Clock::now();
  const auto lap = [&](size_t at) {
    if constexpr (timed) {
      const Clock::time_point now = Clock::now();
      timing->ns[at] += std::chrono::duration_cast<std::chrono::nanoseconds>(now - last).count();
      last = now;
    }
  };
  const size_t steps = timed ? timing->ns.size() - 2 : 0;
  gather(worker);
  lap(steps);
  std::byte* own_scratch = scratch[static_cast<size_t>(worker)].data();
  for (const Action& action : current->actions[static_cast<size_t>(worker)]) {
    if (const auto* barrier = std::get_if<BarrierAction>(&action.what)) {
      wait(*barrier, worker);
    } else {
      perform(action, collective, own_scratch);
    }
    lap(static_cast<size_t>(action.step));
  }
  all.wait();
  lap(steps + 1);
}

void Executor::Parts::wait(const BarrierAction& barrier, int worker) {
  if (barrier.scope == plan::BarrierScope::all) {
    all.wait();
  } else {
    teams[static_cast<size_t>(worker / topology.threads_per_replica)]->wait();
  }
}

void Executor::Parts::gather(int worker) {
  const std::vector<Gather>& gathers = current->gathers[static_cast<size_t>(worker)];
  if (gathers.empty()) return;
  for (size_t i = 0; i < gathers.size(); ++i) {
    const Gather& part = gathers[i];
    if (part.count == 0) continue;
    const auto field = static_cast<size_t>(fields[i]);
    source->gather(field, rows.subspan(static_cast<size_t>(part.begin), static_cast<size_t>(part.count)),
                   part.buffer_data + part.row * source->fields()[field].bytes());
  }
  teams[static_cast<size_t>(worker / topology.threads_per_replica)]->wait();
}

Executor::Executor(const plan::Executable& executable, Topology topology) : parts_(std::make_unique<Parts>(executable, topology)) {}

Executor::~Executor() = default;

int Executor::find(std::string_view entry) const {
  const std::vector<plan::Entry>& entries = plan().entries;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].name == entry) return static_cast<int>(i);
  }
  return -1;
}

void Executor::run(int entry, const data::Batch& batch, std::span<const int> fields) {
  Parts& parts = *parts_;
  const std::vector<plan::InputField>& inputs = plan().entries[static_cast<size_t>(entry)].inputs;
  assert(fields.size() == inputs.size() && (inputs.empty() || batch.source != nullptr));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const data::Field& field = batch.source->fields()[static_cast<size_t>(fields[i])];
    const plan::Buffer& buffer = plan().buffers[static_cast<size_t>(inputs[i].buffer)];
    int64_t elements = 1;
    for (size_t dim = 1; dim < buffer.dims.size(); ++dim) elements *= buffer.dims[dim].scale;
    assert(field.dtype == buffer.dtype && field.elements() == elements);
  }
  parts.current = &parts.prepared(entry, static_cast<int64_t>(batch.rows.size()));
  parts.source = batch.source;
  parts.rows = batch.rows;
  parts.fields = fields;
  parts.all.wait();
  if (parts.profiling) {
    Timing& timing = parts.timings[static_cast<size_t>(entry)];
    parts.work<true>(0, &timing);
    ++timing.runs;
  } else {
    parts.work<false>(0, nullptr);
  }
  for (size_t replica = 0; replica < parts.rows_of_replicas.size(); ++replica) {
    parts.rows_of_replicas[replica] += parts.current->rows[replica];
  }
  check_indices();
}

void Executor::check_indices() const {
  for (const int index : parts_->index_states) {
    const plan::StateEntry& state = plan().states[static_cast<size_t>(index)];
    for (int replica = 0; replica < topology().replicas; ++replica) {
      // A replica without rows holds what a reduction of nothing is, which is within the range.
      const double value = scalar(index, replica);
      if (state.role == plan::StateRole::least ? value >= 0 : value < state.identity) continue;
      throw Fault(6007, {state.user, fmt::format("{:.0f}", value), fmt::format("{:.0f}", state.identity - 1)});
    }
  }
}

const std::byte* Executor::address(int index, int replica) const {
  return parts_->binder.storage().address(plan().states[static_cast<size_t>(index)].buffer, replica);
}

std::span<std::byte> Executor::state(int index) {
  const int32_t buffer = plan().states[static_cast<size_t>(index)].buffer;
  return {parts_->binder.storage().address(buffer, 0), static_cast<size_t>(plan().buffers[static_cast<size_t>(buffer)].bytes)};
}

std::span<const std::byte> Executor::state(int index) const { return const_cast<Executor*>(this)->state(index); }

bool Executor::in_parts(int index) const {
  const plan::StateEntry& entry = plan().states[static_cast<size_t>(index)];
  const plan::Buffer& buffer = plan().buffers[static_cast<size_t>(entry.buffer)];
  return buffer.space == plan::Space::own && buffer.dims != entry.whole && entry.role != plan::StateRole::output;
}

int64_t Executor::whole_bytes(int index) const {
  const plan::StateEntry& entry = plan().states[static_cast<size_t>(index)];
  if (!in_parts(index)) return static_cast<int64_t>(state(index).size());
  int64_t bytes = size_of(plan().buffers[static_cast<size_t>(entry.buffer)].dtype);
  for (const plan::Extent& dim : entry.whole) bytes *= dim.scale;
  return bytes;
}

void Executor::read(int index, std::span<std::byte> whole) const {
  assert(static_cast<int64_t>(whole.size()) == whole_bytes(index));
  const plan::StateEntry& entry = plan().states[static_cast<size_t>(index)];
  if (!in_parts(index)) {
    std::memcpy(whole.data(), state(index).data(), whole.size());
    return;
  }
  for (int replica = 0; replica < topology().replicas; ++replica) {
    const std::byte* part = parts_->binder.storage().address(entry.buffer, replica);
    for (const Binder::Run& run : parts_->binder.runs_of(entry, replica))
      std::memcpy(&whole[static_cast<size_t>(run.whole)], part + run.part, static_cast<size_t>(run.bytes));
  }
}

void Executor::write(int index, std::span<const std::byte> whole) {
  assert(static_cast<int64_t>(whole.size()) == whole_bytes(index));
  const plan::StateEntry& entry = plan().states[static_cast<size_t>(index)];
  if (!in_parts(index)) {
    std::memcpy(state(index).data(), whole.data(), whole.size());
    return;
  }
  for (int replica = 0; replica < topology().replicas; ++replica) {
    std::byte* part = parts_->binder.storage().address(entry.buffer, replica);
    for (const Binder::Run& run : parts_->binder.runs_of(entry, replica))
      std::memcpy(part + run.part, &whole[static_cast<size_t>(run.whole)], static_cast<size_t>(run.bytes));
  }
}

Executor::Rows Executor::rows_of(int index, int64_t rows, int replica) const {
  const int32_t buffer = plan().states[static_cast<size_t>(index)].buffer;
  const plan::Slice part = parts_->binder.rows_of(buffer, rows, replica);
  return {part.begin, part.count(), parts_->binder.storage().address(buffer, replica)};
}

void Executor::reset(int index) {
  const plan::StateEntry& entry = plan().states[static_cast<size_t>(index)];
  set_scalar(index, entry.identity);
  const plan::Buffer& buffer = plan().buffers[static_cast<size_t>(entry.buffer)];
  const std::span<std::byte> first = state(index);
  const auto size = static_cast<size_t>(size_of(buffer.dtype));
  for (size_t at = size; at < first.size(); at += size) std::memcpy(&first[at], first.data(), size);
  if (buffer.space != plan::Space::own) return;
  for (int replica = 1; replica < topology().replicas; ++replica)
    std::memcpy(parts_->binder.storage().address(entry.buffer, replica), first.data(), first.size());
}

int Executor::find_state(std::string_view path, plan::StateRole role) const {
  const std::vector<plan::StateEntry>& states = plan().states;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].path == path && states[i].role == role) return static_cast<int>(i);
  }
  return -1;
}

const std::vector<int64_t>& Executor::rows_of_replicas() const { return parts_->rows_of_replicas; }

const plan::Plan& Executor::plan() const { return parts_->executable.plan; }

Topology Executor::topology() const { return parts_->topology; }

void Executor::profile(bool on) {
  parts_->profiling = on;
  if (!on) return;
  for (Timing& timing : parts_->timings) {
    std::fill(timing.ns.begin(), timing.ns.end(), 0);
    timing.runs = 0;
  }
}

std::string Executor::profile_table() const {
  std::string table;
  for (size_t i = 0; i < parts_->timings.size(); ++i) {
    const Timing& timing = parts_->timings[i];
    if (timing.runs == 0) continue;
    const plan::Entry& entry = plan().entries[i];
    const auto mean = [&](int64_t ns) { return ns / timing.runs; };
    table += fmt::format("{}: {} runs, mean ns of worker 0\n", entry.name, timing.runs);
    table += fmt::format("{:>10}  gather\n", mean(timing.ns[entry.steps.size()]));
    for (size_t step = 0; step < entry.steps.size(); ++step) {
      table += fmt::format("{:>10}  {:>3} {:<8} {}\n", mean(timing.ns[step]), step, name_of(entry.steps[step]), entry.steps[step].note);
    }
    table += fmt::format("{:>10}  end\n", mean(timing.ns[entry.steps.size() + 1]));
    table += fmt::format("{:>10}  total\n", mean(std::accumulate(timing.ns.begin(), timing.ns.end(), int64_t{0})));
  }
  return table;
}

}  // namespace dtl::train
