// Steps, accumulators and reports of training or evaluation.
#include "runtime/train/phase.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "runtime/data/order.h"
#include "runtime/train/interrupt.h"

namespace dtl::train {

using plan::StateRole;

std::vector<int> fields_of(const plan::Plan& plan, int entry, const data::Source& source, const std::vector<std::string>& names) {
  std::vector<int> indices;
  for (const plan::InputField& input : plan.entries[static_cast<size_t>(entry)].inputs) {
    const std::vector<data::Field>& fields = source.fields();
    size_t i = 0;
    while (i < fields.size() && (fields[i].name.empty() ? i >= names.size() || names[i] != input.name : fields[i].name != input.name)) ++i;
    assert(i < fields.size() && "every input is a field of every split");
    indices.push_back(static_cast<int>(i));
  }
  return indices;
}

void set_seed(Executor& executor, int64_t seed) {
  const std::vector<plan::StateEntry>& states = executor.plan().states;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].role != StateRole::seed) continue;
    const std::span<std::byte> bytes = executor.state(static_cast<int>(i));
    assert(bytes.size() == sizeof seed);
    std::memcpy(bytes.data(), &seed, sizeof seed);  // not as a double: a seed has 64 bits
  }
}

Phase::Phase(Executor& executor, const std::string& name) : executor_(executor), report_(executor.find(name + "_report")) {
  for (const std::string& entry : {name + "_accumulate", name + "_step"}) {
    if (executor.find(entry) >= 0) entries_.push_back({executor.find(entry), {}});
  }
  const std::string prefix = name + "/";
  const std::vector<plan::StateEntry>& states = executor.plan().states;
  for (size_t i = 0; i < states.size(); ++i) {
    if (name == "train" && states[i].role == StateRole::pending) metrics_.push_back(static_cast<int>(i));
    if (!states[i].path.starts_with(prefix)) continue;
    if (states[i].role == StateRole::metric) metrics_.push_back(static_cast<int>(i));
    if (states[i].role == StateRole::report) reports_.emplace_back(states[i].path.substr(prefix.size()), static_cast<int>(i));
  }
  // What the loss is accumulated in. An accumulator that starts at infinity may stay there.
  for (const int metric : metrics_) {
    const plan::StateEntry& state = states[static_cast<size_t>(metric)];
    if (state.path.starts_with(prefix + "loss.")) loss_.push_back({metric, std::isfinite(state.identity)});
  }
}

void Phase::reset() {
  for (const int metric : metrics_) executor_.reset(metric);
}

void Phase::read(const data::Source& source, const std::vector<std::string>& names) {
  for (Step& step : entries_) step.fields = fields_of(executor_.plan(), step.entry, source, names);
}

bool Phase::loss_is_finite() const {
  return std::all_of(loss_.begin(), loss_.end(), [&](const LossPart& part) {
    const double value = executor_.scalar(part.metric);
    return part.finite ? std::isfinite(value) : !std::isnan(value);  // a maximum starts at −inf
  });
}

std::vector<report::Value> Phase::reports() {
  if (report_ >= 0) executor_.run(report_);
  std::vector<report::Value> values;
  for (const auto& [name, state] : reports_) values.emplace_back(name, executor_.scalar(state));
  return values;
}

std::optional<std::vector<report::Value>> evaluate_split(Phase& phase, const Split& split, const std::vector<std::string>& names,
                                                         int64_t batch, const Interrupt& interrupt) {
  phase.read(*split.source, names);
  phase.reset();
  data::Order order(split.source->examples(), 0, 0);
  const std::span<const int64_t> rows = order.epoch(0);
  const int64_t steps = data::batches_of(split.source->examples(), batch);
  for (int64_t step = 0; step < steps && !interrupt.asked(); ++step) phase.step({split.source.get(), data::batch_of(rows, batch, step)});
  if (interrupt.asked()) return std::nullopt;
  return phase.reports();
}

}  // namespace dtl::train
