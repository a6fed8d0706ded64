// Expected<T, E>: a value or the reason there is none (std::expected is C++23).
#pragma once

#include <utility>
#include <variant>

namespace dtl {

template <class E>
struct Unexpected {
  E error;
};
template <class E>
Unexpected(E) -> Unexpected<E>;

template <class T, class E>
class Expected {
 public:
  Expected(T value) : store_(std::in_place_index<0>, std::move(value)) {}                // NOLINT: implicit by design
  Expected(Unexpected<E> why) : store_(std::in_place_index<1>, std::move(why.error)) {}  // NOLINT

  explicit operator bool() const { return store_.index() == 0; }
  T& operator*() { return std::get<0>(store_); }
  const T& operator*() const { return std::get<0>(store_); }
  T* operator->() { return &std::get<0>(store_); }
  const T* operator->() const { return &std::get<0>(store_); }
  E& error() { return std::get<1>(store_); }
  const E& error() const { return std::get<1>(store_); }

 private:
  std::variant<T, E> store_;
};

}  // namespace dtl
