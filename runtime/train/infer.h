// Inference: what a trained model says of data: reports over splits, or a row of outputs for each example.
//
// takes:    an Executor whose weights are restored, data
// gives:    reports by split; outputs in the order of the examples, each once
// promises: a short last batch and any number of replicas change nothing
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/source.h"
#include "runtime/report/progress.h"
#include "runtime/train/executor.h"
#include "runtime/train/phase.h"

namespace dtl::train {

/// How data is taken, as in Job.
struct Batches {
  std::vector<std::string> fields;  ///< names for the fields of sources that do not name theirs, by position
  int64_t batch = 1;
};

struct Evaluation {
  std::vector<report::Value> reports;  ///< by path: `validation/loss`
  int signal = 0;                      ///< the one that interrupted it, or 0
};
/// Evaluates each split by the weights at hand, and tells `progress`. The plan must have an `eval_step`. Faults: 5108 a split
/// without examples, those of the sources.
Evaluation evaluate(Executor& executor, const std::vector<Split>& splits, const Batches& batches, const report::Position& position,
                    report::Progress& progress);

/// A value that `predict_step` gives for each example.
struct Output {
  std::string name;
  data::Field row;  ///< type of one example's
  int state;        ///< in Plan::states
};
std::vector<Output> outputs_of(const plan::Plan& plan);

/// Called with the outputs of the next `rows` examples, each row after row.
using TakeRows = std::function<void(int64_t rows, std::span<const std::span<const std::byte>> outputs)>;
/// Runs `predict_step` over all of `source`, in order. Gives the signal that interrupted it, or 0.
int predict(Executor& executor, const data::Source& source, const Batches& batches, const TakeRows& take);

}  // namespace dtl::train
