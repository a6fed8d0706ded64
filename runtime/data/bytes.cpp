// Mapping, reading, inflating and storing bytes.
#include "runtime/data/bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "runtime/plan/fault.h"
#include "runtime/plan/unfinished.h"

namespace dtl::data {
namespace {

namespace fs = std::filesystem;

/// Up to here a file is read at once, so that one cut short meanwhile cannot end the process.
constexpr int64_t kRead = int64_t{64} << 20;
/// What inflates beyond this must have a reason in its size.
constexpr int64_t kSuspicious = int64_t{1} << 30;
constexpr int64_t kLikelyFactor = 200;

/// How the names of files begin that are not whole yet.
constexpr std::string_view kMaking = ".making-";

[[noreturn]] void cannot_read(const std::string& path, int error) { throw Fault(5001, {path, std::strerror(error ? error : EIO)}); }

/// An open file that closes itself.
class Opened {
 public:
  // Without waiting: a pipe that nobody writes to is opened and refused.
  explicit Opened(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    struct stat status{};
    if (file_ < 0) cannot_read(path, errno);
    if (fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) {
      close(file_);
      throw Fault(5001, {path, S_ISDIR(status.st_mode) ? std::strerror(EISDIR) : "not a regular file"});
    }
    size_ = status.st_size;
  }
  ~Opened() { close(file_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  int file() const { return file_; }
  int64_t size() const { return size_; }

 private:
  int file_;
  int64_t size_ = 0;
};

}  // namespace

Storage::Storage(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return;
  remove_unfinished(folder, [](std::string_view name) { return name.starts_with(kMaking); });
  path_ = (fs::path(folder) / fmt::format("{}{}-XXXXXX", kMaking, getpid())).string();
  file_ = mkostemp(path_.data(), O_CLOEXEC);
  if (file_ < 0) {
    path_.clear();
  } else {
    hold_unfinished(file_);
  }
}

Storage::~Storage() {
  if (data_) munmap(data_, static_cast<size_t>(size_));
  if (file_ >= 0) close(file_);
  if (!path_.empty()) unlink(path_.c_str());
}

void Storage::resize(int64_t bytes) {
  if (bytes == size_) return;
  // Blocks are reserved: writing to a mapping of a full disk would end the process.
  if (file_ >= 0 && bytes > size_ && posix_fallocate(file_, 0, bytes) != 0) to_memory();
  if (file_ >= 0 && bytes < size_ && ftruncate(file_, bytes) != 0) to_memory();
  void* made = nullptr;
  const auto size = static_cast<size_t>(bytes);
  if (bytes == 0) {
    if (data_) munmap(data_, static_cast<size_t>(size_));
  } else if (data_) {
    made = mremap(data_, static_cast<size_t>(size_), size, MREMAP_MAYMOVE);
  } else {
    made = file_ >= 0 ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0)
                      : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (made == MAP_FAILED) throw Fault(5001, {"data made of files", std::strerror(ENOMEM)});
  data_ = static_cast<std::byte*>(made);
  size_ = bytes;
}

void Storage::to_memory() {
  void* made = nullptr;
  if (size_ > 0) {
    made = mmap(nullptr, static_cast<size_t>(size_), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) throw Fault(5001, {"data made of files", std::strerror(ENOMEM)});
    std::memcpy(made, data_, static_cast<size_t>(size_));
    munmap(data_, static_cast<size_t>(size_));
  }
  data_ = static_cast<std::byte*>(made);
  close(file_);
  unlink(path_.c_str());
  file_ = -1;
  path_.clear();
}

bool Storage::keep_as(const std::string& path) {
  if (file_ < 0 || rename(path_.c_str(), path.c_str()) != 0) return false;
  path_.clear();
  return true;
}

Bytes Storage::freeze(std::shared_ptr<Storage> storage) {
  const std::byte* data = storage->data();
  const int64_t size = storage->size();
  return {data, size, std::move(storage)};
}

Bytes read_bytes(const std::string& path) {
  const Opened opened(path);
  if (opened.size() <= kRead) {
    auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(opened.size()));
    size_t have = 0;
    while (have < bytes->size()) {
      const ssize_t got = read(opened.file(), bytes->data() + have, bytes->size() - have);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) cannot_read(path, errno);
      if (got == 0) break;
      have += static_cast<size_t>(got);
    }
    const std::byte* data = bytes->data();
    return {data, static_cast<int64_t>(have), std::move(bytes)};
  }
  const auto size = static_cast<size_t>(opened.size());
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened.file(), 0);
  if (data == MAP_FAILED) cannot_read(path, errno);
  const std::shared_ptr<const void> owner(data, [size](const void* p) { munmap(const_cast<void*>(p), size); });
  return {static_cast<const std::byte*>(data), opened.size(), owner};
}

