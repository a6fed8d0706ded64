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

/// Those that were asked for; else all that training evaluates. Empty after a report.
std::vector<const sema::DataSplit*> choose_splits(const Options& options, Compilation& compilation) {
  std::vector<std::string> names;
  for (const sema::DataSplit& split : compilation.program->data.splits) names.push_back(split.name);
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (const std::string& name : options.splits) {
    if (has(names, name)) continue;
    compilation.sink.report({}, diag::no_such_split, name).help("it has " + sema::enumerate(names));
    return {};
  }
  std::vector<const sema::DataSplit*> chosen;
  for (const sema::DataSplit& split : compilation.program->data.splits) {
    if (!(options.splits.empty() ? split.name != "train" : has(options.splits, split.name))) continue;
    if (!compilation.data.require(split.source, compilation.sink)) return {};
    chosen.push_back(&split);
  }
  if (chosen.empty()) compilation.sink.report({}, diag::no_such_split, "validation").help("`--split train` evaluates the training set");
  return chosen;
}

}  // namespace

int eval(const Options& options, std::ostream& out, std::ostream& err) {
  const Restored restored = check_restored(options, data::Decoding::at_once, options.from, true, err);
  Compilation& compilation = *restored.compilation;
  std::optional<plan::Plan> plan;
  std::vector<const sema::DataSplit*> chosen;
  if (!compilation.sink.has_errors()) {
    if (!compilation.program->eval_step) compilation.sink.report({}, diag::nothing_to_evaluate);
    if (!compilation.sink.has_errors()) chosen = choose_splits(options, compilation);
    if (!chosen.empty()) plan = compilation.plan(lower::Purpose::evaluate);
  }
  if (!plan) {
    compilation.print_diagnostics(err);
    return compilation.failure_status();
  }
  check_fit(*plan, *restored.from, false);
  const Runnable run = make_runnable(options, std::move(*plan), compilation.cores());
  bool read = true;
  for (const sema::DataSplit* split : chosen) read &= compilation.finish_split(*split);
  compilation.print_diagnostics(err);
  if (!read) return compilation.failure_status();
  check_memory(run.executable.plan, run.topology);

  std::vector<train::Split> splits;
  for (const sema::DataSplit* split : chosen) splits.push_back({split->name, compilation.source(split->source)});
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
