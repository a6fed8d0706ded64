// Files: the operations on a file system that a save is made of. Few, so that a test can record them, replay any part of
// them as a crash would leave it, and let any of them fail.
//
// Each throws Fault 6101 with the path and the system's reason.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dtl::checkpoint {

using Bytes = std::span<const std::byte>;

class Files {
 public:
  virtual ~Files() = default;

  /// One that is there already is fine.
  virtual void make_directory(const std::string& path) = 0;
  /// A new file, or one emptied first, that holds the parts one after another.
  virtual void write(const std::string& path, std::span<const Bytes> parts) = 0;
  /// The contents of a file reach the disk.
  virtual void sync_file(const std::string& path) = 0;
  /// What was made, renamed or removed in a directory reaches the disk.
  virtual void sync_directory(const std::string& path) = 0;
  /// Atomic. Replaces a file or symbolic link; a directory that is there already is an error, unless it is empty.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  /// A symbolic link at `path` that says `target`.
  virtual void link(const std::string& target, const std::string& path) = 0;
  /// A file, a link, or a directory and all in it; nothing where there is none.
  virtual void remove(const std::string& path) = 0;
};

/// The machine's own.
Files& disk();

/// Says that a run saves in a directory, so that no other does: two would remove each other's checkpoints, and mix their own.
/// It ends with the process in any case, and leaves no file. Where the file system has no locks it says nothing.
class DirectoryLock {
 public:
  /// Faults: 6101, also where another run holds it.
  explicit DirectoryLock(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace dtl::checkpoint
