// Bytes of files: mapped or read whole, inflated where they are gzip, and storage for what is made of them.
//
// Storage lies in a file, so that what is larger than memory is paged by the system; where no file can be had, in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace dtl::data {

/// Bytes that do not change, and whoever owns them.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const std::byte* data, int64_t size, std::shared_ptr<const void> owner) : data_(data), size_(size), owner_(std::move(owner)) {}
  const std::byte* data() const { return data_; }
  int64_t size() const { return size_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), static_cast<size_t>(size_)}; }

 private:
  const std::byte* data_ = nullptr;
  int64_t size_ = 0;
  std::shared_ptr<const void> owner_;
};

/// Bytes being made.
class Storage {
 public:
  /// In an unnamed file of `folder` (made if need be); in memory where it is empty or cannot be written to.
  explicit Storage(const std::string& folder);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const { return data_; }
  int64_t size() const { return size_; }
  /// Keeps what is there; new bytes are 0. Goes to memory where the disk is full. Fault 5001 where memory is, too.
  void resize(int64_t bytes);
  /// Gives the file the name `path`, in one step; false where that cannot be done, which is no error.
  bool keep_as(const std::string& path);
  /// Ends the making.
  static Bytes freeze(std::shared_ptr<Storage> storage);

 private:
  void to_memory();

  std::string path_;  ///< of the temporary file
  int file_ = -1;
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

/// A whole file. Small ones are read, large ones are mapped. Fault 5001.
Bytes read_bytes(const std::string& path);
/// The same, inflated into storage of `folder` where it is gzip. Faults: 5008 damaged, 5018 a small file that expands without end.
Bytes read_unzipped(const std::string& path, const std::string& folder);

/// Path, size and time of change: what a copy of its contents is known by. Fault 5001.
std::string identity_of(const std::string& path);

/// The offset of the first byte that is not UTF-8 (Unicode 15, table 3-7), or −1.
int64_t first_not_utf8(std::string_view text);
/// The code point at `at`, which moves behind it; `text` is UTF-8.
char32_t next_code_point(std::string_view text, size_t& at);
void append_utf8(std::string& text, char32_t code);

/// FNV-1a over words of 8 bytes: finds damage, not malice.
uint64_t hash_of(const void* data, int64_t bytes, uint64_t start = 0xcbf29ce484222325);

/// A text in a message: the start of it in backticks, made fit to print.
std::string shown(std::string_view text);

}  // namespace dtl::data
