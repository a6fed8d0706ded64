// What the tests of codegen share: operands in guarded memory, a slow interpreter of kernels, and running both ways.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/kernel/kernel.h"

namespace dtl::codegen::test {

/// A value while a kernel is interpreted: floats in `real`, rounded to their type; all else in `whole` (bool: 0 or 1).
struct Value {
  double real = 0;
  int64_t whole = 0;
};

/// An operand's memory, which ends where an unreadable page begins: what reads or writes behind it crashes.
class Memory {
 public:
  Memory(DType dtype, int64_t elements);
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&&) = delete;
  ~Memory();

  DType dtype() const { return dtype_; }
  int64_t size() const { return elements_; }
  void* data() const { return data_; }
  Value get(int64_t at) const;
  void set(int64_t at, Value value);
  /// A float, or the integer nearest to it.
  void set(int64_t at, double value) { set(at, Value{value, std::isfinite(value) ? static_cast<int64_t>(value) : 0}); }
  std::string bits() const { return std::string(static_cast<const char*>(data_), static_cast<size_t>(elements_ * size_of(dtype_))); }
  Memory copy() const;

 private:
  DType dtype_;
  int64_t elements_;
  size_t mapped_ = 0;
  void* map_ = nullptr;
  void* data_ = nullptr;
};

using Memories = std::vector<Memory>;
Memories copy(const Memories& operands);

int64_t value_of(const kernel::Size& size, const std::vector<int64_t>& extents);

/// Memory for the kernel's operands with extents, filled by `fill(operand, position)`; without it, small numbers of both signs.
Memories make_operands(const kernel::Kernel& kernel, const std::vector<int64_t>& extents,
                       const std::function<double(size_t, int64_t)>& fill = {});

/// Runs iterations [begin, end) of the outermost loop, instruction by instruction; an index outside an operand fails the test.
/// Scalars compute in f64 and round to their type; sums are kept in f64.
void interpret(const kernel::Kernel& kernel, Memories& operands, const std::vector<int64_t>& extents, int64_t begin, int64_t end);

/// The compiler for vectors of this many bits, the same at every call.
Jit& jit(int vector_bits);
/// 128, and what else the processor has.
std::vector<int> vector_widths();
plan::KernelFunction compiled(const kernel::Kernel& kernel, int vector_bits);
void call(plan::KernelFunction function, Memories& operands, const std::vector<int64_t>& extents, int64_t begin, int64_t end);

/// How far apart two floats are, in units of the last place of `dtype`; 0 for NaN and NaN, huge where only one is.
double ulps(DType dtype, double a, double b);

/// Trip count of the outermost loop, 1 without one.
int64_t outermost(const kernel::Kernel& kernel, const std::vector<int64_t>& extents);

struct Tolerance {
  double relative = 0, absolute = 0;  ///< of floats; 0 and 0: equal bits, but for NaN's
};
/// Compiles the kernel at every width, runs it whole and in parts (split at every position, or at some if there are many), and
/// compares with the interpreter, and the parts with the whole bit by bit.
void check_kernel(const std::string& text, const std::vector<int64_t>& extents, Tolerance tolerance,
                  const std::function<double(size_t, int64_t)>& fill = {});

/// The kernel of `text`; a text that is none, or that the verifier refuses, fails the test.
kernel::Kernel parsed(const std::string& text);

}  // namespace dtl::codegen::test
