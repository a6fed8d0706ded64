// Programs through the checker, the passes and the planner, as `dslc check` does; data is described, and never opened.
#include <numeric>

#include "compiler/driver/embedded.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/registry.h"
#include "compiler/sema/effective.h"
#include "compiler/sema/sema.h"
#include "compiler/source/render.h"
#include "compiler/syntax/parse.h"
#include "compiler/transform/make_plan.h"
#include "compiler/transform/pass.h"
#include "compiler/types/dim.h"
#include "tests/fuzz/entries.h"

namespace dtl::fuzz {
namespace {

/// The standard library, parsed once. Programs are added to copies of its texts.
struct Library {
  source::SourceSet sources;
  std::vector<std::unique_ptr<syntax::Ast>> asts;
};

const Library& library() {
  static const Library library = [] {
    Library made;
    source::Sink sink;
    for (const driver::EmbeddedFile& file : driver::stdlib_files()) {
      const source::FileId id = made.sources.add("<stdlib>/" + std::string(file.name), std::string(file.text));
      made.asts.push_back(syntax::parse(made.sources, id, sink));
    }
    return made;
  }();
  return library;
}

/// What a source would hold: what `synthetic` and `records` say, else 60 rows of two fields.
std::optional<sema::SplitInfo> described(const sema::SourceSpec& spec, source::Sink&) {
  sema::SplitInfo info{60, {{"x", DType::f32, {4}}, {"y", DType::i64, {}}}};
  for (const sema::SourceStage& stage : spec.stages) {
    const auto number = [&](const char* name) {
      const auto found = stage.integers.find(name);
      return found == stage.integers.end() ? int64_t{0} : found->second;
    };
    if (stage.function == "idx") {
      info = {60'000, {{"", DType::u8, {28, 28}}, {"", DType::u8, {}}}};
    } else if (stage.function == "synthetic") {
      info = {number("examples"), {}};
      for (const auto& field : stage.fields)
        info.fields.push_back({field.name, field.generator == "integers" ? DType::i64 : DType::f32, field.shape});
    } else if (stage.function == "records") {
      info = {stage.rows, {}};
      for (const sema::RecordField& field : stage.records)
        info.fields.push_back({field.name, parse_dtype(field.type).value_or(DType::f32), field.shape, field.type == "text"});
    } else if (stage.function == "text") {
      info = {1, {{"", DType::u8, {}, true}}};
    } else if (stage.function == "encode") {
      info = {1'000, {{"", DType::i32, {}}}};
    } else if (stage.function == "take") {
      info.examples = std::min(info.examples, number("count"));
    } else if (stage.function == "skip") {
      info.examples -= std::min(info.examples, number("count"));
    }
  }
  return info;
}

/// A text as it is checked, and what is made of it.
struct Checked {
  std::optional<sema::Program> program;
  std::string effective;  ///< the text with its overrides, where there are no errors
};

Checked checked(const std::string& text, const sema::Overrides& overrides) {
  source::SourceSet sources = library().sources;
  source::Sink sink;
  const source::FileId file = sources.add("fuzz.dtl", text);
  const std::unique_ptr<syntax::Ast> ast = syntax::parse(sources, file, sink);
  const auto render = [&] {
    sink.sort();
    for (const source::Diagnostic* diagnostic : sink.all()) source::render(*diagnostic, sources, false);
  };
  Checked made;
  if (!ast || sink.has_errors()) {
    render();
    return made;
  }

  syntax::Ast fragments;
  sema::Options options;
  options.devices = 4;
  options.needs_train = false;
  const sema::Effective effective = sema::make_effective(*ast, {}, library().asts, sources, fragments, overrides, sink);
  options.spoken_in = effective.spoken_in;
  if (!sink.has_errors()) made.effective = sema::edited(sources, file, effective.edits);
  made.program =
      sema::check(*ast, library().asts, ops::table(),
                  {described, [](const sema::VocabularySpec&, source::Sink&) { return std::optional<int64_t>(100); }}, options, sink);
  promise(made.program.has_value() == !sink.has_errors(), "a program, and errors");
  render();
  return made;
}

/// Through the passes and the planner; nothing where a size is beyond what a number holds, which `dslc check` reports.
void plan(const sema::Program& program) {
  if (program.minimize_sites.empty()) return;
  try {
    const auto graph = transform::run_pipeline(lower::lower(program, ops::table()), ops::table());
    if (graph) static_cast<void>(transform::make_plan(*graph, ops::table()));
  } catch (const types::DimOverflow&) {
  }
}

void run(const std::string& text, const sema::Overrides& overrides) {
  const Checked first = checked(text, overrides);
  if (!first.program) return;
  const std::string printed = sema::print(*first.program);
  plan(*first.program);
  // What a run keeps of itself is the program that ran.
  const Checked again = checked(first.effective, {});
  promise(again.program.has_value(), "the effective program has mistakes:\n{}", first.effective);
  promise(sema::print(*again.program) == printed, "the effective program is another:\n{}", first.effective);
}

/// Lines of `--strategy …` and of `PATH=VALUE`, in their order.
sema::Overrides overrides_of(std::string_view input) {
  sema::Overrides overrides;
  while (!input.empty()) {
    const std::string line(input.substr(0, input.find('\n')));
    input.remove_prefix(std::min(input.size(), line.size() + 1));
    if (line.starts_with("--strategy ")) {
      overrides.strategy = line.substr(11);
    } else {
      overrides.sets.push_back(line);
    }
  }
  return overrides;
}

/// One of the ways to place a program's values, the third and the last on a mesh of two axes.
constexpr const char* kStrategies[] = {"mirrored(replicas = 2)", "sharded_optimizer(replicas = 3)", "Grid", "fully_sharded(replicas = 2)",
                                       "GridOfParts"};
constexpr std::string_view kGrids = R"(
strategy Grid { mesh = { data = 2, model = 2 }, batch = split(data), weights = broadcast, optimizer = split(model) }
strategy GridOfParts { mesh = { data = 3, model = 2 }, batch = split(data), weights = split(model), gradients = split(data, model) }
)";

constexpr std::string_view kProgram = R"(param width: int = 8
param rate: float = 0.1
dataset Points {
  train = synthetic(100, fields = { x = normal([4]), y = integers(0, 3, []) })
  batch = 10
  shuffle = all
}
layer Block (units: int = 4, activation: function = relu) (x: float[batch, n]) -> float[batch, units] {
  x |> dense(units) |> activation
}
model Net (x: float[batch, 4]) -> float[batch, 3] {
  x |> Block(width) |> dense(3)
}
strategy Own = mirrored(replicas = 2)
train {
  model     = Net
  data      = Points
  loss      = mean(sparse_cross_entropy(prediction, y))
  optimizer = adam(learning_rate = rate)
  epochs    = 2
  seed      = 7
}
)";

}  // namespace

void check(std::string_view input) { run(std::string(input), {}); }

void strategies(std::string_view input) {
  const std::string text(input);
  if (!checked(text, {}).program) return;
  // All of them for each input would be slow: which, its text decides.
  const size_t which =
      std::accumulate(text.begin(), text.end(), size_t{0}, [](size_t sum, char c) { return sum * 31 + static_cast<unsigned char>(c); });
  sema::Overrides overrides;
  overrides.strategy = kStrategies[which % std::size(kStrategies)];
  run(text + std::string(kGrids), overrides);
}

void expression(std::string_view input) { run(std::string(kProgram), overrides_of(input)); }

}  // namespace dtl::fuzz
