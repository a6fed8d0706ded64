// Files over POSIX.
#include "runtime/checkpoint/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/plan/fault.h"

namespace dtl::checkpoint {
namespace {

[[noreturn]] void fail(const std::string& path, int error) { throw Fault(6101, {path, std::strerror(error)}); }

/// An open file, closed in any case.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : path_(path), descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) fail(path, errno);
  }
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void write(Bytes bytes) const {
    while (!bytes.empty()) {
      constexpr size_t kMost = size_t{1} << 30;  // a single write takes no more than 2 GB
      const ssize_t written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kMost));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(path_, errno);
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }
  void sync() const {
    // Some file systems have nothing to sync for a directory, and say EINVAL.
    if (::fsync(descriptor_) != 0 && errno != EINVAL) fail(path_, errno);
  }
  /// Some file systems report a failed write only here.
  void close() {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail(path_, errno);
  }

 private:
  std::string path_;
  int descriptor_;
};

class Disk final : public Files {
 public:
  void make_directory(const std::string& path) override {
    struct stat there{};
    if (::mkdir(path.c_str(), 0777) == 0) return;
    const int error = errno;
    if (error != EEXIST || ::stat(path.c_str(), &there) != 0) fail(path, error);
    if (!S_ISDIR(there.st_mode)) fail(path, ENOTDIR);
  }
  void write(const std::string& path, std::span<const Bytes> parts) override {
    Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
    for (const Bytes part : parts) file.write(part);
    file.close();
  }
  void sync_file(const std::string& path) override { Descriptor(path, O_RDONLY).sync(); }
  void sync_directory(const std::string& path) override { Descriptor(path, O_RDONLY | O_DIRECTORY).sync(); }
  void rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) fail(to, errno);
  }
  void link(const std::string& target, const std::string& path) override {
    if (::symlink(target.c_str(), path.c_str()) != 0) fail(path, errno);
  }
  void remove(const std::string& path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) fail(path, error.value());
  }
};

}  // namespace

Files& disk() {
  static Disk disk;
  return disk;
}

DirectoryLock::DirectoryLock(const std::string& directory) : descriptor_(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail(directory, errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  throw Fault(6101, {directory, "another run saves its checkpoints there"});
}

DirectoryLock::~DirectoryLock() { ::close(descriptor_); }

}  // namespace dtl::checkpoint
