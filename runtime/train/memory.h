// Memory: page-aligned zeroed bytes whose pages go to the thread that touches them first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dtl::train {

class Memory {
 public:
  Memory() = default;
  /// Throws std::bad_alloc. Nothing is touched: a page lies near the core that writes to it first. Large pages where the
  /// system has them: a product reads rows that are far apart.
  explicit Memory(int64_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  /// Zeroes part `part` of `parts`, at first use the touch.
  void zero(int part, int parts) const;

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace dtl::train
