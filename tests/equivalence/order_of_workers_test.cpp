// Every barrier that is needed is there: between two barriers any order of the workers gives the same bits. Workers run
// one after another here, in rising and in falling order, so that a missing barrier shows every time, not now and then.
#include <catch2/catch.hpp>
#include <cstring>

#include "compiler/codegen/jit.h"
#include "compiler/ops/registry.h"
#include "compiler/transform/make_plan.h"
#include "runtime/collective/reduce.h"
#include "runtime/train/actions.h"
#include "tests/unit/lower/program_testing.h"

using namespace dtl;
using namespace dtl::testing;

namespace {

/// Runs a plan's entries without threads.
class Serial {
 public:
  Serial(const graph::Graph& graph, train::Topology topology, bool falling) : topology_(topology), falling_(falling), jit_({}) {
    auto plan = transform::make_plan(graph, ops::table());
    if (!plan) FAIL(plan.error().text);
    executable_.plan = std::move(*plan);
    executable_.kernels = jit_.compile(executable_.plan.kernels);
    binder_ = std::make_unique<train::Binder>(executable_, topology);
    for (int worker = 0; worker < topology.workers(); ++worker) binder_->storage().touch(topology, worker);
    for (const plan::StateEntry& state : executable_.plan.states) {
      if (state.role != plan::StateRole::metric) continue;
      REQUIRE(executable_.plan.buffers[static_cast<size_t>(state.buffer)].dtype == DType::f64);
      std::memcpy(address(state), &state.identity, sizeof state.identity);
    }
  }

  void run(const std::string& name, int64_t rows) {
    const auto& entries = executable_.plan.entries;
    const auto at = std::find_if(entries.begin(), entries.end(), [&](const plan::Entry& entry) { return entry.name == name; });
    REQUIRE(at != entries.end());
    prepared_ = binder_->prepare(static_cast<int>(at - entries.begin()), rows);
    scratch_ = train::Memory(std::max<int64_t>(binder_->scratch_bytes(), 64));
    for (size_t worker = 0; worker < prepared_.gathers.size(); ++worker) {
      for (size_t input = 0; input < at->inputs.size(); ++input) fill(prepared_.gathers[worker][input]);
    }
    next_.assign(static_cast<size_t>(topology_.workers()), 0);
    // Up to each barrier of all: team by team, each up to its own barriers.
    while (true) {
      for (const int replica : order(topology_.replicas)) run_team(replica);
      bool more = false;
      for (size_t worker = 0; worker < next_.size(); ++worker) {
        if (next_[worker] == prepared_.actions[worker].size()) continue;
        ++next_[worker];  // the barrier at which it stands
        more = true;
      }
      if (!more) return;
    }
  }

  std::vector<std::byte> states() const {
    std::vector<std::byte> bytes;
    for (const plan::StateEntry& state : executable_.plan.states) {
      const plan::Buffer& buffer = executable_.plan.buffers[static_cast<size_t>(state.buffer)];
      for (int replica = 0; replica < (plan::is_common(buffer.space) ? 1 : topology_.replicas); ++replica) {
        const std::byte* from = address(state, replica);
        bytes.insert(bytes.end(), from, from + buffer.bytes);
      }
    }
    return bytes;
  }

 private:
  std::byte* address(const plan::StateEntry& state, int replica = 0) const { return binder_->storage().address(state.buffer, replica); }

  std::vector<int> order(int n) const {
    std::vector<int> result;
    for (int i = 0; i < n; ++i) result.push_back(falling_ ? n - 1 - i : i);
    return result;
  }

  /// Until every worker of the team stands at a barrier of all, or at the end.
  void run_team(int replica) {
    while (true) {
      bool waiting = false;
      for (const int thread : order(topology_.threads_per_replica))
        waiting |= run_worker(static_cast<size_t>(replica * topology_.threads_per_replica + thread));
      if (!waiting) return;
      for (int thread = 0; thread < topology_.threads_per_replica; ++thread)
        ++next_[static_cast<size_t>(replica * topology_.threads_per_replica + thread)];
    }
  }

  /// True where it stands at a barrier of its team.
  bool run_worker(size_t worker) {
    const auto& actions = prepared_.actions[worker];
    for (size_t& at = next_[worker]; at < actions.size(); ++at) {
      const auto& what = actions[at].what;
      if (const auto* barrier = std::get_if<train::BarrierAction>(&what)) return barrier->scope == plan::BarrierScope::team;
      train::perform(actions[at], collective_, scratch_.data());
    }
    return false;
  }

