// What a run leaves behind about itself: its effective program, from which it can be repeated bit for bit.
#pragma once

#include <string>

#include "compiler/driver/options.h"
#include "compiler/driver/pipeline.h"

namespace dtl::driver {

/// The folder of a run: `--run`, else where its checkpoints are, else `runs/NAME` of a program NAME.dtl; empty for `--run none`.
std::string run_directory(const Options& options, const sema::Program& program);

/// Writes the program as it runs into the folder, made if need be, and gives its path; nothing for no folder. Every override is in
/// the text; what the command line or the machine decides besides is written out: the train block, the seed, how many devices
/// `all` is, absolute paths of data and checkpoints. Imported files lie beside it. A text that is there already is not written
/// again, and none is written over: another program is called NAME-2.dtl, NAME-3.dtl, … Fault 6005. Needs check().
std::string write_effective_program(Compilation& compilation, const Options& options, const std::string& folder);

}  // namespace dtl::driver
