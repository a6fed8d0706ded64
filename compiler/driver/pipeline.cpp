// The pipeline, arrow by arrow. Where a step keeps something for a later one, it is a member of Compilation.
#include "compiler/driver/pipeline.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <ostream>
#include <thread>

#include "compiler/driver/embedded.h"
#include "compiler/driver/fault_text.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/registry.h"
#include "compiler/sema/overrides.h"
#include "compiler/source/render.h"
#include "compiler/syntax/parse.h"
#include "compiler/transform/make_plan.h"
#include "compiler/transform/pass.h"
#include "runtime/plan/fault.h"

namespace dtl::driver {

namespace {

/// Far beyond any program, and read and parsed in a time that one waits for.
constexpr size_t kMostOfProgram = size_t{16} << 20;

[[noreturn]] void too_large(const std::string& name) {
  throw Fault(5001, {name, fmt::format("it is larger than {} MB", kMostOfProgram >> 20)});
}

}  // namespace

std::string read_file(const std::string& path) {
  // Without waiting: a pipe that nobody writes to is opened and refused.
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) throw Fault(5001, {path, std::strerror(errno)});
  const std::unique_ptr<const int, void (*)(const int*)> closed(&file, [](const int* open) { ::close(*open); });
  struct stat status{};
  if (::fstat(file, &status) != 0) throw Fault(5001, {path, std::strerror(errno)});
  if (!S_ISREG(status.st_mode)) throw Fault(5001, {path, S_ISDIR(status.st_mode) ? std::strerror(EISDIR) : "not a regular file"});
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (true) {
    const ssize_t got = ::read(file, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Fault(5001, {path, std::strerror(errno)});
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<size_t>(got));
    if (text.size() > kMostOfProgram) too_large(path);
  }
}

std::string read_input() {
  const std::string name = "<stdin>";
  std::string text;
  std::array<char, 1 << 16> chunk;
  errno = 0;
  while (std::cin.read(chunk.data(), chunk.size()), std::cin.gcount() > 0) {
    text.append(chunk.data(), static_cast<size_t>(std::cin.gcount()));
    if (text.size() > kMostOfProgram) too_large(name);
  }
  if (std::ferror(stdin)) throw Fault(5001, {name, std::strerror(errno ? errno : EIO)});
  return text;
}

Compilation::Compilation(const Options& options, data::Decoding decoding) : data(options, decoding), options_(&options) {}

