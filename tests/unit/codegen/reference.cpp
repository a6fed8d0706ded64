// Guarded memory, running kernels and comparing.
#include "tests/unit/codegen/reference.h"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <catch2/catch.hpp>

#include "compiler/codegen/host.h"
#include "runtime/plan/half.h"

namespace dtl::codegen::test {

using kernel::Kernel;

// ---- memory

Memory::Memory(DType dtype, int64_t elements) : dtype_(dtype), elements_(elements) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto bytes = static_cast<size_t>(std::max<int64_t>(elements, 1) * size_of(dtype));  // an empty operand has room for one element
  const size_t pages = (bytes + page - 1) / page;
  mapped_ = (pages + 1) * page;
  map_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(map_ != MAP_FAILED);
  REQUIRE(::mprotect(static_cast<char*>(map_) + pages * page, page, PROT_NONE) == 0);
  data_ = static_cast<char*>(map_) + pages * page - bytes;
}

Memory::Memory(Memory&& other) noexcept
    : dtype_(other.dtype_),
      elements_(other.elements_),
      mapped_(other.mapped_),
      map_(std::exchange(other.map_, nullptr)),
      data_(other.data_) {}

Memory::~Memory() {
  if (map_) ::munmap(map_, mapped_);
}

namespace {

template <class T>
T read(const void* data, int64_t at) {
  return static_cast<const T*>(data)[at];
}
template <class T, class V>
void write(void* data, int64_t at, V value) {
  static_cast<T*>(data)[at] = static_cast<T>(value);
}

}  // namespace

Value Memory::get(int64_t at) const {
  switch (dtype_) {
    case DType::f64:
      return {read<double>(data_, at), 0};
    case DType::f32:
      return {read<float>(data_, at), 0};
    case DType::i64:
      return {0, read<int64_t>(data_, at)};
    case DType::i32:
      return {0, read<int32_t>(data_, at)};
    case DType::i8:
      return {0, read<int8_t>(data_, at)};
    case DType::u8:
      return {0, read<uint8_t>(data_, at)};
    case DType::boolean:
      return {0, read<uint8_t>(data_, at)};
    case DType::bf16:
      return {static_cast<double>(static_cast<float>(read<plan::Bf16>(data_, at))), 0};
    case DType::f16:
      return {static_cast<double>(static_cast<float>(read<plan::F16>(data_, at))), 0};
  }
  return {};
}

void Memory::set(int64_t at, Value value) {
  switch (dtype_) {
    case DType::f64:
      return write<double>(data_, at, value.real);
    case DType::f32:
      return write<float>(data_, at, value.real);
    case DType::i64:
      return write<int64_t>(data_, at, value.whole);
    case DType::i32:
      return write<int32_t>(data_, at, value.whole);
    case DType::i8:
      return write<int8_t>(data_, at, value.whole);
    case DType::u8:
      return write<uint8_t>(data_, at, value.whole);
    case DType::boolean:
      return write<uint8_t>(data_, at, value.whole != 0);
    case DType::bf16:
      return write<plan::Bf16>(data_, at, static_cast<float>(value.real));
    case DType::f16:
      return write<plan::F16>(data_, at, static_cast<float>(value.real));
  }
}

Memory Memory::copy() const {
  Memory result(dtype_, elements_);
  std::memcpy(result.data_, data_, static_cast<size_t>(elements_ * size_of(dtype_)));
  return result;
}

Memories copy(const Memories& operands) {
  Memories result;
  for (const Memory& memory : operands) result.push_back(memory.copy());
  return result;
}

int64_t value_of(const kernel::Size& size, const std::vector<int64_t>& extents) {
  return size.scale * (size.slot < 0 ? 1 : extents[static_cast<size_t>(size.slot)]);
}

Memories make_operands(const Kernel& kernel, const std::vector<int64_t>& extents, const std::function<double(size_t, int64_t)>& fill) {
  Memories result;
  for (size_t k = 0; k < kernel.operands.size(); ++k) {
    const auto& operand = kernel.operands[k];
    int64_t elements = 1;
    for (const auto& dim : operand.dims) elements *= value_of(dim, extents);
    Memory memory(operand.dtype, elements);
    for (int64_t i = 0; i < elements; ++i) {
      // A fixed pattern without short periods, over [−2, 2).
      const double otherwise = std::fmod(static_cast<double>((i * 2654435761 + static_cast<int64_t>(k) * 40503) % 1000003) * 1e-3, 4.0) - 2;
      memory.set(i, fill ? fill(k, i) : is_float(operand.dtype) ? otherwise : std::floor(otherwise * 3));
    }
    result.push_back(std::move(memory));
  }
  return result;
}

// ---- both ways

Jit& jit(int vector_bits) {
  static std::map<int, std::unique_ptr<Jit>> jits;
  auto& result = jits[vector_bits];
  if (!result) result = std::make_unique<Jit>(JitOptions{.vector_bits = vector_bits});
  return *result;
}

