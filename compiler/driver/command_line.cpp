// The command line of dslc: which commands there are, what each takes, and where faults end.
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <new>
#include <stdexcept>

#include "compiler/driver/command_line_mistakes.h"
#include "compiler/driver/fault_text.h"
#include "compiler/driver/options.h"
#include "compiler/driver/version.h"
#include "runtime/plan/fault.h"

namespace dtl::driver {
namespace {

void add_program_options(CLI::App* command, Options& options) {
  command->add_option("FILE", options.file, "the program (.dtl)")->required();
  command->add_option("--set", options.sets, "override a value: NAME=VALUE, Dataset.batch=64, 'optimizer.learning_rate=0.1'")
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->take_all();
  command->add_option("--strategy", options.strategy, "a strategy of the program by name, or an expression")->type_name("STRATEGY");
  command->add_option("--train", options.train, "which train block, where the program has several")->type_name("NAME");
  command->add_option("--data", options.data, "folder where data files are looked up first")->type_name("DIR")->expected(1)->take_all();
  command->add_option("--threads", options.threads, "cores to use; what `replicas = all` means")->check(CLI::Range(1, 4096));
  command->add_flag("--json", options.json, "one JSON object a line");
}

/// Whether the standard output is a pipe that nobody reads any more: `dslc predict … | head`.
bool reader_is_gone() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

}  // namespace

int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  Options options;
  CLI::App app("dslc: the DTL compiler and trainer", "dslc");
  app.require_subcommand(1);
  CLI::App* train_command = app.add_subcommand("train", "train the program's model");
  add_program_options(train_command, options);
  train_command->add_flag("--quiet", options.quiet, "print only warnings, errors and the final result");
  train_command->add_option("--cache", options.cache, "folder of compiled kernels, or `none`")->type_name("DIR");

  train_command
      ->add_option("--run", options.run, "folder for the program as it runs, or `none` (default: that of its checkpoints, or runs/NAME)")
      ->type_name("DIR");
  CLI::Option* resume =
      train_command->add_option("--resume", options.resume_from, "continue from a checkpoint: the newest in the run's directory, or DIR")
          ->type_name("[DIR]")
          ->expected(0, 1);
  train_command->add_flag("--overwrite", options.overwrite, "remove checkpoints of another run that are in the way");

  CLI::App* eval_command = app.add_subcommand("eval", "print what a saved model's metrics are on the splits of its data");
  CLI::App* predict_command = app.add_subcommand("predict", "write a saved model's outputs for rows of data");
  std::string layer;
  for (CLI::App* command : {eval_command, predict_command}) {
    add_program_options(command, options);
    command->add_flag("--quiet", options.quiet, "print only warnings, errors and the result");
    command->add_option("--cache", options.cache, "folder of compiled kernels, or `none`")->type_name("DIR");
    command->add_option("--from", options.from, "a checkpoint, or the directory of a run: its newest; without it, the program's")
        ->type_name("DIR");
  }
  eval_command->add_option("--split", options.splits, "a split of the data; without it, all but `train`")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  CLI::Option* input =
      predict_command->add_option("--input", options.input, "rows: a .csv (or .csv.gz), .npy or .npz file")->type_name("FILE");
  CLI::Option* split =
      predict_command->add_option("--split", options.splits, "a split of the data instead")->type_name("NAME")->expected(1);
  input->excludes(split);
  predict_command->add_option("--output", options.output, "a .csv, .npy or .jsonl file; without it, the standard output")
      ->type_name("FILE");
  predict_command->add_option("--layer", layer, "the outputs of this layer, such as `dense.0`, not the model's")->type_name("NAME");
  predict_command->callback([&] {
    if (options.input.empty() && options.splits.empty()) throw CLI::RequiredError("--input or --split");
    options.predict = layer;
  });

  CLI::App* check_command = app.add_subcommand("check", "report every mistake in a program");
  add_program_options(check_command, options);
  check_command->add_flag("--read-data", options.read_data, "read data files to their ends, not only their headers");

  check_command->add_flag("--fix", options.fix, "make the edits that the diagnostics suggest, in the file itself");

  CLI::App* config_command = app.add_subcommand("config", "every value that can be set, as it is");
  add_program_options(config_command, options);
  config_command->add_flag("--origin", options.origin, "and where each comes from");

