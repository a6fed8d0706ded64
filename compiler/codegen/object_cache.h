// Compiled kernels on disk, a file each. Whatever goes wrong with the disk is a miss, never an error.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/codegen/host.h"

namespace dtl::codegen {

/// What a kernel's object depends on, as a hash in 32 hexadecimal digits.
std::string cache_key(std::string_view kernel_text, const Host& host, int opt_level);

class ObjectCache {
 public:
  /// An empty directory name: nothing is found and nothing kept.
  explicit ObjectCache(std::string directory) : directory_(std::move(directory)) {}

  /// Nothing too if the file is damaged.
  std::optional<std::string> find(const std::string& key) const;
  /// Written under another name, then renamed: a reader sees all of it or nothing.
  void put(const std::string& key, std::string_view object) const;

 private:
  std::string path(const std::string& key) const { return directory_ + "/" + key + ".kernel"; }

  std::string directory_;
};

}  // namespace dtl::codegen
