// Each thread goes through all indices and adds what belongs to its part of the table.
#include "runtime/device/scatter.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <type_traits>

#include "runtime/plan/slice.h"

namespace dtl::device {
namespace {

struct Part {
  plan::Slice rows, columns;
};

/// Rows differ in how many updates they get (some words are frequent), columns do not.
Part part_of(const ScatterShape& shape, int thread, int threads) {
  constexpr int64_t kLine = 16;  // elements of 4 bytes in a cache line
  if (shape.width >= kLine * threads) return {{0, shape.rows}, plan::slice(shape.width, thread, threads, kLine)};
  return {plan::slice(shape.rows, thread, threads, 1), {0, shape.width}};
}

template <class T, class Index>
void add_rows(const ScatterShape& shape, const Index* index, const T* update, T* table, const Part& part) {
  // Integers wrap, as unsigned ones do.
  using Adds = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, std::conditional_t<std::is_same_v<T, int32_t>, uint32_t, T>>;
  const int64_t width = shape.width, columns = part.columns.count();
  if (columns == 0 || part.rows.count() == 0) return;
  if (columns == width) {
    std::memset(table + part.rows.begin * width, 0, static_cast<size_t>(part.rows.count() * width) * sizeof(T));
  } else {
    for (int64_t row = part.rows.begin; row < part.rows.end; ++row)
      std::memset(table + row * width + part.columns.begin, 0, static_cast<size_t>(columns) * sizeof(T));
  }
  for (int64_t k = 0; k < shape.updates; ++k) {
    const int64_t row = std::clamp<int64_t>(static_cast<int64_t>(index[k]), 0, shape.rows - 1);
    if (row < part.rows.begin || row >= part.rows.end) continue;
    T* to = table + row * width + part.columns.begin;
    const T* from = update + k * width + part.columns.begin;
    for (int64_t c = 0; c < columns; ++c) to[c] = static_cast<T>(static_cast<Adds>(to[c]) + static_cast<Adds>(from[c]));
  }
}

template <class T>
void add_rows(const ScatterShape& shape, const void* index, const void* update, void* table, const Part& part) {
  const auto by = [&](auto* typed) { add_rows(shape, typed, static_cast<const T*>(update), static_cast<T*>(table), part); };
  switch (shape.index) {
    case DType::i64:
      return by(static_cast<const int64_t*>(index));
    case DType::i32:
      return by(static_cast<const int32_t*>(index));
    case DType::i8:
      return by(static_cast<const int8_t*>(index));
    case DType::u8:
      return by(static_cast<const uint8_t*>(index));
    case DType::f64:
    case DType::f32:
    case DType::bf16:
    case DType::f16:
    case DType::boolean:
      break;
  }
  assert(false);
}

}  // namespace

void scatter_add(const ScatterShape& shape, const void* index, const void* update, void* table, int thread, int threads) {
  const Part part = part_of(shape, thread, threads);
  switch (shape.dtype) {
    case DType::f32:
      return add_rows<float>(shape, index, update, table, part);
    case DType::f64:
      return add_rows<double>(shape, index, update, table, part);
    case DType::i32:
      return add_rows<int32_t>(shape, index, update, table, part);
    case DType::i64:
      return add_rows<int64_t>(shape, index, update, table, part);
    case DType::bf16:
    case DType::f16:
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      break;
  }
  assert(false);
}

}  // namespace dtl::device
