// A slow interpreter of kernels: what codegen's tests take for right.
#include <catch2/catch.hpp>

#include "runtime/plan/half.h"
#include "runtime/plan/philox.h"
#include "tests/unit/codegen/reference.h"

namespace dtl::codegen::test {

using kernel::Instruction;
using kernel::Kernel;
using kernel::Scalar;

namespace {

// ---- scalars

/// What a variable of the type holds after the value is put there.
Value held(DType dtype, Value value) {
  switch (dtype) {
    case DType::f64:
      return {value.real, 0};
    case DType::f32:
      return {static_cast<float>(value.real), 0};
    case DType::i64:
      return {0, value.whole};
    case DType::i32:
      return {0, static_cast<int32_t>(value.whole)};
    case DType::i8:
      return {0, static_cast<int8_t>(value.whole)};
    case DType::u8:
      return {0, static_cast<uint8_t>(value.whole)};
    case DType::boolean:
      return {0, value.whole != 0 ? 1 : 0};
    case DType::bf16:
    case DType::f16:
      return {plan::narrowed(dtype, value.real), 0};
  }
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
    // To f32 in one rounding.
    return to == DType::f64 ? Value{static_cast<double>(x.whole), 0} : Value{static_cast<float>(x.whole), 0};
  }
  if (is_float(to)) return x;
  switch (to) {
    case DType::boolean:
      return {0, x.real != 0 ? 1 : 0};
    case DType::u8:
      return {0, static_cast<int64_t>(truncated(x.real, 0, 255))};
    case DType::i8:
      return {0, static_cast<int64_t>(truncated(x.real, -128, 127))};
    case DType::i32:
      return {0, static_cast<int64_t>(truncated(x.real, -0x1p31, 0x1p31 - 1))};
    case DType::i64:
      if (x.real >= 0x1p63) return {0, std::numeric_limits<int64_t>::max()};
      return {0, static_cast<int64_t>(truncated(x.real, -0x1p63, 0x1p63))};
    case DType::f64:
    case DType::f32:
    case DType::bf16:
    case DType::f16:
      break;
  }
  return x;
}

/// The functions of one argument: of a float, and of anything else.
const std::map<Scalar, Value (*)(double x, int64_t i)> kUnary = {
    {Scalar::negate, [](double x, int64_t i) -> Value { return {-x, wrapping(Scalar::subtract, 0, i)}; }},
    {Scalar::abs, [](double x, int64_t i) -> Value { return {std::fabs(x), i < 0 ? wrapping(Scalar::subtract, 0, i) : i}; }},
    {Scalar::exp, [](double x, int64_t) -> Value { return {std::exp(x)}; }},
    {Scalar::log, [](double x, int64_t) -> Value { return {std::log(x)}; }},
    {Scalar::log1p, [](double x, int64_t) -> Value { return {std::log1p(x)}; }},
    {Scalar::sqrt, [](double x, int64_t) -> Value { return {std::sqrt(x)}; }},
    {Scalar::rsqrt, [](double x, int64_t) -> Value { return {1 / std::sqrt(x)}; }},
    {Scalar::tanh, [](double x, int64_t) -> Value { return {std::tanh(x)}; }},
    {Scalar::sigmoid, [](double x, int64_t) -> Value { return {1 / (1 + std::exp(-x))}; }},
    {Scalar::erf, [](double x, int64_t) -> Value { return {std::erf(x)}; }},
    {Scalar::sin, [](double x, int64_t) -> Value { return {std::sin(x)}; }},
    {Scalar::cos, [](double x, int64_t) -> Value { return {std::cos(x)}; }},
    {Scalar::floor, [](double x, int64_t) -> Value { return {std::floor(x)}; }},
    {Scalar::ceil, [](double x, int64_t) -> Value { return {std::ceil(x)}; }},
    {Scalar::round, [](double x, int64_t) -> Value { return {std::nearbyint(x)}; }},
    {Scalar::sign,
     [](double x, int64_t i) -> Value {
       return {std::isnan(x) ? x : x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0, i > 0 ? 1 : i < 0 ? -1 : 0};
     }},
    {Scalar::logical_not, [](double, int64_t i) -> Value { return {0, i == 0}; }},
    {Scalar::is_nan, [](double x, int64_t) -> Value { return {0, std::isnan(x)}; }},
};

double rest(double x, double y) {
  const double result = std::fmod(x, y);
  return result != 0 && (result < 0) != (y < 0) ? result + y : result;
}
int64_t rest(int64_t i, int64_t j) { return j == 0 ? 0 : wrapping(Scalar::subtract, i, wrapping(Scalar::multiply, floor_div(i, j), j)); }

struct Pair {
  DType dtype;
  double x, y;
  int64_t i, j;
  bool real() const { return is_float(dtype); }
};
const std::map<Scalar, Value (*)(const Pair&)> kBinary = {
    {Scalar::add, [](const Pair& p) -> Value { return {p.x + p.y, wrapping(Scalar::add, p.i, p.j)}; }},
    {Scalar::subtract, [](const Pair& p) -> Value { return {p.x - p.y, wrapping(Scalar::subtract, p.i, p.j)}; }},
    {Scalar::multiply, [](const Pair& p) -> Value { return {p.x * p.y, wrapping(Scalar::multiply, p.i, p.j)}; }},
    {Scalar::divide, [](const Pair& p) -> Value { return {p.x / p.y}; }},
    {Scalar::power, [](const Pair& p) -> Value { return {std::pow(p.x, p.y)}; }},
    {Scalar::maximum, [](const Pair& p) -> Value { return {larger(p.x, p.y), std::max(p.i, p.j)}; }},
    {Scalar::minimum, [](const Pair& p) -> Value { return {smaller(p.x, p.y), std::min(p.i, p.j)}; }},
    {Scalar::mod, [](const Pair& p) -> Value { return {rest(p.x, p.y), rest(p.i, p.j)}; }},
    {Scalar::floor_div,  // the quotient is rounded before its floor is taken
     [](const Pair& p) -> Value {
       return {std::floor(p.dtype != DType::f64 ? static_cast<float>(p.x / p.y) : p.x / p.y), floor_div(p.i, p.j)};
     }},
    {Scalar::logical_and, [](const Pair& p) -> Value { return {0, p.i & p.j}; }},
    {Scalar::logical_or, [](const Pair& p) -> Value { return {0, p.i | p.j}; }},
    {Scalar::equal, [](const Pair& p) -> Value { return {0, p.real() ? p.x == p.y : p.i == p.j}; }},
    {Scalar::not_equal, [](const Pair& p) -> Value { return {0, p.real() ? p.x != p.y : p.i != p.j}; }},
    {Scalar::less, [](const Pair& p) -> Value { return {0, p.real() ? p.x < p.y : p.i < p.j}; }},
    {Scalar::less_equal, [](const Pair& p) -> Value { return {0, p.real() ? p.x <= p.y : p.i <= p.j}; }},
};

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
      case ReduceOp::sum:
        return {0, 0};
      case ReduceOp::product:
        return {0, 1};
      case ReduceOp::max:
        return {0, low};
      case ReduceOp::min:
        return {0, high};
    }
    return {};
  }

  static Value combined(ReduceOp op, DType dtype, Value a, Value b) {
    Value result;
    switch (op) {
      case ReduceOp::sum:
        result = {a.real + b.real, wrapping(Scalar::add, a.whole, b.whole)};
        break;
      case ReduceOp::product:
        result = {a.real * b.real, wrapping(Scalar::multiply, a.whole, b.whole)};
        break;
      case ReduceOp::max:
        result = {larger(a.real, b.real), std::max(a.whole, b.whole)};
        break;
      case ReduceOp::min:
        result = {smaller(a.real, b.real), std::min(a.whole, b.whole)};
        break;
    }
    return is_float(dtype) ? result : held(dtype, result);
  }

  int64_t place(int32_t operand, const std::vector<int32_t>& indices) {
    int64_t at = 0;
    const auto& dims = kernel_.operands[static_cast<size_t>(operand)].dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t index = value(indices[d]).whole, size = value_of(dims[d], extents_);
      if (index < 0 || index >= size)
        FAIL("index " << index << " of dimension " << d << " of operand " << operand << ", which is " << size);
      at = at * size + index;
    }
    return at;
  }

  Value value(int32_t id) {
    if (!known_[static_cast<size_t>(id)]) known_[static_cast<size_t>(id)] = computed(kernel_.body[static_cast<size_t>(id)]);
    return *known_[static_cast<size_t>(id)];
  }

  Value computed(const Instruction& it) {
    if (const auto found = kUnary.find(it.scalar); found != kUnary.end()) {
      const Value x = value(it.args[0]);
      return held(it.dtype, found->second(x.real, x.whole));
    }
    if (const auto found = kBinary.find(it.scalar); found != kBinary.end()) {
      const Value x = value(it.args[0]), y = value(it.args[1]);
      return held(it.dtype, found->second({type(it.args[0]), x.real, y.real, x.whole, y.whole}));
    }
    if (it.scalar == Scalar::constant) return held(it.dtype, {it.number, static_cast<int64_t>(it.number)});
    if (it.scalar == Scalar::loop) return {0, loops_[static_cast<size_t>(it.index)]};
    if (it.scalar == Scalar::size) return {0, value_of(it.size, extents_)};
    if (it.scalar == Scalar::load) return operands_[static_cast<size_t>(it.index)].get(place(it.index, it.args));
    if (it.scalar == Scalar::reduced) return held(it.dtype, results_[static_cast<size_t>(it.index)][static_cast<size_t>(it.number)]);
    if (it.scalar == Scalar::select) return value(it.args[0]).whole ? value(it.args[1]) : value(it.args[2]);
    if (it.scalar == Scalar::cast) return held(it.dtype, converted(type(it.args[0]), it.dtype, value(it.args[0])));
    REQUIRE(it.scalar == Scalar::uniform);
    const auto bits = [&](size_t k) { return static_cast<uint64_t>(value(it.args[k]).whole); };
    return {philox_uniform(bits(0), bits(3), bits(1), bits(2), uniform_bits(it.dtype)), 0};
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

}  // namespace dtl::codegen::test
