// Checkpoints and the command line.
#include "compiler/driver/checkpoint.h"

#include <filesystem>
#include <ostream>
#include <vector>

#include "compiler/driver/fault_text.h"
#include "compiler/sema/value.h"
#include "runtime/plan/fault.h"
#include "runtime/train/saver.h"

namespace dtl::driver {
namespace {

/// ": did it mean …", of names that the other side has.
std::string nearest_text(const std::string& name, const std::vector<std::string>& names) {
  const auto near = sema::nearest(name, names);
  return near ? fmt::format("; the nearest there is `{}`", *near) : "";
}

}  // namespace

checkpoint::Checkpoint open_checkpoint(const Options& options, const std::string& path, std::ostream& err) {
  return checkpoint::open(path, [&](const std::string& damaged, const Fault& why) {
    err << fault_text(Fault(6104, {damaged, why.arguments()[0], why.arguments()[1]}), options.json) << "\n";
  });
}

void check_fit(const plan::Plan& plan, const checkpoint::Checkpoint& checkpoint, bool training) {
  // Accumulators come and go with reports.
  const auto matters = [&](const plan::StateEntry& state) {
    const auto saved = train::saved_state(plan, state);
    return saved && state.role != plan::StateRole::metric && (training || !saved->training);
  };
  std::vector<std::string> wanted, there;
  for (const plan::StateEntry& state : plan.states) {
    if (matters(state)) wanted.push_back(state.path);
  }
  for (const checkpoint::TensorEntry& tensor : checkpoint.manifest().tensors) there.push_back(tensor.type.name);
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const plan::StateEntry& state : plan.states) {
    if (!matters(state)) continue;
    const checkpoint::TensorEntry* tensor = checkpoint.find(state.path);
    if (!tensor) throw Fault(6106, {checkpoint.path(), state.path, nearest_text(state.path, there)});
    const checkpoint::TensorType type = train::saved_state(plan, state)->type;
    if (tensor->type.dtype != type.dtype || tensor->type.shape != type.shape)
      throw Fault(6107, {checkpoint.path(), state.path, tensor->type.str(), type.str()});
  }
  for (const checkpoint::TensorEntry& tensor : checkpoint.manifest().tensors) {
    const bool of_training = tensor.file == checkpoint::kTrainingFile;
    const std::string& name = tensor.type.name;
    // Of the file of training only optimizer states are checked; their names hold a colon.
    if (has(wanted, name) || (of_training && (!training || name.find(':') == std::string::npos || name.starts_with("stop_early/"))))
      continue;
    throw Fault(6108, {checkpoint.path(), name, nearest_text(name, wanted)});
  }
}

void prepare_directory(const Options& options, const std::string& directory, const plan::Plan& plan, const checkpoint::Checkpoint* resume) {
  checkpoint::Files& files = checkpoint::disk();
  checkpoint::prepare(files, directory, train::saved_bytes(plan));
  std::error_code ignored;
  const bool within =
      resume && std::filesystem::equivalent(std::filesystem::path(resume->path() + "/..").lexically_normal(), directory, ignored);
  for (const checkpoint::Found& found : checkpoint::checkpoints_in(directory)) {
    if (within && found.total_step <= resume->standing().total_step) continue;
    if (options.overwrite) {
      files.remove(found.path);
    } else if (within && options.resume_from.empty()) {
      files.remove(found.path + ".damaged");
      files.rename(found.path, found.path + ".damaged");
    } else if (within) {
      throw Fault(6112, {directory, resume->path()});
    } else {
      throw Fault(6109, {directory});
    }
  }
  if (options.overwrite && !within) files.remove(directory + "/best");
}

}  // namespace dtl::driver
