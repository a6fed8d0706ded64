// The interpreter and the comparison of codegen's tests.
#include "tests/unit/codegen/reference.h"

#include <catch2/catch.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>

#include "compiler/codegen/host.h"
#include "runtime/plan/philox.h"

namespace dtl::codegen::test {

using kernel::Instruction;
using kernel::Kernel;
using kernel::Scalar;

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
    : dtype_(other.dtype_), elements_(other.elements_), mapped_(other.mapped_), map_(std::exchange(other.map_, nullptr)), data_(other.data_) {}

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
    case DType::f64: return {read<double>(data_, at), 0};
    case DType::f32: return {read<float>(data_, at), 0};
    case DType::i64: return {0, read<int64_t>(data_, at)};
    case DType::i32: return {0, read<int32_t>(data_, at)};
    case DType::i8: return {0, read<int8_t>(data_, at)};
    case DType::u8: return {0, read<uint8_t>(data_, at)};
    case DType::boolean: return {0, read<uint8_t>(data_, at)};
    case DType::bf16:
    case DType::f16: break;
  }
  FAIL("no memory of " << name_of(dtype_));
  return {};
}

void Memory::set(int64_t at, Value value) {
  switch (dtype_) {
    case DType::f64: return write<double>(data_, at, value.real);
    case DType::f32: return write<float>(data_, at, value.real);
    case DType::i64: return write<int64_t>(data_, at, value.whole);
    case DType::i32: return write<int32_t>(data_, at, value.whole);
    case DType::i8: return write<int8_t>(data_, at, value.whole);
    case DType::u8: return write<uint8_t>(data_, at, value.whole);
    case DType::boolean: return write<uint8_t>(data_, at, value.whole != 0);
    case DType::bf16:
    case DType::f16: break;
  }
  FAIL("no memory of " << name_of(dtype_));
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

namespace {

int64_t value_of(const kernel::Size& size, const std::vector<int64_t>& extents) {
  return size.scale * (size.slot < 0 ? 1 : extents[static_cast<size_t>(size.slot)]);
}

// ---- scalars

/// What a variable of the type holds after the value is put there.
Value held(DType dtype, Value value) {
  switch (dtype) {
    case DType::f64: return {value.real, 0};
    case DType::f32: return {static_cast<float>(value.real), 0};
    case DType::i64: return {0, value.whole};
    case DType::i32: return {0, static_cast<int32_t>(value.whole)};
    case DType::i8: return {0, static_cast<int8_t>(value.whole)};
    case DType::u8: return {0, static_cast<uint8_t>(value.whole)};
    case DType::boolean: return {0, value.whole != 0 ? 1 : 0};
    case DType::bf16:
    case DType::f16: break;
  }
  FAIL("kernels do not compute in " << name_of(dtype));
  return {};
}

int64_t wrapping(Scalar op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  return static_cast<int64_t>(op == Scalar::add ? x + y : op == Scalar::subtract ? x - y : x * y);
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrapping(Scalar::subtract, 0, a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

double larger(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : a > b ? a : b; }
double smaller(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? a : b; }
double truncated(double value, double low, double high) { return std::isnan(value) ? 0 : std::clamp(std::trunc(value), low, high); }

Value converted(DType from, DType to, Value x) {
  if (!is_float(from)) {
    if (!is_float(to)) return x;
    // One rounding only.
    return to == DType::f32 ? Value{static_cast<float>(x.whole), 0} : Value{static_cast<double>(x.whole), 0};
  }
  if (is_float(to)) return x;
  switch (to) {
    case DType::boolean: return {0, x.real != 0 ? 1 : 0};
    case DType::u8: return {0, static_cast<int64_t>(truncated(x.real, 0, 255))};
    case DType::i8: return {0, static_cast<int64_t>(truncated(x.real, -128, 127))};
    case DType::i32: return {0, static_cast<int64_t>(truncated(x.real, -0x1p31, 0x1p31 - 1))};
    case DType::i64:
      if (x.real >= 0x1p63) return {0, std::numeric_limits<int64_t>::max()};
      return {0, static_cast<int64_t>(truncated(x.real, -0x1p63, 0x1p63))};
    case DType::f64: case DType::f32: case DType::bf16: case DType::f16: break;
  }
  return x;
}

Value unary(Scalar op, Value v) {
  const double x = v.real;
  const int64_t i = v.whole;
  switch (op) {
    case Scalar::negate: return {-x, wrapping(Scalar::subtract, 0, i)};
    case Scalar::abs: return {std::fabs(x), i < 0 ? wrapping(Scalar::subtract, 0, i) : i};
    case Scalar::exp: return {std::exp(x)};
    case Scalar::log: return {std::log(x)};
    case Scalar::log1p: return {std::log1p(x)};
    case Scalar::sqrt: return {std::sqrt(x)};
    case Scalar::rsqrt: return {1 / std::sqrt(x)};
    case Scalar::tanh: return {std::tanh(x)};
    case Scalar::sigmoid: return {1 / (1 + std::exp(-x))};
    case Scalar::erf: return {std::erf(x)};
    case Scalar::sin: return {std::sin(x)};
    case Scalar::cos: return {std::cos(x)};
    case Scalar::floor: return {std::floor(x)};
    case Scalar::ceil: return {std::ceil(x)};
    case Scalar::round: return {std::nearbyint(x)};
    case Scalar::sign: return {std::isnan(x) ? x : x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0, i > 0 ? 1 : i < 0 ? -1 : 0};
    case Scalar::logical_not: return {0, i == 0};
    case Scalar::is_nan: return {0, std::isnan(x)};
    default: break;
  }
  FAIL(name_of(op) << " is not unary");
  return {};
}

Value binary(Scalar op, DType dtype, Value v, Value w) {
  const bool real = is_float(dtype);
  const double x = v.real, y = w.real;
  const int64_t i = v.whole, j = w.whole;
  switch (op) {
    case Scalar::add: return {x + y, wrapping(op, i, j)};
    case Scalar::subtract: return {x - y, wrapping(op, i, j)};
    case Scalar::multiply: return {x * y, wrapping(op, i, j)};
    case Scalar::divide: return {x / y};
    case Scalar::power: return {std::pow(x, y)};
    case Scalar::maximum: return {larger(x, y), std::max(i, j)};
    case Scalar::minimum: return {smaller(x, y), std::min(i, j)};
    case Scalar::mod: {
      const double rest = std::fmod(x, y);
      return {rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest, j == 0 ? 0 : wrapping(Scalar::subtract, i, wrapping(Scalar::multiply, floor_div(i, j), j))};
    }
    case Scalar::floor_div: return {std::floor((dtype == DType::f32 ? static_cast<float>(x / y) : x / y)), floor_div(i, j)};
    case Scalar::logical_and: return {0, i & j};
    case Scalar::logical_or: return {0, i | j};
    case Scalar::equal: return {0, real ? x == y : i == j};
    case Scalar::not_equal: return {0, real ? x != y : i != j};
    case Scalar::less: return {0, real ? x < y : i < j};
    case Scalar::less_equal: return {0, real ? x <= y : i <= j};
    default: break;
  }
  FAIL(name_of(op) << " is not binary");
  return {};
}

// ---- loops

class Interpreter {
 public:
  Interpreter(const Kernel& kernel, Memories& operands, const std::vector<int64_t>& extents)
      : kernel_(kernel), operands_(operands), extents_(extents), loops_(kernel.loops.size()), results_(kernel.stages.size()) {}

  void run(int64_t begin, int64_t end) {
    if (kernel_.outer == 0) {
      if (begin < end) stages();
      return;
    }
    for (loops_[0] = begin; loops_[0] < end; ++loops_[0]) outer(1);
  }

 private:
  void outer(int32_t depth) {
    if (depth == kernel_.outer) return stages();
    const auto at = static_cast<size_t>(depth);
    for (loops_[at] = 0; loops_[at] < value_of(kernel_.loops[at], extents_); ++loops_[at]) outer(depth + 1);
  }

  void stages() {
    for (size_t s = 0; s < kernel_.stages.size(); ++s) {
      results_[s].clear();
      for (const auto& reduction : kernel_.stages[s].reductions) results_[s].push_back(identity(reduction));
      inner(s, 0);
    }
  }

  void inner(size_t s, size_t depth) {
    const kernel::Stage& stage = kernel_.stages[s];
    if (depth < stage.loops.size()) {
      const auto at = static_cast<size_t>(stage.loops[depth]);
      for (loops_[at] = 0; loops_[at] < value_of(kernel_.loops[at], extents_); ++loops_[at]) inner(s, depth + 1);
      return;
    }
    known_.assign(kernel_.body.size(), std::nullopt);
    for (size_t r = 0; r < stage.reductions.size(); ++r) {
      const auto& reduction = stage.reductions[r];
      results_[s][r] = combined(reduction.op, type(reduction.value), results_[s][r], value(reduction.value));
    }
    std::vector<Value> values;
    for (const auto& store : stage.stores) values.push_back(value(store.value));
    for (size_t i = 0; i < values.size(); ++i) {
      operands_[static_cast<size_t>(stage.stores[i].operand)].set(place(stage.stores[i].operand, stage.stores[i].indices), values[i]);
    }
  }

  DType type(int32_t id) const { return kernel_.body[static_cast<size_t>(id)].dtype; }

  Value identity(const kernel::Reduction& reduction) const {
    const DType dtype = type(reduction.value);
    if (is_float(dtype)) return {identity_of(reduction.op), 0};
    const bool natural = dtype == DType::u8;
    const int64_t bits = size_of(dtype) * 8;
    const int64_t high = natural ? 255 : static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1), low = natural ? 0 : -high - 1;
    switch (reduction.op) {
      case ReduceOp::sum: return {0, 0};
      case ReduceOp::product: return {0, 1};
      case ReduceOp::max: return {0, low};
      case ReduceOp::min: return {0, high};
    }
    return {};
  }

  static Value combined(ReduceOp op, DType dtype, Value a, Value b) {
    Value result;
    switch (op) {
      case ReduceOp::sum: result = {a.real + b.real, wrapping(Scalar::add, a.whole, b.whole)}; break;
      case ReduceOp::product: result = {a.real * b.real, wrapping(Scalar::multiply, a.whole, b.whole)}; break;
      case ReduceOp::max: result = {larger(a.real, b.real), std::max(a.whole, b.whole)}; break;
      case ReduceOp::min: result = {smaller(a.real, b.real), std::min(a.whole, b.whole)}; break;
    }
    return is_float(dtype) ? result : held(dtype, result);
  }

  int64_t place(int32_t operand, const std::vector<int32_t>& indices) {
    int64_t at = 0;
    const auto& dims = kernel_.operands[static_cast<size_t>(operand)].dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t index = value(indices[d]).whole, size = value_of(dims[d], extents_);
      if (index < 0 || index >= size) FAIL("index " << index << " of dimension " << d << " of operand " << operand << ", which is " << size);
      at = at * size + index;
    }
    return at;
  }

  Value value(int32_t id) {
    if (!known_[static_cast<size_t>(id)]) known_[static_cast<size_t>(id)] = computed(kernel_.body[static_cast<size_t>(id)]);
    return *known_[static_cast<size_t>(id)];
  }

  Value computed(const Instruction& it) {
    switch (it.scalar) {
      case Scalar::constant: return held(it.dtype, {it.number, static_cast<int64_t>(it.number)});
      case Scalar::loop: return {0, loops_[static_cast<size_t>(it.index)]};
      case Scalar::size: return {0, value_of(it.size, extents_)};
      case Scalar::load: return operands_[static_cast<size_t>(it.index)].get(place(it.index, it.args));
      case Scalar::reduced: return held(it.dtype, results_[static_cast<size_t>(it.index)][static_cast<size_t>(it.number)]);
      case Scalar::select: return value(it.args[0]).whole ? value(it.args[1]) : value(it.args[2]);
      case Scalar::cast: return held(it.dtype, converted(type(it.args[0]), it.dtype, value(it.args[0])));
      case Scalar::uniform: {
        const auto bits = [&](size_t k) { return static_cast<uint64_t>(value(it.args[k]).whole); };
        return {philox_uniform(bits(0), static_cast<uint64_t>(it.number), bits(1), bits(2)), 0};
      }
      default: break;
    }
    if (it.args.size() == 1) return held(it.dtype, unary(it.scalar, value(it.args[0])));
    return held(it.dtype, binary(it.scalar, type(it.args[0]), value(it.args[0]), value(it.args[1])));
  }

  const Kernel& kernel_;
  Memories& operands_;
  const std::vector<int64_t>& extents_;
  std::vector<int64_t> loops_;
  std::vector<std::vector<Value>> results_;
  std::vector<std::optional<Value>> known_;
};

}  // namespace

void interpret(const Kernel& kernel, Memories& operands, const std::vector<int64_t>& extents, int64_t begin, int64_t end) {
  Interpreter(kernel, operands, extents).run(begin, end);
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

plan::KernelFunction compiled(const Kernel& kernel, int vector_bits) { return jit(vector_bits).compile({{"test", kernel::print(kernel)}})[0]; }

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
    if (dtype == DType::f32) {
      const auto bits = std::bit_cast<int32_t>(static_cast<float>(x));
      return bits < 0 ? std::numeric_limits<int32_t>::min() - int64_t{bits} : int64_t{bits};
    }
    const auto bits = std::bit_cast<int64_t>(x);
    return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
  };
  const int64_t one = rank(a), other = rank(b);
  return (one < 0) != (other < 0) ? std::fabs(static_cast<double>(one) - static_cast<double>(other)) : static_cast<double>(std::abs(one - other));
}

int64_t outermost(const Kernel& kernel, const std::vector<int64_t>& extents) { return kernel.outer == 0 ? 1 : value_of(kernel.loops[0], extents); }

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
  if (expected.real == actual.real) return expected.real != 0 || tolerance.absolute > 0 || std::signbit(expected.real) == std::signbit(actual.real);
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

void check_kernel(const std::string& text, const std::vector<int64_t>& extents, Tolerance tolerance, const std::function<double(size_t, int64_t)>& fill) {
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
