// SpinBarrier: spin, then yield, then sleep on a futex.
#include "runtime/collective/barrier.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cassert>
#include <chrono>
#include <climits>

namespace dtl::collective {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSpin = std::chrono::microseconds(20);
constexpr auto kYield = std::chrono::milliseconds(2);
/// Looks at the counter between two looks at the clock.
constexpr int kLooks = 16;

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

long futex(std::atomic<uint32_t>& word, int operation, uint32_t value) {
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

}  // namespace

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

SpinBarrier::SpinBarrier(int participants, int runnable) : participants_(participants), spins_(runnable <= available_cores()) {
  assert(participants >= 1);
}

void SpinBarrier::wait() {
  if (participants_ == 1) return;
  // The generation cannot change before this thread has arrived.
  const uint32_t seen = generation_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < participants_) return wait_for_change(seen);
  arrived_.store(0, std::memory_order_relaxed);
  // Sequentially consistent, as is the sleepers' side: either this thread sees the sleeper, or the sleeper the change.
  generation_.store(seen + 1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) futex(generation_, FUTEX_WAKE, INT_MAX);
}

void SpinBarrier::wait_for_change(uint32_t seen) {
  const auto changed = [&] { return generation_.load(std::memory_order_acquire) != seen; };
  const Clock::time_point start = Clock::now();
  if (spins_) {
    do {
      for (int look = 0; look < kLooks; ++look) {
        if (changed()) return;
        pause();
      }
    } while (Clock::now() - start < kSpin);
  }
  do {
    if (changed()) return;
    sched_yield();
  } while (Clock::now() - start < kYield);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (!changed()) futex(generation_, FUTEX_WAIT, seen);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace dtl::collective
