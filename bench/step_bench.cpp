// Times whole training steps of a program: forward, backward, reduction and update, on rows drawn before the clock starts.
//
//   step_bench bench/mlp.dtl --strategy 'one_device()' --threads 2 --seconds 3      one JSON line
//   step_bench bench/mlp.dtl --write FOLDER                                         weights and batches as raw files, then the
//                                                                                   losses of 10 steps from them, for a peer
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "compiler/codegen/jit.h"
#include "compiler/driver/fault_text.h"
#include "compiler/driver/pipeline.h"
#include "runtime/train/executor.h"

using namespace dtl;
using nlohmann::json;

namespace {

/// A source's rows, made once: what is timed is training, not the making of random numbers.
class MemorySource : public data::Source {
 public:
  explicit MemorySource(const data::Source& source) : fields_(source.fields()), rows_(source.examples()) {
    std::vector<int64_t> all(static_cast<size_t>(rows_));
    std::iota(all.begin(), all.end(), 0);
    for (size_t f = 0; f < fields_.size(); ++f) {
      bytes_.emplace_back(static_cast<size_t>(fields_[f].bytes() * rows_));
      source.gather(f, all, bytes_.back().data());
    }
  }
  int64_t examples() const override { return rows_; }
  const std::vector<data::Field>& fields() const override { return fields_; }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    const auto bytes = static_cast<size_t>(fields_[field].bytes());
    for (const int64_t row : rows) {
      std::memcpy(to, bytes_[field].data() + static_cast<size_t>(row) * bytes, bytes);
      to += bytes;
    }
  }

 private:
  std::vector<data::Field> fields_;
  int64_t rows_;
  std::vector<std::vector<std::byte>> bytes_;
};

class Bench {
 public:
  explicit Bench(const driver::Options& options)
      : compilation_(options), jit_({.cache_directory = codegen::default_cache_directory(), .threads = 2}) {
    if (compilation_.parse() && compilation_.check()) plan_ = compilation_.plan();
    const bool good = plan_.has_value() && compilation_.finish_data(true);
    compilation_.print_diagnostics(std::cerr);
    if (!good) std::exit(1);
    executable_.plan = std::move(*plan_);
    executable_.kernels = jit_.compile(executable_.plan.kernels);
    topology_ = train::topology_of(executable_.plan, compilation_.cores());
    executor_ = std::make_unique<train::Executor>(executable_, topology_);
    source_ = std::make_unique<MemorySource>(*compilation_.source(compilation_.program->data.splits.at(0).source));
    step_ = executor_->find("train_step");
    for (const plan::InputField& input : executable_.plan.entries[static_cast<size_t>(step_)].inputs) {
      const auto& fields = compilation_.program->fields;
      const auto at = std::find_if(fields.begin(), fields.end(), [&](const sema::FieldInfo& field) { return field.name == input.name; });
      fields_.push_back(static_cast<int>(at - fields.begin()));
    }
    for (int64_t row = 0; row < source_->examples(); ++row) rows_.push_back(row);
    executor_->set_scalar(executor_->find_state("seed", plan::StateRole::seed), static_cast<double>(compilation_.program->seed));
    executor_->run(executor_->find("init"));
    reset_metrics();
  }

  int64_t batch() const { return compilation_.program->data.batch; }
  int64_t batches() const { return source_->examples() / batch(); }

  std::span<const int64_t> rows(int64_t step) const {
    return std::span(rows_).subspan(static_cast<size_t>(step % batches() * batch()), static_cast<size_t>(batch()));
  }
  void step(int64_t index) { executor_->run(step_, {source_.get(), rows(index)}, fields_); }

  json time(double seconds) {
    using Clock = std::chrono::steady_clock;
    for (int64_t i = 0; i < 50; ++i) step(i);
    std::vector<double> times;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    int64_t next = 0;
    do {
      const auto begin = Clock::now();
      step(next++);
      times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    } while (Clock::now() < end);
    std::nth_element(times.begin(), times.begin() + static_cast<int64_t>(times.size() / 2), times.end());
    const double median = times[times.size() / 2];
    return {{"system", "dslc"},
            {"work", "mlp"},
            {"replicas", topology_.replicas},
            {"threads", topology_.workers()},
            {"examples_per_s", static_cast<double>(batch()) / median},
            {"step_ms", median * 1000},
            {"steps", times.size()}};
  }

