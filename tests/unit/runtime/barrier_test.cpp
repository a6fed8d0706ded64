// SpinBarrier: nobody passes early, and what was written before it is seen behind it.
#include "runtime/collective/barrier.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

namespace dtl::collective {
namespace {

template <class Body>
void in_threads(int n, Body body) {
  std::vector<std::thread> threads;
  for (int i = 1; i < n; ++i) threads.emplace_back([&body, i] { body(i); });
  body(0);
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("every thread sees what all others wrote before the barrier") {
  for (const int n : {1, 2, 3, 8}) {
    SpinBarrier barrier(n, n);
    std::vector<int64_t> written(static_cast<size_t>(n));  // plain memory: a race would be one for the sanitizer too
    std::vector<int> wrong(static_cast<size_t>(n));
    const int rounds = 500;
    in_threads(n, [&](int me) {
      for (int round = 1; round <= rounds; ++round) {
        written[static_cast<size_t>(me)] = round;
        barrier.wait();
        for (const int64_t other : written) wrong[static_cast<size_t>(me)] += other != round;
        barrier.wait();
      }
    });
    REQUIRE(wrong == std::vector<int>(static_cast<size_t>(n)));
  }
}

TEST_CASE("a thread that sleeps in the barrier is woken") {
  SpinBarrier barrier(3, 3);
  int value = 0;
  std::vector<int> seen(3);
  in_threads(3, [&](int me) {
    for (int round = 0; round < 3; ++round) {
      if (me == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(8));  // the others spin, yield, then sleep
        value = round + 1;
      }
      barrier.wait();
      seen[static_cast<size_t>(me)] += value;
      barrier.wait();
    }
  });
  REQUIRE(seen == std::vector<int>{6, 6, 6});
}

TEST_CASE("barriers of more threads than cores cost microseconds") {
  const int n = 4 * available_cores(), rounds = 100, windows = 20;
  SpinBarrier barrier(n, n);
  double best = 1;
  for (int window = 0; window < windows; ++window) {
    const auto start = std::chrono::steady_clock::now();
    in_threads(n, [&](int) {
      for (int i = 0; i < rounds; ++i) barrier.wait();
    });
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / rounds);
  }
  // Threads that spin through their time slices need 12 ms each. The best window, and a bound in between: machines are busy.
  REQUIRE(best < 5e-3);
}

}  // namespace
}  // namespace dtl::collective
