// Counts allocations, locks and thread starts of the whole process, by standing before the C library's functions.
#pragma once

#include <cstdint>

namespace dtl::testing {

/// Sanitizers stand there too: then nothing is counted.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kCounts = false;
#else
inline constexpr bool kCounts = true;
#endif

struct Counts {
  int64_t allocations = 0, locks = 0, thread_starts = 0;
  bool operator==(const Counts&) const = default;
};

void start_counting();
/// Stops, and what was counted since the start.
Counts stop_counting();

}  // namespace dtl::testing
