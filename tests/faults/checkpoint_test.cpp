// Checkpoints through the command: killed at random, interrupted, resumed with other replicas, other programs, a full disk.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
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

#include "runtime/checkpoint/files.h"
#include "tests/faults/checkpoint_testing.h"

namespace dtl::driver {
namespace {

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
  job.write(kNet, "  stop_early = { watch = validation.loss, patience = 40, restore_best = true }\n  evaluate_every = 4 steps\n");
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

TEST_CASE("checkpoint: resuming a run that is done changes nothing, weights that were put back included") {
  const Job job;
  job.write(kNet, "  stop_early = { watch = validation.loss, patience = 40, restore_best = true }\n  evaluate_every = 4 steps\n");
  const Ran first = run_command(job.command({"--set", "optimizer=adam(0.1)"}));
  REQUIRE(first.out.find("weights are those of the best look") != std::string::npos);
  const auto done = tensors_of(job.run_folder());
  REQUIRE(run_command(job.command({"--set", "optimizer=adam(0.1)", "--resume"})).status == 0);
  CHECK(tensors_of(job.run_folder()) == done);
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

template <class T>
double largest_difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (size_t at = 0; at < a.size(); at += sizeof(T)) {
    T x, y;
    std::memcpy(&x, &a[at], sizeof x);
    std::memcpy(&y, &b[at], sizeof y);
    most = std::max(most, std::abs(static_cast<double>(x) - static_cast<double>(y)));
  }
  return most;
}

TEST_CASE("checkpoint: any strategy and number of replicas goes on with any other's") {
  const Job job;
  const std::string precision = GENERATE("f32", "f64");
  CAPTURE(precision);
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--quiet", "--set", "precision=" + precision});
    const Ran ran = run_command(job.command(std::move(more)));
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    return tensors_of(job.run_folder());
  };
  const auto unbroken = with({"--set", "epochs=2"});
  const std::pair<std::string, std::string> pairs[] = {
      {"mirrored(replicas = 2)", "mirrored(replicas = 1)"},          {"mirrored(replicas = 2)", "mirrored(replicas = 3)"},
      {"mirrored(replicas = 2)", "mirrored(replicas = 5)"},          {"mirrored(replicas = 2)", "sharded_optimizer(replicas = 3)"},
      {"sharded_optimizer(replicas = 2)", "mirrored(replicas = 3)"}, {"sharded_optimizer(replicas = 2)", "fully_sharded(replicas = 3)"},
      {"fully_sharded(replicas = 3)", "fully_sharded(replicas = 2)"}};
  for (const auto& [first, second] : pairs) {
    CAPTURE(first, second);
    fs::remove_all(job.run_folder());
    with({"--set", "epochs=1", "--strategy", first});
    const auto resumed = with({"--set", "epochs=2", "--resume", "--strategy", second});
    REQUIRE(resumed.size() == unbroken.size());
    double most = 0;
    for (const auto& [name, bytes] : unbroken) {
      if (!name.starts_with("Net/")) continue;
      const auto& other = resumed.at(name);
      most = std::max(most, precision == "f64" ? largest_difference<double>(bytes, other) : largest_difference<float>(bytes, other));
    }
    CHECK(most > 0);
    CHECK(most < (precision == "f64" ? 1e-9 : 4e-5));
  }
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
  const auto refused = [&](const char* code, const std::string& fact, std::vector<std::string> more = {"--resume"}) {
    const Ran ran = run_command(job.command(std::move(more)));
    INFO(ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.err.starts_with("error[" + std::string(code) + "]"));
    CHECK(ran.err.find(fact) != std::string::npos);
  };
  refused("DTL6108", "`Net/dense.0/kernel:adam.m` and 7 more", {"--resume", "--set", "optimizer=sgd(0.1)"});
  refused("DTL6109", "--overwrite", {});
  refused("DTL6102", "nowhere", {"--resume", job.path("nowhere")});
  CHECK(run_command(job.command({"--quiet", "--resume", "--set", "epochs=2", "--set", "optimizer=adam(1e-4)"})).status == 0);
  job.write("model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(8) |> dense(3) }");
  refused("DTL6107", "its `Net/dense.0/kernel` is f32[6, 16], the program's is f32[6, 8]");
  job.write("model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(16) |> dense(3) |> dense(3) }");
  refused("DTL6106", "lacks `Net/dense.2/kernel` and 5 more, which the program has\n");
  job.write(
      "layer mlp (x: f32[batch, n]) -> f32[batch, 16] { x |> dense(16) }\n"
      "model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> mlp() |> dense(4) |> dense(3) }");
  refused("DTL6106",
          "it lacks `Net/mlp.0/dense.0/kernel` and 5 more, which the program has; its `Net/dense.0/kernel` is f32[6, 16], "
          "the program's is f32[16, 4]");
  job.write(
      "layer mlp (x: f32[batch, n]) -> f32[batch, 3] { x |> dense(3) }\n"
      "model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> mlp() }");
  refused("DTL6106", "it has `Net/dense.0/kernel` and 11 more, which the program lacks", {"--resume", "--set", "optimizer=sgd(0.1)"});
  job.write("model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(16, activation = relu) |> dense(3, use_bias = false) }");
  refused("DTL6108", "it has `Net/dense.1/bias` and 2 more, which the program lacks");
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

TEST_CASE("checkpoint: a directory that another run saves in is left alone") {
  const Job job;
  REQUIRE(run_command(job.command()).status == 0);
  const auto saved = tensors_of(job.run_folder());
  {
    const checkpoint::DirectoryLock other(job.run_folder());
    for (const std::string flag : {"--overwrite", "--resume"}) {
      const Ran ran = run_command(job.command({flag}));
      CHECK(ran.status == 2);
      CHECK(ran.err == "error[DTL6101]: cannot write a checkpoint: `" + job.run_folder() + "`: another run saves its checkpoints there\n");
    }
    CHECK(tensors_of(job.run_folder()) == saved);
  }
  CHECK(run_command(job.command({"--overwrite"})).status == 0);
}

TEST_CASE("checkpoint: files that the system does not allow to be as large are told before the first step") {
  const Job job;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit most{1000, 1000};  // the larger file takes more, a probe less
    if (setrlimit(RLIMIT_FSIZE, &most) != 0) _exit(77);
    const Ran ran = run_command(job.command({"--set", "seed=0"}));
    const bool told = ran.err == "error[DTL6101]: cannot write a checkpoint: `" + job.run_folder() + "`: File too large\n";
    if (!told) std::cerr << ran.err;
    _exit(ran.status == 2 && told && ran.out.empty() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("checkpoint: a vocabulary is part of it, and outlives its text") {
  const Job job;
  const auto program = [&](const std::string& directory) {
    job.write_file("job.dtl", R"(
dataset Letters {
  vocabulary = words(of = "letters.csv", column = "text")
  train      = csv("letters.csv")
  batch      = 4
  example (text: string, good: bool) {
    words = encode(text, vocabulary, length = 3)
    good  = cast(good, f32)
  }
}
model Judge (words: i32[batch, 3]) -> f32[batch] {
  words |> embedding(size(Letters.vocabulary), width = 4) |> flatten() |> dense(1) |> reshape([batch])
}
train {
  model     = Judge
  data      = Letters
  loss      = mean(binary_cross_entropy(prediction, good))
  optimizer = adam(1e-2)
  epochs    = 2
)" + directory + "}\n");
  };
  const std::string setting = "  checkpoint = { directory = \"" + job.run_folder() + "\" }\n";
  program(setting);
  job.write_file("letters.csv", "text,good\na fine day,true\na sad day,false\nfine and fine,true\nso sad,false\n");
  REQUIRE(run_command(job.command({"--quiet"})).err.empty());
  const auto unbroken = [&] {
    const Ran ran = run_command(job.command({"--quiet", "--overwrite", "--set", "epochs=4"}));
    REQUIRE(ran.status == 0);
    return tensors_of(job.run_folder());
  }();
  REQUIRE(run_command(job.command({"--quiet", "--overwrite"})).status == 0);
  const std::string saved = *checkpoint::open(job.run_folder(), kNone).text("vocabulary-Letters.vocabulary.txt");
  CHECK(saved.find("fine") != std::string::npos);
  // With words that the first text had not, numbers would change, and there would be more of them.
  fs::copy(job.run_folder(), job.path("first"), fs::copy_options::recursive);
  const std::string from = GENERATE("", "first");
  job.write_file("letters.csv", "text,good\na b c,true\nd e f,false\ng h fine,true\nso sad,false\n");
  std::vector<std::string> more = {"--quiet", "--set", "epochs=4", "--resume"};
  if (!from.empty()) {
    fs::remove_all(job.run_folder());
    more.push_back(job.path(from));
  }
  const Ran ran = run_command(job.command(more));
  INFO(ran.err);
  CHECK(ran.status == 0);
  CHECK(*checkpoint::open(job.run_folder(), kNone).text("vocabulary-Letters.vocabulary.txt") == saved);
  CHECK(tensors_of(job.run_folder()).at("Judge/embedding.0/table").size() == unbroken.at("Judge/embedding.0/table").size());
  // Without a place that the program saves in, one must be named.
  program("");
  const Ran none = run_command(job.command({"--resume"}));
  CHECK(none.status == 2);
  CHECK(none.err.starts_with("error[DTL6113]"));
}

TEST_CASE("checkpoint: a program that sets none saves nothing") {
  const Job job;
  std::ifstream in(job.path("job.dtl"));
  std::string text, line;
  while (std::getline(in, line)) {
    if (line.find("checkpoint") == std::string::npos) text += line + "\n";
  }
  job.write_file("job.dtl", text);
  REQUIRE(run_command(job.command({"--quiet"})).status == 0);
  CHECK_FALSE(fs::exists(job.run_folder()));
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
