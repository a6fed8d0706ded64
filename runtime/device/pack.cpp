// Copies and transposes of small blocks.
#include "runtime/device/pack.h"

#if defined(__x86_64__)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // in GCC's own header, its bug 105593
#endif
#include <immintrin.h>
#endif

#include <cstring>

namespace dtl::device {
namespace {

template <class T>
void transpose(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

#if defined(__x86_64__)
// A vector is filled by 16-byte lanes, each from a row of its own, so that transposing inside the lanes leaves whole rows
// of the result: two shuffles a vector in f32, one in f64, and none across lanes. Left-over rows and columns go one by one.

#define DTL_AVX512 __attribute__((target("avx512f")))
#define DTL_AVX2 __attribute__((target("avx2")))

/// Lane i holds from[i * stride], …
DTL_AVX512 inline __m512 lanes_avx512(const float* from, int64_t stride) {
  __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(from));
  v = _mm512_insertf32x4(v, _mm_loadu_ps(from + stride), 1);
  v = _mm512_insertf32x4(v, _mm_loadu_ps(from + 2 * stride), 2);
  return _mm512_insertf32x4(v, _mm_loadu_ps(from + 3 * stride), 3);
}

DTL_AVX512 inline __m512d lanes_avx512(const double* from, int64_t stride) {
  return _mm512_castps_pd(lanes_avx512(reinterpret_cast<const float*>(from), 2 * stride));
}

DTL_AVX512 void transpose_avx512(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows, int64_t columns) {
  const int64_t whole_rows = rows / 16 * 16, whole_columns = columns / 4 * 4;
  for (int64_t r = 0; r < whole_rows; r += 16) {
    for (int64_t c = 0; c < whole_columns; c += 4) {
      const float* at = from + r * from_stride + c;
      const __m512 a = lanes_avx512(at, 4 * from_stride), b = lanes_avx512(at + from_stride, 4 * from_stride);
      const __m512 d = lanes_avx512(at + 2 * from_stride, 4 * from_stride), e = lanes_avx512(at + 3 * from_stride, 4 * from_stride);
      const __m512d ab_low = _mm512_castps_pd(_mm512_unpacklo_ps(a, b)), ab_high = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
      const __m512d de_low = _mm512_castps_pd(_mm512_unpacklo_ps(d, e)), de_high = _mm512_castps_pd(_mm512_unpackhi_ps(d, e));
      float* row = to + c * to_stride + r;
      _mm512_storeu_ps(row, _mm512_castpd_ps(_mm512_unpacklo_pd(ab_low, de_low)));
      _mm512_storeu_ps(row + to_stride, _mm512_castpd_ps(_mm512_unpackhi_pd(ab_low, de_low)));
      _mm512_storeu_ps(row + 2 * to_stride, _mm512_castpd_ps(_mm512_unpacklo_pd(ab_high, de_high)));
      _mm512_storeu_ps(row + 3 * to_stride, _mm512_castpd_ps(_mm512_unpackhi_pd(ab_high, de_high)));
    }
  }
  transpose(to + whole_columns * to_stride, to_stride, from + whole_columns, from_stride, whole_rows, columns - whole_columns);
  transpose(to + whole_rows, to_stride, from + whole_rows * from_stride, from_stride, rows - whole_rows, columns);
}

DTL_AVX512 void transpose_avx512(double* to, int64_t to_stride, const double* from, int64_t from_stride, int64_t rows, int64_t columns) {
  const int64_t whole_rows = rows / 8 * 8, whole_columns = columns / 2 * 2;
  for (int64_t r = 0; r < whole_rows; r += 8) {
    for (int64_t c = 0; c < whole_columns; c += 2) {
      const double* at = from + r * from_stride + c;
      const __m512d a = lanes_avx512(at, 2 * from_stride), b = lanes_avx512(at + from_stride, 2 * from_stride);
      double* row = to + c * to_stride + r;
      _mm512_storeu_pd(row, _mm512_unpacklo_pd(a, b));
      _mm512_storeu_pd(row + to_stride, _mm512_unpackhi_pd(a, b));
    }
  }
  transpose(to + whole_columns * to_stride, to_stride, from + whole_columns, from_stride, whole_rows, columns - whole_columns);
  transpose(to + whole_rows, to_stride, from + whole_rows * from_stride, from_stride, rows - whole_rows, columns);
}

DTL_AVX2 inline __m256 lanes_avx2(const float* from, int64_t stride) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)), _mm_loadu_ps(from + stride), 1);
}

