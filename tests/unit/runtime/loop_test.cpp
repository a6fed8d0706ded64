// The training loop on a plan made by hand: its "model" writes down which rows it was given.
#include "runtime/train/loop.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>

#include "runtime/data/order.h"
#include "runtime/plan/fault.h"

namespace dtl::train {
namespace {

using plan::Extent;
using plan::StateRole;
using report::Position;
using report::Value;

constexpr int64_t kLog = 1000;

// init: copies the seed, so that a test can see it.
void copy_seed(void* const* operands, const int64_t*, int64_t, int64_t) {
  *static_cast<int64_t*>(operands[1]) = *static_cast<const int64_t*>(operands[0]);
}

// train_step: adds x to the loss' accumulators and appends it to the log.
void train_rows(void* const* operands, const int64_t* extents, int64_t, int64_t) {
  const auto* x = static_cast<const float*>(operands[0]);
  auto *sum = static_cast<double*>(operands[1]), *count = static_cast<double*>(operands[2]);
  auto *log = static_cast<double*>(operands[3]), *logged = static_cast<double*>(operands[4]);
  for (int64_t i = 0; i < extents[0]; ++i) {
    *sum += x[i];
    if (*logged < kLog) log[static_cast<int64_t>((*logged)++)] = x[i];
  }
  *count += static_cast<double>(extents[0]);
}

void evaluate_rows(void* const* operands, const int64_t* extents, int64_t, int64_t) {
  const auto* x = static_cast<const float*>(operands[0]);
  for (int64_t i = 0; i < extents[0]; ++i) *static_cast<double*>(operands[1]) += x[i];
  *static_cast<double*>(operands[2]) += static_cast<double>(extents[0]);
}

void divide(void* const* operands, const int64_t*, int64_t, int64_t) {
  *static_cast<float*>(operands[2]) =
      static_cast<float>(*static_cast<const double*>(operands[0]) / *static_cast<const double*>(operands[1]));
}

/// One replica; `train_step` and `eval_step` read the field `x`.
plan::Executable executable(int64_t batch, bool evaluates = true) {
  plan::Plan plan;
  plan.mesh = {{"data", 1}};
  plan.extents = {{"batch", plan::ExtentKind::global, batch}, {"batch/data", plan::ExtentKind::share, batch, 0, 0}};
  const auto state = [&](const std::string& path, StateRole role, DType dtype, std::vector<Extent> dims = {}, double identity = 0) {
    const int64_t bytes = size_of(dtype) * (dims.empty() ? 1 : dims[0].scale);
    const auto buffer = static_cast<int32_t>(plan.buffers.size());
    plan.states.push_back({path, role, buffer, identity, dims});
    plan.buffers.push_back({path, dtype, std::move(dims), plan::Space::state, plan.state_bytes, bytes});
    plan.state_bytes += (bytes + 63) / 64 * 64;
    return buffer;
  };
  plan.buffers.push_back({"x", DType::f32, {Extent{1, 1}}, plan::Space::input, 0, batch * 4});
  plan.input_bytes = (batch * 4 + 63) / 64 * 64;
  const int32_t x = 0;
  const int32_t seed = state("seed", StateRole::seed, DType::i64), seen = state("seen_seed", StateRole::state, DType::i64);
  const int32_t log = state("log", StateRole::state, DType::f64, {Extent{kLog}}), logged = state("logged", StateRole::state, DType::f64);
  state("train/sizes.0", StateRole::metric, DType::f64, {Extent{3}}, 7);
  std::array<int32_t, 2> sums{}, counts{}, reports{};
  for (size_t i = 0; i < 2; ++i) {
    const std::string prefix = i == 0 ? "train/" : "eval/";
    sums[i] = state(prefix + "loss.0", StateRole::metric, DType::f64);
    counts[i] = state(prefix + "loss.1", StateRole::metric, DType::f64);
    reports[i] = state(prefix + "loss", StateRole::report, DType::f32);
  }
  plan.kernels = {{"copy_seed", ""}, {"train_rows", ""}, {"evaluate_rows", ""}, {"divide", ""}};
  const auto entry = [&](const std::string& name, int32_t kernel, std::vector<int32_t> buffers, bool reads) {
    plan::Step step{plan::StepKind::kernel, plan::Partition::sliced, name};
    step.kernel = {kernel, std::move(buffers), reads ? std::vector<Extent>{{1, 1}} : std::vector<Extent>{}, Extent{1}};
    plan.entries.push_back({name, {}, {step}});
    if (reads) plan.entries.back().inputs = {{"x", x}};
  };
  entry("init", 0, {seed, seen}, false);
  entry("train_step", 1, {x, sums[0], counts[0], log, logged}, true);
  entry("train_report", 3, {sums[0], counts[0], reports[0]}, false);
  if (evaluates) {
    entry("eval_step", 2, {x, sums[1], counts[1]}, true);
    entry("eval_report", 3, {sums[1], counts[1], reports[1]}, false);
  }
  return {std::move(plan), {copy_seed, train_rows, evaluate_rows, divide}};
}

/// Example i is the number first + i, in the second of two fields.
class Numbers : public data::Source {
 public:
  Numbers(int64_t examples, float first, bool named = false)
      : examples_(examples), first_(first), fields_{{named ? "other" : "", DType::u8, {}}, {named ? "x" : "", DType::f32, {}}} {}

