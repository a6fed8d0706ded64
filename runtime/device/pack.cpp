// Copies and transposes of small blocks.
#include "runtime/device/pack.h"

#include <cstring>

namespace dtl::device {
namespace {

template <class T>
void transpose(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

}  // namespace

void pack_rows(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride, int64_t rows, int64_t columns,
               int64_t width) {
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + r * to_stride * width, from + r * from_stride * width, static_cast<size_t>(columns * width));
  }
}

void pack_transposed(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride, int64_t rows,
                     int64_t columns, int64_t width) {
  if (width == 8) {
    transpose(reinterpret_cast<uint64_t*>(to), to_stride, reinterpret_cast<const uint64_t*>(from), from_stride, rows, columns);
  } else {
    transpose(reinterpret_cast<uint32_t*>(to), to_stride, reinterpret_cast<const uint32_t*>(from), from_stride, rows, columns);
  }
}

}  // namespace dtl::device
