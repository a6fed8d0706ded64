// Early stopping: looks at one reported value after each evaluation, and says when it has not improved for long enough.
//
// takes:    values that are the same for every replica and process: reports are
// gives:    whether to stop; the weights and states of the best look, where they are kept
// promises: what it remembers is plain data (StopState): a run that goes on with it goes on as if never interrupted
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/report/progress.h"
#include "runtime/train/executor.h"

namespace dtl::train {

struct StopRule {
  std::string split, report;  ///< `validation`, `loss`
  int64_t patience = 1;       ///< looks in a row without improvement after which training stops
  double minimum_change = 0;  ///< an improvement is more than this
  bool maximize = false;      ///< is more better?
  bool restore_best = false;  ///< weights and states of the best look are put back at the end
};

struct StopState {
  double best = 0;
  int64_t best_step = 0;  ///< updates made at the best look; 0: no look yet
  int64_t waited = 0;     ///< looks since then
  int64_t restored = -1;  ///< updates made when the best weights were put back; −1: they were not
};

class EarlyStopping {
 public:
  /// With `restore_best`, memory for a copy of weights and states is taken now.
  EarlyStopping(Executor& executor, std::optional<StopRule> rule);

  bool watches(const std::string& split) const { return rule_ && rule_->split == split; }
  /// After `step` updates, what was found of `split`. A value that is no number is no improvement.
  void look(const std::string& split, std::span<const report::Value> values, int64_t step);
  bool stop() const { return rule_ && state_.waited >= rule_->patience; }
  /// Puts the best look's weights and states back; false where they are those of step `step`, or none were kept.
  bool restore(int64_t step);
  /// One line for people.
  std::string text() const;

  /// Into a checkpoint, and back: what is remembered, and copies of the best look's weights by path.
  void save(checkpoint::Standing& to) const;
  std::vector<checkpoint::Snapshot::Tensor> copies() const;
  /// Faults: those of reading. Where the checkpoint has no copies (it was made without `restore_best`), the weights at hand are
  /// the best from here on.
  void resume(const checkpoint::Checkpoint& from);

 private:
  bool better(double value) const;

  Executor& executor_;
  const std::optional<StopRule> rule_;
  StopState state_;
  std::vector<int> kept_;                     ///< indices in Plan::states
  std::vector<std::vector<std::byte>> best_;  ///< by place in kept_
};

}  // namespace dtl::train
