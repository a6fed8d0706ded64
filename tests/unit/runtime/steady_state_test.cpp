// In the steady state a run allocates nothing, takes no lock and starts no thread.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "counting.h"
#include "executor_testing.h"
#include "runtime/train/executor.h"

namespace dtl::train {
namespace {

TEST_CASE("the counters of allocations, locks and threads count") {
  dtl::testing::start_counting();
  std::mutex mutex;
  std::thread([&] {
    const std::lock_guard lock(mutex);
    void* volatile memory = std::malloc(10);
    std::free(memory);
  }).join();
  const dtl::testing::Counts counts = dtl::testing::stop_counting();
  if (!dtl::testing::kCounts) return;
  REQUIRE(counts.allocations > 0);
  REQUIRE(counts.locks > 0);
  REQUIRE(counts.thread_starts == 1);
}

TEST_CASE("a run allocates nothing, takes no lock and starts no thread after the first one with as many rows") {
  const testing::Rows source(50);
  const std::vector<int64_t> all = {4, 8, 15, 16, 23, 42, 1, 2, 3, 5, 7, 11};
  const std::vector<int> fields = {1, 0};
  for (const Topology topology : {Topology{1, 1}, Topology{2, 1}, Topology{3, 2}}) {
    Executor executor(testing::training(topology.replicas), topology);
    const auto epoch = [&] {
      for (const size_t n : {12u, 12u, 5u, 0u}) {
        executor.run(0, {&source, std::span(all).first(n)}, fields);
        executor.run(1);
      }
    };
    epoch();
    dtl::testing::start_counting();
    for (int i = 0; i < 20; ++i) epoch();
    REQUIRE(dtl::testing::stop_counting() == dtl::testing::Counts{});
  }
}

}  // namespace
}  // namespace dtl::train
