// Between an Executor's states and checkpoints.
#include "runtime/train/saver.h"

#include <fmt/format.h>

#include <cmath>
#include <deque>

#include "runtime/plan/fault.h"

namespace dtl::train {
namespace {

using plan::StateRole;

/// Names of what is kept of the best, by what is watched: another report's best is no measure.
std::string best_name(const Saving& saving) { return "best " + saving.watch; }
std::string best_step_name(const Saving& saving) { return "best_step " + saving.watch; }

std::vector<int64_t> shape_of(const plan::Plan& plan, const plan::StateEntry& state) {
  std::vector<int64_t> shape;
  for (const plan::Extent& dim : state.whole)
    shape.push_back(dim.slot < 0 ? dim.scale : dim.scale * plan.extents[static_cast<size_t>(dim.slot)].bound);
  return shape;
}

}  // namespace

std::optional<SavedState> saved_state(const plan::Plan& plan, const plan::StateEntry& state) {
  const plan::Buffer& buffer = plan.buffers[static_cast<size_t>(state.buffer)];
  SavedState saved{{state.path, buffer.dtype, shape_of(plan, state)}, true};
  switch (state.role) {
    case StateRole::weight:
    case StateRole::state:
      saved.training = state.path.starts_with("loss_scale/");  // no part of a model
      return saved;
    case StateRole::optimizer:
    case StateRole::updates:
      return saved;
    case StateRole::metric:
      // Others are reset before they are used.
      if (state.path.starts_with("train/")) return saved;
      return std::nullopt;
    case StateRole::pending:  // of an update that is being made; a run is saved between two
    case StateRole::report:   // computed from accumulators
    case StateRole::output:   // computed from rows
    case StateRole::least:
    case StateRole::most:
    case StateRole::seed:  // the program's
      return std::nullopt;
  }
  __builtin_unreachable();
}

checkpoint::Size saved_size(const plan::Plan& plan, bool twice) {
  checkpoint::Size size;
  for (const plan::StateEntry& state : plan.states) {
    const auto saved = saved_state(plan, state);
    if (!saved) continue;
    (saved->training ? size.training : size.weights) += saved->type.bytes();
    if (twice && (state.role == StateRole::weight || state.role == StateRole::state)) size.training += saved->type.bytes();
  }
  return size;
}

void restore(Executor& executor, const checkpoint::Checkpoint& from, bool training, bool within_epoch) {
  const plan::Plan& plan = executor.plan();
  std::vector<std::byte> whole;
  for (size_t i = 0; i < plan.states.size(); ++i) {
    const plan::StateEntry& state = plan.states[i];
    const auto saved = saved_state(plan, state);
    // A model may look at the count of updates; what else is of training only is not needed without it.
    if (!saved || (saved->training && !training && state.role != StateRole::updates) || (state.role == StateRole::metric && !within_epoch))
      continue;
    const checkpoint::TensorEntry* tensor = from.find(state.path);
    if (!tensor && state.role == StateRole::metric) continue;
    if (!tensor) throw Fault(6106, {from.path(), "`" + state.path + "`", ""});
    if (tensor->type.dtype != saved->type.dtype || tensor->type.shape != saved->type.shape)
      throw Fault(6107, {from.path(), state.path, tensor->type.str(), saved->type.str(), ""});
    if (!executor.in_parts(static_cast<int>(i))) {
      from.read(*tensor, executor.state(static_cast<int>(i)));
      continue;
    }
    whole.resize(static_cast<size_t>(executor.whole_bytes(static_cast<int>(i))));
    from.read(*tensor, whole);
    executor.write(static_cast<int>(i), whole);
  }
}

Saver::Saver(Executor& executor, const Saving& saving, report::Progress& progress)
    : executor_(executor), saving_(saving), progress_(progress), files_(saving.files ? *saving.files : checkpoint::disk()) {}

void Saver::resumed(const checkpoint::Standing& standing) {
  saved_step_ = standing.total_step;
  if (!standing.kept.contains(best_name(saving_))) return;
  best_ = standing.number(best_name(saving_), 0);
  best_step_ = static_cast<int64_t>(standing.number(best_step_name(saving_), -1));
}

void Saver::reported(const std::string& path, double value, int64_t total_step) {
  if (saving_.directory.empty() || path != saving_.watch || std::isnan(value)) return;
  if (best_ && !(saving_.maximize ? value > *best_ : value < *best_)) return;
  best_ = value;
  best_step_ = total_step;
  improved_ = true;
}

bool Saver::due(const report::Position& position, double seconds, bool epoch) const {
  if (saving_.directory.empty()) return false;
  if (improved_) return true;
  if (saving_.every_seconds > 0) return seconds >= saved_seconds_ + saving_.every_seconds;
  if (saving_.every_steps > 0) return position.total_step % saving_.every_steps == 0;
  return epoch && position.epoch % saving_.every_epochs == 0;
}

void Saver::save(checkpoint::Standing standing, std::vector<checkpoint::Snapshot::Tensor> others, double seconds, bool anew) {
  if (saving_.directory.empty()) return;
  const int64_t step = standing.total_step;
  const bool fresh = anew || step != saved_step_, best = improved_ && best_step_ == step;
  if (fresh) {
    checkpoint::Snapshot snapshot;
    std::deque<std::vector<std::byte>> wholes;  // of states that replicas hold in parts
    if (best_) {
      standing.kept[best_name(saving_)] = *best_;
      standing.kept[best_step_name(saving_)] = static_cast<double>(best_step_);
    }
    snapshot.standing = std::move(standing);
    snapshot.program = saving_.program;
    snapshot.strategy = saving_.strategy;
    snapshot.replicas = executor_.topology().replicas;
    snapshot.texts = saving_.texts;
    snapshot.tensors = std::move(others);
    const plan::Plan& plan = executor_.plan();
    for (size_t i = 0; i < plan.states.size(); ++i) {
      auto saved = saved_state(plan, plan.states[i]);
      if (!saved) continue;
      std::span<const std::byte> bytes = executor_.state(static_cast<int>(i));
      if (executor_.in_parts(static_cast<int>(i))) {
        std::vector<std::byte>& whole = wholes.emplace_back(static_cast<size_t>(executor_.whole_bytes(static_cast<int>(i))));
        executor_.read(static_cast<int>(i), whole);
        bytes = whole;
      }
      snapshot.tensors.push_back({std::move(saved->type), bytes, saved->training});
    }
    checkpoint::save(files_, saving_.directory, snapshot);
    saved_step_ = step;
  }
  saved_seconds_ = seconds;
  if (best) checkpoint::mark_best(files_, saving_.directory, step);
  improved_ = false;
  if (!fresh && !best) return;
  checkpoint::prune(files_, saving_.directory, saving_.keep);
  progress_.saved({saving_.directory + "/" + checkpoint::name_of_step(step), step, best});
}

}  // namespace dtl::train
