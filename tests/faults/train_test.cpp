// dslc train when the world is at fault: broken data files, Ctrl-C.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/codegen/jit.h"
#include "compiler/driver/options.h"

namespace dtl::driver {
namespace {

namespace fs = std::filesystem;

/// A folder with a program over `train.idx` and `labels.idx`: four images of 2 × 2.
class Job {
 public:
  Job() : folder_(fs::temp_directory_path() / ("faults-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    write("train.idx", std::string("\0\0\x08\x03\0\0\0\x04\0\0\0\x02\0\0\0\x02", 16) + std::string(16, '\x05'));
    write("labels.idx", std::string("\0\0\x08\x01\0\0\0\x04", 8) + std::string("\0\1\2\1", 4));
    write("job.dtl", R"(
dataset Tiny {
  train = idx(images = "train.idx", labels = "labels.idx")
  batch = 2
  example (image: u8[2, 2], label: u8) {
    image = cast(image, f32) / 255
    label = cast(label, i32)
  }
}
model Net (image: f32[batch, 2, 2]) -> f32[batch, 3] {
  image |> flatten() |> dense(3)
}
train {
  model     = Net
  data      = Tiny
  loss      = mean(sparse_cross_entropy(prediction, label))
  optimizer = adam(learning_rate = 1e-3)
  strategy  = mirrored(replicas = 2)
  epochs    = 2
}
)");
  }
  ~Job() { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& bytes) const { std::ofstream(folder_ / name, std::ios::binary) << bytes; }
  const fs::path& folder() const { return folder_; }
  void remove(const std::string& name) const { fs::remove(folder_ / name); }
  std::vector<std::string> command(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"train",   (folder_ / "job.dtl").string(), "--threads", "2", "--run", "none",
                                      "--cache", (folder_ / "cache").string()};
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

TEST_CASE("train: good data trains") {
  const Job job;
  const Ran ran = run_command(job.command({"--quiet"}));
  INFO(ran.err);
  CHECK(ran.status == 0);
  CHECK(ran.out.starts_with("train: loss "));
}

TEST_CASE("train: broken data is an error with its place and status 2") {
  const Job job;
  SECTION("missing") {
    job.remove("labels.idx");
    const Ran ran = run_command(job.command());
    CHECK(ran.status == 2);
    CHECK(ran.err.find("DTL5002") != std::string::npos);
    CHECK(ran.err.find("job.dtl:3:") != std::string::npos);
  }
  SECTION("wrong header") {
    job.write("labels.idx", "0,1,2,1\n");
    const Ran ran = run_command(job.command());
    CHECK(ran.status == 2);
    CHECK(ran.err.find("DTL5003") != std::string::npos);
  }
  SECTION("found only when it is read to its end") {
    job.write("labels.idx", std::string("\0\0\x08\x01\0\0\0\x04", 8) + std::string("\0\1\2\1\1", 5));
    const Ran ran = run_command(job.command());
    CHECK(ran.status == 2);
    CHECK(ran.err.find("DTL5007") != std::string::npos);
    CHECK(ran.err.find("job.dtl:3:") != std::string::npos);
    CHECK(ran.out.empty());
  }
}

TEST_CASE("train: a mistake in the program beside a broken file is status 1") {
  const Job job;
  const Ran ran = run_command(job.command({"--set", "epochs=0"}));
  CHECK(ran.status == 1);
}

TEST_CASE("train: more memory than the machine has is refused before any is touched") {
  const Job job;
  const Ran ran = run_command(job.command({"--set", "Tiny.batch=200_000_000_000"}));
  CHECK(ran.status == 2);
  CHECK(ran.err.find("DTL6002") != std::string::npos);
  CHECK(ran.out.empty());
}

TEST_CASE("output that cannot be written is status 2") {
  const Job job;
  for (const std::string command : {"train", "check", "fmt"}) {
    std::vector<std::string> words = job.command();
    words[0] = command;
    if (command != "train") words.resize(2);
    std::ofstream full("/dev/full");
    std::ostringstream err;
    CHECK(run(words, full, err) == 2);
    CHECK(err.str() == "error[DTL6004]: cannot write the output: No space left on device\n");
  }
}

TEST_CASE("train: output that cannot be written ends a run at once, not at its end") {
  const Job job;
  for (const std::string format : {"", "--json"}) {
    std::ofstream full("/dev/full");
    std::ostringstream err;
    std::vector<std::string> more = {"--set", "epochs=1000000000"};
    if (!format.empty()) more.push_back(format);
    CHECK(run(job.command(more), full, err) == 2);
    CHECK(err.str().find("DTL6004") != std::string::npos);
  }
}

TEST_CASE("train: what is in the way of the cache is passed by") {
  const Job job;
  const auto good = run_command(job.command({"--quiet"}));
  REQUIRE(good.status == 0);
  std::vector<fs::path> kernels;
  for (const auto& entry : fs::directory_iterator(job.folder() / "cache")) {
    if (entry.path().extension() == ".kernel") kernels.push_back(entry.path());
  }
  REQUIRE_FALSE(kernels.empty());
  const auto replaced = [&](const std::function<void(const fs::path&)>& put) {
    for (const fs::path& kernel : kernels) {
      fs::remove_all(kernel);
      put(kernel);
    }
    const Ran ran = run_command(job.command({"--quiet"}));
    INFO(ran.err);
    CHECK(ran.status == 0);
    CHECK(ran.out == good.out);
  };
  replaced([](const fs::path& path) { REQUIRE(mkfifo(path.c_str(), 0600) == 0); });  // a pipe that nobody writes to
  replaced([](const fs::path& path) { fs::create_directory(path); });
  replaced([](const fs::path& path) { std::ofstream(path) << "no kernel"; });
  replaced([](const fs::path& path) { fs::create_symlink(path, path); });
  replaced([](const fs::path& path) { fs::create_symlink("/dev/zero", path); });
}

TEST_CASE("train: a pipe in place of data is refused, not waited for") {
  const Job job;
  job.remove("labels.idx");
  REQUIRE(mkfifo((job.folder() / "labels.idx").c_str(), 0600) == 0);
  const Ran ran = run_command(job.command());
  CHECK(ran.status == 2);
  CHECK(ran.err.find("not a regular file") != std::string::npos);
}

TEST_CASE("cache: a relative XDG_CACHE_HOME is no place, as its specification says") {
  const char* const names[] = {"DTL_CACHE", "XDG_CACHE_HOME", "HOME"};
  std::map<std::string, std::optional<std::string>> before;
  for (const char* name : names) before[name] = std::getenv(name) ? std::optional<std::string>(std::getenv(name)) : std::nullopt;
  unsetenv("DTL_CACHE");
  setenv("HOME", "/home/somebody", 1);
  setenv("XDG_CACHE_HOME", "caches", 1);
  CHECK(codegen::default_cache_directory() == "/home/somebody/.cache/dslc");
  setenv("XDG_CACHE_HOME", "/caches", 1);
  CHECK(codegen::default_cache_directory() == "/caches/dslc");
  unsetenv("HOME");
  setenv("XDG_CACHE_HOME", "", 1);
  CHECK(codegen::default_cache_directory().empty());
  for (const auto& [name, value] : before) value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
}

TEST_CASE("train: a program that is not there is status 2") {
  const Ran ran = run_command({"train", "none.dtl"});
  CHECK(ran.status == 2);
  CHECK(ran.err == "error[DTL5001]: cannot read `none.dtl`: No such file or directory\n");
  CHECK(run_command({"check", "/"}).err == "error[DTL5001]: cannot read `/`: Is a directory\n");
}

TEST_CASE("train: Ctrl-C ends with the step, a last event and status 130") {
  const Job job;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    _exit(run(job.command({"--json", "--set", "epochs=1000000000"}), std::cout, std::cerr));
  }
  close(ends[1]);
  FILE* in = fdopen(ends[0], "r");
  std::array<char, 4096> buffer{};
  nlohmann::json last;
  bool sent = false;
  while (fgets(buffer.data(), static_cast<int>(buffer.size()), in)) {
    last = nlohmann::json::parse(buffer.data());
    if (last["event"] != "epoch" || sent) continue;
    kill(child, SIGINT);
    sent = true;
  }
  fclose(in);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(last["event"] == "end");
  CHECK(last["interrupted"] == true);
  CHECK(last["reports"].contains("train/loss"));
}

}  // namespace
}  // namespace dtl::driver