std::vector<int> vector_widths() {
  std::vector<int> result;
  for (const int bits : {128, 256, 512}) {
    if (bits <= host().vector_bits) result.push_back(bits);
  }
  return result;
}

plan::KernelFunction compiled(const Kernel& kernel, int vector_bits) {
  return jit(vector_bits).compile({{"test", kernel::print(kernel)}})[0];
}

void call(plan::KernelFunction function, Memories& operands, const std::vector<int64_t>& extents, int64_t begin, int64_t end) {
  std::vector<void*> pointers;
  for (const Memory& memory : operands) pointers.push_back(memory.data());
  function(pointers.data(), extents.data(), begin, end);
}

double ulps(DType dtype, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : HUGE_VAL;
  if (a == b) return 0;
  // Floats in order are their bits in order.
  const auto rank = [&](double x) {
    if (is_narrow(dtype)) {
      const auto value = static_cast<float>(x);
      const auto bits = dtype == DType::bf16 ? std::bit_cast<int16_t>(plan::Bf16(value)) : std::bit_cast<int16_t>(plan::F16(value));
      return bits < 0 ? std::numeric_limits<int16_t>::min() - int64_t{bits} : int64_t{bits};
    }
    if (dtype == DType::f32) {
      const auto bits = std::bit_cast<int32_t>(static_cast<float>(x));
      return bits < 0 ? std::numeric_limits<int32_t>::min() - int64_t{bits} : int64_t{bits};
    }
    const auto bits = std::bit_cast<int64_t>(x);
    return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
  };
  const int64_t one = rank(a), other = rank(b);
  return (one < 0) != (other < 0) ? std::fabs(static_cast<double>(one) - static_cast<double>(other))
                                  : static_cast<double>(std::abs(one - other));
}

int64_t outermost(const Kernel& kernel, const std::vector<int64_t>& extents) {
  return kernel.outer == 0 ? 1 : value_of(kernel.loops[0], extents);
}

Kernel parsed(const std::string& text) {
  std::string error;
  const auto result = kernel::parse(text, &error);
  if (!result) FAIL(error << "\n" << text);
  const std::string broken = kernel::verify(*result);
  if (!broken.empty()) FAIL(broken << "\n" << text);
  return *result;
}

namespace {

bool close(DType dtype, Value expected, Value actual, Tolerance tolerance) {
  if (!is_float(dtype)) return expected.whole == actual.whole;
  if (std::isnan(expected.real) || std::isnan(actual.real)) return std::isnan(expected.real) && std::isnan(actual.real);
  if (expected.real == actual.real)
    return expected.real != 0 || tolerance.absolute > 0 || std::signbit(expected.real) == std::signbit(actual.real);
  return std::fabs(expected.real - actual.real) <= tolerance.absolute + tolerance.relative * std::fabs(expected.real);
}

void compare(const Memories& expected, const Memories& actual, Tolerance tolerance) {
  for (size_t k = 0; k < expected.size(); ++k) {
    for (int64_t i = 0; i < expected[k].size(); ++i) {
      const Value a = expected[k].get(i), b = actual[k].get(i);
      if (close(expected[k].dtype(), a, b, tolerance)) continue;
      FAIL_CHECK(fmt::format("operand {}, element {}: {} or {} expected, {} or {} computed", k, i, a.real, a.whole, b.real, b.whole));
      return;
    }
  }
}

std::vector<int64_t> positions(int64_t n) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i <= n; ++i) {
    if (n <= 80 || i < 20 || i % 61 == 0 || i > n - 20) result.push_back(i);
  }
  return result;
}

}  // namespace

void check_kernel(const std::string& text, const std::vector<int64_t>& extents, Tolerance tolerance,
                  const std::function<double(size_t, int64_t)>& fill) {
  const Kernel kernel = parsed(text);
  const int64_t n = outermost(kernel, extents);
  const Memories before = make_operands(kernel, extents, fill);
  Memories expected = copy(before);
  interpret(kernel, expected, extents, 0, n);
  for (const int bits : vector_widths()) {
    INFO(text << "extents " << fmt::format("{}", fmt::join(extents, ", ")) << ", vectors of " << bits << " bits");
    const plan::KernelFunction function = compiled(kernel, bits);
    Memories whole = copy(before);
    call(function, whole, extents, 0, n);
    compare(expected, whole, tolerance);
    for (const int64_t split : positions(n)) {
      Memories parts = copy(before);
      call(function, parts, extents, split, n);
      call(function, parts, extents, 0, split);
      for (size_t k = 0; k < parts.size(); ++k) {
        if (parts[k].bits() != whole[k].bits()) FAIL_CHECK("other bits in operand " << k << " when split at " << split);
      }
    }
  }
}

}  // namespace dtl::codegen::test
