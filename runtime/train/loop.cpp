// The training loop, event by event.
#include "runtime/train/loop.h"

#include <fmt/format.h>

#include <cassert>
#include <chrono>
#include <cmath>
#include <limits>

#include "runtime/data/order.h"
#include "runtime/plan/fault.h"
#include "runtime/report/format.h"
#include "runtime/report/throughput.h"
#include "runtime/train/interrupt.h"
#include "runtime/train/phase.h"
#include "runtime/train/saver.h"

namespace dtl::train {
namespace {

using report::Position;
using report::Value;
using Clock = std::chrono::steady_clock;

int64_t rounded_up(int64_t n, int64_t by) { return n / by + (n % by > 0 ? 1 : 0); }

/// Updates of an epoch.
int64_t steps_of(int64_t examples, int64_t batch, int64_t accumulate) { return rounded_up(data::batches_of(examples, batch), accumulate); }

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// No gradient of f16 that is finite by itself overflows at this scale: 36 steps in a row were skipped.
constexpr double kLeastLossScale = 0x1p-20;

class Loop {
 public:
  Loop(Executor& executor, const Job& job, report::Progress& progress)
      : executor_(executor),
        job_(job),
        progress_(progress),
        saver_(executor, job.saving, progress),
        train_(executor, "train"),
        eval_(executor, "eval"),
        early_(executor, job.stop_early) {
    for (const Split& split : job.splits) {
      split.source->finish();
      if (split.source->examples() == 0) throw Fault(5108, {split.name});
      if (split.name == "train") data_ = split.source.get();
    }
    const std::vector<plan::StateEntry>& states = executor.plan().states;
    for (size_t i = 0; i < states.size(); ++i) {
      const DType dtype = executor.plan().buffers[static_cast<size_t>(states[i].buffer)].dtype;
      if (states[i].path.starts_with("loss_scale/") && is_float(dtype)) loss_scales_.push_back(static_cast<int>(i));
    }
    assert(data_ && train_.exists() && (job.epochs > 0) != (job.steps > 0));
    train_.read(*data_, job.fields);
  }

  Outcome run() {
    say_what_is_not_evaluated();
    initialise();
    start_ = Clock::now();
    const int64_t examples = data_->examples(), steps = steps_of(examples, job_.batch, job_.accumulate);
    if (job_.resume) resume(steps);
    position_.epochs = job_.epochs;
    count_steps(steps);
    data::Order order(examples, job_.shuffle, static_cast<uint64_t>(job_.seed));

    while ((open_ || position_.total_step < position_.total_steps) && !ended()) {
      if (!within_epoch(steps)) {
        ++position_.epoch;
        position_.step = 0;
        train_.reset();
      }
      open_ = true;
      position_.steps = std::min(steps, position_.step + position_.total_steps - position_.total_step);
      run_epoch(order.epoch(position_.epoch - 1));
      if (stopped()) break;
      if (evaluation_due(true)) evaluate_while_training();
      if (stopped()) break;
      open_ = false;
      if (position_.step == steps) ++outcome_.epochs;
      if (saver_.due(position_, seconds_since(start_), position_.step == steps)) save(false);
    }
    finish();
    return end();
  }

 private:
  bool stopped() const { return interrupt_.asked(); }
  bool ended() const { return stopped() || early_.stop(); }
  bool is_evaluated_while_training(const Split& split) const {
    return split.name == "validation" || (split.name != "train" && early_.watches(split.name));
  }

  /// After the last step of an epoch, or after another one.
  bool evaluation_due(bool epoch_ends) const {
    if (evaluated_ == position_.total_step) return false;
    if (job_.evaluate_steps > 0) return position_.total_step % job_.evaluate_steps == 0;
    return epoch_ends && position_.epoch % job_.evaluate_epochs == 0;
  }

  void evaluate_while_training() {
    for (const Split& split : job_.splits) {
      if (is_evaluated_while_training(split)) evaluate(split);
    }
    if (!stopped()) evaluated_ = position_.total_step;
  }

  /// What is left to evaluate, by the weights that training ends with.
  void finish() {
    if (!stopped() && evaluated_ != position_.total_step) evaluate_while_training();
    if (stopped()) return save(false);
    outcome_.stopped_early = early_.stop();
    if (early_.stop()) progress_.message("stopped early: " + early_.text());
    const bool restored = early_.restore(position_.total_step);
    if (restored) {
      progress_.message("weights are those of the best look");
      evaluate_while_training();
    }
    save(restored);
    for (const Split& split : job_.splits) {
      if (split.name != "train" && !is_evaluated_while_training(split)) evaluate(split);
    }
  }

