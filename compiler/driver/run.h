// What the commands that run a program share: its plan compiled, its data as the loop takes it, where progress goes.
#pragma once

#include <iosfwd>
#include <memory>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/driver/options.h"
#include "compiler/driver/pipeline.h"
#include "runtime/report/progress.h"
#include "runtime/train/executor.h"
#include "runtime/train/phase.h"

namespace dtl::driver {

std::unique_ptr<report::Progress> make_progress(const Options& options, std::ostream& out);

/// A plan ready to run. The kernels live as long as `jit`.
struct Runnable {
  std::unique_ptr<codegen::Jit> jit;
  train::Topology topology;
  plan::Executable executable;
};
Runnable make_runnable(const Options& options, plan::Plan plan, int cores);

/// Fault 6002 where the machine has less memory than a run touches: it would be stopped by its system half-way.
void check_memory(const plan::Plan& plan, const train::Topology& topology);

/// The splits of the program's data, with their sources.
std::vector<train::Split> splits_of(Compilation& compilation);
/// Names for the fields of sources that do not name theirs, by position.
std::vector<std::string> field_names(const sema::Program& program);

}  // namespace dtl::driver