  int64_t examples() const override { return examples_; }
  const std::vector<data::Field>& fields() const override { return fields_; }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    REQUIRE(field == 1);
    for (const int64_t row : rows) {
      const float x = row == bad ? std::numeric_limits<float>::infinity() : first_ + static_cast<float>(row);
      std::memcpy(to, &x, sizeof x);
      to += sizeof x;
    }
  }

  int64_t bad = -1;  ///< this row is infinite

 private:
  int64_t examples_;
  float first_;
  std::vector<data::Field> fields_;
};

class Recorder : public report::Progress {
 public:
  void start(const report::Start&) override {}
  bool due(double) const override { return always; }
  void step(const Position& position, std::span<const Value> values) override {
    add("step", position, values);
    if (on_step) on_step();
  }
  void epoch(const Position& position, std::span<const Value> values) override { add("epoch", position, values); }
  void evaluation(const std::string& split, const Position& position, std::span<const Value> values) override {
    add(split, position, values);
  }
  void saved(const report::Saved& saved) override {
    events.push_back("saved " + saved.path.substr(saved.path.rfind('/') + 1) + (saved.best ? ", best" : ""));
  }
  void message(const std::string& text) override { events.push_back(text); }
  void end(const report::End& end) override { events.push_back(end.interrupted ? "end, interrupted" : "end"); }

  bool always = false;
  std::function<void()> on_step;
  std::vector<std::string> events;