  void say_what_is_not_evaluated() {
    std::string names;
    for (const Split& split : job_.splits) {
      if (split.name != "train") names += (names.empty() ? "" : ", ") + split.name;
    }
    if (!names.empty() && !eval_.exists()) progress_.message("not evaluated, for want of a `loss` or `metrics`: " + names);
  }

  void initialise() {
    set_seed(executor_, job_.seed);
    if (const int init = executor_.find("init"); init >= 0) executor_.run(init);
  }

  /// Whether the epoch at hand goes on: it was resumed, or a limit of steps was in its middle.
  bool within_epoch(int64_t steps) const { return open_ || (position_.step > 0 && position_.step < steps); }

  void resume(int64_t steps) {
    const checkpoint::Standing& standing = job_.resume->standing();
    position_.epoch = standing.epoch;
    position_.step = standing.step;
    outcome_.steps = position_.total_step = standing.total_step;
    open_ = standing.open;
    outcome_.reports = standing.reports;
    if (within_epoch(steps_of(standing.examples, standing.batch, standing.accumulate))) {
      // Its steps are counted in batches of one order of the examples.
      const auto same = [&](const char* what, int64_t before, int64_t now) {
        if (before != now) throw Fault(6110, {job_.resume->path(), what, std::to_string(before), std::to_string(now)});
      };
      same("the number of examples", standing.examples, data_->examples());
      same("`batch`", standing.batch, job_.batch);
      same("`accumulate`", standing.accumulate, job_.accumulate);
      same("`shuffle`", standing.shuffle, job_.shuffle);
      same("`seed`", standing.seed, job_.seed);
      train_.reset();
      restore(executor_, *job_.resume, true, true);
    } else {
      position_.step = steps;  // as many as an epoch has now
      restore(executor_, *job_.resume, true, false);
    }
    outcome_.epochs = standing.epoch - (within_epoch(steps) ? 1 : 0);
    saver_.resumed(standing);
    evaluated_ = static_cast<int64_t>(standing.number("evaluated", 0));
    reported_ = static_cast<int64_t>(standing.number("reported", 0));
    early_.resume(*job_.resume);
    progress_.message(fmt::format("resumed from {}: epoch {}, step {}", job_.resume->path(), standing.epoch, standing.step));
  }

  /// How many there will be in all, those before a resumption included.
  void count_steps(int64_t steps) {
    position_.total_steps = std::max(job_.steps, position_.total_step);
    if (!job_.epochs) return;
    const int64_t begun = position_.epoch, left_of_it = within_epoch(steps) ? steps - position_.step : 0;
    int64_t total = 0;
    const bool overflow = __builtin_mul_overflow(std::max<int64_t>(job_.epochs - begun, 0), steps, &total) ||
                          __builtin_add_overflow(total, position_.total_step + left_of_it, &total);
    position_.total_steps = overflow ? std::numeric_limits<int64_t>::max() : total;
  }

  /// With `anew`, also where this step is saved already.
  void save(bool anew) {
    checkpoint::Standing standing;
    standing.epoch = position_.epoch;
    standing.step = position_.step;
    standing.total_step = position_.total_step;
    standing.open = open_;
    standing.seed = job_.seed;
    standing.batch = job_.batch;
    standing.accumulate = job_.accumulate;
    standing.shuffle = job_.shuffle;
    standing.examples = data_->examples();
    standing.reports = outcome_.reports;
    standing.kept = {{"evaluated", static_cast<double>(evaluated_)}, {"reported", static_cast<double>(reported_)}};
    early_.save(standing);
    saver_.save(std::move(standing), early_.copies(), seconds_since(start_), anew);
  }

  void run_epoch(std::span<const int64_t> rows) {
    // An interruption came between a step and its evaluation.
    if (position_.step > 0 && position_.step < position_.steps && evaluation_due(false)) evaluate_while_training();
    while (position_.step < position_.steps && !ended()) {
      const Clock::time_point begin = Clock::now();
      run_step(rows);
      training_ += seconds_since(begin);
      throughput_.add(training_, trained_);
      ++position_.step;
      outcome_.steps = ++position_.total_step;
      if (!train_.loss_is_finite()) fail();
      for (const int scale : loss_scales_) {
        if (executor_.scalar(scale) < kLeastLossScale) fail_of_scale(executor_.scalar(scale));
      }
      // The epoch's own report follows its last step at once.
      if (position_.step == position_.steps) break;
      if (evaluation_due(false)) evaluate_while_training();
      if (saver_.due(position_, seconds_since(start_), false)) save(false);
      if (progress_.due(seconds_since(start_))) {
        update_position();
        progress_.step(position_, train_.reports());
      }
    }
    if (position_.step == 0) return;  // stopped: nothing is accumulated
    update_position();
    const std::vector<Value> values = train_.reports();
    keep("train", values, !stopped());
    if (stopped() || reported_ == position_.total_step) return;
    progress_.epoch(position_, values);
    if (!ended()) early_.look("train", values, position_.total_step);
    reported_ = position_.total_step;
  }

