// SharedMemory: sums, maxima, minima and products of slices, vectorised, in rank order.
#include "runtime/collective/reduce.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "runtime/plan/half.h"

namespace dtl::collective {
namespace {

// One copy for each width of vectors, chosen when the program starts. ThreadSanitizer's runtime is not yet up then.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define DTL_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define DTL_VECTOR_CLONES
#endif
#define DTL_INLINE inline __attribute__((always_inline))

/// Vectors are written out, so that -O2 is enough: 64 bytes, which the compiler splits where the machine's are shorter.
template <class T>
using Vector __attribute__((vector_size(64))) = T;

template <ReduceOp op, class T>
DTL_INLINE void combine(T& a, const T& b) {
  if constexpr (op == ReduceOp::sum) a = a + b;
  if constexpr (op == ReduceOp::product) a = a * b;
  // A NaN on either side stays: as `a` by the second comparison, as `b` because the first one is false.
  if constexpr (op == ReduceOp::max) a = ((a > b) | (a != a)) ? a : b;
  if constexpr (op == ReduceOp::min) a = ((a < b) | (a != a)) ? a : b;
}

/// Elements whose running result stays in a core's first cache while the sources go by.
constexpr int64_t kBlockBytes = 8192;

template <ReduceOp op, class T>
DTL_INLINE void combine_block(T* to, const T* a, const T* b, int64_t n) {
  constexpr int64_t lanes = 64 / sizeof(T);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Vector<T> x, y;
    std::memcpy(&x, a + i, 64);
    std::memcpy(&y, b + i, 64);
    combine<op>(x, y);
    std::memcpy(to + i, &x, 64);
  }
  for (; i < n; ++i) {
    T x = a[i];
    const T y = b[i];
    if constexpr (sizeof(T) < sizeof(int) && op == ReduceOp::sum) {
      x = static_cast<T>(x + y);
    } else if constexpr (sizeof(T) < sizeof(int) && op == ReduceOp::product) {
      x = static_cast<T>(x * y);
    } else {
      combine<op>(x, y);
    }
    to[i] = x;
  }
}

template <ReduceOp op, class T>
DTL_INLINE void combine_sources(const ReduceSlice& slice) {
  T* to = static_cast<T*>(slice.to);
  const auto source = [&](size_t i) { return static_cast<const T*>(slice.sources[i]); };
  if (slice.sources.size() == 1) {
    const size_t bytes = static_cast<size_t>(slice.end - slice.begin) * sizeof(T);
    T* put = to + (slice.begin - slice.first);
    if (put != source(0) + slice.begin && bytes > 0) std::memcpy(put, source(0) + slice.begin, bytes);
    return;
  }
  constexpr int64_t block = kBlockBytes / static_cast<int64_t>(sizeof(T));
  for (int64_t at = slice.begin; at < slice.end; at += block) {
    const int64_t n = std::min(block, slice.end - at);
    if (slice.sources.size() == 2) {
      combine_block<op>(to + (at - slice.first), source(0) + at, source(1) + at, n);
      continue;
    }
    // Apart from `to`, which may be a source that is still to be read.
    alignas(64) T sum[block];
    combine_block<op>(sum, source(0) + at, source(1) + at, n);
    for (size_t i = 2; i + 1 < slice.sources.size(); ++i) combine_block<op>(sum, sum, source(i) + at, n);
    combine_block<op>(to + (at - slice.first), sum, source(slice.sources.size() - 1) + at, n);
  }
}

template <class T>
DTL_INLINE void reduce_as(const ReduceSlice& slice) {
  switch (slice.op) {
    case ReduceOp::sum:
      return combine_sources<ReduceOp::sum, T>(slice);
    case ReduceOp::max:
      return combine_sources<ReduceOp::max, T>(slice);
    case ReduceOp::min:
      return combine_sources<ReduceOp::min, T>(slice);
    case ReduceOp::product:
      return combine_sources<ReduceOp::product, T>(slice);
  }
}

/// bf16 and f16: the running result is f32.
template <ReduceOp op, class T>
DTL_INLINE void combine_halves(const ReduceSlice& slice) {
  constexpr int64_t block = 1024;
  for (int64_t at = slice.begin; at < slice.end; at += block) {
    const int64_t n = std::min(block, slice.end - at);
    alignas(64) float result[block];
    alignas(64) float next[block];
    for (size_t source = 0; source < slice.sources.size(); ++source) {
      const T* from = static_cast<const T*>(slice.sources[source]) + at;
      float* wide = source == 0 ? result : next;
      for (int64_t i = 0; i < n; ++i) wide[i] = static_cast<float>(from[i]);
      if (source > 0) combine_block<op>(result, result, next, n);
    }
    T* to = static_cast<T*>(slice.to) + (at - slice.first);
    for (int64_t i = 0; i < n; ++i) to[i] = T(result[i]);
  }
}

template <class T>
DTL_INLINE void reduce_halves_as(const ReduceSlice& slice) {
  switch (slice.op) {
    case ReduceOp::sum:
      return combine_halves<ReduceOp::sum, T>(slice);
    case ReduceOp::max:
      return combine_halves<ReduceOp::max, T>(slice);
    case ReduceOp::min:
      return combine_halves<ReduceOp::min, T>(slice);
    case ReduceOp::product:
      return combine_halves<ReduceOp::product, T>(slice);
  }
}

DTL_VECTOR_CLONES void reduce_f64(const ReduceSlice& slice) { reduce_as<double>(slice); }
DTL_VECTOR_CLONES void reduce_f32(const ReduceSlice& slice) { reduce_as<float>(slice); }
DTL_VECTOR_CLONES void reduce_bf16(const ReduceSlice& slice) { reduce_halves_as<plan::Bf16>(slice); }
DTL_VECTOR_CLONES void reduce_f16(const ReduceSlice& slice) { reduce_halves_as<plan::F16>(slice); }
DTL_VECTOR_CLONES void reduce_i64(const ReduceSlice& slice) { reduce_as<int64_t>(slice); }
DTL_VECTOR_CLONES void reduce_i32(const ReduceSlice& slice) { reduce_as<int32_t>(slice); }
DTL_VECTOR_CLONES void reduce_i8(const ReduceSlice& slice) { reduce_as<int8_t>(slice); }
DTL_VECTOR_CLONES void reduce_u8(const ReduceSlice& slice) { reduce_as<uint8_t>(slice); }

}  // namespace

void SharedMemory::reduce(const ReduceSlice& slice) const {
  assert(!slice.sources.empty());
  switch (slice.dtype) {
    case DType::f64:
      return reduce_f64(slice);
    case DType::f32:
      return reduce_f32(slice);
    case DType::i64:
      return reduce_i64(slice);
    case DType::i32:
      return reduce_i32(slice);
    case DType::i8:
      return reduce_i8(slice);
    case DType::u8:
      return reduce_u8(slice);
    case DType::boolean:
      assert(slice.op != ReduceOp::sum);
      return reduce_u8(slice);
    case DType::bf16:
      return reduce_bf16(slice);
    case DType::f16:
      return reduce_f16(slice);
  }
}

}  // namespace dtl::collective