 private:
  void add(const std::string& name, const Position& position, std::span<const Value> values) {
    events.push_back(fmt::format("{} {}.{}/{}", name, position.epoch, position.step, position.steps));
    for (const auto& [path, value] : values) events.back() += fmt::format(" {} {:g}", path, value);
  }
};

Job job_of(std::shared_ptr<const data::Source> train_data) {
  Job job;
  job.splits = {{"train", std::move(train_data)}};
  job.fields = {"label", "x"};
  job.batch = 4;
  job.epochs = 2;
  return job;
}

std::vector<double> log_of(const Executor& executor) {
  const auto bytes = executor.state(executor.find_state("log", StateRole::state));
  std::vector<double> log(static_cast<size_t>(executor.scalar(executor.find_state("logged", StateRole::state))));
  std::memcpy(log.data(), bytes.data(), log.size() * sizeof(double));
  return log;
}

TEST_CASE("loop: epochs, evaluations and their reports come in order") {
  const plan::Executable plan = executable(4);
  Executor executor(plan, {});
  Job job = job_of(std::make_shared<Numbers>(10, 0.f));
  job.splits.push_back({"test", std::make_shared<Numbers>(3, 100.f)});
  job.splits.push_back({"validation", std::make_shared<Numbers>(5, 10.f)});
  Recorder progress;
  const Outcome outcome = train(executor, job, progress);
  // Every mean is over a whole split, the short batches 10 = 4 + 4 + 2 included, and starts anew.
  CHECK(progress.events == std::vector<std::string>{"epoch 1.3/3 loss 4.5", "validation 1.3/3 loss 12", "epoch 2.3/3 loss 4.5",
                                                    "validation 2.3/3 loss 12", "test 2.3/3 loss 101", "end"});
  CHECK(outcome.epochs == 2);
  CHECK(outcome.steps == 6);
  CHECK_FALSE(outcome.interrupted);
  CHECK(outcome.reports == std::vector<Value>{{"train/loss", 4.5}, {"validation/loss", 12}, {"test/loss", 101}});
  CHECK(outcome.examples_per_second > 0);
  // All elements of an accumulator are reset.
  const auto bytes = executor.state(executor.find_state("train/sizes.0", StateRole::metric));
  std::array<double, 3> sizes{};
  std::memcpy(sizes.data(), bytes.data(), sizeof sizes);
  CHECK(sizes == std::array<double, 3>{7, 7, 7});
}

TEST_CASE("loop: steps take the rows of the epoch's order") {
  const plan::Executable plan = executable(4);
  Executor executor(plan, {});
  Job job = job_of(std::make_shared<Numbers>(10, 0.f));
  job.shuffle = -1;
  job.seed = 5;
  Recorder progress;
  train(executor, job, progress);
  std::vector<double> expected;
  data::Order order(10, -1, 5);
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    for (const int64_t row : order.epoch(epoch)) expected.push_back(static_cast<double>(row));
  }
  CHECK(log_of(executor) == expected);
}

TEST_CASE("loop: steps may be what is limited") {
  const plan::Executable plan = executable(4);
  Executor executor(plan, {});
  Job job = job_of(std::make_shared<Numbers>(10, 0.f));
  job.splits.push_back({"validation", std::make_shared<Numbers>(1, 3.f)});
  job.epochs = 0;
  job.steps = 4;
  Recorder progress;
  const Outcome outcome = train(executor, job, progress);
  CHECK(outcome.steps == 4);
  CHECK(outcome.epochs == 1);
  CHECK(progress.events == std::vector<std::string>{"epoch 1.3/3 loss 4.5", "validation 1.3/3 loss 3", "epoch 2.1/1 loss 1.5",
                                                    "validation 2.1/1 loss 3", "end"});
}

TEST_CASE("loop: splits are evaluated every so many steps or epochs, and at the end once") {
  const plan::Executable plan = executable(4);
  const auto evaluations = [&](int64_t epochs, int64_t every_steps, int64_t every_epochs) {
    Executor executor(plan, {});
    Job job = job_of(std::make_shared<Numbers>(10, 0.f));
    job.splits.push_back({"validation", std::make_shared<Numbers>(1, 3.f)});
    job.splits.push_back({"test", std::make_shared<Numbers>(1, 4.f)});
    job.epochs = epochs;
    job.evaluate_steps = every_steps;
    job.evaluate_epochs = every_epochs;
    Recorder progress;
    train(executor, job, progress);
    std::string text;
    for (const std::string& event : progress.events) {
      if (event.starts_with("epoch")) text += "| ";
      if (event.starts_with("validation ")) text += event.substr(11, 3) + " ";
      if (event.starts_with("test")) text += "test";
    }
    return text;
  };
  // A step within an epoch is evaluated before the epoch's own report, its last one after it.
  CHECK(evaluations(2, 2, 0) == "1.2 | 2.1 | 2.3 test");
  CHECK(evaluations(2, 3, 0) == "| 1.3 | 2.3 test");
  CHECK(evaluations(2, 100, 0) == "| | 2.3 test");
  CHECK(evaluations(3, 0, 1) == "| 1.3 | 2.3 | 3.3 test");
  CHECK(evaluations(3, 0, 2) == "| | 2.3 | 3.3 test");
  CHECK(evaluations(4, 0, 2) == "| | 2.3 | | 4.3 test");
}

