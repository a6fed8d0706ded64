// Conversions of rows: bf16 by integer arithmetic on vectors, f16 by the processor's instruction where it has one.
#include "runtime/device/convert.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstring>

#include "runtime/plan/half.h"

namespace dtl::device {
namespace {

// One copy for each width of vectors, chosen when the program starts. ThreadSanitizer's runtime is not yet up then.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define DTL_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define DTL_VECTOR_CLONES
#endif

// Vectors are written out, so that -O2 is enough; the compiler splits them where the machine's are shorter.
constexpr int64_t kLanes = 16;
using Halves __attribute__((vector_size(2 * kLanes))) = uint16_t;
using Words __attribute__((vector_size(4 * kLanes))) = uint32_t;

DTL_VECTOR_CLONES void widen_bf16(float* to, const plan::Bf16* from, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Halves halves;
    std::memcpy(&halves, from + i, sizeof halves);
    const Words words = __builtin_convertvector(halves, Words) << 16;
    std::memcpy(to + i, &words, sizeof words);
  }
  for (; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

DTL_VECTOR_CLONES void narrow_bf16(plan::Bf16* to, const float* from, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Words words;
    std::memcpy(&words, from + i, sizeof words);
    const Words nearest = words + 0x7fff + ((words >> 16) & 1);
    const Halves halves = __builtin_convertvector(((words & 0x7fffffff) > 0x7f800000 ? words | 0x400000 : nearest) >> 16, Halves);
    std::memcpy(static_cast<void*>(to + i), &halves, sizeof halves);
  }
  for (; i < n; ++i) to[i] = plan::Bf16(from[i]);
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) void widen_f16_vectors(float* to, const plan::F16* from, int64_t n) {
  for (int64_t i = 0; i < n; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
}
__attribute__((target("avx,f16c"))) void narrow_f16_vectors(plan::F16* to, const float* from, int64_t n) {
  for (int64_t i = 0; i < n; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
  }
}
const bool kConvertsF16 = __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
#endif

void widen_f16(float* to, const plan::F16* from, int64_t n) {
  int64_t i = 0;
#if defined(__x86_64__)
  if (kConvertsF16) {
    i = n / 8 * 8;
    widen_f16_vectors(to, from, i);
  }
#endif
  for (; i < n; ++i) to[i] = static_cast<float>(from[i]);
}
void narrow_f16(plan::F16* to, const float* from, int64_t n) {
  int64_t i = 0;
#if defined(__x86_64__)
  if (kConvertsF16) {
    i = n / 8 * 8;
    narrow_f16_vectors(to, from, i);
  }
#endif
  for (; i < n; ++i) to[i] = plan::F16(from[i]);
}

}  // namespace

void widen_rows(DType dtype, float* to, int64_t to_stride, const std::byte* from, int64_t from_stride, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r, to += to_stride, from += from_stride * 2) {
    if (dtype == DType::bf16) {
      widen_bf16(to, reinterpret_cast<const plan::Bf16*>(from), columns);
    } else {
      widen_f16(to, reinterpret_cast<const plan::F16*>(from), columns);
    }
  }
}

void narrow_rows(DType dtype, std::byte* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r, to += to_stride * 2, from += from_stride) {
    if (dtype == DType::bf16) {
      narrow_bf16(reinterpret_cast<plan::Bf16*>(to), from, columns);
    } else {
      narrow_f16(reinterpret_cast<plan::F16*>(to), from, columns);
    }
  }
}

}  // namespace dtl::device
