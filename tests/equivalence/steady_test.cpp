// A real program's steps in the steady state: compiled kernels, products and reductions allocate nothing, lock nothing and
// start no thread; and its plan is made of nothing else.
#include "plan_runner.h"
#include "tests/unit/lower/program_testing.h"
#include "tests/unit/runtime/counting.h"

using namespace dtl;
using namespace dtl::testing;

namespace {

class Rows : public data::Source {
 public:
  int64_t examples() const override { return 64; }
  const std::vector<data::Field>& fields() const override { return fields_; }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    for (const int64_t row : rows) {
      if (field == 0) {
        for (int i = 0; i < 20; ++i) {
          const float x = static_cast<float>((row * 7 + i * 3) % 11) / 11;
          std::memcpy(to, &x, sizeof x);
          to += sizeof x;
        }
      } else {
        const int64_t label = row % 3;
        std::memcpy(to, &label, sizeof label);
        to += sizeof label;
      }
    }
  }

 private:
  std::vector<data::Field> fields_ = {{"x", DType::f32, {20}}, {"label", DType::i64, {}}};
};

const std::string kProgram = R"(
dataset Points {
  train      = synthetic(64, seed = 1, fields = { x = normal([20]), label = integers(0, 3, []) })
  validation = synthetic(64, seed = 2, fields = { x = normal([20]), label = integers(0, 3, []) })
  batch = 24
}
model Net (x: f32[batch, 20]) -> f32[batch, 3] { x |> dense(33, activation = gelu) |> dropout(0.3) |> layer_norm() |> dense(3) }
train {
  model     = Net
  data      = Points
  loss      = mean(sparse_cross_entropy(prediction, label))
  metrics   = { accuracy = mean(argmax(prediction) == label), worst = max(sparse_cross_entropy(prediction, label)) }
  optimizer = adam(1e-2)
  epochs    = 1
  strategy  = )";

}  // namespace

TEST_CASE("a steady step of a real program allocates nothing, locks nothing and starts no thread") {
  const std::pair<const char*, const char*> kinds[] = {{"mirrored(replicas = 1)", "bf16"},
                                                       {"mirrored(replicas = 2)", "f16"},
                                                       {"mirrored(replicas = 3)", "f32"},
                                                       {"sharded_optimizer(replicas = 2)", "f32"},
                                                       {"fully_sharded(replicas = 3)", "bf16"}};
  for (const auto& [strategy, precision] : kinds) {
    for (const int threads : {1, 2}) {
      CAPTURE(strategy, threads);
      test::PlanRunner runner(passed(lowered(kProgram + strategy + "\n  precision = " + precision + "\n}\n"), ""), threads);
      runner.start(3);
      train::Executor& executor = runner.executor();
      const Rows source;
      const std::vector<int64_t> rows = {3, 1, 4, 15, 9, 2, 6, 5, 35, 8, 7, 63, 0, 11, 12, 13, 14, 20, 21, 22, 23, 24, 25, 26};
      const std::vector<int> fields = {0, 1};
      const int entries[] = {executor.find("train_step"), executor.find("eval_step")};
      const int report = executor.find("train_report");
      const auto epoch = [&] {
        for (const size_t n : {24u, 24u, 13u, 1u}) {
          for (const int entry : entries) executor.run(entry, {&source, std::span(rows).first(n)}, fields);
          executor.run(report);
        }
      };
      epoch();
      start_counting();
      for (int i = 0; i < 10; ++i) epoch();
      CHECK(stop_counting() == Counts{});
    }
  }
}

TEST_CASE("every step of a plan is a compiled kernel, a library call, a copy, a collective or a barrier") {
  test::PlanRunner runner(passed(lowered(kProgram + "mirrored(replicas = 2)\n}\n"), ""), 1);
  const plan::Plan& plan = runner.plan();
  std::map<plan::StepKind, int> kinds;
  for (const plan::Entry& entry : plan.entries) {
    for (const plan::Step& step : entry.steps) {
      ++kinds[step.kind];
      if (step.kind != plan::StepKind::kernel) continue;
      REQUIRE(step.kernel.kernel < static_cast<int32_t>(plan.kernels.size()));
      // A function of this process, made by the JIT from the kernel's text.
      CHECK(runner.function(step.kernel.kernel) != nullptr);
    }
  }
  CHECK(kinds[plan::StepKind::kernel] > 10);
  CHECK(kinds[plan::StepKind::gemm] > 5);
  CHECK(kinds[plan::StepKind::reduce] > 0);
}
