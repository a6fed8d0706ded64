// Saving: everything is written and synced under another name, then renamed.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "runtime/checkpoint/checkpoint.h"

namespace dtl::checkpoint {
namespace {

namespace fs = std::filesystem;

// Names beside those of checkpoints; what a crash leaves of them is removed by the next save.
constexpr std::string_view kPartial = ".partial", kReplaced = ".replaced", kRemoved = ".removed";
constexpr const char* kBest = "best";

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

uint32_t crc_of(Bytes bytes) { return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size())); }

/// Writes parts to a file and syncs it; adds its entry.
void write(Files& files, const std::string& folder, const std::string& name, const std::vector<Bytes>& parts,
           const std::vector<uint32_t>& crcs, Manifest& manifest) {
  FileEntry entry{name, 0, static_cast<uint32_t>(crc32(0, nullptr, 0))};
  for (size_t i = 0; i < parts.size(); ++i) {
    entry.bytes += static_cast<int64_t>(parts[i].size());
    entry.crc = static_cast<uint32_t>(crc32_combine(entry.crc, crcs[i], static_cast<z_off_t>(parts[i].size())));
  }
  const std::string path = folder + "/" + name;
  files.write(path, parts);
  files.sync_file(path);
  manifest.files.push_back(std::move(entry));
}

void write_tensors(Files& files, const std::string& folder, const std::string& name, const Snapshot& snapshot, bool training,
                   Manifest& manifest) {
  std::vector<const Snapshot::Tensor*> tensors;
  for (const Snapshot::Tensor& tensor : snapshot.tensors) {
    if (tensor.training == training) tensors.push_back(&tensor);
  }
  // Wide elements first: then all are aligned.
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const auto* a, const auto* b) { return size_of(a->type.dtype) > size_of(b->type.dtype); });
  std::vector<TensorType> types;
  for (const Snapshot::Tensor* tensor : tensors) types.push_back(tensor->type);
  const std::string header = safetensors_header(types);
  std::vector<Bytes> parts{bytes_of(header)};
  std::vector<uint32_t> crcs{crc_of(parts[0])};
  for (const Snapshot::Tensor* tensor : tensors) {
    parts.push_back(tensor->elements);
    crcs.push_back(crc_of(tensor->elements));
    manifest.tensors.push_back({tensor->type, name, crcs.back()});
  }
  write(files, folder, name, parts, crcs, manifest);
}

void write_all(Files& files, const std::string& folder, const Snapshot& snapshot) {
  Manifest manifest{snapshot.standing, snapshot.program, snapshot.strategy, snapshot.replicas, {}, {}};
  write_tensors(files, folder, kWeightsFile, snapshot, false, manifest);
  write_tensors(files, folder, kTrainingFile, snapshot, true, manifest);
  for (const auto& [name, text] : snapshot.texts) write(files, folder, name, {bytes_of(text)}, {crc_of(bytes_of(text))}, manifest);
  const std::string text = print(manifest);
  const std::vector<Bytes> parts{bytes_of(text)};
  files.write(folder + "/" + kManifestFile, parts);
  files.sync_file(folder + "/" + kManifestFile);
  files.sync_directory(folder);
}

bool is_left_over(const std::string& name) { return name.ends_with(kPartial) || name.ends_with(kReplaced) || name.ends_with(kRemoved); }

}  // namespace

std::string name_of_step(int64_t total_step) { return fmt::format("step-{:06}", total_step); }

std::string save(Files& files, const std::string& directory, const Snapshot& snapshot) {
  const std::string path = directory + "/" + name_of_step(snapshot.standing.total_step), partial = path + std::string(kPartial);
  try {
    files.remove(partial);
    files.make_directory(partial);
    write_all(files, partial, snapshot);
  } catch (const Fault&) {
    try {
      files.remove(partial);  // a full disk gets its space back
    } catch (const Fault&) {  // what went wrong first is told
    }
    throw;
  }
  std::error_code ignored;
  if (fs::exists(path, ignored)) files.rename(path, path + std::string(kReplaced));
  files.rename(partial, path);
  files.sync_directory(directory);
  files.remove(path + std::string(kReplaced));
  return path;
}

void mark_best(Files& files, const std::string& directory, int64_t total_step) {
  const std::string best = directory + "/" + kBest, partial = best + std::string(kPartial);
  files.remove(partial);
  files.link(name_of_step(total_step), partial);
  files.rename(partial, best);
  files.sync_directory(directory);
}

void prune(Files& files, const std::string& directory, int64_t keep) {
  std::error_code error;
  const std::string best = fs::read_symlink(directory + "/" + kBest, error).filename().string();  // empty where there is none
  const std::vector<Found> found = checkpoints_in(directory);
  for (size_t i = 0; i + static_cast<size_t>(keep) < found.size(); ++i) {
    if (fs::path(found[i].path).filename() != best) files.rename(found[i].path, found[i].path + std::string(kRemoved));
  }
  std::vector<std::string> left_over;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (is_left_over(entry.path().filename().string())) left_over.push_back(entry.path().string());
  }
  std::sort(left_over.begin(), left_over.end());
  for (const std::string& path : left_over) files.remove(path);
}

void make_directories(Files& files, const std::string& directory) {
  std::string path;
  for (const fs::path& part : fs::path(directory)) {
    path += (path.empty() || path.ends_with('/') ? "" : "/") + part.string();
    if (!path.empty() && path != "/") files.make_directory(path);
  }
}

void prepare(Files& files, const std::string& directory, const Size& size) {
  make_directories(files, directory);
  const std::string probe = directory + "/probe" + std::string(kPartial), text = "A checkpoint can be written here.\n";
  const std::vector<Bytes> parts{bytes_of(text)};
  files.write(probe, parts);
  files.sync_file(probe);
  files.remove(probe);
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < static_cast<rlim_t>(std::max(size.weights, size.training)))
    throw Fault(6101, {directory, std::strerror(EFBIG)});
  const int64_t bytes = size.weights + size.training;
  struct statvfs disk{};
  if (::statvfs(directory.c_str(), &disk) != 0) return;  // not all file systems know
  const double left = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  if (left < static_cast<double>(bytes)) throw disk_too_full(directory, bytes, static_cast<int64_t>(left));
}

Fault disk_too_full(const std::string& directory, int64_t bytes, int64_t left) {
  const auto megabytes = [](int64_t n) { return fmt::format("{:.1f} MB", static_cast<double>(n) / 1e6); };
  if (megabytes(bytes) != megabytes(left)) return {6111, {directory, megabytes(bytes), megabytes(left)}};
  return {6111, {directory, fmt::format("{} bytes", bytes), std::to_string(left)}};
}

}  // namespace dtl::checkpoint
