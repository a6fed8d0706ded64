// dslc check: every mistake of a program, or a line that says what it would train.
#include <nlohmann/json.hpp>
#include <ostream>

#include "compiler/driver/fix.h"
#include "compiler/driver/options.h"
#include "compiler/driver/pipeline.h"

namespace dtl::driver {

int check(const Options& options, std::ostream& out, std::ostream& err) {
  Compilation compilation(options);
  bool good = compilation.parse() && compilation.check(false);
  const bool trains = good && !compilation.program->minimize_sites.empty();
  if (trains && options.read_data) good = compilation.leave_out_rows();
  // Placement and planning can still find a strategy that they cannot reach.
  const std::vector<std::string> later = trains && good ? compilation.program->strategy.later : std::vector<std::string>();
  if (!later.empty()) {
    const sema::Program& program = *compilation.program;
    compilation.sink.report(program.strategy_range, diag::not_placed_yet, program.strategy.name, fmt::format("{}", fmt::join(later, ", ")));
  } else if (trains && good) {
    good = compilation.plan().has_value();
  }
  if (good) good = compilation.finish_data(options.read_data);
  compilation.print_diagnostics(err);
  if (options.fix) {
    const int made = apply_fixes(compilation.sink, compilation.sources, compilation.main_file, options.file);
    if (made > 0) err << fmt::format("{}: {} edit{} made; check it again\n", options.file, made, made == 1 ? "" : "s");
  }
  if (!good) return compilation.failure_status();
  if (!trains) {
    out << (options.json ? nlohmann::json{{"event", "checked"}, {"file", options.file}}.dump()
                         : fmt::format("{}: no mistakes, and no `train` block", options.file))
        << "\n";
    return 0;
  }

  const sema::Program& program = *compilation.program;
  int64_t weights = 0;
  for (const sema::Variable& weight : program.weights) weights += weight.type.elements().constant().value_or(0);
  int64_t examples = 0;
  for (const sema::DataSplit& split : program.data.splits) {
    if (split.name == "train") examples = split.info.examples;
  }
  std::string mesh;
  for (const plan::MeshAxis& axis : program.strategy.mesh.axes)
    mesh += fmt::format("{}{} = {}", mesh.empty() ? "" : ", ", axis.name, axis.size);
  if (options.json) {
    out << nlohmann::json{{"event", "checked"},
                          {"file", options.file},
                          {"examples", examples},
                          {"batch", program.data.batch},
                          {"weights", weights},
                          {"tensors", program.weights.size()},
                          {"strategy", program.strategy.name}}
               .dump()
        << "\n";
  } else {
    out << fmt::format("{}: no mistakes. {} of {} examples in batches of {}; {} weights in {} tensors; strategy {} on mesh {{ {} }}\n",
                       options.file, program.data.name, examples, program.data.batch, weights, program.weights.size(),
                       program.strategy.name, mesh);
  }
  return 0;
}

}  // namespace dtl::driver
