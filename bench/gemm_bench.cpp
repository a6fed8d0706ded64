// Products at the shapes of the mlp workload, against the machine's multiply-add peak.
#include <benchmark/benchmark.h>

#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "runtime/collective/barrier.h"
#include "runtime/device/gemm.h"
#include "runtime/train/memory.h"

namespace dtl {
namespace {

/// Runs `body(thread)` on the benchmark's thread and `threads` − 1 others, as often as `round` is called.
template <class Body>
class Team {
 public:
  Team(int threads, Body body) : body_(body), barrier_(threads, threads) {
    for (int i = 1; i < threads; ++i) {
      others_.emplace_back([this, i] {
        for (barrier_.wait(); !stop_; barrier_.wait()) {
          body_(i);
          barrier_.wait();
        }
      });
    }
  }
  ~Team() {
    stop_ = true;
    barrier_.wait();
    for (std::thread& thread : others_) thread.join();
  }
  void round() {
    barrier_.wait();
    body_(0);
    barrier_.wait();
  }

 private:
  Body body_;
  collective::SpinBarrier barrier_;
  bool stop_ = false;
  std::vector<std::thread> others_;
};

void product(benchmark::State& state, device::GemmShape shape, int threads) {
  const device::Gemm gemm(shape);
  const auto elements = [&](int64_t rows, int64_t columns) { return shape.batch * rows * columns * size_of(shape.dtype); };
  const train::Memory a(elements(shape.m, shape.k)), b(elements(shape.k, shape.n)), c(elements(shape.m, shape.n));
  // Normal numbers: zeros would do too, but denormals would not.
  std::mt19937 random(1);
  for (const train::Memory* memory : {&a, &b}) {
    for (int64_t i = 0; i < memory->bytes() / size_of(shape.dtype); ++i) {
      const double value = static_cast<double>(random() % 1000) / 500 - 1;
      if (shape.dtype == DType::f32) {
        reinterpret_cast<float*>(memory->data())[i] = static_cast<float>(value);
      } else {
        reinterpret_cast<double*>(memory->data())[i] = value;
      }
    }
  }
  std::vector<train::Memory> scratch;
  for (int i = 0; i < threads; ++i) scratch.emplace_back(gemm.scratch_bytes());
  Team team(threads,
            [&](int thread) { gemm.run(a.data(), b.data(), c.data(), thread, threads, scratch[static_cast<size_t>(thread)].data()); });
  for (auto _ : state) team.round();
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(shape.batch * shape.m * shape.n * shape.k),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

constexpr int kRounds = 4096;

/// Multiply-adds on registers alone, on as many independent sums as hide their latency: what no product can pass.
#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "fma", "default")))
#endif
void multiply_add() {
  using Vector __attribute__((vector_size(64))) = float;
  Vector x = {}, y = {}, a = {}, b = {}, c = {}, d = {}, e = {}, f = {}, g = {}, h = {};
  asm volatile("" : "+m"(x), "+m"(y));
  for (int round = 0; round < kRounds; ++round) {
    a = a * x + y, b = b * x + y, c = c * x + y, d = d * x + y;
    e = e * x + y, f = f * x + y, g = g * x + y, h = h * x + y;
  }
  Vector sum = a + b + c + d + e + f + g + h;
  asm volatile("" : "+m"(sum));
}

void peak(benchmark::State& state, int threads) {
  Team team(threads, [&](int) { multiply_add(); });
  for (auto _ : state) team.round();
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * 16 * 8 * kRounds * threads, benchmark::Counter::kIsIterationInvariantRate);
}

struct Case {
  const char* name;
  device::GemmShape shape;
};

const Case kCases[] = {
    {"forward 128x512x784", {.m = 128, .n = 512, .k = 784}},
    {"forward 128x256x512", {.m = 128, .n = 256, .k = 512}},
    {"forward 128x10x256", {.m = 128, .n = 10, .k = 256}},
    {"weight gradient 784x512x128", {.transpose_a = true, .m = 784, .n = 512, .k = 128}},
    {"weight gradient 512x256x128", {.transpose_a = true, .m = 512, .n = 256, .k = 128}},
    {"weight gradient 256x10x128", {.transpose_a = true, .m = 256, .n = 10, .k = 128}},
    {"input gradient 128x512x256", {.transpose_b = true, .m = 128, .n = 512, .k = 256}},
    {"input gradient 128x256x10", {.transpose_b = true, .m = 128, .n = 256, .k = 10}},
    {"input gradient 128x784x512", {.transpose_b = true, .m = 128, .n = 784, .k = 512}},
    {"share forward 64x512x784", {.m = 64, .n = 512, .k = 784}},
    {"share weight gradient 784x512x64", {.transpose_a = true, .m = 784, .n = 512, .k = 64}},
    {"share input gradient 64x512x256", {.transpose_b = true, .m = 64, .n = 512, .k = 256}},
    {"square 64", {.m = 64, .n = 64, .k = 64}},
    {"square 256", {.m = 256, .n = 256, .k = 256}},
    {"square 512", {.m = 512, .n = 512, .k = 512}},
    {"square 2048", {.m = 2048, .n = 2048, .k = 2048}},
    {"square 512 f64", {.dtype = DType::f64, .m = 512, .n = 512, .k = 512}},
    {"batch of 24 attention scores 128x128x32", {.transpose_b = true, .batch = 24, .m = 128, .n = 128, .k = 32}},
    {"one column 128x1x512", {.m = 128, .n = 1, .k = 512}},
    {"one row 1x512x784", {.m = 1, .n = 512, .k = 784}},
};

}  // namespace
}  // namespace dtl

int main(int argc, char** argv) {
  for (const int threads : {1, 2}) {
    const std::string suffix = fmt::format("/threads:{}", threads);
    benchmark::RegisterBenchmark(("multiply-add peak" + suffix).c_str(), [=](benchmark::State& state) {
      dtl::peak(state, threads);
    })->UseRealTime();
    for (const dtl::Case& c : dtl::kCases) {
      benchmark::RegisterBenchmark((c.name + suffix).c_str(), [&c, threads](benchmark::State& state) {
        dtl::product(state, c.shape, threads);
      })->UseRealTime();
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
