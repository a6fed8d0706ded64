// Compiled kernels on disk: header (magic, length, hash), then the object file.
#include "compiler/codegen/object_cache.h"

#include <fcntl.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/BLAKE3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "runtime/plan/unfinished.h"

namespace dtl::codegen {
namespace {

/// Changes whenever the same kernel would be compiled to other code.
constexpr std::string_view kCodegenVersion = "1";

constexpr size_t kHashBytes = 16;
using Hash = std::array<uint8_t, kHashBytes>;

struct Header {
  std::array<char, 8> magic;
  uint64_t length;
  Hash hash;
};
constexpr std::array<char, 8> kMagic = {'d', 't', 'l', 'k', 'r', 'n', 'l', '1'};

Hash hash_of(std::initializer_list<std::string_view> parts) {
  llvm::BLAKE3 hasher;
  for (const std::string_view part : parts) {
    const uint64_t length = part.size();  // so that no two lists of parts run together alike
    hasher.update({reinterpret_cast<const uint8_t*>(&length), sizeof length});
    hasher.update({reinterpret_cast<const uint8_t*>(part.data()), part.size()});
  }
  return hasher.final<kHashBytes>();
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

/// For reading; nothing if there is no such file, or what is there is none: a pipe would be waited for.
File open_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  struct stat status;
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    if (File file(::fdopen(descriptor, "rb")); file) return file;
  }
  ::close(descriptor);
  return nullptr;
}

}  // namespace

std::string cache_key(std::string_view kernel_text, const Host& host, int opt_level) {
  return llvm::toHex(hash_of({kernel_text, LLVM_VERSION_STRING, host.cpu, host.features, std::to_string(host.vector_bits),
                              std::to_string(opt_level), kCodegenVersion}),
                     true);
}

std::optional<std::string> ObjectCache::find(const std::string& key) const {
  if (directory_.empty()) return std::nullopt;
  const File file = open_file(path(key));
  Header header;
  if (!file || std::fread(&header, sizeof header, 1, file.get()) != 1 || header.magic != kMagic) return std::nullopt;
  std::error_code error;
  const auto size = std::filesystem::file_size(path(key), error);
  if (error || size < sizeof header || header.length != size - sizeof header) return std::nullopt;
  std::string object(header.length, '\0');
  if (std::fread(object.data(), 1, object.size(), file.get()) != object.size() || hash_of({key, object}) != header.hash)
    return std::nullopt;
  return object;
}

void ObjectCache::put(const std::string& key, std::string_view object) const {
  if (directory_.empty()) return;
  static std::atomic<int> count = 0;
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  remove_unfinished(directory_, [](std::string_view name) { return name.find(".kernel.") != std::string_view::npos; });
  const std::string written = fmt::format("{}.{}.{}", path(key), ::getpid(), ++count);
  const Header header{kMagic, object.size(), hash_of({key, object})};
  {
    const File file(std::fopen(written.c_str(), "wb"));
    if (!file) return;
    hold_unfinished(::fileno(file.get()));
    const bool whole = std::fwrite(&header, sizeof header, 1, file.get()) == 1 &&
                       std::fwrite(object.data(), 1, object.size(), file.get()) == object.size() && std::fflush(file.get()) == 0;
    if (!whole) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(written, path(key), error);
  if (error) std::filesystem::remove(written, error);
}

}  // namespace dtl::codegen
