// A hand-made Plan with plain functions for kernels: what the executor's tests run.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/source.h"
#include "runtime/plan/plan.h"

namespace dtl::train::testing {

inline constexpr int64_t kFeatures = 40, kOutputs = 3, kBound = 12;

/// Rows of x: kFeatures floats, small integers; and the field `id`, the row's own number.
class Rows final : public data::Source {
 public:
  explicit Rows(int64_t n, bool fractions = false);
  int64_t examples() const override { return n_; }
  const std::vector<data::Field>& fields() const override { return fields_; }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override;
  float x(int64_t row, int64_t feature) const;

 private:
  int64_t n_;
  bool fractions_;
  std::vector<data::Field> fields_;
};

/// The order of Plan::states.
enum States { kWeights, kSum, kCount, kFirstRow };

/// The entry `train_step` over one mesh axis `data` of `replicas`, reading the fields `id` and `x`:
///   y       = x · weights              a product; arena, one row for each of the replica's rows
///   g       = xᵀ · y                   the replica's partial gradient
///   r       = Σ rows of y              a kernel over outputs
///   G, R    = g and r, reduced over the replicas
///   weights = weights + G              sliced
///   sum     = sum + Σ R                sliced, outer 1
///   count   = count + global rows
///   first_row[replica's begin] = id of the replica's first row
/// and the entry `reset`, without inputs, which fills the weights with 0, 1, 2, 0, 1, 2, …
plan::Executable training(int64_t replicas);

/// What one run of `train_step` makes of the weights and the sum, by plain loops.
struct Expected {
  std::vector<double> weights = std::vector<double>(kFeatures * kOutputs);
  double sum = 0;
  void reset();
  void step(const Rows& source, const std::vector<int64_t>& rows);
};

}  // namespace dtl::train::testing
