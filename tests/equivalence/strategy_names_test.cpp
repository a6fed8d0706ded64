// No strategy's name means anything: the library's strategies under other names give byte-identical plans.
#include <regex>

#include "compiler/transform/make_plan.h"
#include "runtime/plan/plan.h"
#include "tests/unit/lower/program_testing.h"

using namespace dtl;
using namespace dtl::testing;

namespace {

const std::string kProgram = R"(
dataset Points {
  train = synthetic(100, seed = 1, fields = { x = normal([6]), y = normal([]) })
  batch = 12
}
model Net (x: f32[batch, 6]) -> f32[batch] { x |> dense(5, activation = relu) |> dropout(0.1) |> dense(1) |> squeeze(axis = -1) }
train {
  model     = Net
  data      = Points
  loss      = mean(squared_error(prediction, y))
  optimizer = adam(1e-3)
  epochs    = 1
)";

std::string library_strategies() {
  for (const driver::EmbeddedFile& file : driver::stdlib_files()) {
    if (file.name == "strategies.dtl") return std::string(file.text);
  }
  FAIL("the library has no strategies.dtl");
  return {};
}

/// The plan's text, or why there is none; first of all what the strategy asks for and no pass does yet.
std::string plan_of(const std::string& text, Library& with) {
  const Checked checked = check(text, 4, with);
  if (!checked.program) return "no program";
  std::string later;
  for (const std::string& part : checked.program->strategy.later) later += "later: " + part + "\n";
  auto graph = transform::run_pipeline(lower::lower(*checked.program, ops::table()), ops::table());
  if (!graph) return later + graph.error().text;
  const auto plan = transform::make_plan(*graph, ops::table());
  return later + (plan ? plan::print(*plan) : plan.error().text);
}

}  // namespace

TEST_CASE("the library's strategies under other names give byte-identical plans") {
  const std::string library = library_strategies();
  std::vector<std::string> names;
  const std::regex declaration(R"((^|\n)strategy (\w+))");
  for (std::sregex_iterator at(library.begin(), library.end(), declaration), end; at != end; ++at) names.push_back((*at)[2]);
  REQUIRE(names.size() >= 8);
  std::string renamed = library;
  for (size_t i = 0; i < names.size(); ++i)
    renamed = std::regex_replace(renamed, std::regex("\\b" + names[i] + "\\b"), "way_" + std::to_string(i));
  Library other;
  for (const driver::EmbeddedFile& file : driver::stdlib_files())
    add_file(other, file.name, file.name == "strategies.dtl" ? renamed : std::string(file.text));
  int planned = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i]);
    const std::string original = plan_of(kProgram + "  strategy = " + names[i] + "()\n}\n", testing::library());
    CHECK(original == plan_of(kProgram + "  strategy = way_" + std::to_string(i) + "()\n}\n", other));
    const bool plans = original.find("entry train_step") != std::string::npos && original.find("later: ") == std::string::npos;
    planned += plans ? 1 : 0;
    // What the library says of itself: the text before the declaration, back to the line that no comment is on.
    const size_t at = library.find("strategy " + names[i] + " ");
    REQUIRE(at != std::string::npos);
    const std::string words = library.substr(0, at).substr(library.rfind("\n\n", at) + 1);
    CHECK(plans == (words.find("Not trained with yet") == std::string::npos));
  }
  // What has no plan yet has the same reason under any name.
  CHECK(planned >= 4);
}
