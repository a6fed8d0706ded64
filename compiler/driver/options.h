// What a command line asks for: options shared by all commands, parsed once.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace dtl::driver {

struct Options {
  std::string file;
  std::vector<std::string> sets;        ///< `a.b=value`
  std::optional<std::string> strategy;  ///< a name or an expression
  std::optional<std::string> train;     ///< which train block
  std::vector<std::string> data;        ///< folders where data is looked up before the program's own
  int threads = 0;                      ///< 0: one for each core of this machine
  bool json = false, quiet = false;
  bool interactive = false;  ///< an input of `repl`, not a program of its own

  // check
  bool read_data = false;  ///< data files are read to their end, not only their headers
  bool fix = false;        ///< suggested edits are made
  // fmt
  std::vector<std::string> files;  ///< `-`: the standard input
  bool write = false, check_only = false, diff = false;
  // emit
  std::string stage, only, stop_after;
  bool list_passes = false;
  // explain
  std::string compare;  ///< strategies, parted by commas
  bool dot = false;
  // explain-error
  std::string code;
  // library
  std::string name;
  // pass
  std::string pass;
  // config
  bool origin = false;  ///< with where each value comes from
  // train
  std::string run;          ///< folder of the run; `none` for none
  std::string cache;        ///< kernel cache folder; `none` for none
  bool resume = false;      ///< goes on from a checkpoint
  std::string resume_from;  ///< which; empty: the newest of the run's directory
  bool overwrite = false;   ///< checkpoints that are in the way are removed
  // eval, predict
  std::string from;                    ///< a checkpoint, or a run's directory; empty: the program's
  std::vector<std::string> splits;     ///< of the data; none: see each command
  std::optional<std::string> predict;  ///< set by predict: the layer whose result is wanted; empty: the model's
  std::string input, output;           ///< files; an empty output is the standard one
};

/// Parses `arguments` (without the program's name) and runs the command; everything printed goes to `out` and `err`.
/// Gives the exit status: 0, 1 for mistakes in the program or the command line, 2 for faults of the world, 130 or 143 when
/// interrupted by SIGINT or SIGTERM.
int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

// One function per command, each in its own file.
int config(const Options& options, std::ostream& out, std::ostream& err);
int check(const Options& options, std::ostream& out, std::ostream& err);
int explain(const Options& options, std::ostream& out, std::ostream& err);
int explain_error(const Options& options, std::ostream& out, std::ostream& err);
int eval(const Options& options, std::ostream& out, std::ostream& err);
int emit(const Options& options, std::ostream& out, std::ostream& err);
int format(const Options& options, std::ostream& out, std::ostream& err);
int pass(const Options& options, std::ostream& out, std::ostream& err);
int predict(const Options& options, std::ostream& out, std::ostream& err);
int print_library(const Options& options, std::ostream& out, std::ostream& err);
int print_ops(std::ostream& out);
int repl(const Options& options, std::ostream& out, std::ostream& err);
int train(const Options& options, std::ostream& out, std::ostream& err);

}  // namespace dtl::driver