Bytes read_unzipped(const std::string& path, const std::string& folder) {
  const Bytes whole = read_bytes(path);
  if (whole.size() < 2 || whole.data()[0] != std::byte{0x1f} || whole.data()[1] != std::byte{0x8b}) return whole;
  auto storage = std::make_shared<Storage>(folder);
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw Fault(5001, {path, std::strerror(ENOMEM)});
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, inflateEnd);
  int64_t taken = 0, made = 0;
  for (;;) {
    if (stream.avail_in == 0) {
      const int64_t piece = std::min<int64_t>(whole.size() - taken, int64_t{1} << 28);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(whole.data() + taken));
      stream.avail_in = static_cast<uInt>(piece);
      taken += piece;
    }
    if (made == storage->size()) storage->resize(std::max<int64_t>(1 << 20, 2 * made));
    const int64_t room = std::min<int64_t>(storage->size() - made, int64_t{1} << 28);
    stream.next_out = reinterpret_cast<Bytef*>(storage->data() + made);
    stream.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream, Z_NO_FLUSH);
    made += room - stream.avail_out;
    if (made > kSuspicious && made / kLikelyFactor > whole.size())
      throw Fault(5018, {path, std::to_string(whole.size()), std::to_string(made)});
    if (code == Z_STREAM_END) {
      // Files put together one behind the other are one file, as gunzip has it.
      const int64_t left = whole.size() - taken + stream.avail_in;
      if (left == 0) break;
      if (inflateReset(&stream) != Z_OK) throw Fault(5008, {path, "it goes on after its end"});
      continue;
    }
    if (code == Z_BUF_ERROR && stream.avail_in == 0 && taken == whole.size()) throw Fault(5008, {path, "it ends before its checksum"});
    if (code != Z_OK && code != Z_BUF_ERROR) throw Fault(5008, {path, stream.msg ? stream.msg : "it is no gzip"});
    if (code == Z_OK && stream.avail_in == 0 && stream.avail_out > 0 && taken == whole.size())
      throw Fault(5008, {path, "it ends before its checksum"});
  }
  storage->resize(made);
  return Storage::freeze(std::move(storage));
}

std::string identity_of(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) cannot_read(path, errno);
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(path, error);
  return fmt::format("{} {} {}.{:09}", error ? path : whole.string(), status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

int64_t first_not_utf8(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const size_t n = text.size();
  size_t i = 0;
  while (i < n) {
    // Eight bytes of ASCII at once.
    uint64_t word = 0;
    if (i + 8 <= n) {
      std::memcpy(&word, p + i, 8);
      if ((word & 0x8080808080808080) == 0) {
        i += 8;
        continue;
      }
    }
    const unsigned char c = p[i];
    if (c < 0x80) {
      ++i;
      continue;
    }
    size_t length = 0;
    unsigned char low = 0x80, high = 0xbf;
    if (c >= 0xc2 && c <= 0xdf) {
      length = 2;
    } else if (c >= 0xe0 && c <= 0xef) {
      length = 3;
      if (c == 0xe0) low = 0xa0;
      if (c == 0xed) high = 0x9f;
    } else if (c >= 0xf0 && c <= 0xf4) {
      length = 4;
      if (c == 0xf0) low = 0x90;
      if (c == 0xf4) high = 0x8f;
    }
    if (length == 0 || i + length > n || p[i + 1] < low || p[i + 1] > high) return static_cast<int64_t>(i);
    for (size_t k = 2; k < length; ++k) {
      if (p[i + k] < 0x80 || p[i + k] > 0xbf) return static_cast<int64_t>(i);
    }
    i += length;
  }
  return -1;
}

char32_t next_code_point(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const char32_t c = byte(at);
  if (c < 0x80) return byte(at++);
  const size_t length = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
  char32_t code = c & (0xff >> (length + 1));
  for (size_t k = 1; k < length; ++k) code = (code << 6) | (byte(at + k) & 0x3f);
  at += length;
  return code;
}

void append_utf8(std::string& text, char32_t code) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

uint64_t hash_of(const void* data, int64_t bytes, uint64_t start) {
  const auto* p = static_cast<const char*>(data);
  uint64_t hash = start;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint64_t word = 0;
    std::memcpy(&word, p, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  uint64_t rest = static_cast<uint64_t>(bytes);
  std::memcpy(&rest, p, static_cast<size_t>(bytes));
  if (bytes > 0) hash = (hash ^ rest) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);
}

std::string shown(std::string_view cell) {
  std::string text;
  size_t at = 0;
  const bool good = first_not_utf8(cell) < 0;
  while (at < cell.size() && text.size() < 40) {
    if (!good) {
      const char c = cell[at++];
      text += c >= ' ' && c <= '~' ? c : '?';
      continue;
    }
    const char32_t code = next_code_point(cell, at);
    append_utf8(text, code < ' ' || code == 0x7f ? U' ' : code);
  }
  return "`" + text + (at < cell.size() ? "…" : "") + "`";
}

}  // namespace dtl::data
