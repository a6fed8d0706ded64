// What the command line says of checkpoints: which one to go on from, whether it fits the program, what is in the way.
#pragma once

#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "compiler/driver/options.h"
#include "compiler/driver/pipeline.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/files.h"
#include "runtime/plan/plan.h"

namespace dtl::driver {

/// A program that is checked, and the checkpoint it begins from.
struct Restored {
  std::unique_ptr<Compilation> compilation;
  std::optional<checkpoint::Checkpoint> from;  ///< nothing: none was asked for, or the program has mistakes
};
/// Parses and checks the program of `options`; its mistakes are in the Compilation's sink. With `from`, a checkpoint or the
/// directory of a run (empty: the one that the program saves in), that checkpoint is opened, damaged ones that are newer are told
/// on `err`, and the program is checked by its vocabularies: its weights belong to them. With `described`, data that is not there
/// is as the checkpoint describes it. Faults: 6102, 6103, 6105, 6113, 5001.
Restored check_restored(const Options& options, data::Decoding decoding, const std::optional<std::string>& from, bool described,
                        std::ostream& err);

/// What a checkpoint keeps of the data, as files by name: vocabularies, and what its sources are like.
std::map<std::string, std::string> data_files(const DataStore& data);

/// Compares names and types. With `training`, optimizer states too; else weights and states of layers alone. Faults: 6106, 6107, 6108.
void check_fit(const plan::Plan& plan, const checkpoint::Checkpoint& checkpoint, bool training);

/// Before training: makes the run's directory fit to be saved to. Checkpoints of another run, or later ones than `resume`, are
/// removed with `--overwrite`; else Fault 6109 or 6112. Damaged ones later than `resume` are set aside as `NAME.damaged` if
/// the newest was asked for. Faults: 6101, 6111. The directory is this run's as long as the lock lives.
[[nodiscard]] std::unique_ptr<checkpoint::DirectoryLock> prepare_directory(const Options& options, const std::string& directory,
                                                                           const checkpoint::Size& size,
                                                                           const checkpoint::Checkpoint* resume);

}  // namespace dtl::driver