  /// One update: of one batch, or of `accumulate` of them, fewer at the end of an epoch.
  void run_step(std::span<const int64_t> rows) {
    const int64_t first = position_.step * job_.accumulate;
    const int64_t end = std::min(first + job_.accumulate, data::batches_of(static_cast<int64_t>(rows.size()), job_.batch));
    for (int64_t i = first; i < end; ++i) {
      const std::span<const int64_t> batch = data::batch_of(rows, job_.batch, i);
      if (i + 1 < end) {
        train_.accumulate({data_, batch});
      } else {
        train_.step({data_, batch});
      }
      trained_ += static_cast<int64_t>(batch.size());
    }
  }

  [[noreturn]] void fail() {
    double loss = std::nan("");
    for (const auto& [name, value] : train_.reports()) {
      if (name == "loss") loss = value;
    }
    throw Fault(6001, {report::value_text(loss), std::to_string(position_.epoch), std::to_string(position_.step)});
  }

  [[noreturn]] void fail_of_scale(double scale) const {
    throw Fault(6030, {report::value_text(scale), std::to_string(position_.epoch), std::to_string(position_.step)});
  }

  void evaluate(const Split& split) {
    if (!eval_.exists() || stopped()) return;
    const auto found = evaluate_split(eval_, split, job_.fields, job_.batch, interrupt_);
    if (!found) return;
    const std::vector<Value>& values = *found;
    keep(split.name, values, true);
    update_position();
    progress_.evaluation(split.name, position_, values);
    if (!outcome_.stopped_early) early_.look(split.name, values, position_.total_step);
  }

  /// With `whole`, the values are of all that they are to be of, and may be the best so far.
  void keep(const std::string& split, const std::vector<Value>& values, bool whole) {
    for (const auto& [name, value] : values) {
      const std::string path = split + "/" + name;
      if (whole) saver_.reported(path, value, position_.total_step);
      const auto known = std::find_if(outcome_.reports.begin(), outcome_.reports.end(), [&](const Value& v) { return v.first == path; });
      if (known == outcome_.reports.end()) {
        outcome_.reports.emplace_back(path, value);
      } else {
        known->second = value;
      }
    }
  }

  void update_position() {
    position_.seconds = seconds_since(start_);
    position_.examples_per_second = throughput_.examples_per_second();
    const auto examples_left = static_cast<double>((position_.total_steps - position_.total_step) * job_.batch * job_.accumulate);
    position_.seconds_left = position_.examples_per_second > 0 ? examples_left / position_.examples_per_second : 0;
  }

  Outcome end() {
    outcome_.interrupted = stopped();
    outcome_.signal = interrupt_.signal();
    outcome_.seconds = seconds_since(start_);
    outcome_.examples_per_second = training_ > 0 ? static_cast<double>(trained_) / training_ : 0;
    if (outcome_.interrupted) {
      progress_.message(fmt::format("interrupted in epoch {} after step {}{}", position_.epoch, position_.step,
                                    job_.saving.directory.empty() ? "" : ": " + job_.saving.resumed_by + " continues there"));
    }
    progress_.end(
        {outcome_.interrupted, outcome_.epochs, outcome_.steps, outcome_.seconds, outcome_.examples_per_second, outcome_.reports});
    return std::move(outcome_);
  }

  Executor& executor_;
  const Job& job_;
  report::Progress& progress_;
  Saver saver_;
  Phase train_, eval_;
  EarlyStopping early_;
  int64_t evaluated_ = 0;  ///< the steps made when splits were evaluated last
  int64_t reported_ = 0;   ///< the steps made when an epoch was reported last
  const data::Source* data_ = nullptr;
  std::vector<int> loss_scales_;  ///< states
  Interrupt interrupt_;
  Clock::time_point start_;
  report::Throughput throughput_;
  double training_ = 0;  ///< seconds in training steps
  int64_t trained_ = 0;  ///< examples
  Position position_;
  bool open_ = false;  ///< the epoch at hand still lacks its report and evaluations
  Outcome outcome_;
};

}  // namespace

Outcome train(Executor& executor, const Job& job, report::Progress& progress) { return Loop(executor, job, progress).run(); }

}  // namespace dtl::train
