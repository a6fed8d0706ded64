// Checkpoints: directories `step-000500` in the directory of a run, each whole or not there.
//
//   RUN/step-000500/weights.safetensors    weights and states of layers, whole, by path: any strategy loads any other's
//   RUN/step-000500/training.safetensors   optimizer states, counters, accumulators of the epoch at hand
//   RUN/step-000500/NAME                   texts that the program needs besides, such as vocabularies
//   RUN/step-000500/manifest.json          where training stands; sizes, types and checksums of all the others
//   RUN/best                               a symbolic link to the best one, where a run watches for it
//
// takes:    tensors in memory, a directory
// gives:    a checkpoint on the disk, and the other way round
// promises: after a crash at any point of a save, the new checkpoint or the one before it is found and whole; what is
//           read is what was written, or a Fault says what is damaged
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/files.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/plan/fault.h"

namespace dtl::checkpoint {

constexpr const char* kWeightsFile = "weights.safetensors";
constexpr const char* kTrainingFile = "training.safetensors";
constexpr const char* kManifestFile = "manifest.json";

/// What is saved. The elements are read while `save` runs.
struct Snapshot {
  struct Tensor {
    TensorType type;
    Bytes elements;
    bool training = false;  ///< in training.safetensors, not in weights.safetensors
  };
  Standing standing;
  std::string program, strategy;
  int64_t replicas = 1;
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> texts;  ///< further files, by name
};

/// `step-000500`
std::string name_of_step(int64_t total_step);

/// Writes `directory`/step-N, N being the standing's total step; one that is there already is replaced. Gives its path.
/// Fault 6101 where something cannot be written: then what was there before is there still.
std::string save(Files& files, const std::string& directory, const Snapshot& snapshot);
/// Makes `directory`/best point to the checkpoint of that step. Fault 6101.
void mark_best(Files& files, const std::string& directory, int64_t total_step);
/// Removes all but the `keep` newest and the best, and what an interrupted save or removal left. Fault 6101.
void prune(Files& files, const std::string& directory, int64_t keep);

/// Bytes of a checkpoint's two files of tensors, headers left out.
struct Size {
  int64_t weights = 0, training = 0;
};
/// Makes the directory of a run, and its parents. Faults: 6101.
void make_directories(Files& files, const std::string& directory);
/// Makes the directory of a run, its parents too, and tries to write to it. Faults: 6101, also where the system allows no file
/// as large; 6111 where the disk has less free.
void prepare(Files& files, const std::string& directory, const Size& size);
/// Fault 6111, in megabytes where these tell the two numbers apart.
Fault disk_too_full(const std::string& directory, int64_t bytes, int64_t left);

struct Found {
  int64_t total_step;
  std::string path;
};
/// The checkpoints of a run by their names, oldest first. Nothing where there is no such directory. Fault 5001.
std::vector<Found> checkpoints_in(const std::string& directory);

class Checkpoint {
 public:
  /// Reads the manifest and checks sizes and checksums of everything. Faults: 6103 damaged, 6105 of a later version, 5001.
  explicit Checkpoint(std::string path);

  const std::string& path() const { return path_; }
  const Standing& standing() const { return manifest_.standing; }
  const Manifest& manifest() const { return manifest_; }
  /// Null where there is none.
  const TensorEntry* find(const std::string& name) const;
  /// Reads a tensor's elements to memory of as many bytes. Fault 5001, 6103.
  void read(const TensorEntry& tensor, std::span<std::byte> to) const;
  /// One of the texts; nothing where there is none. Fault 5001.
  std::optional<std::string> text(const std::string& name) const;

 private:
  void check_tensors(const FileEntry& file);

  std::string path_;
  Manifest manifest_;
  std::map<std::string, int64_t> begin_;  ///< by tensor: where its elements begin in its file
};

/// What `--resume` and `--from` mean: `path` is a checkpoint, or the directory of a run, of which the newest whole one is
/// taken; `passed_over` hears of each damaged one that is newer. Faults: 6102 there is none, those of Checkpoint.
Checkpoint open(const std::string& path, const std::function<void(const std::string& path, const Fault& why)>& passed_over);

}  // namespace dtl::checkpoint
