// SpinBarrier: a fixed set of threads waits for one another, in well under a microsecond when all run.
#pragma once

#include <atomic>
#include <cstdint>

namespace dtl::collective {

/// Processors that this process may run on.
int available_cores();

/// A central barrier with a generation counter (Mellor-Crummey and Scott 1991, section 3.1). What a thread wrote before
/// `wait` is visible to all after it. A waiting thread spins for at most 20 µs, then yields its core, and after 2 ms
/// sleeps in the kernel until the last one arrives: teams idle between runs cost nothing. Never allocates.
class SpinBarrier {
 public:
  /// For `participants` threads. `runnable` is how many threads of the process want a core at once, this barrier's among
  /// them; if that is more than there are cores, waiting threads yield at once: the one they wait for may need the core.
  SpinBarrier(int participants, int runnable);
  SpinBarrier(const SpinBarrier&) = delete;
  SpinBarrier& operator=(const SpinBarrier&) = delete;

  /// Returns when all participants have called it as often as this one.
  void wait();

  int participants() const { return participants_; }

 private:
  void wait_for_change(uint32_t seen);

  const int participants_;
  const bool spins_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};
  std::atomic<int> sleepers_{0};
};

}  // namespace dtl::collective
