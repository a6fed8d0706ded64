// What the command line says of checkpoints: which one to go on from, whether it fits the program, what is in the way.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "compiler/driver/options.h"
#include "compiler/sema/program.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/plan/plan.h"

namespace dtl::driver {

/// The checkpoint that `path` means (see checkpoint::open); damaged ones are told on `err`. Faults: 6102, 6103, 6105, 5001.
checkpoint::Checkpoint open_checkpoint(const Options& options, const std::string& path, std::ostream& err);

/// Compares names and types. With `training`, optimizer states too; else weights and states alone. Faults: 6106, 6107, 6108.
void check_fit(const plan::Plan& plan, const checkpoint::Checkpoint& checkpoint, bool training);

/// Before training: makes the run's directory fit to be saved to. Checkpoints of another run, or later ones than `resume`, are
/// removed with `--overwrite`; else Fault 6109 or 6112. Damaged ones later than `resume` are set aside as `NAME.damaged` if
/// the newest was asked for. Faults: 6101, 6111.
void prepare_directory(const Options& options, const std::string& directory, const plan::Plan& plan, const checkpoint::Checkpoint* resume);

}  // namespace dtl::driver
