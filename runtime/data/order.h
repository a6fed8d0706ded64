// Order: in which order an epoch visits the examples. A pure function of seed and epoch, so that any member can know it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace dtl::data {

class Order {
 public:
  /// `shuffle`: 0 none, −1 all, n a window of n examples.
  Order(int64_t examples, int64_t shuffle, uint64_t seed);

  /// Epochs count from 0. Valid until the next call; allocates nothing.
  std::span<const int64_t> epoch(int64_t epoch);

 private:
  void shuffle_all(uint64_t epoch);
  void shuffle_window(uint64_t epoch);

  int64_t shuffle_;
  uint64_t seed_;
  std::vector<int64_t> rows_, window_;
};

/// The batches of an epoch; the last one may be short.
inline int64_t batches_of(int64_t examples, int64_t batch) { return (examples + batch - 1) / batch; }
inline std::span<const int64_t> batch_of(std::span<const int64_t> rows, int64_t batch, int64_t index) {
  const auto begin = static_cast<size_t>(index * batch);
  return rows.subspan(begin, std::min(static_cast<size_t>(batch), rows.size() - begin));
}

}  // namespace dtl::data
