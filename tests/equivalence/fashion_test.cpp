// The example on real data: every number of replicas trains as one device.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <numeric>

#include "compiler/codegen/jit.h"
#include "compiler/driver/pipeline.h"
#include "runtime/train/executor.h"
#include "source_dir.h"

using namespace dtl;

namespace {

struct Trained {
  std::vector<double> weights, losses;
  std::vector<int64_t> rows;
};

/// `steps` steps over the data in its order; some batches are short, one is smaller than eight replicas.
Trained trained(const std::string& strategy, const std::string& precision, int64_t steps) {
  setenv("DTL_DATA", "/usr/share/datasets/fashion-mnist", 0);
  driver::Options options;
  options.file = DTL_SOURCE_DIR "/examples/fashion_mlp.dtl";
  options.strategy = strategy;
  options.sets = {"precision=" + precision};
  options.threads = 1;
  driver::Compilation compilation(options, data::Decoding::at_once);
  REQUIRE(compilation.parse());
  REQUIRE(compilation.check());
  auto plan = compilation.plan();
  REQUIRE(plan);
  REQUIRE(compilation.finish_data(true));
  codegen::Jit jit({});
  plan::Executable executable{std::move(*plan), {}};
  executable.kernels = jit.compile(executable.plan.kernels);
  train::Executor executor(executable, train::topology_of(executable.plan, 1));
  const std::shared_ptr<const data::Source> source = compilation.source(compilation.program->data.splits.at(0).source);
  executor.set_scalar(executor.find_state("seed", plan::StateRole::seed), 42);
  executor.run(executor.find("init"));

  Trained result;
  std::vector<int64_t> rows(static_cast<size_t>(source->examples()));
  std::iota(rows.begin(), rows.end(), 0);
  const std::vector<int> fields = {0, 1};
  size_t at = 0;
  for (int64_t step = 0; step < steps; ++step) {
    for (size_t i = 0; i < executable.plan.states.size(); ++i) {
      if (executable.plan.states[i].role == plan::StateRole::metric)
        executor.set_scalar(static_cast<int>(i), executable.plan.states[i].identity);
    }
    const size_t count = step % 10 == 7 ? 57 : step % 10 == 9 ? 5 : 128;
    executor.run(executor.find("train_step"), {source.get(), std::span(rows).subspan(at, count)}, fields);
    executor.run(executor.find("train_report"));
    result.losses.push_back(executor.scalar(executor.find_state("train/loss", plan::StateRole::report)));
    at += count;
  }
  for (size_t i = 0; i < executable.plan.states.size(); ++i) {
    if (executable.plan.states[i].role != plan::StateRole::weight) continue;
    const auto bytes = executor.state(static_cast<int>(i));
    const bool wide = executable.plan.buffers[static_cast<size_t>(executable.plan.states[i].buffer)].dtype == DType::f64;
    REQUIRE(wide == (precision == "f64"));
    for (size_t k = 0; k < bytes.size() / (wide ? 8 : 4); ++k) {
      result.weights.push_back(wide ? reinterpret_cast<const double*>(bytes.data())[k]
                                    : static_cast<double>(reinterpret_cast<const float*>(bytes.data())[k]));
    }
  }
  result.rows = executor.rows_of_replicas();
  return result;
}

void check_equivalence(const std::string& precision, int64_t steps, double tolerance) {
  const Trained one = trained("one_device()", precision, steps);
  REQUIRE(one.weights.size() == 203530);
  REQUIRE(one.losses.back() < one.losses.front());
  for (const int replicas : {1, 2, 3, 4, 8}) {
    CAPTURE(replicas, precision);
    const Trained many = trained("mirrored(replicas = " + std::to_string(replicas) + ")", precision, steps);
    double norm = 0, off = 0;
    for (size_t i = 0; i < one.weights.size(); ++i) {
      norm += one.weights[i] * one.weights[i];
      off += (one.weights[i] - many.weights[i]) * (one.weights[i] - many.weights[i]);
    }
    CHECK(std::sqrt(off / norm) < tolerance);
    for (size_t i = 0; i < one.losses.size(); ++i) CHECK(std::abs(many.losses[i] - one.losses[i]) <= tolerance * one.losses[i]);
    CHECK(std::accumulate(many.rows.begin(), many.rows.end(), int64_t{0}) == one.rows[0]);
    CHECK(many.rows.size() == static_cast<size_t>(replicas));
  }
}

}  // namespace

TEST_CASE("fashion_mlp in f64 on any number of replicas is one device's, to 1e-9 after 50 steps") { check_equivalence("f64", 50, 1e-9); }

TEST_CASE("fashion_mlp in f32 on any number of replicas is one device's, to 4e-5 after 20 steps") { check_equivalence("f32", 20, 4e-5); }

TEST_CASE("fashion_mlp in bf16 and f16 learns as in f32: its loss over steps 41 to 60 is within 2 percent") {
  const auto late_loss = [](const std::string& precision) {
    const Trained run = trained("mirrored(replicas = 2)", precision, 60);
    return std::accumulate(run.losses.begin() + 40, run.losses.end(), 0.0) / 20;
  };
  const double wide = late_loss("f32");
  CHECK(wide < 1.1);
  CHECK(late_loss("bf16") == Approx(wide).epsilon(0.02));
  CHECK(late_loss("f16") == Approx(wide).epsilon(0.02));
}