TEST_CASE("loop: a watched split that is no better ends training, within an epoch too") {
  const plan::Executable plan = executable(4);
  Executor executor(plan, {});
  Job job = job_of(std::make_shared<Numbers>(10, 0.f));
  job.splits.push_back({"validation", std::make_shared<Numbers>(1, 3.f)});
  job.splits.push_back({"test", std::make_shared<Numbers>(1, 4.f)});
  job.epochs = 9;
  job.evaluate_steps = 1;
  job.stop_early = StopRule{.split = "validation", .report = "loss", .patience = 1, .restore_best = true};
  Recorder progress;
  const Outcome outcome = train(executor, job, progress);
  CHECK(outcome.stopped_early);
  CHECK(outcome.steps == 2);
  CHECK(outcome.epochs == 0);
  CHECK(progress.events == std::vector<std::string>{"validation 1.1/3 loss 3", "validation 1.2/3 loss 3", "epoch 1.2/3 loss 3.5",
                                                    "stopped early: validation/loss no better for 1 look: best 3 after step 1",
                                                    "weights are those of the best look", "validation 1.2/3 loss 3", "test 1.2/3 loss 4",
                                                    "end"});
}

TEST_CASE("loop: what training itself reports can be watched, after each epoch") {
  const plan::Executable plan = executable(4);
  Executor executor(plan, {});
  Job job = job_of(std::make_shared<Numbers>(10, 0.f));
  job.epochs = 9;
  job.stop_early = StopRule{.split = "train", .report = "loss", .patience = 2};
  Recorder progress;
  const Outcome outcome = train(executor, job, progress);
  CHECK(outcome.stopped_early);
  CHECK(outcome.epochs == 3);
  CHECK(outcome.steps == 9);
}

TEST_CASE("loop: fields are found by name, or by position where they have none") {
  for (const bool named : {false, true}) {
    const plan::Executable plan = executable(4);
    Executor executor(plan, {});
    Job job = job_of(std::make_shared<Numbers>(4, 0.f, named));
    if (named) job.fields.clear();
    Recorder progress;
    train(executor, job, progress);
    CHECK(log_of(executor) == std::vector<double>{0, 1, 2, 3, 0, 1, 2, 3});
  }
}

TEST_CASE("loop: the whole seed is there before init") {
  const plan::Executable plan = executable(4);
  Executor executor(plan, {});
  Job job = job_of(std::make_shared<Numbers>(4, 0.f));
  job.seed = (int64_t{1} << 60) + 1;
  Recorder progress;
  train(executor, job, progress);
  int64_t seen = 0;
  std::memcpy(&seen, executor.state(executor.find_state("seen_seed", StateRole::state)).data(), sizeof seen);
  CHECK(seen == job.seed);
}

TEST_CASE("loop: without an eval_step the run says what is not evaluated") {
  const plan::Executable plan = executable(4, false);
  Executor executor(plan, {});
  Job job = job_of(std::make_shared<Numbers>(4, 0.f));
  job.splits.push_back({"test", std::make_shared<Numbers>(3, 100.f)});
  job.epochs = 1;
  Recorder progress;
  train(executor, job, progress);
  CHECK(progress.events ==
        std::vector<std::string>{"not evaluated, for want of a `loss` or `metrics`: test", "epoch 1.1/1 loss 1.5", "end"});
}

TEST_CASE("loop: a step is reported when it is due, the epoch's last one by the epoch") {
  const plan::Executable plan = executable(4);
  Executor executor(plan, {});
  Job job = job_of(std::make_shared<Numbers>(10, 0.f));
  job.epochs = 1;
  Recorder progress;
  progress.always = true;
  train(executor, job, progress);
  CHECK(progress.events == std::vector<std::string>{"step 1.1/3 loss 1.5", "step 1.2/3 loss 3.5", "epoch 1.3/3 loss 4.5", "end"});
}

