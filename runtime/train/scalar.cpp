// Scalars of states as doubles, whatever their dtype.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/plan/half.h"
#include "runtime/train/executor.h"

namespace dtl::train {
namespace {

/// Calls `f` with a value of the type that stores a dtype.
template <class F>
auto with_type_of(DType dtype, F f) {
  switch (dtype) {
    case DType::f64:
      return f(double{});
    case DType::f32:
      return f(float{});
    case DType::bf16:
      return f(plan::Bf16{});
    case DType::f16:
      return f(plan::F16{});
    case DType::i64:
      return f(int64_t{});
    case DType::i32:
      return f(int32_t{});
    case DType::i8:
      return f(int8_t{});
    case DType::u8:
      return f(uint8_t{});
    case DType::boolean:
      return f(bool{});
  }
  __builtin_unreachable();
}

template <class T>
constexpr bool is_half = std::is_same_v<T, plan::Bf16> || std::is_same_v<T, plan::F16>;

}  // namespace

double Executor::scalar(int index, int replica) const {
  const std::byte* from = address(index, replica);
  const DType dtype = plan().buffers[static_cast<size_t>(plan().states[static_cast<size_t>(index)].buffer)].dtype;
  return with_type_of(dtype, [&](auto value) -> double {
    using T = decltype(value);
    std::memcpy(&value, from, sizeof value);
    if constexpr (is_half<T>) {
      return static_cast<double>(static_cast<float>(value));
    } else {
      return static_cast<double>(value);
    }
  });
}

void Executor::set_scalar(int index, double value) {
  std::byte* to = state(index).data();
  const DType dtype = plan().buffers[static_cast<size_t>(plan().states[static_cast<size_t>(index)].buffer)].dtype;
  with_type_of(dtype, [&](auto typed) {
    using T = decltype(typed);
    if constexpr (is_half<T>) {
      typed = T(static_cast<float>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      typed = static_cast<T>(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      typed = value != 0;
    } else {
      // An infinite identity (of max, min) is the type's own largest or smallest value.
      const auto low = std::numeric_limits<T>::lowest(), high = std::numeric_limits<T>::max();
      typed = value <= static_cast<double>(low) ? low : value >= static_cast<double>(high) ? high : static_cast<T>(value);
    }
    std::memcpy(to, &typed, sizeof typed);
  });
}

}  // namespace dtl::train
