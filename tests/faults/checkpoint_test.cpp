// Checkpoints through the command: killed at random, interrupted, resumed with other replicas, other programs, a full disk.
#include "runtime/checkpoint/checkpoint.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <utility>

#include "compiler/driver/options.h"

namespace dtl::driver {
namespace {

namespace fs = std::filesystem;

/// A folder with a program that saves in `run`; dropout, a schedule, adam, shuffling: all that a resumption must hit.
class Job {
 public:
  Job() : folder_(fs::temp_directory_path() / ("checkpoints-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write(R"(
model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(16, activation = relu) |> dropout(0.3) |> dense(3) }
)");
  }
  ~Job() { fs::remove_all(folder_); }

  void write(const std::string& model) const {
    std::ofstream(folder_ / "job.dtl") << R"(
dataset Points {
  train      = synthetic(500, seed = 1, fields = { x = normal([6]), label = integers(0, 3, []) })
  validation = synthetic(70, seed = 2, fields = { x = normal([6]), label = integers(0, 3, []) })
  batch      = 24
  shuffle    = all
  example (x: f32[6], label: int) {
    x     = x
    label = cast(label, i32)
  }
}
)" << model << R"(
train {
  model      = Net
  data       = Points
  loss       = mean(sparse_cross_entropy(prediction, label))
  metrics    = { accuracy = mean(argmax(prediction) == label) }
  optimizer  = adam(cosine_decay(1e-2, steps = 200))
  strategy   = mirrored(replicas = 2)
  epochs     = 3
  checkpoint = { directory = ")" << run_folder()
                                       << R"(", every = 5 steps, keep = 2 }
}
)";
  }
  std::string run_folder() const { return (folder_ / "run").string(); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> command(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"train", (folder_ / "job.dtl").string(), "--threads", "2", "--cache", (folder_ / "cache").string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

 private:
  fs::path folder_;
};

struct Ran {
  int status;
  std::string out, err;
};

Ran run_command(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  const int status = run(words, out, err);
  return {status, out.str(), err.str()};
}

const auto kNone = [](const std::string& path, const Fault& fault) { FAIL(path + ": " + fault.arguments()[1]); };

/// Every tensor of a run's newest checkpoint, by name.
std::map<std::string, std::vector<std::byte>> tensors_of(const std::string& folder) {
  const checkpoint::Checkpoint checkpoint = checkpoint::open(folder, kNone);
  std::map<std::string, std::vector<std::byte>> tensors;
  for (const checkpoint::TensorEntry& tensor : checkpoint.manifest().tensors) {
    tensors[tensor.type.name].resize(static_cast<size_t>(tensor.type.bytes()));
    checkpoint.read(tensor, tensors[tensor.type.name]);
  }
  return tensors;
}

/// Trains in a child; `seen` is called at each line of its output with its process, and says whether to go on listening.
int train_in_child(const std::vector<std::string>& words, const std::function<void(pid_t, const nlohmann::json&)>& seen) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    _exit(run(words, std::cout, std::cerr));
  }
  close(ends[1]);
  FILE* in = fdopen(ends[0], "r");
  std::array<char, 4096> buffer{};
  while (fgets(buffer.data(), static_cast<int>(buffer.size()), in)) {
    const nlohmann::json event = nlohmann::json::parse(buffer.data(), nullptr, false);
    if (!event.is_discarded()) seen(child, event);
  }
  fclose(in);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_CASE("checkpoint: a run that is killed anywhere and resumed ends with the bits of an unbroken one") {
  const Job job;
  REQUIRE(run_command(job.command({"--quiet"})).status == 0);
  const auto unbroken = tensors_of(job.run_folder());
  fs::rename(job.run_folder(), job.path("unbroken"));
  std::mt19937 random(7);  // NOLINT: the same kills each time, as far as times are the same
  int kills = 0;
  bool resume = false;
  for (int tries = 0; tries < 40; ++tries) {
    std::vector<std::string> more = {"--json"};
    if (resume) more.emplace_back("--resume");
    int saves = 0;
    const auto delay = static_cast<useconds_t>(random() % 3000);
    const int status = train_in_child(job.command(more), [&](pid_t child, const nlohmann::json& event) {
      if (event["event"] != "saved" || ++saves != 2) return;
      const pid_t killer = fork();  // while the next save, or a step, is under way
      if (killer == 0) {
        usleep(delay);
        kill(child, SIGKILL);
        _exit(0);
      }
      waitpid(killer, nullptr, 0);
    });
    if (status == 0) break;
    REQUIRE(status == 128 + SIGKILL);
    ++kills;
    resume = true;
    checkpoint::open(job.run_folder(), kNone);
  }
  CHECK(kills >= 2);
  CHECK(tensors_of(job.run_folder()) == unbroken);
}

TEST_CASE("checkpoint: SIGTERM saves after the step, says where to go on, and ends with 143") {
  const Job job;
  nlohmann::json last, message;
  bool asked = false;
  const int status = train_in_child(job.command({"--json", "--set", "epochs=1000000"}), [&](pid_t child, const nlohmann::json& event) {
    if (event["event"] == "saved" && !std::exchange(asked, true)) kill(child, SIGTERM);
    if (event["event"] == "message") message = event;
    last = event;
  });
  CHECK(status == 143);
  CHECK(last["event"] == "end");
  CHECK(last["interrupted"] == true);
  CHECK(message["text"].get<std::string>().ends_with("`--resume` continues there"));
  CHECK(checkpoint::open(job.run_folder(), kNone).standing().total_step == last["steps"]);
}

TEST_CASE("checkpoint: any number of replicas goes on with any other's") {
  const Job job;
  const auto final_loss = [](const Ran& ran) { return ran.out.substr(ran.out.find("validation: ")); };
  REQUIRE(run_command(job.command({"--quiet", "--set", "epochs=1"})).status == 0);
  fs::copy(job.run_folder(), job.path("first"), fs::copy_options::recursive);
  const Ran two = run_command(job.command({"--quiet", "--resume"}));
  const auto weights = tensors_of(job.run_folder());
  fs::remove_all(job.run_folder());
  fs::copy(job.path("first"), job.run_folder(), fs::copy_options::recursive);
  const Ran three = run_command(job.command({"--quiet", "--resume", "--strategy", "mirrored(replicas = 3)"}));
  INFO(three.err);
  REQUIRE((two.status == 0 && three.status == 0));
  CHECK(final_loss(two) == final_loss(three));
  const auto others = tensors_of(job.run_folder());
  REQUIRE(weights.size() == others.size());
  double most = 0;
  for (const auto& [name, bytes] : weights) {
    if (name.find(':') != std::string::npos || !name.starts_with("Net/")) continue;
    std::vector<float> a(bytes.size() / 4), b(bytes.size() / 4);
    std::memcpy(a.data(), bytes.data(), bytes.size());
    std::memcpy(b.data(), others.at(name).data(), bytes.size());
    for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  CHECK(most > 0);
  CHECK(most < 4e-5);
}

TEST_CASE("checkpoint: a damaged one is passed over and set aside, and training comes to the same end") {
  const Job job;
  REQUIRE(run_command(job.command({"--quiet", "--set", "epochs=1"})).status == 0);
  const std::string newest = checkpoint::checkpoints_in(job.run_folder()).back().path;
  {
    std::fstream file(newest + "/weights.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x55');
  }
  const Ran ran = run_command(job.command({"--quiet", "--resume"}));
  CHECK(ran.status == 0);
  CHECK(ran.err.starts_with("warning[DTL6104]"));
  CHECK(ran.err.find("its checksum is another") != std::string::npos);
  CHECK(fs::exists(newest + ".damaged"));
  const auto resumed = tensors_of(job.run_folder());
  fs::remove_all(job.run_folder());
  REQUIRE(run_command(job.command({"--quiet"})).status == 0);
  CHECK(tensors_of(job.run_folder()) == resumed);
}

TEST_CASE("checkpoint: programs that do not fit are told both facts; hyperparameters may change") {
  const Job job;
  REQUIRE(run_command(job.command({"--quiet", "--set", "epochs=1"})).status == 0);
  const auto refused = [&](const char* code, const char* fact, std::vector<std::string> more = {"--resume"}) {
    const Ran ran = run_command(job.command(std::move(more)));
    INFO(ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.err.starts_with("error[" + std::string(code) + "]"));
    CHECK(ran.err.find(fact) != std::string::npos);
  };
  refused("DTL6108", "`Net/dense.0/kernel:adam.m`", {"--resume", "--set", "optimizer=sgd(0.1)"});
  refused("DTL6109", "--overwrite", {});
  refused("DTL6102", "nowhere", {"--resume", job.path("nowhere")});
  CHECK(run_command(job.command({"--quiet", "--resume", "--set", "epochs=2", "--set", "optimizer=adam(1e-4)"})).status == 0);
  job.write("model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(8) |> dense(3) }");
  refused("DTL6107", "its `Net/dense.0/kernel` is f32[6, 16], the program's is f32[6, 8]");
  job.write("model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(16) |> dense(3) |> dense(3) }");
  refused("DTL6106", "lacks `Net/dense.2/kernel`, which the program has");
  job.write("model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(3) }");
  refused("DTL6107", "Net/dense.0/kernel");
  CHECK(run_command(job.command({"--quiet", "--overwrite"})).status == 0);
  CHECK(checkpoint::checkpoints_in(job.run_folder()).size() == 2);
  refused("DTL6112", "later than", {"--resume", checkpoint::checkpoints_in(job.run_folder())[0].path});
  CHECK(run_command(job.command({"--quiet", "--overwrite", "--resume", checkpoint::checkpoints_in(job.run_folder())[0].path})).status == 0);
}

TEST_CASE("checkpoint: what cannot be written is told before the first step") {
  const Job job;
  std::ofstream(job.run_folder()) << "a file";
  const Ran ran = run_command(job.command());
  CHECK(ran.status == 2);
  CHECK(ran.err == "error[DTL6101]: cannot write a checkpoint: `" + job.run_folder() + "`: Not a directory\n");
  CHECK(ran.out.empty());
}

TEST_CASE("checkpoint: a disk that fills while training ends it, and the last checkpoint is whole") {
  const Job job;
  fs::create_directory(job.run_folder());
  // A small disk can be mounted only by who may mount.
  const pid_t child = fork();
  if (child == 0) {
    // In a file system view of its own: the mount ends with the process.
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(77);
    if (mount("none", job.run_folder().c_str(), "tmpfs", 0, "size=64k") != 0) _exit(77);
    const Ran ran = run_command(job.command({"--set", "checkpoint.keep=100"}));
    int result =
        ran.status == 2 && ran.err.starts_with("error[DTL6101]") && ran.err.find("No space left on device") != std::string::npos ? 0 : 1;
    try {
      const int64_t step = checkpoint::open(job.run_folder(), [](const std::string&, const Fault&) { _exit(2); }).standing().total_step;
      if (step < 5) result = 3;
    } catch (const Fault&) {
      result = 4;
    }
    _exit(result);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    WARN("no small disk could be mounted here; tests/unit/checkpoint lets every operation fail");
    return;
  }
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace dtl::driver
