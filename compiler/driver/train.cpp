// dslc train: compile, then train in this process.
#include "compiler/driver/train.h"

#include <chrono>
#include <ostream>

#include "compiler/driver/checkpoint.h"
#include "compiler/driver/options.h"
#include "compiler/driver/run.h"
#include "compiler/driver/run_directory.h"
#include "runtime/plan/fault.h"
#include "runtime/report/progress.h"
#include "runtime/train/executor.h"
#include "runtime/train/interrupt.h"
#include "runtime/train/loop.h"

namespace dtl::driver {
namespace {

train::Job job_of(const sema::Program& program, Compilation& compilation) {
  train::Job job;
  job.splits = splits_of(compilation);
  job.fields = field_names(program);
  job.batch = program.data.batch;
  job.shuffle = program.data.shuffle;
  job.epochs = program.epochs;
  job.steps = program.steps;
  job.seed = program.seed;
  job.accumulate = program.gradients.accumulate;
  job.evaluate_epochs = program.evaluate_every.epochs;
  job.evaluate_steps = program.evaluate_every.steps;
  if (const auto& stop = program.stop_early) {
    job.stop_early = {stop->split, stop->report, stop->patience, stop->minimum_change, stop->maximize, stop->restore_best};
  }
  return job;
}

train::Saving saving_of(const sema::Program& program, const Options& options, const DataStore& data) {
  train::Saving saving;
  if (!program.checkpoint) return saving;
  const sema::CheckpointSettings& settings = *program.checkpoint;
  saving.directory = settings.directory;
  saving.every_epochs = settings.every_epochs;
  saving.every_steps = settings.every_steps;
  saving.every_seconds = settings.every_seconds;
  saving.keep = settings.keep;
  saving.watch = settings.watch;
  saving.maximize = settings.maximize;
  saving.program = options.file;
  if (options.interactive) saving.resumed_by = "`:train N steps`";
  saving.strategy = program.strategy.name;
  saving.texts = data_files(data);
  return saving;
}

}  // namespace

int train_checked(Compilation& compilation, const Options& options, const checkpoint::Checkpoint* from,
                  std::optional<train::Interrupt>& interrupt, std::chrono::steady_clock::time_point begin, std::ostream& out,
                  std::ostream& err) {
  std::optional<plan::Plan> plan;
  if (!compilation.sink.has_errors()) plan = compilation.plan();
  if (!plan) {
    compilation.print_diagnostics(err);
    return compilation.failure_status();
  }

  // Data is decoded by threads of its own meanwhile.
  const Runnable run = make_runnable(options, std::move(*plan), compilation.cores());
  const auto& [jit, topology, executable] = run;
  const bool read = compilation.finish_data(true);
  compilation.print_diagnostics(err);
  if (!read) return compilation.failure_status();

  check_memory(executable.plan, topology);
  if (interrupt->asked()) {
    err << "dslc: interrupted before the first step\n";
    return 128 + interrupt->signal();
  }

  const sema::Program& program = *compilation.program;
  train::Job job = job_of(program, compilation);
  job.resume = from;
  if (job.resume) check_fit(executable.plan, *job.resume, true);
  job.saving = saving_of(program, options, compilation.data);
  std::unique_ptr<checkpoint::DirectoryLock> lock;  // until training ends
  if (!job.saving.directory.empty()) {
    const bool twice = job.stop_early && job.stop_early->restore_best;
    lock = prepare_directory(options, job.saving.directory, train::saved_size(executable.plan, twice), job.resume);
  }
  const std::string record = write_effective_program(compilation, options, run_directory(options, program));
  train::Executor executor(executable, topology);
  const std::unique_ptr<report::Progress> progress = make_progress(options, out);
  report::Start start;
  start.program = options.file;
  start.record = record;
  start.strategy = program.strategy.name;
  start.precision = sema::name_of(program.precision);
  start.replicas = topology.replicas;
  start.threads_per_replica = topology.threads_per_replica;
  start.batch = job.batch;
  for (const train::Split& split : job.splits) start.splits.emplace_back(split.name, split.source->examples());
  start.epochs = job.epochs;
  start.steps = job.steps;
  start.kernels_compiled = jit->stats().compiled;
  start.kernels_from_cache = jit->stats().from_cache;
  start.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  progress->start(start);
  interrupt.reset();
  const train::Outcome outcome = train::train(executor, job, *progress);
  if (!outcome.interrupted && !options.interactive && !options.json) {
    if (job.resume && outcome.steps == job.resume->standing().total_step)
      progress->message(fmt::format("the run was at its end already: more, such as `--set {}`, goes on from here",
                                    job.epochs > 0 ? fmt::format("epochs={}", 2 * job.epochs) : fmt::format("steps={}", 2 * job.steps)));
    if (job.saving.directory.empty())
      progress->message("no model was saved: `checkpoint = { directory = \"runs/first\" }` in the train block saves one");
  }
  return outcome.interrupted ? 128 + outcome.signal : 0;
}

int train(const Options& options, std::ostream& out, std::ostream& err) {
  const auto begin = std::chrono::steady_clock::now();
  std::optional<train::Interrupt> interrupt(std::in_place);  // until training handles it
  const auto resume_from = options.resume ? std::optional(options.resume_from) : std::nullopt;
  Restored restored = check_restored(options, data::Decoding::at_once, resume_from, false, err);
  if (!restored.compilation->sink.has_errors()) static_cast<void>(restored.compilation->leave_out_rows());
  return train_checked(*restored.compilation, options, restored.from ? &*restored.from : nullptr, interrupt, begin, out, err);
}

}  // namespace dtl::driver
