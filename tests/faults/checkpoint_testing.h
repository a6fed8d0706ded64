// A program that saves, in a folder of its own, and what its checkpoints hold.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/driver/options.h"
#include "runtime/checkpoint/checkpoint.h"

namespace dtl::driver {

namespace fs = std::filesystem;

inline const std::string kNet =
    "model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(16, activation = relu) |> dropout(0.3) |> dense(3) }\n";

/// A folder with a program that saves in `run`; dropout, a schedule, adam, shuffling: all that a resumption must hit.
class Job {
 public:
  Job() : folder_(fs::temp_directory_path() / ("checkpoints-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write(kNet);
  }
  ~Job() { fs::remove_all(folder_); }

  /// A program with that model; `settings` are further lines of its train block.
  void write(const std::string& model, const std::string& settings = {}) const {
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
)" << settings << "}\n";
  }
  std::string run_folder() const { return (folder_ / "run").string(); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write_file(const std::string& name, const std::string& bytes) const { std::ofstream(folder_ / name, std::ios::binary) << bytes; }
  std::vector<std::string> command(std::vector<std::string> more = {}, const std::string& verb = "train") const {
    std::vector<std::string> words = {verb, (folder_ / "job.dtl").string(), "--threads", "2", "--cache", (folder_ / "cache").string()};
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

inline Ran run_command(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  const int status = run(words, out, err);
  return {status, out.str(), err.str()};
}

inline const auto kNone = [](const std::string& path, const Fault& fault) { FAIL(path + ": " + fault.arguments()[1]); };

/// Every tensor of a run's newest checkpoint, by name.
inline std::map<std::string, std::vector<std::byte>> tensors_of(const std::string& folder) {
  const checkpoint::Checkpoint checkpoint = checkpoint::open(folder, kNone);
  std::map<std::string, std::vector<std::byte>> tensors;
  for (const checkpoint::TensorEntry& tensor : checkpoint.manifest().tensors) {
    tensors[tensor.type.name].resize(static_cast<size_t>(tensor.type.bytes()));
    checkpoint.read(tensor, tensors[tensor.type.name]);
  }
  return tensors;
}

}  // namespace dtl::driver
