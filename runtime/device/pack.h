// Copies of parts of matrices in the order in which the kernels of a product read them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dtl::device {

/// to[r * to_stride + c] = from[r * from_stride + c], for r < rows, c < columns. Strides and columns in elements of
/// `width` bytes, 4 or 8.
void pack_rows(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride, int64_t rows, int64_t columns, int64_t width);

/// to[c * to_stride + r] = from[r * from_stride + c], likewise.
void pack_transposed(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride, int64_t rows, int64_t columns,
                     int64_t width);

}  // namespace dtl::device
