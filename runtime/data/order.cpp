// Shuffling by Philox: the i-th choice of an epoch is a function of seed, epoch and i.
#include "runtime/data/order.h"

#include <cassert>
#include <numeric>

#include "runtime/plan/philox.h"

namespace dtl::data {
namespace {

/// Sets these numbers apart from those of a program with the same seed.
constexpr uint32_t kDomain = 0x73687566;

/// In [0, n), from 64 bits: the bias is below n / 2^64.
int64_t choose(uint64_t seed, uint64_t epoch, int64_t i, int64_t n) {
  const auto block = philox({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), static_cast<uint32_t>(epoch), kDomain},
                            {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint64_t bits = (uint64_t{block[0]} << 32) | block[1];
  return static_cast<int64_t>((static_cast<unsigned __int128>(bits) * static_cast<uint64_t>(n)) >> 64);
}

}  // namespace

Order::Order(int64_t examples, int64_t shuffle, uint64_t seed) : shuffle_(shuffle), seed_(seed), rows_(static_cast<size_t>(examples)) {
  assert(examples >= 0 && shuffle >= -1);
  // A window of all examples is a shuffle of all.
  if (shuffle_ >= examples) shuffle_ = -1;
  if (shuffle_ > 0) window_.resize(static_cast<size_t>(shuffle_));
}

std::span<const int64_t> Order::epoch(int64_t epoch) {
  if (shuffle_ > 0) {
    shuffle_window(static_cast<uint64_t>(epoch));
  } else {
    std::iota(rows_.begin(), rows_.end(), 0);
    if (shuffle_ < 0) shuffle_all(static_cast<uint64_t>(epoch));
  }
  return rows_;
}

// Fisher and Yates, as in Durstenfeld, 1964.
void Order::shuffle_all(uint64_t epoch) {
  for (auto i = static_cast<int64_t>(rows_.size()) - 1; i > 0; --i)
    std::swap(rows_[static_cast<size_t>(i)], rows_[static_cast<size_t>(choose(seed_, epoch, i, i + 1))]);
}

// A window of the next examples, from which one at random leaves and is replaced by the one that follows.
void Order::shuffle_window(uint64_t epoch) {
  const auto examples = static_cast<int64_t>(rows_.size());
  std::iota(window_.begin(), window_.end(), 0);
  int64_t next = shuffle_, held = shuffle_;
  for (int64_t i = 0; i < examples; ++i) {
    int64_t& chosen = window_[static_cast<size_t>(choose(seed_, epoch, i, held))];
    rows_[static_cast<size_t>(i)] = chosen;
    chosen = next < examples ? next++ : window_[static_cast<size_t>(--held)];
  }
}

}  // namespace dtl::data
