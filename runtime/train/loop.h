// The training loop: epochs of steps over a permutation of the data, evaluations, reports, an orderly stop.
//
// takes:    an Executor, splits of data, how long to train
// gives:    the last value of every report; events to Progress on the way; checkpoints
// promises: which rows a step takes is a function of seed, epoch and step alone; a step allocates nothing; a run that is
//           interrupted and resumed gives the same bits as an unbroken one
// print it: `dslc train --json`
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/source.h"
#include "runtime/report/progress.h"
#include "runtime/train/executor.h"
#include "runtime/train/phase.h"
#include "runtime/train/saver.h"
#include "runtime/train/stop_early.h"

namespace dtl::train {

struct Job {
  std::vector<Split> splits;
  std::vector<std::string> fields;  ///< names for the fields of sources that do not name theirs, by position
  int64_t batch = 1;
  int64_t accumulate = 1;         ///< batches of one step
  int64_t shuffle = 0;            ///< 0: none; −1: all; n: a window of n examples
  int64_t epochs = 0, steps = 0;  ///< exactly one is not 0; a step is an update
  int64_t seed = 0;
  int64_t evaluate_epochs = 1, evaluate_steps = 0;  ///< splits are evaluated every so often, and at the end; exactly one is not 0
  std::optional<StopRule> stop_early;
  Saving saving;
  const checkpoint::Checkpoint* resume = nullptr;  ///< where training goes on, if not at its start
};

struct Outcome {
  int64_t epochs = 0, steps = 0;       ///< done; an epoch begun is not counted
  double seconds = 0;                  ///< evaluations included
  double examples_per_second = 0;      ///< of the training steps, evaluations left out
  std::vector<report::Value> reports;  ///< the last of each, by path: `train/loss`, `validation/accuracy`
  bool interrupted = false;            ///< by a signal: training stopped after a step, nothing was evaluated then
  int signal = 0;                      ///< which: SIGINT or SIGTERM
  bool stopped_early = false;          ///< by `stop_early`
};

/// Runs `init`, or resumes, then trains. With a directory for checkpoints there is one at the end, interrupted or not. Splits are
/// evaluated where the plan has an `eval_step`, else a message says that they are not. Faults: 5108 a split without examples,
/// 6001 the reported `loss` is not finite any more, 6030 a `loss_scale/…` is down to nothing, 6110 a checkpoint within an epoch
/// of other data, those of the sources, of `restore` and of saving. After one the checkpoints before it are still there.
Outcome train(Executor& executor, const Job& job, report::Progress& progress);

}  // namespace dtl::train
