// Memory: mmap, with large pages where they fit.
#include "runtime/train/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/plan/slice.h"

namespace dtl::train {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kLargePage = 2 << 20;

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

}  // namespace

Memory::Memory(int64_t bytes) : bytes_(round_up(std::max<int64_t>(bytes, 1), bytes >= kLargePage ? kLargePage : kPage)) {
  // A large page needs its alignment: map one more, give back what sticks out.
  const int64_t more = bytes_ >= kLargePage ? kLargePage : 0;
  void* mapped = mmap(nullptr, static_cast<size_t>(bytes_ + more), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(mapped);
  if (more == 0) return;
  const auto address = static_cast<int64_t>(reinterpret_cast<intptr_t>(mapped));
  const int64_t before = round_up(address, kLargePage) - address;
  if (before > 0) munmap(data_, static_cast<size_t>(before));
  data_ += before;
  if (more - before > 0) munmap(data_ + bytes_, static_cast<size_t>(more - before));
  madvise(data_, static_cast<size_t>(bytes_), MADV_HUGEPAGE);  // a hint: refused where the kernel has none
}

Memory::~Memory() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(bytes_));
}

Memory::Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void Memory::zero(int part, int parts) const {
  const plan::Slice mine = plan::slice(bytes_, part, parts, kPage);
  if (mine.count() > 0) std::memset(data_ + mine.begin, 0, static_cast<size_t>(mine.count()));
}

}  // namespace dtl::train