TEST_CASE("loop: a loss that is no number ends the run and names the step") {
  const plan::Executable plan = executable(4);
  Executor executor(plan, {});
  const auto numbers = std::make_shared<Numbers>(10, 0.f);
  numbers->bad = 6;
  Recorder progress;
  try {
    train(executor, job_of(numbers), progress);
    FAIL("no fault");
  } catch (const Fault& fault) {
    CHECK(fault.code() == 6001);
    CHECK(fault.arguments() == std::vector<std::string>{"inf", "1", "2"});
  }
  CHECK(log_of(executor).size() == 8);
}

TEST_CASE("loop: a split without examples is a fault before training") {
  const plan::Executable plan = executable(4);
  Executor executor(plan, {});
  Job job = job_of(std::make_shared<Numbers>(4, 0.f));
  job.splits.push_back({"test", std::make_shared<Numbers>(0, 0.f)});
  Recorder progress;
  try {
    train(executor, job, progress);
    FAIL("no fault");
  } catch (const Fault& fault) {
    CHECK(fault.code() == 5108);
    CHECK(fault.arguments() == std::vector<std::string>{"test"});
  }
  CHECK(progress.events.empty());
}

TEST_CASE("loop: Ctrl-C ends the run after the step, and what handled it before does so again") {
  const plan::Executable plan = executable(4);
  Executor executor(plan, {});
  Job job = job_of(std::make_shared<Numbers>(10, 0.f));
  job.splits.push_back({"test", std::make_shared<Numbers>(3, 0.f)});
  Recorder progress;
  progress.always = true;
  progress.on_step = [] { std::raise(SIGINT); };
  struct sigaction before{}, after{};
  sigaction(SIGINT, nullptr, &before);
  const Outcome outcome = train(executor, job, progress);
  sigaction(SIGINT, nullptr, &after);
  CHECK(outcome.interrupted);
  CHECK(outcome.steps == 1);
  CHECK(outcome.epochs == 0);
  CHECK(progress.events == std::vector<std::string>{"step 1.1/3 loss 1.5", "interrupted in epoch 1 after step 1", "end, interrupted"});
  CHECK(after.sa_handler == before.sa_handler);
}

