// Between a Compilation and the runtime.
#include "compiler/driver/run.h"

#include <unistd.h>

#include <iostream>

#include "runtime/plan/fault.h"

namespace dtl::driver {

std::unique_ptr<report::Progress> make_progress(const Options& options, std::ostream& out) {
  if (options.json) return report::make_json(out);
  if (options.quiet) return report::make_quiet(out);
  if (&out == &std::cout && report::is_terminal(STDOUT_FILENO))
    return report::make_live(out, [] { return report::terminal_width(STDOUT_FILENO); });
  return report::make_plain(out);
}

Runnable make_runnable(const Options& options, plan::Plan plan, int cores) {
  Runnable made;
  made.jit = std::make_unique<codegen::Jit>(codegen::JitOptions{.cache_directory = cache_directory(options), .threads = cores});
  made.topology = train::topology_of(plan, cores);
  made.executable.plan = std::move(plan);
  made.executable.kernels = made.jit->compile(made.executable.plan.kernels);
  return made;
}

namespace {

std::string gigabytes(double bytes) { return fmt::format("{:.1f} GB", bytes / 1e9); }

}  // namespace

void check_memory(const plan::Plan& plan, const train::Topology& topology) {
  const double needed = static_cast<double>(plan.arena_bytes + plan.input_bytes + plan.own_bytes) * topology.replicas +
                        static_cast<double>(plan.shared_bytes + plan.state_bytes);
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > there) throw Fault(6002, {gigabytes(needed), gigabytes(there)});
}

std::vector<train::Split> splits_of(Compilation& compilation) {
  std::vector<train::Split> splits;
  for (const sema::DataSplit& split : compilation.program->data.splits) splits.push_back({split.name, compilation.source(split.source)});
  return splits;
}

std::vector<std::string> field_names(const sema::Program& program) {
  std::vector<std::string> names;
  for (const sema::FieldInfo& field : program.fields) names.push_back(field.name);
  return names;
}

}  // namespace dtl::driver
