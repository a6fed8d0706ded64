// All-reduce between the replicas of one process, as the executor does it: a barrier, each worker's slice, a barrier.
#include <benchmark/benchmark.h>

#include <thread>
#include <vector>

#include "runtime/collective/barrier.h"
#include "runtime/collective/reduce.h"
#include "runtime/plan/slice.h"
#include "runtime/train/memory.h"

namespace dtl {
namespace {

void all_reduce(benchmark::State& state) {
  constexpr int kReplicas = 2;
  const int64_t bytes = state.range(0), elements = bytes / 4;
  std::vector<train::Memory> sources(kReplicas);
  const train::Memory to(bytes);
  std::vector<const void*> addresses;
  for (train::Memory& source : sources) {
    source = train::Memory(bytes);
    source.zero(0, 1);
    addresses.push_back(source.data());
  }
  to.zero(0, 1);
  collective::SpinBarrier barrier(kReplicas, kReplicas);
  const collective::SharedMemory collective;
  const auto part = [&](int worker) {
    barrier.wait();
    const plan::Slice mine = plan::slice(elements, worker, kReplicas);
    collective.reduce({ReduceOp::sum, DType::f32, addresses, to.data(), mine.begin, mine.end});
    barrier.wait();
  };
  bool stop = false;
  std::thread other([&] {
    for (barrier.wait(); !stop; barrier.wait()) part(1);
  });
  for (auto _ : state) {
    barrier.wait();
    part(0);
  }
  stop = true;
  barrier.wait();
  other.join();
  state.SetBytesProcessed(state.iterations() * bytes);
}
BENCHMARK(all_reduce)->Arg(8)->Arg(4 << 10)->Arg(1 << 20)->Arg(4 << 20)->Arg(25 << 20)->UseRealTime();

void barrier(benchmark::State& state) {
  const auto threads = static_cast<int>(state.range(0));
  collective::SpinBarrier barrier(threads, threads);
  bool stop = false;
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) {
    others.emplace_back([&] {
      for (barrier.wait(); !stop; barrier.wait()) barrier.wait();
    });
  }
  for (auto _ : state) {
    barrier.wait();
    barrier.wait();
  }
  stop = true;
  barrier.wait();
  for (std::thread& other : others) other.join();
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(barrier)->Arg(2)->Arg(4)->Arg(8)->UseRealTime();

}  // namespace
}  // namespace dtl

BENCHMARK_MAIN();
