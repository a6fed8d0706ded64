// A queue of a few samples.
#include "runtime/report/throughput.h"

#include <algorithm>

namespace dtl::report {

void Throughput::add(double seconds, int64_t examples) {
  latest_ = {seconds, examples};
  if (seconds - samples_[count_ - 1].seconds < kWindow / 8) return;
  if (count_ == samples_.size()) {
    std::copy(samples_.begin() + 1, samples_.end(), samples_.begin());
    --count_;
  }
  samples_[count_++] = latest_;
}

double Throughput::examples_per_second() const {
  const Sample& first = samples_[0];
  const double seconds = latest_.seconds - first.seconds;
  return seconds > 0 ? static_cast<double>(latest_.examples - first.examples) / seconds : 0;
}

}  // namespace dtl::report
