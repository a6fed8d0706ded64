// Training of a program that is checked, for commands that come to it in different ways.
#pragma once

#include <chrono>
#include <iosfwd>

#include "compiler/driver/options.h"
#include "compiler/driver/pipeline.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/train/interrupt.h"

namespace dtl::driver {

/// Compiles and trains what `compilation` has checked, from its start or on from a checkpoint. `interrupt` hears of signals until
/// training itself does; `begin` is when the command began. Gives the exit status. Faults: those of compiling, of data, of
/// train::train, 6106 to 6112.
int train_checked(Compilation& compilation, const Options& options, const checkpoint::Checkpoint* from,
                  std::optional<train::Interrupt>& interrupt, std::chrono::steady_clock::time_point begin, std::ostream& out,
                  std::ostream& err);

}  // namespace dtl::driver
