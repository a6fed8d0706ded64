// Data larger than the memory that the process may have of its own.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "compiler/driver/options.h"
#include "runtime/data/csv.h"
#include "runtime/data/idx.h"
#include "runtime/plan/fault.h"

namespace dtl::driver {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMegabyte = 1 << 20;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("memory-" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string at(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

int64_t own_memory() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("VmData:")) return std::stoll(line.substr(7)) * 1024;
  }
  return 0;
}

/// Whether `work` succeeds in a process that may have `more` bytes beside what it has. What lies in files does not count.
bool succeeds_within(int64_t more, const std::function<bool()>& work) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto limit = static_cast<rlim_t>(own_memory() + more);
    const rlimit limits{limit, limit};
    setrlimit(RLIMIT_DATA, &limits);
    bool good = false;
    try {
      good = work();
    } catch (const std::bad_alloc&) {
    } catch (const Fault&) {
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status) == 0;
}

std::string idx_header(uint32_t examples, uint32_t each) {
  std::string bytes("\0\0\x08\x02", 4);
  for (const uint32_t dim : {examples, each}) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(dim >> shift);
  }
  return bytes;
}

/// A file of that header and zeros; on the disk it is hardly there.
void write_sparse(const std::string& path, const std::string& header, int64_t zeros) {
  std::ofstream(path, std::ios::binary) << header;
  fs::resize_file(path, header.size() + static_cast<uintmax_t>(zeros));
}

}  // namespace

TEST_CASE("P26: a table larger than the memory allowed is decoded into the cache") {
  const Folder folder;
  {
    std::ofstream out(folder.at("wide.csv"));
    out << "a,b,c,d,e,f,g,h\n";
    for (int row = 0; row < 500'000; ++row) out << "1,2,3,4,5,6,7,8\n";  // 8 MB, and 32 MB as i64
  }
  const auto reads = [&](const data::Cache& cache) {
    const auto table = data::read_csv(folder.at("wide.csv"), {}, cache);
    int64_t value = 0;
    const int64_t rows[] = {499'999};
    table->gather(7, rows, reinterpret_cast<std::byte*>(&value));
    return table->examples() == 500'000 && value == 8;
  };
  CHECK_FALSE(succeeds_within(24 * kMegabyte, [&] { return reads(data::Cache()); }));
  CHECK(succeeds_within(24 * kMegabyte, [&] { return reads(data::Cache(folder.at("cache"))); }));
}

TEST_CASE("P26: images larger than the memory allowed are mapped, or inflated into the cache") {
  const Folder folder;
  const std::string header = idx_header(64, kMegabyte);
  write_sparse(folder.at("plain"), header, 64 * kMegabyte);
  {
    gzFile file = gzopen(folder.at("zipped").c_str(), "wb1");
    gzwrite(file, header.data(), static_cast<unsigned>(header.size()));
    const std::string zeros(kMegabyte, '\0');
    for (int i = 0; i < 64; ++i) gzwrite(file, zeros.data(), static_cast<unsigned>(zeros.size()));
    gzclose(file);
  }
  for (const std::string name : {"plain", "zipped"}) {
    CAPTURE(name);
    const auto reads = [&](const data::IdxPlaces& places) {
      const data::IdxFile file(folder.at(name), data::Decoding::late, places);
      file.finish();
      return file.data()[64 * kMegabyte - 1] == std::byte{0};
    };
    const data::IdxPlaces paged{.folder = folder.at("cache"), .in_memory = kMegabyte};
    CHECK_FALSE(succeeds_within(32 * kMegabyte, [&] { return reads({}); }));
    // A file of up to 64 MB is read at once, so that the plain one is a little larger.
    CHECK(succeeds_within(32 * kMegabyte, [&] { return reads(paged); }));
  }
}

TEST_CASE("P26: data larger than the memory allowed is read, and trains") {
  const Folder folder;
  constexpr uint32_t kExamples = 1024, kEach = 1 << 19;
  write_sparse(folder.at("images"), idx_header(kExamples, kEach), int64_t{kExamples} * kEach);
  std::string labels("\0\0\x08\x01", 4);
  labels += std::string("\0\0\x04\0", 4) + std::string(kExamples, '\1');
  std::ofstream(folder.at("labels"), std::ios::binary) << labels;
  std::ofstream(folder.at("job.dtl")) << R"(
dataset Large {
  train   = idx(images = "images", labels = "labels")
  batch   = 2
  shuffle = all
  example (image: u8[524_288], label: u8) {
    image = cast(image[0 .. 16], f32) / 255
    label = cast(label, i32)
  }
}
model Net (image: f32[batch, 16]) -> f32[batch, 3] { image |> dense(3) }
train {
  model     = Net
  data      = Large
  loss      = mean(sparse_cross_entropy(prediction, label))
  optimizer = sgd(0.1)
  steps     = 20
}
)";
  CHECK(succeeds_within(400 * kMegabyte, [&] {
    std::ostringstream out, err;
    return run({"train", folder.at("job.dtl"), "--threads", "1", "--cache", folder.at("cache")}, out, err) == 0;
  }));
}

}  // namespace dtl::driver