  /// Some numbers for each row: labels 0, 1, 2; anything for floats.
  void fill(const train::Gather& gather) {
    const plan::Buffer& buffer = executable_.plan.buffers[static_cast<size_t>(gather.buffer)];
    int64_t elements = 1;
    for (size_t dim = 1; dim < buffer.dims.size(); ++dim) elements *= buffer.dims[dim].scale;
    for (int64_t row = 0; row < gather.count; ++row) {
      for (int64_t i = 0; i < elements; ++i) {
        std::byte* to = gather.buffer_data + ((gather.row + row) * elements + i) * size_of(buffer.dtype);
        const int64_t whole = ((gather.begin + row) * 7 + i * 5) % 3;
        const float real = static_cast<float>(((gather.begin + row) * 13 + i * 29) % 17) / 17 - 0.4f;
        if (buffer.dtype == DType::i64) {
          std::memcpy(to, &whole, sizeof whole);
        } else {
          REQUIRE(buffer.dtype == DType::f32);
          std::memcpy(to, &real, sizeof real);
        }
      }
    }
  }

  train::Topology topology_;
  bool falling_;
  codegen::Jit jit_;
  plan::Executable executable_;
  std::unique_ptr<train::Binder> binder_;
  collective::SharedMemory collective_;
  train::Prepared prepared_;
  train::Memory scratch_;
  std::vector<size_t> next_;  ///< action, by worker
};

const std::string kData = R"(
dataset Points {
  train      = synthetic(64, seed = 1, fields = { x = normal([20]), label = integers(0, 3, []) })
  validation = synthetic(64, seed = 2, fields = { x = normal([20]), label = integers(0, 3, []) })
  batch = 24
}
)";
const std::string kPrograms[] = {kData + R"(
model Net (x: f32[batch, 20]) -> f32[batch, 3] { x |> dense(70, activation = gelu) |> dropout(0.3) |> layer_norm() |> dense(130, activation = relu) |> dense(3) }
train {
  model     = Net
  data      = Points
  loss      = mean(sparse_cross_entropy(prediction, label))
  metrics   = { accuracy = mean(argmax(prediction) == label), worst = max(sparse_cross_entropy(prediction, label)) }
  optimizer = adam(1e-2)
  epochs    = 1
)",
                                 kData + R"(
model Net (x: f32[batch, 20]) -> f32[batch, 3] { x |> dense(40) |> batch_norm() |> relu() |> dense(3) }
train {
  data   = Points
  epochs = 1
  step (x, label) {
    let before = mean(sparse_cross_entropy(Net(x), label))
    minimize(before, over = Net, using = sgd(0.1, momentum = 0.9, nesterov = true))
    let after = mean(sparse_cross_entropy(Net(x), label))
    minimize(after + 0.01 * max(square(Net(x))), over = Net, using = adamw(1e-2))
    let share = per_replica { sum(x) }
    report(before = before, after = after, largest = reduce(max, share))
  }
)"};

}  // namespace

TEST_CASE("between barriers the order of the workers does not matter") {
  // A mesh of two axes: weights in parts over one, the batch over both.
  const std::string grid = R"(
strategy grid (a: int, b: int) {
  mesh      = { outer = a, inner = b }
  batch     = split(over = [outer, inner])
  weights   = split(1, over = inner)
  optimizer = split(over = [outer, inner])
}
)";
  const std::tuple<const char*, int, int> strategies[] = {{"mirrored(replicas = 1)", 1, 3},
                                                          {"mirrored(replicas = 2)", 2, 1},
                                                          {"mirrored(replicas = 2)", 2, 2},
                                                          {"mirrored(replicas = 3)", 3, 2},
                                                          {"sharded_optimizer(replicas = 2)", 2, 2},
                                                          {"sharded_optimizer(replicas = 3)", 3, 1},
                                                          {"fully_sharded(replicas = 2)", 2, 1},
                                                          {"fully_sharded(replicas = 3)", 3, 2},
                                                          {"grid(2, 2)", 4, 1},
                                                          {"grid(2, 3)", 6, 2}};
  for (const std::string& program : kPrograms) {
    for (const auto& [strategy, replicas, threads] : strategies) {
      const graph::Graph graph = passed(lowered(grid + program + "  strategy = " + strategy + "\n}\n"), "");
      Serial rising(graph, {replicas, threads}, false), falling(graph, {replicas, threads}, true);
      for (Serial* serial : {&rising, &falling}) serial->run("init", 0);
      for (const int64_t rows : {24, 24, 13, 2, 24}) {
        CAPTURE(program, strategy, threads, rows);
        for (Serial* serial : {&rising, &falling}) {
          serial->run("train_step", rows);
          serial->run("train_report", 0);
        }
        CHECK(rising.states() == falling.states());
      }
    }
  }
}
