// Tables and the cache: round trips, damage, folders that cannot be written.
#include "runtime/data/table.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/data/csv.h"
#include "runtime/plan/fault.h"
#include "tests/unit/runtime/folder_testing.h"

namespace dtl::data {
namespace {

using test::TemporaryFolder;
namespace fs = std::filesystem;

/// 10,000 rows of a vector and a text; `made` counts how often.
std::shared_ptr<const Table> numbers(const Cache& cache, const std::string& key, int& made) {
  return cache.get(key, [&](const std::string& keep_as) {
    ++made;
    TableWriter writer(cache.folder());
    Field text;
    text.name = "t";
    text.dtype = DType::u8;
    text.text = true;
    writer.add({"x", DType::f32, {2}}, 10'000);
    writer.add(text, 10'000, 100'000);
    writer.begin();
    for (int64_t row = 0; row < 10'000; ++row) {
      const std::array<float, 2> values = {static_cast<float>(row), -1};
      std::memcpy(writer.cell(0, row), values.data(), 8);
      writer.put_text(1, row, std::to_string(row));
    }
    TableNotes notes;
    notes.file = "f";
    notes.skipped = {2, 3, 5};
    notes.unread = {"a", "b"};
    notes.why = {"", "because"};
    return writer.finish(9'999, std::move(notes), keep_as, key);
  });
}

bool is_right(const Table& table) {
  std::array<float, 4> values{};
  const std::array<int64_t, 2> rows = {9'998, 5};
  table.gather(0, rows, reinterpret_cast<std::byte*>(values.data()));
  return table.examples() == 9'999 && values == std::array<float, 4>{9'998, -1, 5, -1} && table.text(1, 1234) == "1234" &&
         table.notes().skipped == std::vector<int64_t>{2, 3, 5} && table.notes().unread.size() == 2 && table.notes().why[1] == "because";
}

TEST_CASE("cache: made once, then mapped; another key is another table") {
  const TemporaryFolder folder("table");
  const Cache cache(folder.path("deep/er"));
  int made = 0;
  for (int i = 0; i < 3; ++i) CHECK(is_right(*numbers(cache, "one", made)));
  CHECK(made == 1);
  CHECK(is_right(*numbers(cache, "two", made)));
  CHECK(made == 2);
  // A file of another key under the name of this one is not believed.
  fs::copy_file(cache.path_of("one"), cache.path_of("two"), fs::copy_options::overwrite_existing);
  CHECK(is_right(*numbers(cache, "two", made)));
  CHECK(made == 3);
  // Nothing is left behind but the tables.
  CHECK(std::distance(fs::directory_iterator(folder.path("deep/er")), {}) == 2);
}

TEST_CASE("cache: a damaged file is made anew") {
  const TemporaryFolder folder("table");
  const Cache cache(folder.path());
  int made = 0;
  numbers(cache, "key", made);
  const std::string name = fs::path(cache.path_of("key")).filename(), whole = folder.read(name);
  const auto rebuilt = [&](const std::string& bytes) {
    folder.plain(name, bytes);
    const int before = made;
    return is_right(*numbers(cache, "key", made)) && made == before + 1;
  };
  for (const size_t at : {size_t{0}, size_t{40'000}, whole.size() / 2, whole.size() - 200, whole.size() - 20, whole.size() - 1}) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    INFO(at);
    CHECK(rebuilt(flipped));
  }
  for (const size_t size : {size_t{0}, size_t{10}, size_t{24}, whole.size() / 2, whole.size() - 1}) {
    INFO(size);
    CHECK(rebuilt(whole.substr(0, size)));
  }
  CHECK(rebuilt(whole + "x"));
  CHECK(rebuilt(std::string(5000, '\xff')));
}

TEST_CASE("cache: without a folder, or with one that cannot be made, tables lie in memory") {
  const TemporaryFolder folder("table");
  folder.plain("file", "");
  int made = 0;
  for (const std::string& path : {std::string(), folder.path("file/below"), std::string("/proc/none")}) {
    CHECK(is_right(*numbers(Cache(path), "key", made)));
    CHECK(is_right(*numbers(Cache(path), "key", made)));
  }
  CHECK(made == 6);
}

TEST_CASE("cache: a file that changed is read again") {
  const TemporaryFolder folder("table");
  const Cache cache(folder.path("cache"));
  std::string rows = "x\n";
  for (int i = 0; i < 20'000; ++i) rows += std::to_string(i) + "\n";
  const std::string path = folder.plain("a.csv", rows);
  CHECK(read_csv(path, {}, cache)->examples() == 20'000);
  CHECK(std::distance(fs::directory_iterator(folder.path("cache")), {}) == 1);
  CHECK(read_csv(path, {}, cache)->examples() == 20'000);
  folder.plain("a.csv", rows + "7\n");
  CHECK(read_csv(path, {}, cache)->examples() == 20'001);
  // The same size at another time.
  const auto time = fs::last_write_time(path);
  rows[2] = '9';
  folder.plain("a.csv", rows + "7\n");
  fs::last_write_time(path, time + std::chrono::seconds(2));
  int64_t first = 0;
  const int64_t row = 0;
  read_csv(path, {}, cache)->gather(0, {&row, 1}, reinterpret_cast<std::byte*>(&first));
  CHECK(first == 9);
}

TEST_CASE("bytes: gzip, whole, cut, joined, and without end") {
  const TemporaryFolder folder("bytes");
  std::string text;
  for (int64_t i = 0; i < 300'000; ++i) text += std::to_string(i * 7919 % 10'007);
  const std::string path = folder.zipped("a.gz", text);
  const auto read = [&](const std::string& file) { return std::string(read_unzipped(file, {}).text()); };
  const auto code = [&](const std::string& file) {
    try {
      read(file);
    } catch (const Fault& fault) {
      return fault.code();
    }
    return 0;
  };
  CHECK(read(path) == text);
  const std::string whole = folder.read("a.gz");
  CHECK(read(folder.plain("two.gz", whole + whole)) == text + text);
  for (const size_t size : {size_t{2}, size_t{11}, whole.size() / 2, whole.size() - 3})
    CHECK(code(folder.plain("cut.gz", whole.substr(0, size))) == 5008);
  std::string flipped = whole;
  flipped[whole.size() / 2] = static_cast<char>(flipped[whole.size() / 2] ^ 0x55);
  CHECK(code(folder.plain("flipped.gz", flipped)) == 5008);
  CHECK(code(folder.plain("more.gz", whole + "rubbish")) == 5008);
  CHECK(read(folder.plain("empty", "")).empty());

  // 1.2 GB of zeros in 1.2 MB.
  gzFile bomb = gzopen(folder.path("bomb.gz").c_str(), "wb1");
  const std::string zeros(1 << 20, '\0');
  for (int i = 0; i < 1200; ++i) gzwrite(bomb, zeros.data(), 1 << 20);
  gzclose(bomb);
  CHECK(code(folder.path("bomb.gz")) == 5018);
}

TEST_CASE("bytes: UTF-8 as Unicode has it") {
  CHECK(first_not_utf8("") == -1);
  CHECK(first_not_utf8("plain ASCII of some length") == -1);
  CHECK(first_not_utf8("ä€𝄞\xed\x9f\xbf\xee\x80\x80") == -1);
  CHECK(first_not_utf8("12345678\x80") == 8);
  CHECK(first_not_utf8("\xc0\xaf") == 0);  // too long a form
  CHECK(first_not_utf8("a\xe0\x9f\xbf") == 1);
  CHECK(first_not_utf8("\xed\xa0\x80") == 0);      // half of a pair
  CHECK(first_not_utf8("\xf4\x90\x80\x80") == 0);  // beyond U+10FFFF
  CHECK(first_not_utf8("abc\xe2\x82") == 3);       // cut off
  for (const char32_t code : {U'a', U'ä', U'€', U'𝄞', char32_t{0x10ffff}}) {
    std::string text;
    append_utf8(text, code);
    size_t at = 0;
    CHECK(first_not_utf8(text) == -1);
    CHECK(next_code_point(text, at) == code);
    CHECK(at == text.size());
  }
}

}  // namespace
}  // namespace dtl::data
