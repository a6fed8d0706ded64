// Phase: the steps of training or of evaluation as the loop calls them, with the accumulators and reports between them.
//
// takes:    an Executor, a source of data
// gives:    steps on batches; the values that a step reports, over all steps since the last reset
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/data/source.h"
#include "runtime/report/progress.h"
#include "runtime/train/executor.h"

namespace dtl::train {

class Interrupt;

struct Split {
  std::string name;  ///< `train`; `validation`, and what is watched, is evaluated while training, all others at the end
  std::shared_ptr<const data::Source> source;
};

/// Which field of `source` each input of an entry is; `names` are those of unnamed fields, by position.
std::vector<int> fields_of(const plan::Plan& plan, int entry, const data::Source& source, const std::vector<std::string>& names);

/// Sets the states that hold the program's seed.
void set_seed(Executor& executor, int64_t seed);

class Phase {
 public:
  /// `name`: `train` or `eval`.
  Phase(Executor& executor, const std::string& name);

  bool exists() const { return !entries_.empty(); }
  void reset();
  void read(const data::Source& source, const std::vector<std::string>& names);
  /// A whole step; or, of several batches that make one step, one that is not the last.
  void step(const data::Batch& batch) { executor_.run(entries_.back().entry, batch, entries_.back().fields); }
  void accumulate(const data::Batch& batch) { executor_.run(entries_.front().entry, batch, entries_.front().fields); }
  /// Costs a few reads: whether the loss has left the numbers since the last reset.
  bool loss_is_finite() const;
  std::vector<report::Value> reports();

 private:
  Executor& executor_;
  struct Step {
    int entry;
    std::vector<int> fields;
  };
  std::vector<Step> entries_;  ///< the step last
  int report_;
  struct LossPart {
    int metric;
    bool finite;  ///< what it starts from
  };
  std::vector<int> metrics_;  ///< what waits for a reduction, too
  std::vector<LossPart> loss_;
  std::vector<std::pair<std::string, int>> reports_;
};

/// What `phase`, an evaluation, reports of a whole split, in batches; nothing after an interruption.
std::optional<std::vector<report::Value>> evaluate_split(Phase& phase, const Split& split, const std::vector<std::string>& names,
                                                         int64_t batch, const Interrupt& interrupt);

}  // namespace dtl::train
