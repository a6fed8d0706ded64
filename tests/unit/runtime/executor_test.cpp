// The executor on hand-made Plans: shares, teams, collectives, states.
#include "runtime/train/executor.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "executor_testing.h"
#include "runtime/plan/slice.h"

namespace dtl::train {
namespace {

using testing::Expected;
using testing::kBound;
using testing::Rows;

const std::vector<int> kFieldsOfInputs = {1, 0};  // the source has x first, the entry wants id first

std::vector<float> weights_of(const Executor& executor) {
  const std::span<const std::byte> bytes = executor.state(testing::kWeights);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_CASE("uneven and empty shares give the sums of the whole batch, for every topology") {
  const Rows source(100);
  for (int replicas = 1; replicas <= 4; ++replicas) {
    for (int threads = 1; threads <= 3; ++threads) {
      Executor executor(testing::training(replicas), {replicas, threads});
      Expected expected;
      std::vector<int64_t> seen(static_cast<size_t>(replicas));
      int64_t total = 0;
      for (const int64_t n : {12, 5, 1, 2, 0, 5}) {
        std::vector<int64_t> rows;
        for (int64_t i = 0; i < n; ++i) rows.push_back((i * 17 + total) % 100);
        executor.run(executor.find("reset"));  // weights stay small integers, so that f32 is exact
        expected.reset();
        executor.run(executor.find("train_step"), {&source, rows}, kFieldsOfInputs);
        expected.step(source, rows);
        total += n;
        INFO(replicas << " replicas of " << threads << ", " << n << " rows");
        const std::vector<float> weights = weights_of(executor);
        REQUIRE(std::vector<double>(weights.begin(), weights.end()) == expected.weights);
        REQUIRE(executor.scalar(testing::kSum) == expected.sum);
        REQUIRE(executor.scalar(testing::kCount) == static_cast<double>(total));
        for (int replica = 0; replica < replicas; ++replica) {
          const plan::Slice share = plan::share_of_rank(n, replica, replicas);
          seen[static_cast<size_t>(replica)] += share.count();
          if (share.count() == 0) continue;
          int64_t first = -1;
          std::memcpy(&first, executor.state(testing::kFirstRow).data() + share.begin * 8, 8);
          REQUIRE(first == rows[static_cast<size_t>(share.begin)]);
        }
        REQUIRE(executor.rows_of_replicas() == seen);
      }
    }
  }
}

TEST_CASE("the same topology gives the same bits again") {
  const Rows source(1000, true);
  std::vector<int64_t> rows(kBound);
  std::iota(rows.begin(), rows.end(), 3);
  std::vector<float> first;
  for (const Topology topology : {Topology{3, 1}, Topology{3, 2}, Topology{3, 3}, Topology{3, 1}}) {
    Executor executor(testing::training(3), topology);
    executor.run(executor.find("reset"));
    executor.run(executor.find("train_step"), {&source, rows}, kFieldsOfInputs);
    const std::vector<float> weights = weights_of(executor);
    if (first.empty()) first = weights;
    // More than promised: threads of a team do not matter either.
    REQUIRE(std::memcmp(first.data(), weights.data(), first.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("states begin as zeros and are found by path and role") {
  Executor executor(testing::training(2), {2, 1});
  for (size_t state = 0; state < 4; ++state) {
    for (const std::byte byte : executor.state(static_cast<int>(state))) REQUIRE(byte == std::byte{0});
  }
  REQUIRE(executor.find_state("train/count", plan::StateRole::metric) == testing::kCount);
  REQUIRE(executor.find_state("train/count", plan::StateRole::weight) == -1);
  REQUIRE(executor.find_state("count", plan::StateRole::metric) == -1);
  REQUIRE(executor.find("eval_step") == -1);
  executor.set_scalar(testing::kCount, 41);
  executor.set_scalar(testing::kSum, 0.5);
  executor.set_scalar(testing::kWeights, -2);
  REQUIRE(executor.scalar(testing::kCount) == 41);
  REQUIRE(executor.scalar(testing::kSum) == 0.5);
  REQUIRE(weights_of(executor)[0] == -2);
  executor.set_scalar(testing::kCount, -std::numeric_limits<double>::infinity());
  REQUIRE(executor.scalar(testing::kCount) == static_cast<double>(std::numeric_limits<int64_t>::lowest()));
}

TEST_CASE("teams share the cores; a replica has one thread at least") {
  const plan::Plan plan = testing::training(3).plan;
  REQUIRE(topology_of(plan, 8).replicas == 3);
  REQUIRE(topology_of(plan, 8).threads_per_replica == 2);
  REQUIRE(topology_of(plan, 2).threads_per_replica == 1);
  plan::Plan grid = plan;
  grid.mesh = {{"data", 2}, {"model", 4}};
  REQUIRE(topology_of(grid, 8).replicas == 8);
}

/// Operands own, from; extents begin of data, begin of model: each replica's numbers.
void number_replica(void* const* operands, const int64_t* extents, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<int64_t*>(operands[0])[i] = 100 * extents[0] + 1000 * i;
    if (i == 0) static_cast<int64_t*>(operands[1])[extents[1] * 2 + extents[0]] = 1;
  }
}

TEST_CASE("on two axes a reduce goes along its own, and ranks count the last axis fastest") {
  plan::Executable made;
  plan::Plan& plan = made.plan;
  plan.mesh = {{"data", 2}, {"model", 3}};
  plan.extents = {{"two", plan::ExtentKind::fixed, 2},
                  {"three", plan::ExtentKind::fixed, 3},
                  {"data.begin", plan::ExtentKind::begin, 1, 0, 0},
                  {"model.begin", plan::ExtentKind::begin, 2, 1, 1}};
  plan.buffers = {{"own", DType::i64, {{3}}, plan::Space::arena, 0, 24},
                  {"seen", DType::i64, {{6}}, plan::Space::state, 0, 48},
                  {"total", DType::i64, {{3}}, plan::Space::shared, 0, 24},
                  {"kept", DType::i64, {{3}}, plan::Space::state, 64, 24}};
  plan.arena_bytes = 24;
  plan.shared_bytes = 24;
  plan.state_bytes = 128;
  plan.states = {{"seen", plan::StateRole::state, 1}, {"kept", plan::StateRole::state, 3}};
  plan.kernels = {{"number", ""}};
  made.kernels = {number_replica};
  plan::Step barrier{.kind = plan::StepKind::barrier};
  barrier.barrier = plan::BarrierScope::all;
  plan::Step number{.kind = plan::StepKind::kernel};
  number.kernel = {0, {0, 1}, {{1, 2}, {1, 3}}, {3}, 1};
  plan::Step reduce{.kind = plan::StepKind::reduce};
  reduce.reduce = {.op = ReduceOp::sum, .axis = 0, .from = {0}, .to = {2}};
  plan::Step copy{.kind = plan::StepKind::copy, .partition = plan::Partition::sliced};
  copy.copy = {2, 3};
  plan.entries = {{"go", {}, {number, barrier, reduce, barrier, copy}}};
  Executor executor(made, {6, 2});
  executor.run(0);
  int64_t seen[6], kept[3];
  std::memcpy(seen, executor.state(0).data(), sizeof seen);
  std::memcpy(kept, executor.state(1).data(), sizeof kept);
  for (const int64_t one : seen) REQUIRE(one == 1);                        // six replicas, six pairs of coordinates
  for (int64_t i = 0; i < 3; ++i) REQUIRE(kept[i] == 100 + 2 * 1000 * i);  // two replicas of six
}

TEST_CASE("a profile names each step that ran, and none before it is asked for") {
  const Rows source(20);
  Executor executor(testing::training(2), {2, 1});
  const std::vector<int64_t> rows = {1, 2, 3};
  executor.run(0, {&source, rows}, kFieldsOfInputs);
  REQUIRE(executor.profile_table().empty());
  executor.profile(true);
  for (int i = 0; i < 3; ++i) executor.run(0, {&source, rows}, kFieldsOfInputs);
  executor.profile(false);
  executor.run(0, {&source, rows}, kFieldsOfInputs);
  const std::string table = executor.profile_table();
  INFO(table);
  REQUIRE(table.find("train_step: 3 runs") == 0);
  REQUIRE(table.find("reduce   bucket 0\n") != std::string::npos);
  REQUIRE(table.find("reset") == std::string::npos);
}

TEST_CASE("a batch larger than the bound stops the program") {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);  // not a failure of this test
    close(STDERR_FILENO);
    const Rows source(20);
    const std::vector<int64_t> rows(kBound + 1);
    Executor executor(testing::training(1), {1, 1});
    executor.run(0, {&source, rows}, kFieldsOfInputs);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(WTERMSIG(status) == SIGABRT);
}

}  // namespace
}  // namespace dtl::train
