// Mishaps around a run: signals by the hundred, files swapped or replaced by directories, what killed processes leave, caches shared.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "tests/faults/checkpoint_testing.h"

namespace dtl::driver {
namespace {

TEST_CASE("checkpoint: the scale of an f16 loss goes on under another number of replicas") {
  const Job job;
  // Gradients of a loss that large are not finite until the scale has fallen.
  job.write("model Net (x: f32[batch, 6]) -> f32[batch, 3] { 40 * (x |> dense(16, activation = relu) |> dense(3)) }\n",
            "  precision = f16\n");
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--quiet", "--set", "optimizer=sgd(1e-4)"});
    const Ran ran = run_command(job.command(std::move(more)));
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    return tensors_of(job.run_folder());
  };
  const auto fresh = with({"--set", "epochs=1", "--set", "steps=1"});
  fs::remove_all(job.run_folder());
  const auto number = [](const auto& tensors, const std::string& name, auto value) {
    const std::vector<std::byte>& bytes = tensors.at(name);
    REQUIRE(bytes.size() == sizeof value);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  };
  const auto saved = with({"--set", "epochs=1"});
  const auto scale = number(saved, "loss_scale/0", 0.0F);
  const auto good = number(saved, "loss_scale/0.good", int64_t{0});  // steps since it changed
  CHECK(scale < number(fresh, "loss_scale/0", 0.0F));
  CHECK(good > 1);
  fs::rename(job.run_folder(), job.path("saved"));
  for (const std::string strategy : {"mirrored(replicas = 1)", "mirrored(replicas = 3)"}) {
    CAPTURE(strategy);
    fs::remove_all(job.run_folder());
    const auto resumed = with({"--set", "steps=22", "--resume", job.path("saved"), "--strategy", strategy});
    CHECK(number(resumed, "loss_scale/0", 0.0F) == scale);
    CHECK(number(resumed, "loss_scale/0.good", int64_t{0}) == good + 1);
  }
}

TEST_CASE("checkpoint: files of two checkpoints that were swapped are known by their checksums") {
  const Job job;
  REQUIRE(run_command(job.command({"--quiet"})).status == 0);
  const auto found = checkpoint::checkpoints_in(job.run_folder());
  REQUIRE(found.size() == 2);
  for (const std::string name : {"weights.safetensors", "training.safetensors", "data.json"}) {
    CAPTURE(name);
    const auto swap = [&] {
      fs::rename(found[0].path + "/" + name, job.path("kept"));
      fs::rename(found[1].path + "/" + name, found[0].path + "/" + name);
      fs::rename(job.path("kept"), found[1].path + "/" + name);
    };
    swap();
    for (const checkpoint::Found& each : found) {
      const Ran ran = run_command(job.command({"--from", each.path}, "eval"));
      // What the data is like is the same in both.
      if (name == "data.json") {
        CHECK(ran.status == 0);
        continue;
      }
      CHECK(ran.status == 2);
      CHECK(ran.err == "error[DTL6103]: a checkpoint is damaged: `" + each.path + "/" + name + "`: its checksum is another\n");
    }
    swap();
  }
  CHECK(run_command(job.command({}, "eval")).status == 0);
}

TEST_CASE("checkpoint: something else in the place of one of its files is damage, and passed over") {
  const Job job;
  REQUIRE(run_command(job.command({"--quiet"})).status == 0);
  const std::string newest = checkpoint::checkpoints_in(job.run_folder()).back().path;
  for (const std::string name : {"weights.safetensors", "data.json", "manifest.json"}) {
    CAPTURE(name);
    fs::rename(newest + "/" + name, job.path("kept"));
    fs::create_directory(newest + "/" + name);
    const Ran named = run_command(job.command({"--from", newest}, "eval"));
    CHECK(named.status == 2);
    CHECK(named.err == "error[DTL6103]: a checkpoint is damaged: `" + newest + "/" + name + "`: it is no file\n");
    const Ran any = run_command(job.command({}, "eval"));
    CHECK(any.status == 0);
    CHECK(any.err.starts_with("warning[DTL6104]"));
    fs::remove(newest + "/" + name);
    fs::rename(job.path("kept"), newest + "/" + name);
  }
}

/// Trains without end in a child until it has saved something new, then sends it signals until it is gone. Gives its exit status.
int flooded(const Job& job, bool resume, int tries) {
  const auto newest = [&] {
    const auto found = checkpoint::checkpoints_in(job.run_folder());
    return found.empty() ? 0 : found.back().total_step;
  };
  const int64_t before = newest();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);  // not the test's handlers
    std::signal(SIGTERM, SIG_DFL);
    std::ostringstream out, err;
    std::vector<std::string> more = {"--set", "epochs=1000000000", "--set", "checkpoint.every=1 steps"};
    if (resume) more.emplace_back("--resume");
    _exit(run(job.command(std::move(more)), out, err));
  }
  int status = 0;
  while (newest() <= before) {
    if (waitpid(child, &status, WNOHANG) != 0) return -1;
    usleep(200);
  }
  usleep(static_cast<useconds_t>(tries * 300));  // another moment of the save each time
  // The first asks it to save and end; one more ends it at once, in the middle of that.
  for (int signals = 0; waitpid(child, &status, WNOHANG) == 0; ++signals) kill(child, signals % 2 == 0 ? SIGINT : SIGTERM);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_CASE("checkpoint: whatever comes in signals while it saves, what is found then is whole") {
  const Job job;
  for (int tries = 0; tries < 12; ++tries) {
    const int status = flooded(job, tries > 0, tries);
    CHECK((status == 130 || status == 143));
    checkpoint::open(job.run_folder(), kNone);
  }
  const int64_t stood = checkpoint::open(job.run_folder(), kNone).standing().total_step;
  const Ran ran = run_command(job.command({"--quiet", "--resume", "--set", fmt::format("epochs={}", stood / 21 + 1)}));
  INFO(ran.err);
  CHECK(ran.status == 0);
  CHECK(checkpoint::open(job.run_folder(), kNone).standing().total_step > stood);
  for (const auto& entry : fs::directory_iterator(job.run_folder()))
    CHECK(entry.path().filename().string().find(".partial") == std::string::npos);
}

