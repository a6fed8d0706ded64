// Checking of small programs in tests: the standard library, and data that needs no files.
#pragma once

#include <catch2/catch.hpp>

#include "compiler/driver/embedded.h"
#include "compiler/ops/registry.h"
#include "compiler/sema/effective.h"
#include "compiler/sema/sema.h"
#include "compiler/source/render.h"
#include "compiler/syntax/parse.h"

namespace dtl::test {

struct Setup {
  std::vector<std::pair<std::string, std::string>> sets;  ///< `--set` path and value
  std::string strategy, train;
};

struct Checked {
  source::SourceSet sources;
  source::Sink sink;
  std::unique_ptr<syntax::Ast> ast, fragments;
  std::vector<std::unique_ptr<syntax::Ast>> library;
  std::optional<sema::Program> program;

  /// Symbols of the errors and warnings, in order of place: `unknown_name unknown_field`.
  std::string symbols() {
    sink.sort();
    std::string text;
    for (const source::Diagnostic* d : sink.all()) text += (text.empty() ? "" : " ") + std::string(d->symbol);
    return text;
  }
  std::string rendered() {
    std::string text;
    for (const source::Diagnostic* d : sink.all()) text += source::render(*d, sources, false) + "\n";
    return text;
  }
  const source::Diagnostic& first() {
    sink.sort();
    REQUIRE_FALSE(sink.all().empty());
    return *sink.all()[0];
  }
  /// The text that a range covers.
  std::string at(source::Range range) const { return std::string(sources.text(range)); }
  std::string printed() const { return program ? sema::print(*program) : std::string(); }
};

/// 60,000 images of clothes for `idx`; what `synthetic` says; `take` and `skip` of them.
inline std::optional<sema::SplitInfo> open_fake(const sema::SourceSpec& spec, source::Sink&) {
  sema::SplitInfo info;
  for (const sema::SourceStage& stage : spec.stages) {
    if (stage.function == "idx") {
      info = {60'000, {{"", DType::u8, {28, 28}}, {"", DType::u8, {}}}};
    } else if (stage.function == "synthetic") {
      info.examples = stage.integers.at("examples");
      for (const auto& field : stage.fields)
        info.fields.push_back({field.name, field.generator == "integers" ? DType::i64 : DType::f32, field.shape});
    } else if (stage.function == "take") {
      info.examples = std::min(info.examples, stage.integers.at("count"));
    } else {
      info.examples -= std::min(info.examples, stage.integers.at("count"));
    }
  }
  return info;
}

inline std::unique_ptr<Checked> check(const std::string& text, const Setup& setup = {}) {
  auto checked = std::make_unique<Checked>();
  Checked& c = *checked;
  c.ast = syntax::parse(c.sources, c.sources.add("test.dtl", text), c.sink);
  for (const driver::EmbeddedFile& file : driver::stdlib_files()) {
    c.library.push_back(syntax::parse(c.sources, c.sources.add("<stdlib>/" + std::string(file.name), std::string(file.text)), c.sink));
  }
  c.fragments = std::make_unique<syntax::Ast>();
  sema::Options options;
  options.devices = 4;
  if (!setup.train.empty()) options.train = setup.train;
  sema::Overrides overrides;
  for (const auto& [path, value] : setup.sets) overrides.sets.push_back(path + "=" + value);
  if (!setup.strategy.empty()) overrides.strategy = setup.strategy;
  overrides.train = options.train;
  if (!c.sink.has_errors()) {
    options.spoken_in = sema::make_effective(*c.ast, {}, c.library, c.sources, *c.fragments, overrides, c.sink).spoken_in;
  }
  c.program = sema::check(*c.ast, c.library, ops::table(), {open_fake, [](const sema::VocabularySpec&, source::Sink&) { return 100; }}, options, c.sink);
  CHECK(c.program.has_value() == !c.sink.has_errors());
  return checked;
}

/// A whole program around the parts that a test is about; each has a default.
struct Parts {
  std::string before;
  std::string example = "    x = x\n    y = y";
  std::string model = "x |> dense(3)";
  std::string loss = "mean(sparse_cross_entropy(prediction, y))";
  std::string metrics;   ///< whole setting
  std::string settings;  ///< more settings of the train block
  std::string optimizer = "sgd(0.1)";
};

inline std::string program_of(const Parts& parts) {
  return parts.before + R"(
dataset Points {
  train = synthetic(100, fields = { x = normal([4]), y = integers(0, 3, []) })
  batch = 10
  example (x: f32[4], y: i64) {
)" + parts.example +
         R"(
  }
}
model Net (x: f32[batch, 4]) -> f32[batch, 3] {
  )" + parts.model +
         R"(
}
train {
  model     = Net
  data      = Points
  loss      = )" +
         parts.loss + "\n  " + parts.metrics + "\n  " + parts.settings + "\n  optimizer = " + parts.optimizer + R"(
  epochs    = 2
}
)";
}

/// A program whose training step is `body`, with `x: f32[batch, 4]` and `y: i64[batch]`.
inline std::string step_of(const std::string& body, const std::string& before = {}) {
  return before + R"(
dataset Points {
  train = synthetic(100, fields = { x = normal([4]), y = integers(0, 3, []) })
  batch = 10
}
model Net (x: f32[batch, 4]) -> f32[batch, 3] { x |> dense(3) }
train {
  data   = Points
  epochs = 1
  step (x, y) {
)" + body +
         "\n  }\n}\n";
}

/// The step that most tests of a step start with.
inline const std::string kMinimize = "let loss = mean(sparse_cross_entropy(Net(x), y))\n minimize(loss, over = Net, using = sgd(0.1))\n";

}  // namespace dtl::test