int Compilation::cores() const {
  return options_->threads > 0 ? options_->threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

bool Compilation::parse() { return parse_text(read_file(options_->file)); }

bool Compilation::parse_text(std::string text) {
  main_file = sources.add(options_->file, std::move(text));
  ast = syntax::parse(sources, main_file, sink);
  return ast != nullptr && !sink.has_errors();
}

bool Compilation::parse(const std::vector<std::pair<std::string, std::string>>& texts) {
  ast = std::make_unique<syntax::Ast>();
  for (const auto& [name, text] : texts) {
    main_file = sources.add(name, text);
    parts_.push_back(syntax::parse(sources, main_file, sink));
    if (!parts_.back()) return false;
    ast->decls.insert(ast->decls.end(), parts_.back()->decls.begin(), parts_.back()->decls.end());
  }
  if (texts.empty()) main_file = sources.add("<session>", "");
  ast->file = main_file;
  return !sink.has_errors();
}

const sema::Options* Compilation::prepare() {
  if (prepared_) return &*prepared_;
  for (const EmbeddedFile& file : stdlib_files()) {
    const source::FileId id = sources.add("<stdlib>/" + std::string(file.name), std::string(file.text));
    library_.push_back(syntax::parse(sources, id, sink));
    if (!library_.back()) return nullptr;
  }

  if (!read_imports() || sink.has_errors()) return nullptr;

  fragments_ = std::make_unique<syntax::Ast>();
  effective =
      sema::make_effective(*ast, imports, library_, sources, *fragments_, {options_->sets, options_->strategy, options_->train}, sink);
  sema::Options& sema_options = prepared_.emplace();
  sema_options.devices = cores();
  sema_options.train = options_->train;
  sema_options.predict = options_->predict;
  sema_options.imports.insert(imports.begin(), imports.end());
  sema_options.spoken_in = effective.spoken_in;
  return &sema_options;
}

bool Compilation::check(bool needs_train) {
  const sema::Options* prepared = prepare();
  if (!prepared) return false;
  sema::Options sema_options = *prepared;
  sema_options.needs_train = needs_train;
  program = sema::check(*ast, library_, ops::table(),
                        {[this](const sema::SourceSpec& spec, source::Sink& into) { return data.open(spec, into); },
                         [this](const sema::VocabularySpec& spec, source::Sink& into) { return data.vocabulary(spec, into); }},
                        sema_options, sink);
  return program.has_value() && !sink.has_errors();
}

std::optional<std::string> Compilation::checkpoint_directory() {
  const sema::Options* prepared = prepare();
  return prepared ? sema::checkpoint_directory(*ast, library_, ops::table(), *prepared) : std::nullopt;
}

std::vector<std::string> Compilation::paths_called(const std::string& name) {
  if (!prepare()) return {};
  sema::ProgramFiles files(*ast, imports, library_, effective);
  return sema::paths_called(files, sources, *fragments_, {options_->sets, options_->strategy, options_->train}, name, sink);
}

bool Compilation::check_expression(sema::ExpressionRequest request, sema::ExpressionResult& result) {
  const sema::Options* sema_options = prepare();
  if (!sema_options) return false;
  if (options_->strategy) {
    request.strategy = syntax::parse_expression(*fragments_, sources, sources.add("<--strategy>", *options_->strategy), sink);
    if (!request.strategy) return false;
  }
  program = sema::check_expression(*ast, library_, ops::table(), *sema_options, request, result, sink);
  return program.has_value() && !sink.has_errors();
}

namespace {

/// Whether the pipeline as far as this pass places values.
bool reaches_placement(const std::string& stop_after) {
  for (const transform::Pass& pass : transform::pipeline()) {
    if (pass.name == "place") return true;
    if (pass.name == stop_after) return false;
  }
  return true;
}

}  // namespace

std::optional<graph::Graph> Compilation::graph(const std::string& stop_after, lower::Purpose purpose) try {
  graph::Graph lowered = lower::lower(*program, ops::table(), purpose);
  if (stop_after == "none") return lowered;
  if (!program->strategy.later.empty() && reaches_placement(stop_after)) {
    for (const std::string& part : program->strategy.later) sink.report(program->strategy_range, diag::not_supported_yet, part);
    return std::nullopt;
  }
  auto result = transform::run_pipeline(std::move(lowered), ops::table(), stop_after);
  if (result) return *result;
  cannot_place(result.error());
  return std::nullopt;
} catch (const types::DimOverflow& overflow) {
  sink.report(program->strategy_range, diag::integer_overflow, overflow.text);
  return std::nullopt;
}

std::optional<plan::Plan> Compilation::plan(lower::Purpose purpose) try {
  std::optional<graph::Graph> replicated = graph({}, purpose);
  if (!replicated) return std::nullopt;
  auto result = transform::make_plan(*replicated, ops::table());
  if (result) {
    name_users(*result);
    return std::move(*result);
  }
  cannot_place(result.error());
  return std::nullopt;
} catch (const types::DimOverflow& overflow) {
  sink.report(program->strategy_range, diag::integer_overflow, overflow.text);
  return std::nullopt;
}

void Compilation::name_users(plan::Plan& plan) const {
  for (plan::StateEntry& state : plan.states) {
    if (state.role != plan::StateRole::least && state.role != plan::StateRole::most) continue;
    for (const sema::IndexSite& site : program->index_sites) {
      if (site.path != state.path) continue;
      const source::Position at = sources.position(site.range.file, site.range.begin);
      state.user = fmt::format("`{}` at {}:{}:{}", site.user, sources.file(site.range.file).name, at.line, at.column);
    }
  }
}

/// The choice of the strategy is to blame; the expression that it fails on is told where it is the user's.
void Compilation::cannot_place(const transform::PlaceError& error) {
  source::Reported reported =
      sink.report(program->strategy_range.known() ? program->strategy_range : error.range, diag::cannot_place, error.text);
  const bool in_library = error.range.known() && sources.file(error.range.file).name.starts_with("<stdlib>");
  if (error.range.known() && !in_library && program->strategy_range.known()) reported.note(error.range, "here");
}

std::shared_ptr<const data::Source> Compilation::source(const sema::SourceSpec& spec) {
  std::vector<std::string> names;
  for (const sema::FieldInfo& field : program->fields) names.push_back(field.name);
  return data.source(spec, names, program->data.derived);
}

bool Compilation::check_split(const sema::DataSplit& split, bool contents) {
  if (split.info.examples == 0) {
    sink.report(split.source.stages.back().range, diag::not_enough_data, split.name);
    return false;
  }
  if (!contents) return true;
  std::vector<std::string> names;
  for (const sema::FieldInfo& field : program->fields) names.push_back(field.name);
  return data.check_ranges(split.source, names, program->data, sink);
}

bool Compilation::leave_out_rows() {
  if (program->data.skip_limit < 0 || program->data.checks.empty()) return true;
  if (!finish_data(true)) return false;
  const std::vector<sema::DataSplit>& splits = program->data.splits;
  const bool fewer = std::any_of(splits.begin(), splits.end(), [&](const auto& split) { return data.leaves_out(split.source); });
  return !fewer || check();
}

bool Compilation::finish_data(bool contents) {
  const bool read = !contents || data.finish(sink);
  bool good = read;
  for (const sema::DataSplit& split : program->data.splits) good &= check_split(split, contents && read);
  if (!contents || !good) return good;
  std::vector<std::string> names;
  for (const sema::FieldInfo& field : program->fields) names.push_back(field.name);
  for (const sema::DataSplit& split : program->data.splits) {
    if (split.name == "train") data.warn_of_absent(split, names, program->data, sink);
  }
  return good;
}

bool Compilation::finish_split(const sema::DataSplit& split) { return data.finish(split.source, sink) && check_split(split, true); }

int Compilation::failure_status() const {
  // Codes of faults that lie in a file, not in the program.
  const auto is_file_fault = [](int code) { return code >= 5001 && code <= 5099; };
  for (const source::Diagnostic* diagnostic : sink.all()) {
    if (diagnostic->severity == source::Severity::error && !is_file_fault(diagnostic->code)) return 1;
  }
  return 2;
}

void Compilation::print_diagnostics(std::ostream& err) {
  sink.sort();
  const bool color = &err == &std::cerr && isatty(STDERR_FILENO) && !std::getenv("NO_COLOR");
  for (const source::Diagnostic* diagnostic : sink.all()) {
    const std::string text = options_->json ? source::render_json(*diagnostic, sources) : source::render(*diagnostic, sources, color);
    if (diagnostic->severity == source::Severity::warning && !told.insert(text).second) continue;
    err << text << "\n";
  }
  if (!options_->json && sink.has_errors() && !options_->interactive)
    err << fmt::format("{}: {} error{}\n", options_->file, sink.errors(), sink.errors() == 1 ? "" : "s");
}

}  // namespace dtl::driver