TEST_CASE("cache: what killed processes left half made is removed, what others make is not") {
  const Job job;
  fs::create_directories(job.path("used/data"));
  const std::vector<std::string> left = {"used/0123.kernel.4242.1", "used/data/.making-4242-abcdef"},
                                 held = {"used/4567.kernel.4243.1", "used/data/.making-4243-abcdef"};
  std::vector<int> files;
  for (const std::string& name : left) job.write_file(name, "half");
  for (const std::string& name : held) {
    job.write_file(name, "half");
    files.push_back(open(job.path(name).c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(flock(files.back(), LOCK_EX) == 0);
  }
  // A table of the cache is made: data of a file.
  job.write_file("rows.csv", "x\n1.5\n2\n");
  job.write_file("job.dtl",
                 "dataset Rows { train = csv(\"rows.csv\"), batch = 1 }\n"
                 "model Net (x: f32[batch]) -> f32[batch] { expand(x, axis = -1) |> dense(1) |> squeeze(axis = -1) }\n"
                 "train { model = Net, data = Rows, loss = mean(prediction ** 2), optimizer = sgd(0.1), epochs = 1 }\n");
  const Ran ran = run_command({"train", job.path("job.dtl"), "--run", "none", "--cache", job.path("used")});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  for (const std::string& name : left) CHECK_FALSE(fs::exists(job.path(name)));
  for (const std::string& name : held) CHECK(fs::exists(job.path(name)));
  for (const int file : files) close(file);
}

TEST_CASE("cache: processes that share one at the same time all read the same data") {
  const Job job;
  std::string rows = "x,text,y\n";
  for (int i = 0; i < 20'000; ++i) rows += fmt::format("{},{} and {},{}\n", i * 0.125, i % 7, i % 11, i % 3);
  job.write_file("rows.csv", rows);
  job.write_file("job.dtl", R"(
dataset Rows {
  vocabulary = words(of = "rows.csv", column = "text")
  train      = csv("rows.csv")
  batch      = 500
  example (x: float, text: string, y: int) {
    x     = x / 2500
    words = encode(text, vocabulary, length = 3)
    y     = cast(y, i32)
  }
}
model Net (x: f32[batch], words: i32[batch, 3]) -> f32[batch, 3] {
  (expand(x, axis = -1) |> dense(3)) + (words |> embedding(size(Rows.vocabulary), width = 2) |> flatten() |> dense(3))
}
train { model = Net, data = Rows, loss = mean(sparse_cross_entropy(prediction, y)), optimizer = sgd(0.1), epochs = 1 }
)");
  for (int round = 0; round < 3; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(fork());
      REQUIRE(children.back() >= 0);
      if (children.back() > 0) continue;
      const Ran ran = run_command(job.command({"--run", "none", "--quiet"}));
      std::ofstream(job.path(fmt::format("said-{}", i))) << ran.out << ran.err;
      _exit(ran.status);
    }
    for (const pid_t child : children) {
      int status = 0;
      REQUIRE(waitpid(child, &status, 0) == child);
      CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    }
    std::set<std::string> said;
    for (int i = 0; i < 4; ++i) {
      std::ostringstream text;
      text << std::ifstream(job.path(fmt::format("said-{}", i))).rdbuf();
      said.insert(text.str().substr(0, text.str().find(" (")));
    }
    CAPTURE(*said.begin());
    CHECK(said.size() == 1);
    // The next round finds a file cut short, or with a byte flipped.
    for (const auto& entry : fs::directory_iterator(job.path("cache/data"))) {
      CHECK(entry.path().extension() == ".table");
      if (round == 0) fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
      if (round != 1) continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(1000);
      file.put('\x55');
    }
  }
}

}  // namespace
}  // namespace dtl::driver