/// A folder that is gone at the end.
struct Folder {
  std::string path = (std::filesystem::temp_directory_path() / ("loop-" + std::to_string(getpid()))).string();
  Folder() { std::filesystem::remove_all(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

Job saving_job(const std::string& directory) {
  Job job = job_of(std::make_shared<Numbers>(10, 0.f));
  job.splits.push_back({"validation", std::make_shared<Numbers>(3, 100.f)});
  job.shuffle = -1;
  job.saving.directory = directory;
  job.saving.every_epochs = 1;
  return job;
}

const auto kNoneDamaged = [](const std::string& path, const Fault&) { FAIL(path); };

TEST_CASE("loop: a run that is interrupted after any step and resumed is the unbroken one") {
  const Folder folder;
  const plan::Executable plan = executable(4);
  Job job = saving_job(folder.path + "/unbroken");
  checkpoint::prepare(checkpoint::disk(), job.saving.directory, {});
  Executor unbroken(plan, {});
  Recorder all;
  const Outcome whole = train(unbroken, job, all);
  CHECK(all.events == std::vector<std::string>{"epoch 1.3/3 loss 4.5", "validation 1.3/3 loss 101", "saved step-000003",
                                               "epoch 2.3/3 loss 4.5", "validation 2.3/3 loss 101", "saved step-000006", "end"});
  // A step reports but not the last of an epoch: interrupted before the reports of an epoch, or within it.
  for (int at = 1; at <= 4; ++at) {
    CAPTURE(at);
    job.saving.directory = folder.path + "/at" + std::to_string(at);
    checkpoint::prepare(checkpoint::disk(), job.saving.directory, {});
    Recorder first;
    first.always = true;
    int steps = 0;
    first.on_step = [&] {
      if (++steps == at) std::raise(SIGTERM);
    };
    {
      Executor executor(plan, {});
      const Outcome outcome = train(executor, job, first);
      CHECK(outcome.interrupted);
      CHECK(outcome.signal == SIGTERM);
    }
    const checkpoint::Checkpoint from = checkpoint::open(job.saving.directory, kNoneDamaged);
    CHECK(from.standing().total_step == (at <= 2 ? at : at + 1));
    job.resume = &from;
    Executor executor(plan, {});
    Recorder second;
    const Outcome outcome = train(executor, job, second);
    CHECK(log_of(executor) == log_of(unbroken));
    CHECK(outcome.reports == whole.reports);
    CHECK(outcome.steps == whole.steps);
    CHECK(outcome.epochs == whole.epochs);
    // What the unbroken run said after that point.
    const auto tail = std::vector<std::string>(second.events.begin() + 1, second.events.end());
    CHECK(std::equal(tail.rbegin(), tail.rend(), all.events.rbegin()));
    CHECK(tail.size() == (at <= 2 ? 7 : 4));
    job.resume = nullptr;
  }
}

TEST_CASE("loop: a limit of steps that is raised goes on within its epoch") {
  const Folder folder;
  const plan::Executable plan = executable(4);
  Job job = saving_job(folder.path);
  checkpoint::prepare(checkpoint::disk(), folder.path, {});
  job.epochs = 0;
  job.steps = 4;
  {
    Executor executor(plan, {});
    Recorder progress;
    train(executor, job, progress);
  }
  const checkpoint::Checkpoint from = checkpoint::open(folder.path, kNoneDamaged);
  CHECK_FALSE(from.standing().open);
  job.resume = &from;
  job.steps = 6;
  Executor resumed(plan, {}), unbroken(plan, {});
  Recorder progress;
  const Outcome outcome = train(resumed, job, progress);
  job.resume = nullptr;
  job.saving.directory.clear();
  CHECK(train(unbroken, job, progress).reports == outcome.reports);
  CHECK(log_of(resumed) == log_of(unbroken));
}

TEST_CASE("loop: within an epoch the data cannot change") {
  const Folder folder;
  const plan::Executable plan = executable(4);
  Job job = saving_job(folder.path);
  checkpoint::prepare(checkpoint::disk(), folder.path, {});
  job.epochs = 0;
  job.steps = 2;
  Executor executor(plan, {});
  Recorder progress;
  train(executor, job, progress);
  const checkpoint::Checkpoint from = checkpoint::open(folder.path, kNoneDamaged);
  job.resume = &from;
  job.steps = 6;
  SECTION("seed") { job.seed = 8; }
  SECTION("batch") { job.batch = 3; }
  SECTION("shuffle") { job.shuffle = 4; }
  SECTION("examples") { job.splits[0].source = std::make_shared<Numbers>(11, 0.f); }
  try {
    train(executor, job, progress);
    FAIL("it went on");
  } catch (const Fault& fault) {
    CHECK(fault.code() == 6110);
  }
}

TEST_CASE("loop: the newest are kept, and the best by what is watched") {
  const Folder folder;
  const plan::Executable plan = executable(4);
  Job job = saving_job(folder.path);
  checkpoint::prepare(checkpoint::disk(), folder.path, {});
  job.epochs = 5;
  job.saving.keep = 2;
  job.saving.watch = "validation/loss";  // the same in each epoch: the first is best
  Executor executor(plan, {});
  Recorder progress;
  train(executor, job, progress);
  std::vector<std::string> names;
  for (const checkpoint::Found& found : checkpoint::checkpoints_in(folder.path))
    names.push_back(checkpoint::name_of_step(found.total_step));
  CHECK(names == std::vector<std::string>{"step-000003", "step-000012", "step-000015"});
  CHECK(checkpoint::open(folder.path + "/best", kNoneDamaged).standing().total_step == 3);
  CHECK(progress.events[2] == "saved step-000003, best");
}

}  // namespace
}  // namespace dtl::train
