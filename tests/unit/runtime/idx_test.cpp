// IDX files, good and broken, made by hand.
#include "runtime/data/idx.h"

#include <unistd.h>
#include <zlib.h>

#include <bit>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/plan/fault.h"

namespace dtl::data {
namespace {

namespace fs = std::filesystem;

/// A folder that goes away with the test.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("idx-" + std::to_string(getpid()))) { fs::create_directories(path_); }
  ~Folder() { fs::remove_all(path_); }

  std::string plain(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  std::string zipped(const std::string& name, const std::string& bytes) const {
    const std::string path = path_ / name;
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string path(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string header(int type, const std::vector<uint32_t>& dims) {
  std::string bytes = {0, 0, static_cast<char>(type), static_cast<char>(dims.size())};
  for (const uint32_t dim : dims) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(dim >> shift);
  }
  return bytes;
}

/// The bytes 0, 1, 2, … after a header.
std::string bytes_file(const std::vector<uint32_t>& dims, int64_t bytes) {
  std::string text = header(0x08, dims);
  for (int64_t i = 0; i < bytes; ++i) text += static_cast<char>(i);
  return text;
}

/// The code of the fault that opening and reading `path` ends in; 0 for none.
int fault_of(const std::string& path) {
  try {
    IdxFile(path).finish();
  } catch (const Fault& fault) {
    return fault.code();
  }
  return 0;
}

TEST_CASE("idx: plain and gzip files hold the same examples") {
  const Folder folder;
  const std::string images = bytes_file({5, 2, 3}, 30), labels = bytes_file({5}, 5);
  for (const bool zip : {false, true}) {
    const auto write = [&](const std::string& name, const std::string& bytes) {
      return zip ? folder.zipped(name, bytes) : folder.plain(name, bytes);
    };
    IdxFiles files;
    const auto source = idx(files, write("images", images), write("labels", labels));
    source->finish();
    REQUIRE(source->examples() == 5);
    REQUIRE(source->fields().size() == 2);
    CHECK(source->fields()[0].shape == std::vector<int64_t>{2, 3});
    CHECK(source->fields()[0].dtype == DType::u8);
    CHECK(source->fields()[0].name.empty());
    CHECK(source->fields()[1].shape.empty());

    std::array<std::byte, 12> rows{};
    const std::array<int64_t, 2> wanted = {4, 1};
    source->gather(0, wanted, rows.data());
    for (int i = 0; i < 6; ++i) {
      CHECK(static_cast<int>(rows[static_cast<size_t>(i)]) == 24 + i);
      CHECK(static_cast<int>(rows[static_cast<size_t>(6 + i)]) == 6 + i);
    }
    source->gather(1, wanted, rows.data());
    CHECK(static_cast<int>(rows[0]) == 4);
    CHECK(static_cast<int>(rows[1]) == 1);
  }
}

TEST_CASE("idx: wide elements are turned from big-endian") {
  const Folder folder;
  const auto element = [&](int type, std::initializer_list<int> bytes) {
    std::string text = header(type, {1});
    for (const int b : bytes) text += static_cast<char>(b);
    return std::make_unique<IdxFile>(folder.plain("wide", text));
  };
  const auto i32 = element(0x0C, {0xff, 0xff, 0xff, 0xfe});
  i32->finish();
  CHECK(i32->field().dtype == DType::i32);
  int32_t whole = 0;
  std::memcpy(&whole, i32->data(), 4);
  CHECK(whole == -2);

  const auto f32 = element(0x0D, {0x3f, 0xc0, 0, 0});
  f32->finish();
  float real = 0;
  std::memcpy(&real, f32->data(), 4);
  CHECK(real == 1.5f);

  const auto f64 = element(0x0E, {0xbf, 0xf8, 0, 0, 0, 0, 0, 0});
  f64->finish();
  double wide = 0;
  std::memcpy(&wide, f64->data(), 8);
  CHECK(wide == -1.5);

  CHECK(element(0x09, {0xff})->field().dtype == DType::i8);
}

TEST_CASE("idx: a broken file is a fault that says what is wrong") {
  const Folder folder;
  CHECK(fault_of(folder.plain("good", bytes_file({4}, 4))) == 0);
  CHECK(fault_of(folder.path("none")) == 5001);
  CHECK(fault_of(folder.path(".")) == 5001);
  CHECK(fault_of(folder.plain("empty", "")) == 5003);
  CHECK(fault_of(folder.plain("zip", "PK\3\4 and more")) == 5003);
  CHECK(fault_of(folder.plain("type", header(0x0A, {1}) + "x")) == 5003);
  CHECK(fault_of(folder.plain("scalar", header(0x08, {}) + "x")) == 5003);
  CHECK(fault_of(folder.plain("header", header(0x08, {3, 4}).substr(0, 10))) == 5003);
  CHECK(fault_of(folder.plain("i16", header(0x0B, {1}) + "xx")) == 5004);
  CHECK(fault_of(folder.zipped("short", bytes_file({9}, 4))) == 5006);
  CHECK(fault_of(folder.plain("long", bytes_file({4}, 5))) == 5007);
  CHECK(fault_of(folder.zipped("long.gz", bytes_file({4}, 5))) == 5007);
}

TEST_CASE("idx: a damaged gzip file is a fault") {
  const Folder folder;
  std::string noise = bytes_file({100'000}, 0);
  for (uint32_t i = 0, x = 1; i < 100'000; ++i) noise += static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  folder.zipped("whole", noise);
  const std::string whole = folder.read("whole");
  CHECK(fault_of(folder.path("whole")) == 0);

  std::string flipped = whole;
  flipped[whole.size() - 6] = static_cast<char>(flipped[whole.size() - 6] ^ 1);  // in the checksum
  CHECK(fault_of(folder.plain("flipped", flipped)) == 5008);
  CHECK(fault_of(folder.plain("half", whole.substr(0, whole.size() / 2))) == 5006);
  CHECK(fault_of(folder.plain("no_checksum", whole.substr(0, whole.size() - 8))) == 5008);
}

TEST_CASE("idx: a header is not believed beyond what its file can hold") {
  const Folder folder;
  CHECK(fault_of(folder.plain("tera", header(0x08, {1 << 20, 1 << 20}))) == 5005);
  CHECK(fault_of(folder.zipped("tera.gz", header(0x08, {1 << 20, 1 << 20}))) == 5005);
  // Products that would wrap around, also behind a dimension of 0.
  CHECK(fault_of(folder.plain("wraps", header(0x0E, {0xffffffff, 0xffffffff, 0xffffffff}))) == 5005);
  CHECK(fault_of(folder.plain("zero", header(0x08, {0, 0xffffffff, 0xffffffff, 0xffffffff}))) == 5005);
  CHECK(fault_of(folder.plain("none", header(0x08, {0, 2}))) == 0);
}

TEST_CASE("idx: images and labels that differ in number are a fault") {
  const Folder folder;
  IdxFiles files;
  const std::string images = folder.plain("images", bytes_file({4, 2}, 8)), labels = folder.plain("labels", bytes_file({3}, 3));
  try {
    idx(files, images, labels);
    FAIL("no fault");
  } catch (const Fault& fault) {
    CHECK(fault.code() == 5009);
    CHECK(fault.arguments() == std::vector<std::string>{images, "4", labels, "3"});
  }
}

TEST_CASE("idx: a file is opened once, by whatever path and thread") {
  const Folder folder;
  const std::string path = folder.plain("file", bytes_file({4}, 4));
  IdxFiles files;
  std::vector<std::shared_ptr<const IdxFile>> opened(4);
  std::vector<std::thread> threads;
  for (auto& file : opened) threads.emplace_back([&] { file = files.open(folder.path("./file")); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& file : opened) CHECK(file == files.open(path));
}

}  // namespace
}  // namespace dtl::data
