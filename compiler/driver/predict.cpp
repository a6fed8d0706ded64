// dslc predict: a saved model's outputs for rows of a file, or of a split, in their order.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <set>

#include "compiler/driver/checkpoint.h"
#include "compiler/driver/options.h"
#include "compiler/driver/run.h"
#include "compiler/sema/value.h"
#include "compiler/source/check.h"
#include "runtime/data/row_writer.h"
#include "runtime/train/infer.h"
#include "runtime/train/saver.h"

namespace dtl::driver {
namespace {

bool to_stdout(const Options& options) { return options.output.empty() || options.output == "-"; }

data::RowFormat format_of(const Options& options) {
  if (to_stdout(options)) return options.json ? data::RowFormat::jsonl : data::RowFormat::csv;
  const std::string ending = std::filesystem::path(options.output).extension().string();
  if (ending == ".csv") return data::RowFormat::csv;
  if (ending == ".npy") return data::RowFormat::npy;
  if (ending == ".jsonl" || ending == ".ndjson") return data::RowFormat::jsonl;
  throw Fault(6123, {options.output});
}

/// What the prediction reads of each row.
DataStore::Input input_of(const sema::Program& program) {
  std::set<std::string> inputs;
  for (const sema::Statement& statement : program.prediction->body.statements) {
    if (statement.kind == sema::StatementKind::input) inputs.insert(statement.path);
  }
  DataStore::Input needs;
  std::set<std::string> wanted = inputs;
  for (const sema::DerivedField& derived : program.data.derived) {
    if (!inputs.contains(derived.field.name)) continue;
    needs.derived.push_back(derived);
    wanted.insert(derived.of);
  }
  for (const sema::FieldInfo& field : program.fields) {
    if (wanted.contains(field.name)) needs.fields.push_back({field.name, field.dtype, field.shape, field.text});
  }
  for (const sema::IndexCheck& check : program.data.checks) {
    if (inputs.contains(check.field)) needs.checks.push_back(check);
  }
  needs.skip_limit = program.data.skip_limit;
  return needs;
}

const sema::DataSplit* find_split(Compilation& compilation, const std::string& name) {
  std::vector<std::string> names;
  for (const sema::DataSplit& split : compilation.program->data.splits) {
    if (split.name == name) return &split;
    names.push_back(split.name);
  }
  compilation.sink.report({}, diag::no_such_split, name).help("it has " + sema::enumerate(names));
  return nullptr;
}

/// The rows to predict for. Null after a report.
std::shared_ptr<const data::Source> open_rows(const Options& options, Compilation& compilation, std::vector<std::string>& names) {
  const sema::Program& program = *compilation.program;
  if (!options.splits.empty()) {
    const sema::DataSplit* split = find_split(compilation, options.splits[0]);
    if (!split) return nullptr;
    if (!compilation.data.require(split->source, compilation.sink)) return nullptr;
    names = field_names(program);
    return compilation.finish_split(*split) ? compilation.source(split->source) : nullptr;
  }
  return compilation.data.open_input(options.input, program.data.splits[0].source, input_of(program), compilation.sink);
}

/// A file that is read while it is replaced would be lost.
void check_output(const Options& options) {
  std::error_code ignored;
  if (!to_stdout(options) && std::filesystem::equivalent(options.input, options.output, ignored)) throw Fault(6125, {options.output});
}

}  // namespace

int predict(const Options& options, std::ostream& out, std::ostream& err) {
  const data::RowFormat format = format_of(options);
  check_output(options);
  const Restored restored = check_restored(options, data::Decoding::late, options.from, true, err);
  Compilation& compilation = *restored.compilation;
  std::optional<plan::Plan> plan;
  if (!compilation.sink.has_errors()) plan = compilation.plan(lower::Purpose::predict);
  std::shared_ptr<const data::Source> source;
  train::Batches batches;
  if (plan) {
    check_fit(*plan, *restored.from, false);
    batches.batch = compilation.program->data.batch;
    source = open_rows(options, compilation, batches.fields);
  }
  compilation.print_diagnostics(err);
  if (!source) return compilation.failure_status();

  std::vector<data::Field> fields;
  for (const train::Output& output : train::outputs_of(*plan)) fields.push_back(output.row);
  if (format == data::RowFormat::npy && fields.size() != 1) throw Fault(6124, {options.output, std::to_string(fields.size())});
  const Runnable run = make_runnable(options, std::move(*plan), compilation.cores());
  check_memory(run.executable.plan, run.topology);
  train::Executor executor(run.executable, run.topology);
  // What cannot be written is known before the work.
  std::optional<data::NewFile> file;
  if (!to_stdout(options)) file.emplace(options.output);
  const std::unique_ptr<data::RowWriter> writer = data::make_writer(format, file ? file->stream() : out);
  train::set_seed(executor, compilation.program->seed);
  train::restore(executor, *restored.from, false, false);
  writer->begin(fields, source->examples());
  const int signal = train::predict(executor, *source, batches, [&](int64_t rows, std::span<const std::span<const std::byte>> outputs) {
    errno = 0;
    writer->write(rows, outputs);
    if (file) file->check();
    if (!file && !out) throw Fault(6004, {std::strerror(errno ? errno : EIO)});
  });
  if (signal != 0) return 128 + signal;
  if (!file) return 0;
  file->finish();
  if (!options.quiet)
    make_progress(options, out)->message(fmt::format("{}: {} rows by {}", options.output, source->examples(), restored.from->path()));
  return 0;
}

}  // namespace dtl::driver
