// Early stopping.
#include "runtime/train/stop_early.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/report/format.h"
#include "runtime/train/saver.h"

namespace dtl::train {

EarlyStopping::EarlyStopping(Executor& executor, std::optional<StopRule> rule) : executor_(executor), rule_(std::move(rule)) {
  if (!rule_ || !rule_->restore_best) return;
  const std::vector<plan::StateEntry>& states = executor.plan().states;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].role != plan::StateRole::weight && states[i].role != plan::StateRole::state) continue;
    kept_.push_back(static_cast<int>(i));
    best_.emplace_back(static_cast<size_t>(executor.whole_bytes(static_cast<int>(i))));
  }
}

bool EarlyStopping::better(double value) const {
  if (std::isnan(value)) return false;
  if (state_.best_step == 0) return true;
  return rule_->maximize ? value > state_.best + rule_->minimum_change : value < state_.best - rule_->minimum_change;
}

void EarlyStopping::look(const std::string& split, std::span<const report::Value> values, int64_t step) {
  if (!watches(split)) return;
  const auto found = std::find_if(values.begin(), values.end(), [&](const report::Value& value) { return value.first == rule_->report; });
  if (found == values.end()) return;
  if (!better(found->second)) {
    ++state_.waited;
    return;
  }
  state_ = {found->second, step, 0, -1};
  for (size_t i = 0; i < kept_.size(); ++i) executor_.read(kept_[i], best_[i]);
}

bool EarlyStopping::restore(int64_t step) {
  if (kept_.empty() || state_.best_step == 0 || state_.best_step == step || state_.restored == step) return false;
  state_.restored = step;
  for (size_t i = 0; i < kept_.size(); ++i) executor_.write(kept_[i], best_[i]);
  return true;
}

namespace {
/// The name of a remembered number, by what is watched: another report's best is no measure.
std::string name_of(const char* what, const StopRule& rule) { return fmt::format("stop_early.{} {}/{}", what, rule.split, rule.report); }
constexpr const char *kBest = "best", *kBestStep = "best_step", *kWaited = "waited", *kRestored = "restored";
constexpr const char* kCopies = "stop_early/";  ///< before a weight's path
}  // namespace

void EarlyStopping::save(checkpoint::Standing& to) const {
  if (!rule_) return;
  to.kept[name_of(kBest, *rule_)] = state_.best;
  to.kept[name_of(kBestStep, *rule_)] = static_cast<double>(state_.best_step);
  to.kept[name_of(kWaited, *rule_)] = static_cast<double>(state_.waited);
  to.kept[name_of(kRestored, *rule_)] = static_cast<double>(state_.restored);
}

std::vector<checkpoint::Snapshot::Tensor> EarlyStopping::copies() const {
  std::vector<checkpoint::Snapshot::Tensor> tensors;
  if (state_.best_step == 0) return tensors;
  for (size_t i = 0; i < kept_.size(); ++i) {
    checkpoint::TensorType type = saved_state(executor_.plan(), executor_.plan().states[static_cast<size_t>(kept_[i])])->type;
    type.name = kCopies + type.name;
    tensors.push_back({std::move(type), best_[i], true});
  }
  return tensors;
}

void EarlyStopping::resume(const checkpoint::Checkpoint& from) {
  if (!rule_) return;
  const checkpoint::Standing& standing = from.standing();
  state_.best = standing.number(name_of(kBest, *rule_), 0);
  state_.best_step = static_cast<int64_t>(standing.number(name_of(kBestStep, *rule_), 0));
  state_.waited = static_cast<int64_t>(standing.number(name_of(kWaited, *rule_), 0));
  state_.restored = static_cast<int64_t>(standing.number(name_of(kRestored, *rule_), -1));
  for (size_t i = 0; i < kept_.size(); ++i) {
    const checkpoint::TensorEntry* copy = from.find(kCopies + executor_.plan().states[static_cast<size_t>(kept_[i])].path);
    if (copy && copy->type.bytes() == static_cast<int64_t>(best_[i].size())) {
      from.read(*copy, best_[i]);
    } else {
      executor_.read(kept_[i], best_[i]);
    }
  }
}

std::string EarlyStopping::text() const {
  const std::string best = state_.best_step == 0 ? "it was never a number"
                                                 : fmt::format("best {} after step {}", report::value_text(state_.best), state_.best_step);
  return fmt::format("{}/{} no better for {} look{}: {}", rule_->split, rule_->report, state_.waited, state_.waited == 1 ? "" : "s", best);
}

}  // namespace dtl::train