  /// What torch_check.py reads: the weights now, `steps` batches, and the numbers that both need.
  void write(const std::string& folder, int64_t steps) {
    json layers = json::array();
    int kernels = 0, biases = 0;
    for (size_t i = 0; i < executable_.plan.states.size(); ++i) {
      const plan::StateEntry& state = executable_.plan.states[i];
      if (state.role != plan::StateRole::weight) continue;
      const plan::Buffer& buffer = executable_.plan.buffers[static_cast<size_t>(state.buffer)];
      const bool kernel = buffer.dims.size() == 2;
      if (kernel) layers.push_back({buffer.dims[0].scale, buffer.dims[1].scale});
      put(folder, fmt::format("{}.{}", kernel ? "kernel" : "bias", kernel ? kernels++ : biases++), executor_->state(static_cast<int>(i)));
    }
    for (int64_t s = 0; s < steps; ++s) {
      for (size_t f = 0; f < source_->fields().size(); ++f) {
        std::vector<std::byte> bytes(static_cast<size_t>(source_->fields()[f].bytes() * batch()));
        source_->gather(f, rows(s), bytes.data());
        put(folder, fmt::format("{}.{}", source_->fields()[f].name, s), bytes);
      }
    }
    std::ofstream(folder + "/spec.json") << json{
        {"layers", layers}, {"steps", steps}, {"batch", batch()}, {"learning_rate", 1e-3}, {"epsilon", 1e-8}};
  }

  /// Nanoseconds of each step of the plan, on worker 0.
  std::string profile(double seconds) {
    time(0);
    executor_->profile(true);
    time(seconds);
    return executor_->profile_table();
  }

  json losses(int64_t steps) {
    json result = json::array();
    for (int64_t s = 0; s < steps; ++s) {
      reset_metrics();
      step(s);
      executor_->run(executor_->find("train_report"));
      result.push_back(executor_->scalar(executor_->find_state("train/loss", plan::StateRole::report)));
    }
    return {{"system", "dslc"}, {"losses", result}};
  }

 private:
  void reset_metrics() {
    for (size_t i = 0; i < executable_.plan.states.size(); ++i) {
      if (executable_.plan.states[i].role == plan::StateRole::metric)
        executor_->set_scalar(static_cast<int>(i), executable_.plan.states[i].identity);
    }
  }

  static void put(const std::string& folder, const std::string& name, std::span<const std::byte> bytes) {
    std::ofstream out(folder + "/" + name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!out) throw std::runtime_error("cannot write " + folder + "/" + name);
  }

  driver::Compilation compilation_;
  codegen::Jit jit_;
  std::optional<plan::Plan> plan_;
  plan::Executable executable_;
  train::Topology topology_;
  std::unique_ptr<train::Executor> executor_;
  std::unique_ptr<MemorySource> source_;
  std::vector<int> fields_;
  std::vector<int64_t> rows_;
  int step_ = -1;
};

}  // namespace

int main(int argc, char** argv) {
  driver::Options options;
  double seconds = 3;
  std::string folder;
  bool profile = false;
  CLI::App app("times training steps");
  app.add_option("FILE", options.file)->required();
  app.add_option("--strategy", options.strategy);
  app.add_option("--threads", options.threads);
  app.add_option("--set", options.sets)->allow_extra_args(false);
  app.add_option("--data", options.data)->allow_extra_args(false);
  app.add_option("--seconds", seconds);
  app.add_option("--write", folder);
  app.add_flag("--profile", profile, "a table of what each step of the plan takes");
  CLI11_PARSE(app, argc, argv);
  try {
    Bench bench(options);
    if (profile) {
      std::cout << bench.profile(seconds);
    } else if (folder.empty()) {
      std::cout << bench.time(seconds).dump() << std::endl;
    } else {
      constexpr int64_t kSteps = 10;
      bench.write(folder, kSteps);
      std::cout << bench.losses(kSteps).dump() << std::endl;
    }
  } catch (const Fault& fault) {
    std::cerr << driver::fault_text(fault, false) << "\n";
    return 2;
  }
  return 0;
}
