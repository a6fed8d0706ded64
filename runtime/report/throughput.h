// Examples a second over a sliding window of about the last two seconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dtl::report {

class Throughput {
 public:
  /// After each step: the time spent in training so far and the examples seen so far. Allocates nothing.
  void add(double seconds, int64_t examples);
  /// 0 before the first step has ended.
  double examples_per_second() const;

 private:
  struct Sample {
    double seconds = 0;
    int64_t examples = 0;
  };
  static constexpr double kWindow = 2;
  /// The beginnings of the window, an eighth of it apart; the oldest is where it begins now.
  std::array<Sample, 9> samples_{};
  size_t count_ = 1;  ///< samples_[0] is the start
  Sample latest_;
};

}  // namespace dtl::report