  CLI::App* emit_command = app.add_subcommand("emit", "print a stage of the compilation");
  emit_command->add_option("--stage", options.stage, "tokens, ast, typed, graph, gradients, optimized, replicated, plan, llvm or asm")
      ->check(CLI::IsMember({"tokens", "ast", "typed", "graph", "gradients", "optimized", "replicated", "plan", "llvm", "asm"}));
  emit_command->add_option("--stop-after", options.stop_after, "print the graph after this pass")->type_name("PASS");
  emit_command->add_option("--only", options.only, "print one function, entry point or kernel")->type_name("NAME");
  emit_command->add_flag("--list-passes", options.list_passes, "the passes in order, with what each promises");
  add_program_options(emit_command, options);
  emit_command->get_option("FILE")->required(false);

  CLI::App* format_command = app.add_subcommand("fmt", "programs in the standard layout");
  format_command->add_option("FILE", options.files, "programs (.dtl), printed one after another; `-` is the standard input")->required();
  CLI::Option* write = format_command->add_flag("--write", options.write, "put the new layout in place of the old");
  format_command->add_flag("--check", options.check_only, "name the files whose layout is another, and exit with 1 if there are any")
      ->excludes(write);
  format_command->add_flag("--diff", options.diff, "print what is laid out differently");

  CLI::App* explain_command = app.add_subcommand("explain", "what a strategy makes of a program: collectives, rows, memory");
  add_program_options(explain_command, options);
  CLI::Option* compare =
      explain_command->add_option("--compare", options.compare, "a table of these strategies too, such as 'mirrored,fully_sharded'")
          ->type_name("STRATEGIES");
  explain_command->add_flag("--dot", options.dot, "a drawing of the step for Graphviz, with placements")->excludes(compare);

  CLI::App* explain_error_command = app.add_subcommand("explain-error", "what a diagnostic means, with a wrong and a right program");
  explain_error_command->add_option("CODE", options.code, "such as DTL1001; without one, all are listed");

  CLI::App* pass_command = app.add_subcommand("pass", "run one pass over the text of a graph");
  pass_command->add_option("PASS", options.pass, "its name, as in emit --list-passes")->required();
  pass_command->add_option("FILE", options.file, "the graph's text")->required();

  CLI::App* library_command = app.add_subcommand("library", "the standard library's reference, whole or of one name");
  library_command->add_option("NAME", options.name, "such as dense");
  CLI::App* repl_command = app.add_subcommand("repl", "an interactive session: expressions are evaluated at once");
  add_program_options(repl_command, options);
  repl_command->get_option("FILE")->required(false);
  repl_command->remove_option(repl_command->get_option("--json"));

  app.add_subcommand("ops", "the table of primitive ops");
  app.set_version_flag("--version", version_text(), "name, version, and how it was built");
  if (is_no_command(app, arguments, err)) return 1;

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    // Help and the version arrive as errors without a status.
    if (error.get_exit_code() == 0 || arguments.empty()) {
      app.failure_message(CLI::FailureMessage::help);
      return app.exit(error, out, err) == 0 ? 0 : 1;
    }
    tell_mistake(app, arguments, error, err);
    return 1;
  }

  options.resume = resume->count() > 0;
  const auto run_command = [&] {
    if (*train_command) return train(options, out, err);
    if (*eval_command) return eval(options, out, err);
    if (*predict_command) return predict(options, out, err);
    if (*check_command) return check(options, out, err);
    if (*config_command) return config(options, out, err);
    if (*emit_command) return emit(options, out, err);
    if (*format_command) return format(options, out, err);
    if (*explain_command) return explain(options, out, err);
    if (*explain_error_command) return explain_error(options, out, err);
    if (*repl_command) return repl(options, out, err);
    if (*pass_command) return pass(options, out, err);
    if (*library_command) return print_library(options, out, err);
    return print_ops(out);
  };
  try {
    errno = 0;
    const int status = run_command();
    out.flush();
    if (!out) throw Fault(6004, {std::strerror(errno ? errno : EIO)});
    return status;
  } catch (const Fault& fault) {
    // A filter ends quietly; that training ended before its time must be told.
    if (fault.code() == 6004 && &out == &std::cout && !*train_command && reader_is_gone()) return 128 + SIGPIPE;
    err << fault_text(fault, options.json) << "\n";
  } catch (const std::bad_alloc&) {
    err << fault_text(Fault(6003, {}), options.json) << "\n";
  } catch (const std::length_error&) {  // more elements than any memory could hold
    err << fault_text(Fault(6003, {}), options.json) << "\n";
  }
  return 2;
}

}  // namespace dtl::driver
