// Rows added to a table: against a loop, by columns and by rows, with the same bits for every number of threads.
#include "runtime/device/scatter.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

using namespace dtl;

namespace {

/// Updates whose sum in f32 depends on the order.
std::vector<float> updates(int64_t count) {
  std::vector<float> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(static_cast<float>(i * 7919 % 1000) * (i % 3 ? 1e-3f : 1e4f));
  return result;
}

/// Few rows are frequent, and some indices lie outside.
std::vector<int32_t> indices(int64_t count, int64_t rows) {
  std::vector<int32_t> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(static_cast<int32_t>(i % 4 ? i * i % rows : i % 8 ? -5 : rows + 3));
  return result;
}

std::vector<float> added(const device::ScatterShape& shape, const std::vector<int32_t>& index, const std::vector<float>& update,
                         int threads) {
  std::vector<float> table(static_cast<size_t>(shape.rows * shape.width), 7.0f);
  for (int thread = threads; thread-- > 0;) device::scatter_add(shape, index.data(), update.data(), table.data(), thread, threads);
  return table;
}

}  // namespace

TEST_CASE("rows are added in their order, on any number of threads") {
  for (const int64_t width : {1, 5, 16, 64, 200}) {
    for (const int64_t rows : {1, 3, 100}) {
      for (const int64_t count : {0, 1, 500}) {
        const device::ScatterShape shape{DType::f32, DType::i32, count, rows, width};
        const std::vector<int32_t> index = indices(count, rows);
        const std::vector<float> update = updates(count * width);
        std::vector<float> expected(static_cast<size_t>(rows * width), 0.0f);
        for (int64_t k = 0; k < count; ++k) {
          const int64_t row = std::clamp<int64_t>(index[static_cast<size_t>(k)], 0, rows - 1);
          for (int64_t c = 0; c < width; ++c) expected[static_cast<size_t>(row * width + c)] += update[static_cast<size_t>(k * width + c)];
        }
        for (const int threads : {1, 2, 3, 8}) {
          CAPTURE(width, rows, count, threads);
          CHECK(added(shape, index, update, threads) == expected);
        }
      }
    }
  }
}

TEST_CASE("integers that are added wrap") {
  const int64_t index[2] = {1, 1};
  const int32_t update[2] = {2'000'000'000, 2'000'000'000};
  int32_t table[2] = {7, 7};
  device::scatter_add({DType::i32, DType::i64, 2, 2, 1}, index, update, table, 0, 1);
  CHECK(table[0] == 0);
  CHECK(table[1] == -294'967'296);
}
