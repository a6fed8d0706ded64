// dslc emit, pass and ops: print a stage of the compilation, or one of the compiler's tables.
#include <algorithm>
#include <ostream>

#include "compiler/codegen/jit.h"
#include "compiler/driver/options.h"
#include "compiler/driver/pipeline.h"
#include "compiler/graph/parse.h"
#include "compiler/graph/print.h"
#include "compiler/ops/registry.h"
#include "compiler/syntax/parse.h"
#include "compiler/syntax/print.h"
#include "compiler/transform/make_plan.h"
#include "compiler/transform/pass.h"
#include "compiler/types/dim.h"

namespace dtl::driver {
namespace {

/// What a graph stage is called after which pass.
std::string pass_of_stage(const std::string& stage) {
  if (stage == "graph") return "none";
  if (stage == "gradients") return "gradient";
  if (stage == "optimized") return "simplify";
  return "bucket";
}

int emit_kernels(const Options& options, const plan::Plan& plan, std::ostream& out, std::ostream& err) {
  codegen::Jit jit({});
  bool found = false;
  for (const plan::KernelEntry& kernel : plan.kernels) {
    if (!options.only.empty() && kernel.name != options.only) continue;
    found = true;
    out << "; kernel " << kernel.name << "\n" << (options.stage == "llvm" ? jit.llvm_text(kernel) : jit.asm_text(kernel)) << "\n";
  }
  if (found) return 0;
  err << fmt::format("dslc: no kernel is called `{}`; the names are on the plan's kernel lines (emit --stage plan)\n", options.only);
  return 1;
}

int list_passes(std::ostream& out) {
  for (const transform::Pass& pass : transform::pipeline()) out << fmt::format("{:<10} {}\n", pass.name, pass.promise);
  return 0;
}

bool known_pass(const std::string& name, std::ostream& err) {
  std::string names;
  for (const transform::Pass& pass : transform::pipeline()) {
    if (pass.name == name) return true;
    names += (names.empty() ? "" : ", ") + std::string(pass.name);
  }
  err << fmt::format("dslc: no pass is called `{}`; there are {}\n", name, names);
  return false;
}

}  // namespace

int emit(const Options& options, std::ostream& out, std::ostream& err) {
  if (options.list_passes) return list_passes(out);
  if (options.file.empty() || (options.stage.empty() && options.stop_after.empty())) {
    err << "dslc: emit takes a FILE and a --stage (or --stop-after PASS); see dslc emit --help\n";
    return 1;
  }
  if (!options.stop_after.empty() && !known_pass(options.stop_after, err)) return 1;

  Compilation compilation(options);
  // Each block ends the command once its stage is printed or a mistake is found.
  const auto stop = [&](int status) {
    compilation.print_diagnostics(err);
    return status;
  };
  if (options.stage == "tokens") {
    compilation.main_file = compilation.sources.add(options.file, read_file(options.file));
    out << syntax::print_tokens(compilation.sources, compilation.main_file, compilation.sink);
    return stop(compilation.sink.has_errors() ? 1 : 0);
  }
  if (!compilation.parse()) return stop(1);
  if (options.stage == "ast") {
    out << syntax::print(*compilation.ast);
    return stop(0);
  }
  if (!compilation.check()) return stop(compilation.failure_status());
  if (options.stage == "typed") {
    out << sema::print(*compilation.program);
    return stop(0);
  }
  if (options.stage == "plan" || options.stage == "llvm" || options.stage == "asm") {
    const std::optional<plan::Plan> plan = compilation.plan();
    if (!plan) return stop(1);
    if (options.stage == "plan") {
      if (!options.only.empty() &&
          std::none_of(plan->entries.begin(), plan->entries.end(), [&](const plan::Entry& entry) { return entry.name == options.only; })) {
        err << fmt::format("dslc: no entry is called `{}`\n", options.only);
        return stop(1);
      }
      out << plan::print(*plan, options.only);
      return stop(0);
    }
    const int status = emit_kernels(options, *plan, out, err);
    return stop(status);
  }
  const std::optional<graph::Graph> graph =
      compilation.graph(options.stop_after.empty() ? pass_of_stage(options.stage) : options.stop_after);
  if (!graph) return stop(1);
  if (!options.only.empty() && !graph->find_function(options.only)) {
    std::string names;
    for (const graph::Function& function : graph->functions) names += (names.empty() ? "" : ", ") + function.name;
    err << fmt::format("dslc: no function is called `{}`; there are {}\n", options.only, names);
    return stop(1);
  }
  out << graph::print(*graph, ops::table(), options.only);
  return stop(0);
}

int pass(const Options& options, std::ostream& out, std::ostream& err) try {
  const bool to_plan = options.pass == "make_plan";  // no pass of the pipeline: its result is no graph
  if (!to_plan && !known_pass(options.pass, err)) return 1;
  std::string why;
  const std::optional<graph::Graph> graph = graph::parse(read_file(options.file), ops::table(), &why);
  if (!graph) {
    err << "dslc: not the text of a graph: " << why << "\n";
    return 1;
  }
  if (to_plan) {
    const auto plan = transform::make_plan(*graph, ops::table());
    if (!plan) {
      err << "error: " << plan.error().text << "\n";
      return 1;
    }
    out << plan::print(*plan);
    return 0;
  }
  for (const transform::Pass& pass : transform::pipeline()) {
    if (pass.name != options.pass) continue;
    auto result = transform::run_pass(pass, *graph, ops::table());
    if (!result) {
      err << "error: " << result.error().text << "\n";
      return 1;
    }
    out << graph::print(*result, ops::table());
  }
  return 0;
} catch (const types::DimOverflow& overflow) {
  err << "error: " << overflow.text << " does not fit into 64 bits\n";
  return 1;
}

int print_ops(std::ostream& out) {
  out << ops::ops_table();
  return 0;
}

}  // namespace dtl::driver
