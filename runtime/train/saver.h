// Saver: when a run of training saves, and what: the states of an Executor, and where the loop stands.
//
// takes:    an Executor between two updates, the loop's Standing
// gives:    checkpoints in the run's directory; states put back from one
// promises: a restored Executor goes on bit for bit like the one that was saved
#pragma once

#include <map>
#include <string>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/report/progress.h"
#include "runtime/train/executor.h"

namespace dtl::train {

/// `checkpoint = { … }` of a train block.
struct Saving {
  std::string directory;                      ///< empty: nothing is saved
  int64_t every_epochs = 0, every_steps = 0;  ///< exactly one of the three is not 0
  double every_seconds = 0;
  int64_t keep = 3;
  std::string watch;      ///< the report by which the best is known, `validation/loss`; empty: none is kept
  bool maximize = false;  ///< of `watch`
  std::string program, strategy;
  std::string resumed_by = "`--resume`";     ///< what goes on with an interrupted run
  std::map<std::string, std::string> texts;  ///< what the program needs besides tensors, such as vocabularies: files by name
  checkpoint::Files* files = nullptr;        ///< null: the machine's own
};

/// How a state is called in a checkpoint, and whether in the file of training. Nothing: it is not saved.
struct SavedState {
  checkpoint::TensorType type;
  bool training;
};
std::optional<SavedState> saved_state(const plan::Plan& plan, const plan::StateEntry& state);
/// How large a checkpoint is; with `twice`, it holds weights and states of layers twice, as `restore_best` needs them.
checkpoint::Size saved_size(const plan::Plan& plan, bool twice);

/// Puts saved states back. Accumulators of the epoch at hand only with `within_epoch`; ones that the checkpoint lacks stay as
/// they are. Weights, states, and optimizer states if `training`, must be there. Faults: 6106, 6107, those of Checkpoint::read.
void restore(Executor& executor, const checkpoint::Checkpoint& from, bool training, bool within_epoch);

class Saver {
 public:
  Saver(Executor& executor, const Saving& saving, report::Progress& progress);

  /// What was kept is taken from the checkpoint that training resumes from.
  void resumed(const checkpoint::Standing& standing);
  /// Hears of a report; one that is better than all before is worth a checkpoint.
  void reported(const std::string& path, double value, int64_t total_step);
  /// Whether to save after this step, at `seconds` since the start; with `epoch`, an epoch has ended with it.
  bool due(const report::Position& position, double seconds, bool epoch) const;
  /// Saves, with `others` besides the states, unless this step is saved already (and not to be saved `anew`). Fault 6101.
  void save(checkpoint::Standing standing, std::vector<checkpoint::Snapshot::Tensor> others, double seconds, bool anew);

 private:
  Executor& executor_;
  const Saving& saving_;
  report::Progress& progress_;
  checkpoint::Files& files_;
  int64_t saved_step_ = -1;
  double saved_seconds_ = 0;
  std::optional<double> best_;
  int64_t best_step_ = -1;
  bool improved_ = false;  ///< the best is not saved yet
};

}  // namespace dtl::train