DTL_AVX2 inline __m256d lanes_avx2(const double* from, int64_t stride) {
  return _mm256_castps_pd(lanes_avx2(reinterpret_cast<const float*>(from), 2 * stride));
}

DTL_AVX2 void transpose_avx2(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows, int64_t columns) {
  const int64_t whole_rows = rows / 8 * 8, whole_columns = columns / 4 * 4;
  for (int64_t r = 0; r < whole_rows; r += 8) {
    for (int64_t c = 0; c < whole_columns; c += 4) {
      const float* at = from + r * from_stride + c;
      const __m256 a = lanes_avx2(at, 4 * from_stride), b = lanes_avx2(at + from_stride, 4 * from_stride);
      const __m256 d = lanes_avx2(at + 2 * from_stride, 4 * from_stride), e = lanes_avx2(at + 3 * from_stride, 4 * from_stride);
      const __m256d ab_low = _mm256_castps_pd(_mm256_unpacklo_ps(a, b)), ab_high = _mm256_castps_pd(_mm256_unpackhi_ps(a, b));
      const __m256d de_low = _mm256_castps_pd(_mm256_unpacklo_ps(d, e)), de_high = _mm256_castps_pd(_mm256_unpackhi_ps(d, e));
      float* row = to + c * to_stride + r;
      _mm256_storeu_ps(row, _mm256_castpd_ps(_mm256_unpacklo_pd(ab_low, de_low)));
      _mm256_storeu_ps(row + to_stride, _mm256_castpd_ps(_mm256_unpackhi_pd(ab_low, de_low)));
      _mm256_storeu_ps(row + 2 * to_stride, _mm256_castpd_ps(_mm256_unpacklo_pd(ab_high, de_high)));
      _mm256_storeu_ps(row + 3 * to_stride, _mm256_castpd_ps(_mm256_unpackhi_pd(ab_high, de_high)));
    }
  }
  transpose(to + whole_columns * to_stride, to_stride, from + whole_columns, from_stride, whole_rows, columns - whole_columns);
  transpose(to + whole_rows, to_stride, from + whole_rows * from_stride, from_stride, rows - whole_rows, columns);
}

DTL_AVX2 void transpose_avx2(double* to, int64_t to_stride, const double* from, int64_t from_stride, int64_t rows, int64_t columns) {
  const int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 2 * 2;
  for (int64_t r = 0; r < whole_rows; r += 4) {
    for (int64_t c = 0; c < whole_columns; c += 2) {
      const double* at = from + r * from_stride + c;
      const __m256d a = lanes_avx2(at, 2 * from_stride), b = lanes_avx2(at + from_stride, 2 * from_stride);
      double* row = to + c * to_stride + r;
      _mm256_storeu_pd(row, _mm256_unpacklo_pd(a, b));
      _mm256_storeu_pd(row + to_stride, _mm256_unpackhi_pd(a, b));
    }
  }
  transpose(to + whole_columns * to_stride, to_stride, from + whole_columns, from_stride, whole_rows, columns - whole_columns);
  transpose(to + whole_rows, to_stride, from + whole_rows * from_stride, from_stride, rows - whole_rows, columns);
}
#endif

template <class T>
void transpose_here(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t rows, int64_t columns) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return transpose_avx512(to, to_stride, from, from_stride, rows, columns);
  if (__builtin_cpu_supports("avx2")) return transpose_avx2(to, to_stride, from, from_stride, rows, columns);
#endif
  transpose(to, to_stride, from, from_stride, rows, columns);
}

}  // namespace

void pack_rows(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride, int64_t rows, int64_t columns, int64_t width) {
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + r * to_stride * width, from + r * from_stride * width, static_cast<size_t>(columns * width));
  }
}

void pack_transposed(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride, int64_t rows, int64_t columns,
                     int64_t width) {
  // Bits are moved, not numbers: any type of the width would do.
  if (width == 8) {
    transpose_here(reinterpret_cast<double*>(to), to_stride, reinterpret_cast<const double*>(from), from_stride, rows, columns);
  } else {
    transpose_here(reinterpret_cast<float*>(to), to_stride, reinterpret_cast<const float*>(from), from_stride, rows, columns);
  }
}

}  // namespace dtl::device
