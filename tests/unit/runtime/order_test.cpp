// Orders of epochs, and batches of them.
#include "runtime/data/order.h"

#include <catch2/catch.hpp>
#include <numeric>

namespace dtl::data {
namespace {

std::vector<int64_t> order_of(int64_t examples, int64_t shuffle, uint64_t seed, int64_t epoch) {
  Order order(examples, shuffle, seed);
  const auto rows = order.epoch(epoch);
  return {rows.begin(), rows.end()};
}

std::vector<int64_t> sorted(std::vector<int64_t> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

const std::vector<int64_t> kInOrder = order_of(1000, 0, 0, 0);

TEST_CASE("order: none is the data's own") {
  std::vector<int64_t> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(kInOrder == expected);
}

TEST_CASE("order: every epoch visits every example once, in an order of its own") {
  for (const int64_t shuffle : {-1, 1, 7, 100, 999, 1000, 5000}) {
    INFO("shuffle " << shuffle);
    Order order(1000, shuffle, 42);
    const auto span = order.epoch(0);
    const std::vector<int64_t> first(span.begin(), span.end());
    CHECK(sorted(first) == kInOrder);
    const auto again = order.epoch(1);
    const std::vector<int64_t> second(again.begin(), again.end());
    CHECK(sorted(second) == kInOrder);
    // An epoch does not depend on the one before it.
    CHECK(order_of(1000, shuffle, 42, 1) == second);
    if (shuffle == 1) {
      CHECK(first == kInOrder);
    } else {
      CHECK(first != second);
      CHECK(first != order_of(1000, shuffle, 43, 0));
    }
  }
}

TEST_CASE("order: a window keeps examples from coming early") {
  const auto rows = order_of(1000, 10, 5, 0);
  for (size_t i = 0; i < rows.size(); ++i) CHECK(rows[i] < static_cast<int64_t>(i) + 10);
}

TEST_CASE("order: a shuffle puts each example anywhere") {
  // Over 600 epochs each of 6 orders of 3 examples comes 100 times; 150 is five standard deviations away.
  std::map<std::vector<int64_t>, int> counts;
  for (int64_t epoch = 0; epoch < 600; ++epoch) ++counts[order_of(3, -1, 9, epoch)];
  CHECK(counts.size() == 6);
  for (const auto& [order, count] : counts) CHECK(std::abs(count - 100) < 50);
}

TEST_CASE("order: the last batch is short") {
  const std::span<const int64_t> rows(kInOrder.data(), 10);
  CHECK(batches_of(10, 4) == 3);
  CHECK(batches_of(8, 4) == 2);
  CHECK(batches_of(0, 4) == 0);
  CHECK(batch_of(rows, 4, 0).size() == 4);
  CHECK(batch_of(rows, 4, 2).size() == 2);
  CHECK(batch_of(rows, 4, 2)[0] == 8);
  CHECK(batch_of(rows, 100, 0).size() == 10);
}

TEST_CASE("order: no examples is no rows") {
  for (const int64_t shuffle : {0, -1, 3}) CHECK(order_of(0, shuffle, 0, 0).empty());
}

}  // namespace
}  // namespace dtl::data
