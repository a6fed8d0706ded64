// Loading: nothing of a checkpoint is believed before its checksum is right.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/checkpoint/checkpoint.h"

namespace dtl::checkpoint {
namespace {

namespace fs = std::filesystem;

/// A file read from its start, or from some place. Faults: 5001, 6103 where it ends early.
class In {
 public:
  explicit In(std::string path) : path_(std::move(path)), file_(path_, std::ios::binary) {
    std::error_code ignored;
    if (fs::exists(path_, ignored) && !fs::is_regular_file(path_, ignored)) throw Fault(6103, {path_, "it is no file"});
    if (!file_) throw Fault(5001, {path_, std::strerror(errno ? errno : EIO)});
  }

  void seek(int64_t at) { file_.seekg(at); }
  void read(char* to, int64_t bytes) {
    errno = 0;
    if (!file_.read(to, bytes)) ends_early();
  }
  [[noreturn]] void ends_early() const {
    if (file_.bad() && errno != 0) throw Fault(5001, {path_, std::strerror(errno)});
    throw Fault(6103, {path_, "it ends early"});
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::ifstream file_;
};

/// Sizes of manifests and texts are bounded by what the file has.
std::string whole(const std::string& path, int64_t bytes) {
  In in(path);
  std::string text(static_cast<size_t>(bytes), '\0');
  in.read(text.data(), bytes);
  return text;
}

int64_t size_of_file(const std::string& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  if (error == std::errc::is_a_directory || (!error && !fs::is_regular_file(path, error))) throw Fault(6103, {path, "it is no file"});
  if (error == std::errc::no_such_file_or_directory) throw Fault(6103, {path, "it is missing"});
  if (error) throw Fault(5001, {path, error.message()});
  return static_cast<int64_t>(bytes);
}

/// The checksum of the next `bytes` bytes.
uint32_t crc_of_next(In& in, int64_t bytes, std::vector<char>& buffer) {
  uLong crc = crc32(0, nullptr, 0);
  while (bytes > 0) {
    const int64_t part = std::min(bytes, static_cast<int64_t>(buffer.size()));
    in.read(buffer.data(), part);
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(buffer.data()), static_cast<size_t>(part));
    bytes -= part;
  }
  return static_cast<uint32_t>(crc);
}

/// The step in `step-000500`, and nothing that is written in another way.
std::optional<int64_t> step_of(const std::string& name) {
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = 0;
  const char *begin = name.data() + kPrefix.size(), *end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(begin, end, step);
  if (error != std::errc() || stop != end || step < 0 || name_of_step(step) != name) return std::nullopt;
  return step;
}

}  // namespace

std::vector<Found> checkpoints_in(const std::string& directory) {
  std::vector<Found> found;
  std::error_code error;
  if (!fs::exists(directory, error)) return found;
  fs::directory_iterator entries(directory, error);
  if (error) throw Fault(5001, {directory, error.message()});
  for (const fs::directory_entry& entry : entries) {
    if (const auto step = step_of(entry.path().filename().string())) found.push_back({*step, directory + "/" + name_of_step(*step)});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.total_step < b.total_step; });
  return found;
}

Checkpoint::Checkpoint(std::string path) : path_(std::move(path)) {
  const std::string manifest = path_ + "/" + kManifestFile;
  manifest_ = parse_manifest(manifest, whole(manifest, size_of_file(manifest)));
  std::vector<char> buffer(size_t{1} << 20);
  for (const FileEntry& file : manifest_.files) {
    // A manifest that is not ours must not lead elsewhere.
    if (file.name.empty() || file.name.find('/') != std::string::npos || file.name == "." || file.name == "..")
      throw Fault(6103, {manifest, "it names a file elsewhere"});
    const std::string at = path_ + "/" + file.name;
    const int64_t bytes = size_of_file(at);
    if (bytes != file.bytes) throw Fault(6103, {at, fmt::format("it has {} bytes, and had {}", bytes, file.bytes)});
    In in(at);
    if (crc_of_next(in, bytes, buffer) != file.crc) throw Fault(6103, {at, "its checksum is another"});
    check_tensors(file);
  }
  if (begin_.size() != manifest_.tensors.size()) throw Fault(6103, {manifest, "it names tensors that no file holds"});
}

void Checkpoint::check_tensors(const FileEntry& file) {
  if (!file.name.ends_with(".safetensors")) return;
  const std::string at = path_ + "/" + file.name;
  const std::string length = whole(at, std::min<int64_t>(file.bytes, 8));
  const std::string header = whole(at, safetensors_header_bytes(at, length, file.bytes));
  for (const StoredTensor& stored : parse_safetensors(at, header, file.bytes)) {
    const TensorEntry* entry = find(stored.type.name);
    if (!entry || entry->file != file.name || entry->type.dtype != stored.type.dtype || entry->type.shape != stored.type.shape)
      throw Fault(6103, {at, fmt::format("its `{}` is not the manifest's", stored.type.name)});
    begin_[stored.type.name] = stored.begin;
  }
}

const TensorEntry* Checkpoint::find(const std::string& name) const {
  const auto at =
      std::find_if(manifest_.tensors.begin(), manifest_.tensors.end(), [&](const TensorEntry& tensor) { return tensor.type.name == name; });
  return at == manifest_.tensors.end() ? nullptr : &*at;
}

void Checkpoint::read(const TensorEntry& tensor, std::span<std::byte> to) const {
  In in(path_ + "/" + tensor.file);
  in.seek(begin_.at(tensor.type.name));
  in.read(reinterpret_cast<char*>(to.data()), static_cast<int64_t>(to.size()));
  // Between the check and now the file may have changed, or the disk failed.
  if (crc32_z(0, reinterpret_cast<const Bytef*>(to.data()), to.size()) != tensor.crc)
    throw Fault(6103, {in.path(), fmt::format("the checksum of `{}` is another", tensor.type.name)});
}

std::optional<std::string> Checkpoint::text(const std::string& name) const {
  for (const FileEntry& file : manifest_.files) {
    if (file.name == name) return whole(path_ + "/" + name, file.bytes);
  }
  return std::nullopt;
}

Checkpoint open(const std::string& path, const std::function<void(const std::string& path, const Fault& why)>& passed_over) {
  std::error_code ignored;
  if (fs::exists(path + "/" + kManifestFile, ignored)) return Checkpoint(path);
  std::vector<Found> found = checkpoints_in(path);
  if (found.empty()) throw Fault(6102, {path});
  for (; found.size() > 1; found.pop_back()) {
    try {
      return Checkpoint(found.back().path);
    } catch (const Fault& fault) {
      if (fault.code() != 6103) throw;
      passed_over(found.back().path, fault);
    }
  }
  return Checkpoint(found[0].path);
}

}  // namespace dtl::checkpoint
