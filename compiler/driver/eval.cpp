// dslc eval: the reports of a saved model over splits of its data, as training would print them.
#include <algorithm>
#include <ostream>

#include "compiler/driver/checkpoint.h"
#include "compiler/driver/options.h"
#include "compiler/driver/run.h"
#include "compiler/sema/value.h"
#include "runtime/train/infer.h"
#include "runtime/train/saver.h"

namespace dtl::driver {
namespace {

/// Those that were asked for; else all that training evaluates. False after a report.
bool choose_splits(const Options& options, Compilation& compilation, std::vector<train::Split>& splits) {
  std::vector<std::string> names;
  for (const sema::DataSplit& split : compilation.program->data.splits) names.push_back(split.name);
  for (const std::string& name : options.splits) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    compilation.sink.report({}, diag::no_such_split, name).help("it has " + sema::enumerate(names));
    return false;
  }
  for (train::Split& split : splits_of(compilation)) {
    const bool wanted = options.splits.empty()
                            ? split.name != "train"
                            : std::find(options.splits.begin(), options.splits.end(), split.name) != options.splits.end();
    if (wanted) splits.push_back(std::move(split));
  }
  if (splits.empty()) {
    compilation.sink.report({}, diag::no_such_split, "validation").help("`--split train` evaluates the training set");
    return false;
  }
  return true;
}

}  // namespace

int eval(const Options& options, std::ostream& out, std::ostream& err) {
  const Restored restored = check_restored(options, data::Decoding::at_once, options.from, err);
  Compilation& compilation = *restored.compilation;
  std::optional<plan::Plan> plan;
  std::vector<train::Split> splits;
  if (!compilation.sink.has_errors()) {
    if (!compilation.program->eval_step) compilation.sink.report({}, diag::nothing_to_evaluate);
    if (!compilation.sink.has_errors() && choose_splits(options, compilation, splits)) plan = compilation.plan(lower::Purpose::evaluate);
  }
  if (!plan) {
    compilation.print_diagnostics(err);
    return compilation.failure_status();
  }
  check_fit(*plan, *restored.from, false);
  const Runnable run = make_runnable(options, std::move(*plan), compilation.cores());
  const bool read = compilation.finish_data(true);
  compilation.print_diagnostics(err);
  if (!read) return compilation.failure_status();
  check_memory(run.executable.plan, run.topology);

  const sema::Program& program = *compilation.program;
  train::Executor executor(run.executable, run.topology);
  train::set_seed(executor, program.seed);
  train::restore(executor, *restored.from, false, false);
  const std::unique_ptr<report::Progress> progress = make_progress(options, out);
  const checkpoint::Standing& standing = restored.from->standing();
  report::Position position;
  position.epoch = standing.epoch;
  position.step = standing.step;
  position.total_step = standing.total_step;
  progress->message(fmt::format("{}: epoch {}, step {}", restored.from->path(), standing.epoch, standing.step));
  const train::Evaluation result = train::evaluate(executor, splits, {field_names(program), program.data.batch}, position, *progress);
  if (options.quiet && !options.json) progress->end({.values = result.reports});
  return result.signal == 0 ? 0 : 128 + result.signal;
}

}  // namespace dtl::driver
