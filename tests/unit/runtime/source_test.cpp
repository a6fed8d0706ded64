// Synthetic rows, and parts of sources.
#include "runtime/data/source.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "runtime/data/combine.h"
#include "runtime/data/synthetic.h"
#include "runtime/plan/fault.h"

namespace dtl::data {
namespace {

template <class T>
std::vector<T> rows_of(const Source& source, size_t field, const std::vector<int64_t>& rows) {
  std::vector<T> values(rows.size() * static_cast<size_t>(source.fields()[field].elements()));
  source.gather(field, rows, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

std::vector<int64_t> first(int64_t n) {
  std::vector<int64_t> rows(static_cast<size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::shared_ptr<Source> three_fields(uint64_t seed) {
  return synthetic(1000, seed,
                   {{"x", Generator::normal, 0, 1, {5}}, {"u", Generator::uniform, 0, 1, {}}, {"label", Generator::integers, -2, 3, {}}});
}

TEST_CASE("synthetic: a row is a function of seed, field and index") {
  const auto source = three_fields(7);
  CHECK(source->fields()[0].dtype == DType::f32);
  CHECK(source->fields()[2].dtype == DType::i64);
  const auto all = rows_of<float>(*source, 0, first(1000));
  const auto some = rows_of<float>(*three_fields(7), 0, {17, 3});
  CHECK(std::equal(some.begin(), some.begin() + 5, all.begin() + 17 * 5));
  CHECK(std::equal(some.begin() + 5, some.end(), all.begin() + 3 * 5));
  CHECK(all != rows_of<float>(*three_fields(8), 0, first(1000)));
  // Another field before it changes nothing; another name does.
  const auto other = synthetic(1000, 7, {{"y", Generator::normal, 0, 1, {5}}, {"x", Generator::normal, 0, 1, {5}}});
  CHECK(rows_of<float>(*other, 1, first(1000)) == all);
  CHECK(rows_of<float>(*other, 0, first(1000)) != all);
}

TEST_CASE("synthetic: the distributions are what they are called") {
  const auto source = three_fields(3);
  const auto normal = rows_of<float>(*source, 0, first(1000));
  double sum = 0, squares = 0;
  for (const float x : normal) {
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum / 5000) < 0.06);  // four standard deviations
  CHECK(std::abs(squares / 5000 - 1) < 0.08);

  const auto uniform = rows_of<float>(*source, 1, first(1000));
  CHECK(*std::min_element(uniform.begin(), uniform.end()) >= 0);
  CHECK(*std::max_element(uniform.begin(), uniform.end()) < 1);
  CHECK(std::abs(std::accumulate(uniform.begin(), uniform.end(), 0.0) / 1000 - 0.5) < 0.04);

  std::map<int64_t, int> counts;
  for (const int64_t label : rows_of<int64_t>(*source, 2, first(1000))) ++counts[label];
  CHECK(counts.size() == 5);
  CHECK(counts.begin()->first == -2);
  CHECK(counts.rbegin()->first == 2);
  for (const auto& [label, count] : counts) CHECK(std::abs(count - 200) < 60);
}

TEST_CASE("synthetic: the whole of i32 is possible, more is a fault") {
  const auto whole = synthetic(100, 0, {{"i", Generator::integers, -(int64_t{1} << 31), int64_t{1} << 31, {}}});
  const auto values = rows_of<int64_t>(*whole, 0, first(100));
  CHECK(*std::min_element(values.begin(), values.end()) < -(1 << 30));
  CHECK(*std::max_element(values.begin(), values.end()) > 1 << 30);
  try {
    synthetic(1, 0, {{"i", Generator::integers, 0, (int64_t{1} << 31) + 1, {}}});
    FAIL("no fault");
  } catch (const Fault& fault) {
    CHECK(fault.code() == 5110);
  }
}

TEST_CASE("take and skip part a source") {
  const auto source = three_fields(1);
  const auto all = rows_of<int64_t>(*source, 2, first(1000));
  const auto middle = take(skip(source, 300), 500);
  REQUIRE(middle->examples() == 500);
  CHECK(rows_of<int64_t>(*middle, 2, first(500)) == std::vector<int64_t>(all.begin() + 300, all.begin() + 800));
  CHECK(skip(source, 1000)->examples() == 0);
  CHECK(take(source, 1000)->examples() == 1000);
  for (const bool taking : {true, false}) {
    try {
      taking ? take(source, 1001) : skip(source, 1001);
      FAIL("no fault");
    } catch (const Fault& fault) {
      CHECK(fault.code() == 5109);
      CHECK(fault.arguments() == std::vector<std::string>{taking ? "take" : "skip", "1001", "1000"});
    }
  }
}

TEST_CASE("join: each row has the table's rows that its indices name") {
  const auto code_of = [](const auto& run) {
    try {
      run();
      return 0;
    } catch (const Fault& fault) {
      return fault.code();
    }
  };
  const auto rows = synthetic(300, 1, {{"id", Generator::integers, 0, 9, {}}});
  const auto table = synthetic(50, 2, {{"x", Generator::normal, 0, 1, {4}}});
  const auto at = synthetic(300, 3, {{"at", Generator::integers, 0, 50, {2, 3}}});
  const auto joined = join(rows, table, at);
  joined->finish();
  REQUIRE(joined->fields().size() == 2);
  CHECK(joined->examples() == 300);
  CHECK(joined->fields()[1].shape == std::vector<int64_t>{2, 3, 4});
  CHECK(rows_of<int64_t>(*joined, 0, {7, 299}) == rows_of<int64_t>(*rows, 0, {7, 299}));
  // More rows than are read at once, in any order.
  std::vector<int64_t> order = first(300);
  std::reverse(order.begin(), order.end());
  CHECK(rows_of<float>(*joined, 1, order) == rows_of<float>(*table, 0, rows_of<int64_t>(*at, 0, order)));

  CHECK(code_of([&] { join(take(rows, 299), table, at); }) == 5009);
  CHECK(code_of([&] { join(rows, table, synthetic(300, 3, {{"at", Generator::uniform, 0, 1, {}}})); }) == 5116);
  CHECK(code_of([&] { join(rows, table, synthetic(300, 3, {{"at", Generator::integers, 0, 50, {1025}}})); }) == 5116);
  CHECK(code_of([&] { join(rows, synthetic(50, 2, {{"id", Generator::normal, 0, 1, {}}}), at); }) == 5024);
  CHECK(code_of([&] { join(rows, take(table, 40), at)->finish(); }) == 5019);
}

}  // namespace
}  // namespace dtl::data
