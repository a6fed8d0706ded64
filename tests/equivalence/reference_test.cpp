// The standard library against PyTorch, as it runs: plans, machine code, f32.
#include "plan_runner.h"
#include "tests/unit/lower/reference_testing.h"

using namespace dtl;

namespace {

void agree(const std::string& file) {
  const testing::Runner compiled = [](const graph::Graph& graph, const std::string& function, const std::vector<graph::Array>& params) {
    return test::PlanRunner(graph, 1).run(function, params, {{"batch", 1}});
  };
  // Numbers of up to 20 lose 2e-7 of themselves in each of a few additions.
  for (const nlohmann::json& found : testing::reference(file)) testing::agrees_with_reference(found, DType::f32, 1e-5, compiled);
}

}  // namespace

TEST_CASE("compiled activations are PyTorch's") { agree("activations"); }
TEST_CASE("compiled losses are PyTorch's") { agree("losses"); }
TEST_CASE("compiled layers are PyTorch's") { agree("layers"); }
TEST_CASE("compiled convolutions, pooling and group norms are PyTorch's") { agree("images"); }
TEST_CASE("compiled recurrent layers are PyTorch's") { agree("recurrent"); }
