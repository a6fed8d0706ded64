// Arrays of NumPy, good and broken, made by hand.
#include "runtime/data/npy.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "runtime/plan/fault.h"
#include "tests/unit/runtime/folder_testing.h"

namespace dtl::data {
namespace {

using test::TemporaryFolder;

std::string little(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string file_of(const std::string& dictionary, const std::string& data, int version = 1) {
  return "\x93NUMPY" + little(static_cast<uint64_t>(version), 2) + little(dictionary.size(), version == 1 ? 2 : 4) + dictionary + data;
}

std::string array_of(const std::string& descr, const std::string& shape, const std::string& data) {
  return file_of("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n", data);
}

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

struct Member {
  std::string name, bytes;
  bool deflated = false;
};

/// As zipfile writes it.
std::string archive_of(const std::vector<Member>& members) {
  std::string text, directory;
  for (const Member& member : members) {
    std::string packed = member.bytes;
    if (member.deflated) {
      z_stream stream{};
      deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
      packed.resize(member.bytes.size() + 100);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(member.bytes.data()));
      stream.avail_in = static_cast<uInt>(member.bytes.size());
      stream.next_out = reinterpret_cast<Bytef*>(packed.data());
      stream.avail_out = static_cast<uInt>(packed.size());
      deflate(&stream, Z_FINISH);
      packed.resize(stream.total_out);
      deflateEnd(&stream);
    }
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(member.bytes.data()), static_cast<uInt>(member.bytes.size()));
    const std::string common = little(0, 2) + little(member.deflated ? 8 : 0, 2) + little(0, 4) + little(crc, 4) +
                               little(packed.size(), 4) + little(member.bytes.size(), 4) + little(member.name.size(), 2) + little(0, 2);
    directory += "PK\x01\x02" + little(20, 2) + little(20, 2) + common + little(0, 2) + little(0, 2) + little(0, 2) + little(0, 4) +
                 little(text.size(), 4) + member.name;
    text += "PK\x03\x04" + little(20, 2) + common + member.name + packed;
  }
  const size_t begin = text.size();
  return text + directory + "PK\x05\x06" + little(0, 4) + little(members.size(), 2) + little(members.size(), 2) +
         little(directory.size(), 4) + little(begin, 4) + little(0, 2);
}

template <class T>
std::vector<T> row(const Source& source, size_t field, int64_t index) {
  std::vector<T> values(static_cast<size_t>(source.fields()[field].elements()));
  source.gather(field, {&index, 1}, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

int code_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Fault& fault) {
    return fault.code();
  }
  return 0;
}

TEST_CASE("npy: rows of every element type") {
  const TemporaryFolder folder("npy");
  const auto read = [&](const std::string& bytes) { return read_npy(folder.plain("a.npy", bytes), true); };
  const auto matrix = read(array_of("<f4", "(3, 2)", bytes_of<float>({1, 2, 3, 4, 5, 6})));
  matrix->finish();
  CHECK(matrix->examples() == 3);
  CHECK(matrix->fields()[0].shape == std::vector<int64_t>{2});
  CHECK(row<float>(*matrix, 0, 2) == std::vector<float>{5, 6});
  CHECK(matrix->place(1) == "`a.npy`, example 1");
  CHECK(row<double>(*read(array_of("<f8", "(1,)", bytes_of<double>({0.5}))), 0, 0)[0] == 0.5);
  CHECK(row<int64_t>(*read(array_of("<i8", "(1,)", bytes_of<int64_t>({-5}))), 0, 0)[0] == -5);
  CHECK(row<int32_t>(*read(array_of("<i2", "(2,)", bytes_of<int16_t>({7, -5}))), 0, 1)[0] == -5);
  CHECK(row<int32_t>(*read(array_of("<u2", "(1,)", bytes_of<uint16_t>({65535}))), 0, 0)[0] == 65535);
  CHECK(row<int64_t>(*read(array_of("<u4", "(1,)", bytes_of<uint32_t>({4294967295u}))), 0, 0)[0] == 4294967295);
  CHECK(row<uint8_t>(*read(array_of("|b1", "(3,)", {"\x00\x01\x07", 3})), 0, 2)[0] == 1);
  CHECK(read(array_of("|i1", "(1,)", "a"))->fields()[0].dtype == DType::i8);
  CHECK(read(array_of("<f2", "(1,)", "aa"))->fields()[0].dtype == DType::f16);
  CHECK(read(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4)}", "", 2))->examples() == 0);
}

TEST_CASE("npy: a broken file is a fault") {
  const TemporaryFolder folder("npy");
  const auto code = [&](const std::string& bytes) { return code_of([&] { read_npy(folder.plain("b.npy", bytes), true)->finish(); }); };
  const std::string good = array_of("<f4", "(2,)", bytes_of<float>({1, 2}));
  CHECK(code(good) == 0);
  for (size_t size = 0; size < good.size(); ++size) CHECK(code(good.substr(0, size)) == 5014);
  CHECK(code(good + "x") == 5014);
  const std::string eight(8, 'a');
  for (const char* dictionary :
       {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "{'descr': '<f4', 'fortran_order': False}", "{", "", "}", "{'a': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296)}"}) {
    INFO(dictionary);
    CHECK(code(file_of(dictionary, eight)) == 5014);
  }
  CHECK(code_of([&] { read_npy(folder.path("none"), true); }) == 5001);
}

TEST_CASE("npy: numbers that are not finite") {
  const TemporaryFolder folder("npy");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::string path = folder.plain("n.npy", array_of("<f4", "(3, 2)", bytes_of<float>({1, 2, 3, 4, nan, 6})));
  CHECK(code_of([&] { read_npy(path, true)->finish(); }) == 5020);
  CHECK(code_of([&] { read_npy(path, false)->finish(); }) == 0);
  CHECK(code_of([&] { read_npy(folder.plain("i.npy", array_of("<f8", "(1,)", bytes_of<double>({-INFINITY}))), true)->finish(); }) == 5020);
  CHECK(code_of([&] { read_npy(folder.plain("h.npy", array_of("<f2", "(1,)", little(0xfc00, 2))), true)->finish(); }) == 5020);
}

TEST_CASE("npz: arrays are fields by name, stored and deflated alike") {
  const TemporaryFolder folder("npz");
  const std::string x = array_of("<f4", "(2, 2)", bytes_of<float>({1, 2, 3, 4})), y = array_of("<i8", "(2,)", bytes_of<int64_t>({7, 8}));
  for (const bool deflated : {false, true}) {
    const auto source =
        read_npz(folder.plain("a.npz", archive_of({{"x.npy", x, deflated}, {"y.npy", y, deflated}, {"readme", "hi", false}})), true,
                 Cache(folder.path("cache")));
    source->finish();
    REQUIRE(source->fields().size() == 2);
    CHECK(source->fields()[1].name == "y");
    CHECK(row<float>(*source, 0, 1) == std::vector<float>{3, 4});
    CHECK(row<int64_t>(*source, 1, 0)[0] == 7);
  }
  const auto code = [&](const std::string& bytes) {
    return code_of([&] { read_npz(folder.plain("b.npz", bytes), true, Cache())->finish(); });
  };
  CHECK(code(archive_of({{"x.npy", x, false}, {"y.npy", array_of("<i8", "(1,)", bytes_of<int64_t>({7})), false}})) == 5009);
  CHECK(code(archive_of({{"x.npy", x, false}, {"x.npy", x, false}})) == 5024);
  CHECK(code(archive_of({{"readme", "hi", false}})) == 5015);
  CHECK(code("") == 5015);
  // Every cut, and every flipped byte, is a fault or leaves the numbers as they are.
  for (const bool deflated : {false, true}) {
    const std::string good = archive_of({{"x.npy", x, deflated}, {"y.npy", y, deflated}});
    for (size_t size = 0; size < good.size(); ++size) CHECK(code(good.substr(0, size)) != 0);
    for (size_t i = 0; i < good.size(); ++i) {
      std::string flipped = good;
      flipped[i] = static_cast<char>(flipped[i] ^ 0x81);
      INFO(i);
      try {
        const auto source = read_npz(folder.plain("c.npz", flipped), true, Cache());
        source->finish();
        if (source->fields().size() == 2) CHECK(row<float>(*source, 0, 1) == std::vector<float>{3, 4});
      } catch (const Fault& fault) {
        CHECK(fault.code() >= 5001);
      }
    }
  }
}

}  // namespace
}  // namespace dtl::data
