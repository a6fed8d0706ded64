// Tables: what RFC 4180 allows, what it does not, types, missing values, faulty rows.
#include "runtime/data/csv.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/data/csv_scanner.h"
#include "runtime/plan/fault.h"
#include "tests/unit/runtime/folder_testing.h"

namespace dtl::data {
namespace {

using test::TemporaryFolder;
using Rows = std::vector<std::vector<std::string>>;

/// Rows of cells; a faulty row is its fault, in brackets.
Rows scan(std::string_view text, char delimiter = ',') {
  CsvScanner scanner(text, delimiter);
  Rows rows;
  while (scanner.next()) {
    if (!scanner.fault.empty()) {
      rows.push_back({"[" + scanner.fault + "]"});
    } else {
      rows.emplace_back(scanner.cells.begin(), scanner.cells.end());
    }
  }
  return rows;
}

std::shared_ptr<const Table> read(const std::string& path, const CsvOptions& options = {}) { return read_csv(path, options, Cache()); }

std::vector<std::string> fault_of(const std::string& path, const CsvOptions& options = {}) {
  try {
    read(path, options);
  } catch (const Fault& fault) {
    std::vector<std::string> told = {std::to_string(fault.code())};
    told.insert(told.end(), fault.arguments().begin() + 1, fault.arguments().end());
    return told;
  }
  return {};
}

std::string types_of(const Table& table) {
  std::string types;
  for (const Field& field : table.fields())
    types += (types.empty() ? "" : " ") + field.name + ":" + (field.text ? std::string("text") : std::string(name_of(field.dtype)));
  return types;
}

template <class T>
std::vector<T> column(const Source& source, size_t field) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < source.examples(); ++row) rows.push_back(row);
  std::vector<T> values(rows.size());
  source.gather(field, rows, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

std::vector<std::string> texts(const Source& source, size_t field) {
  std::vector<std::string> values;
  for (int64_t row = 0; row < source.examples(); ++row) values.emplace_back(source.text(field, row));
  return values;
}

TEST_CASE("csv: headings become names") {
  const std::pair<const char*, const char*> cases[] = {{"plain_1", "plain_1"},
                                                       {"body mass", "body_mass"},
                                                       {"Sepal Length (cm)", "Sepal_Length_cm"},
                                                       {"2nd", "_2nd"},
                                                       {"if", "if_"},
                                                       {"a.b-c", "a_b_c"},
                                                       {"_x_", "_x_"},
                                                       {"größe", "gr_e"},
                                                       {"(a)", "a"},
                                                       {"年齢", ""}};
  for (const auto& [heading, name] : cases) CHECK(field_name(heading) == name);
  const TemporaryFolder folder("csv");
  CHECK(types_of(*read(folder.plain("names.csv", "body mass,年齢,if\n1,2.5,x\n"))) == "body_mass:i64 column_2:f32 if_:text");
}

TEST_CASE("csv: a missing number is filled by column") {
  const TemporaryFolder folder("csv");
  CsvOptions options;
  options.columns = {{"a", CsvType::i64}, {"b_c", CsvType::f32}, {"d", CsvType::f32}};
  options.fill = 7;
  options.fill_of = {{"b_c", 0.5}};
  const auto table = read(folder.plain("fill.csv", "a,b c,d\n,,\n1,2,3\n"), options);
  CHECK(column<int64_t>(*table, 0) == std::vector<int64_t>{7, 1});
  CHECK(column<float>(*table, 1) == std::vector<float>{0.5F, 2});
  CHECK(column<float>(*table, 2) == std::vector<float>{7, 3});
}

TEST_CASE("csv: cells as RFC 4180 has them") {
  CHECK(scan("a,b\n1,2\n") == Rows{{"a", "b"}, {"1", "2"}});
  CHECK(scan("a,b\r\n1,2") == Rows{{"a", "b"}, {"1", "2"}});
  CHECK(scan("\"a,b\",\"c\nd\",\"\"\"q\"\"\"\r\n,,\n") == Rows{{"a,b", "c\nd", "\"q\""}, {"", "", ""}});
  CHECK(scan("\xef\xbb\xbf"
             "a\n1\n") == Rows{{"a"}, {"1"}});
  CHECK(scan("\n\r\na\n\n\n1\n\n") == Rows{{"a"}, {"1"}});
  CHECK(scan("a;b,c\n", ';') == Rows{{"a", "b,c"}});
  CHECK(scan("a 5\" disk,b\n") == Rows{{"a 5\" disk", "b"}});
  CHECK(scan("\"\"\n") == Rows{{""}});
  CHECK(scan("a,\"b\"") == Rows{{"a", "b"}});
  CHECK(scan("").empty());
}

TEST_CASE("csv: a broken row is told and the next one read") {
  CHECK(scan("a,\"b\nc,d\n") == Rows{{"[a quoted cell is not closed]"}, {"c", "d"}});
  CHECK(scan("\"a\"b,c\nd,e\n") == Rows{{"[text follows the closing quote of a cell]"}, {"d", "e"}});
  CHECK(scan(std::string_view("a\0b,c\nd,e\n", 10)) == Rows{{"[it holds a byte 0]"}, {"d", "e"}});
  CHECK(scan("\"") == Rows{{"[a quoted cell is not closed]"}});
}

TEST_CASE("csv: lines are counted through quoted cells") {
  CsvScanner scanner("a\n\"1\n2\n3\"\n\nb\n", ',');
  std::vector<int64_t> lines;
  while (scanner.next()) lines.push_back(scanner.line);
  CHECK(lines == std::vector<int64_t>{1, 2, 6});
}

TEST_CASE("csv: types come from the whole file, or from the program") {
  const TemporaryFolder folder("csv");
  const std::string path =
      folder.plain("t.csv", "i,x,b,t,q\n1,1.5,true,a,\"7\"\n-2, 2e3 ,False,4,\"8\"\n+9223372036854775807,-.5,true,,9\n");
  const auto table = read(path);
  CHECK(types_of(*table) == "i:i64 x:f32 b:bool t:text q:i64");
  CHECK(column<int64_t>(*table, 0) == std::vector<int64_t>{1, -2, std::numeric_limits<int64_t>::max()});
  CHECK(column<float>(*table, 1) == std::vector<float>{1.5f, 2000, -0.5f});
  CHECK(column<uint8_t>(*table, 2) == std::vector<uint8_t>{1, 0, 1});
  CHECK(texts(*table, 3) == std::vector<std::string>{"a", "4", ""});
  CHECK(table->notes().why[3] == "row 1 holds `a`");

  CsvOptions options;
  options.columns = {{"q", CsvType::u8}, {"x", CsvType::f64}, {"i", CsvType::text}, {"none", CsvType::inferred}};
  const auto some = read(path, options);
  CHECK(types_of(*some) == "i:text x:f64 q:u8");
  CHECK(some->notes().unread == std::vector<std::string>{"b", "t"});
  CHECK(some->place(1) == "`t.csv`, row 2");

  options = {};
  options.header = false;
  CHECK(types_of(*read(folder.plain("n.csv", "1,a\n2,b\n"), options)) == "column_1:i64 column_2:text");
  CHECK(read(path, options)->examples() == 4);
}

TEST_CASE("csv: gzip and plain hold the same") {
  const TemporaryFolder folder("csv");
  std::string text = "x,t\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + ",word " + std::to_string(i * 7) + "\n";
  const auto plain = read(folder.plain("a.csv", text)), zipped = read(folder.zipped("a.csv.gz", text));
  CHECK(column<int64_t>(*plain, 0) == column<int64_t>(*zipped, 0));
  CHECK(texts(*plain, 1) == texts(*zipped, 1));
}

TEST_CASE("csv: what is wrong has a row, a line and a column") {
  const TemporaryFolder folder("csv");
  CsvOptions options;
  options.columns = {{"x", CsvType::i8}, {"t", CsvType::text}};
  const auto told = [&](const std::string& rows) { return fault_of(folder.plain("f.csv", "x,t\n" + rows), options); };
  CHECK(told("1,a\n").empty());
  CHECK(told("1,\"a\nb\"\n2\n") == std::vector<std::string>{"5010", "2", "4", "1 cell, where there are 2 columns"});
  CHECK(told("1,a\n128,b\n") == std::vector<std::string>{"5011", "2", "3", "x", "128 is not in -128 … 127"});
  CHECK(told("1.5,a\n") == std::vector<std::string>{"5011", "1", "2", "x", "`1.5` is no whole number"});
  CHECK(told(",a\n") == std::vector<std::string>{"5011", "1", "2", "x", "the number is missing"});
  CHECK(told("1,\xff\n") == std::vector<std::string>{"5011", "1", "2", "t", "`?` is not UTF-8 at byte 0"});
  options.columns = {{"x", CsvType::f32}};
  CHECK(told("nan,a\n") == std::vector<std::string>{"5011", "1", "2", "x", "`nan` is not finite"});
  CHECK(told("1e39,a\n") == std::vector<std::string>{"5011", "1", "2", "x", "`1e39` is too large for f32"});
  CHECK(told("1e-500,a\n").empty());
  CHECK(told("0x10,a\n") == std::vector<std::string>{"5011", "1", "2", "x", "`0x10` is no number"});
  CHECK(told(std::string(100'000, '9') + ",a\n")[0] == "5011");
  CHECK(fault_of(folder.plain("empty.csv", "")) == std::vector<std::string>{"5023"});
  CHECK(fault_of(folder.plain("twice.csv", "a,b,a\n1,2,3\n")) == std::vector<std::string>{"5024", "a"});
  CHECK(fault_of(folder.plain("alike.csv", "a b,a-b\n1,2\n")) == std::vector<std::string>{"5025", "a b", "a-b", "a_b"});
  CHECK(fault_of(folder.plain("wide.csv", std::string("\xff\xfe") + "a")).at(3).find("UTF-16") != std::string::npos);
  CHECK(fault_of(folder.plain("old.csv", "a,b\r1,2\r")).at(3).find("carriage return") != std::string::npos);
  CsvOptions filled;
  filled.fill_of["z"] = 1;
  CHECK(fault_of(folder.plain("filled.csv", "a\n1\n"), filled) == std::vector<std::string>{"5012", "z"});
  CHECK(fault_of(folder.path("none.csv"))[0] == "5001");
  CHECK(fault_of(folder.path())[0] == "5001");
  CHECK(read(folder.plain("header.csv", "a,b\n"))->examples() == 0);
}

TEST_CASE("csv: missing numbers, and rows left out") {
  const TemporaryFolder folder("csv");
  const std::string path = folder.plain("m.csv", "x,y\n1,2\nNA,3\n4\n,5\n6,7\n");
  CsvOptions options;
  options.missing = {"NA"};
  options.fill = -1;
  options.skip_limit = 1;
  const auto filled = read(path, options);
  CHECK(types_of(*filled) == "x:i64 y:i64");
  CHECK(column<int64_t>(*filled, 0) == std::vector<int64_t>{1, -1, -1, 6});
  CHECK(filled->notes().skipped.size() == 1);

  options.fill.reset();
  options.skip_limit = 3;
  const auto left_out = read(path, options);
  CHECK(column<int64_t>(*left_out, 1) == std::vector<int64_t>{2, 7});
  CHECK(left_out->notes().first_skipped == "row 2, column `x`: the number is missing");
  options.skip_limit = 2;
  CHECK(fault_of(path, options) == std::vector<std::string>{"5017", "2", "row 2, column `x`: the number is missing"});
}

TEST_CASE("csv: a million columns, and cells of megabytes") {
  const TemporaryFolder folder("csv");
  std::string header, row;
  for (int i = 0; i < 1'000'000; ++i) {
    header += (i ? "," : "") + std::to_string(i);
    row += i ? ",1" : "1";
  }
  CsvOptions options;
  options.columns = {{"_999999", CsvType::u8}};
  const auto wide = read(folder.plain("wide.csv", header + "\n" + row + "\n" + row + "\n"), options);
  CHECK(column<uint8_t>(*wide, 0) == std::vector<uint8_t>{1, 1});
  CHECK(wide->notes().unread.size() == 1000);
  const auto large = read(folder.plain("large.csv", "t\n\"" + std::string(5'000'000, 'a') + "\"\n"));
  CHECK(large->text(0, 0).size() == 5'000'000);
}

TEST_CASE("csv: noise is a fault or a table, never more") {
  const TemporaryFolder folder("csv");
  const std::string letters = "ab,\"\n\r;1.e+-\0\xff\xc3";
  uint32_t state = 1;
  for (int round = 0; round < 300; ++round) {
    std::string text = round % 2 ? "a,b\n" : "";
    for (int i = 0; i < 60; ++i) {
      state = state * 1664525 + 1013904223;
      text += letters[(state >> 24) % letters.size()];
    }
    CsvOptions options;
    options.skip_limit = round % 3 == 0 ? 100 : -1;
    try {
      const auto table = read(folder.plain("noise.csv", text), options);
      for (size_t i = 0; i < table->fields().size(); ++i) {
        for (int64_t r = 0; r < table->examples() && table->fields()[i].text; ++r) CHECK(first_not_utf8(table->text(i, r)) < 0);
      }
    } catch (const Fault& fault) {
      CHECK(fault.code() >= 5010);
      CHECK(fault.code() <= 5025);
    }
  }
}

}  // namespace
}  // namespace dtl::data
