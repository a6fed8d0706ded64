// Manifest: what a checkpoint says of itself besides its tensors. Written as JSON, `manifest.json`, with a checksum of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/safetensors.h"

namespace dtl::checkpoint {

/// The format's version. A reader refuses a higher one; a change that old readers would misread raises it.
constexpr int64_t kVersion = 1;

/// Where a run of training stands between two updates: what a resumed run needs besides tensors.
struct Standing {
  int64_t epoch = 0;       ///< epochs begun; the one at hand counts from 1
  int64_t step = 0;        ///< steps made in it
  int64_t total_step = 0;  ///< steps made since the start of training
  bool open = false;       ///< the epoch at hand still lacks its report and evaluations

  /// What decides which examples a step takes.
  int64_t seed = 0, batch = 1, accumulate = 1, shuffle = 0, examples = 0;

  /// The last value of each report, by path: `train/loss`.
  std::vector<std::pair<std::string, double>> reports;
  /// Numbers that the loop's rules keep between evaluations, by name: `best`, `stop_early.best`, `stop_early.waited`.
  std::map<std::string, double> kept;

  double number(const std::string& name, double otherwise) const {
    const auto found = kept.find(name);
    return found == kept.end() ? otherwise : found->second;
  }
};

struct FileEntry {
  std::string name;
  int64_t bytes = 0;
  uint32_t crc = 0;
};

struct TensorEntry {
  TensorType type;
  std::string file;
  uint32_t crc = 0;  ///< of its elements
};

struct Manifest {
  Standing standing;
  std::string program, strategy;  ///< for people
  int64_t replicas = 1;           ///< for people: any number loads it
  std::vector<FileEntry> files;
  std::vector<TensorEntry> tensors;
};

/// Checksums are CRC-32 (ISO 3309), as in zip and PNG, of 8 hexadecimal digits; that of the manifest is of its text without it.
std::string print(const Manifest& manifest);

/// Faults: 6103 (`path`, what is wrong) not a manifest, or a damaged one; 6105 of a later version.
Manifest parse_manifest(const std::string& path, const std::string& text);

}  // namespace dtl::checkpoint
