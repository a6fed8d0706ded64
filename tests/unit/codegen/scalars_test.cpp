// Every scalar function, in every element type that has it, on the values where things go wrong.
#include <bit>
#include <catch2/catch.hpp>
#include <limits>

#include "runtime/plan/philox.h"
#include "tests/unit/codegen/reference.h"

using namespace dtl;
using namespace dtl::codegen::test;
using kernel::Scalar;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> edges(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::f32:
    case DType::bf16:
    case DType::f16: {
      std::vector<double> result = {0.0,
                                    -0.0,
                                    1,
                                    -1,
                                    0.5,
                                    -0.5,
                                    1.5,
                                    2.5,
                                    -2.5,
                                    3,
                                    -3,
                                    0.1,
                                    -0.1,
                                    1e-3,
                                    7.25,
                                    -7.25,
                                    10,
                                    88,
                                    -88,
                                    104,
                                    -104,
                                    700,
                                    -746,
                                    1e4,
                                    -1e4,
                                    1e10,
                                    123456.7,
                                    kInf,
                                    -kInf,
                                    kNan,
                                    2147483648.0,
                                    -2147483649.0,
                                    255.5,
                                    -0.9,
                                    127.9,
                                    -128.9,
                                    256,
                                    9.3e18,
                                    -9.3e18,
                                    8388609.5,
                                    4503599627370497.5};
      const bool wide = dtype == DType::f64;
      for (const double tiny : {wide ? 4.9e-324 : 1.4e-45, wide ? 2.2250738585072014e-308 : 1.17549435e-38, wide ? 1e-310 : 1e-40})
        result.insert(result.end(), {tiny, -tiny});
      for (const double huge : {wide ? std::numeric_limits<double>::max() : 3.4028234e38}) result.insert(result.end(), {huge, -huge});
      return result;
    }
    case DType::i64:
      return {0, 1, -1, 2, -2, 7, -7, 100, 255, 256, -129, 0x1p31, -0x1p31, 0x1p40 + 1, -0x1p63, 0x1p62};
    case DType::i32:
      return {0, 1, -1, 2, -2, 7, -7, 100, 255, 256, -129, 2147483647, -2147483648.0, 65536};
    case DType::i8:
      return {0, 1, -1, 2, -2, 7, -7, 100, 127, -128, -127};
    case DType::u8:
      return {0, 1, 2, 7, 100, 127, 128, 200, 254, 255};
    case DType::boolean:
      return {0, 1};
  }
  return {};
}

/// How far results may be from the rounded result in f64, in units of the last place.
double allowed_ulps(Scalar scalar, DType to) {
  static const std::set<Scalar> functions = {Scalar::exp, Scalar::log, Scalar::log1p, Scalar::tanh,
                                             Scalar::erf, Scalar::sin, Scalar::cos,   Scalar::power};
  if (is_narrow(to) && (functions.count(scalar) || scalar == Scalar::sigmoid)) return 1;  // 4 of f32, then rounded
  if (functions.count(scalar)) return 4;
  if (scalar == Scalar::sigmoid) return 5;  // a function, an addition and a division
  return scalar == Scalar::rsqrt ? 1 : 0;   // two roundings
}

struct Case {
  Scalar scalar;
  DType from, to;
  size_t args;
};

std::vector<Case> cases() {
  const std::vector<DType> all = {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64,
                                  DType::i32, DType::i8,  DType::u8,   DType::boolean};
  std::vector<Case> result;
  const auto add = [&](Scalar scalar, size_t args, const std::function<bool(DType)>& takes, bool boolean) {
    for (const DType dtype : all) {
      if (takes(dtype)) result.push_back({scalar, dtype, boolean ? DType::boolean : dtype, args});
    }
  };
  const auto numbers = [](DType d) { return d != DType::boolean; };
  const auto booleans = [](DType d) { return d == DType::boolean; };
  const auto any = [](DType) { return true; };
  for (const Scalar s : {Scalar::negate, Scalar::abs, Scalar::sign}) add(s, 1, numbers, false);
  for (const Scalar s : {Scalar::exp, Scalar::log, Scalar::log1p, Scalar::sqrt, Scalar::rsqrt, Scalar::tanh, Scalar::sigmoid, Scalar::erf,
                         Scalar::sin, Scalar::cos, Scalar::floor, Scalar::ceil, Scalar::round}) {
    add(s, 1, is_float, false);
  }
  add(Scalar::logical_not, 1, booleans, false);
  add(Scalar::is_nan, 1, is_float, true);
  for (const Scalar s : {Scalar::add, Scalar::subtract, Scalar::multiply, Scalar::maximum, Scalar::minimum, Scalar::mod, Scalar::floor_div})
    add(s, 2, numbers, false);
  for (const Scalar s : {Scalar::divide, Scalar::power}) add(s, 2, is_float, false);
  for (const Scalar s : {Scalar::logical_and, Scalar::logical_or}) add(s, 2, booleans, false);
  for (const Scalar s : {Scalar::equal, Scalar::not_equal, Scalar::less, Scalar::less_equal}) add(s, 2, any, true);
  for (const DType from : all) {
    for (const DType to : all) result.push_back({Scalar::cast, from, to, 1});
  }
  return result;
}

/// out[i] = scalar(x[i], …): over a loop, or with `alone` once, without lanes.
kernel::Kernel one(const Case& it, bool alone) {
  kernel::Kernel kernel;
  const std::vector<kernel::Size> dims = alone ? std::vector<kernel::Size>{} : std::vector<kernel::Size>{{1, 0}};
  std::vector<int32_t> index, args;
  if (!alone) {
    kernel.loops = dims;
    kernel.outer = 1;
    kernel.body.push_back({Scalar::loop, DType::i64, {}});
    index = {0};
  }
  for (size_t k = 0; k < it.args; ++k) {
    kernel.operands.push_back({it.from, dims});
    args.push_back(static_cast<int32_t>(kernel.body.size()));
    kernel.body.push_back({.scalar = Scalar::load, .dtype = it.from, .args = index, .index = static_cast<int32_t>(k)});
  }
  kernel.operands.push_back({it.to, dims, true});
  kernel.body.push_back({it.scalar, it.to, args});
  kernel.stages = {{{}, {}, {{static_cast<int32_t>(it.args), index, static_cast<int32_t>(kernel.body.size()) - 1}}}};
  return kernel;
}

bool same(DType dtype, Value a, Value b, double ulp) {
  if (!is_float(dtype)) return a.whole == b.whole;
  if (a.real == 0 && b.real == 0) return std::signbit(a.real) == std::signbit(b.real);
  return ulps(dtype, a.real, b.real) <= ulp;
}

}  // namespace

TEST_CASE("each scalar function agrees with f64 arithmetic at its edges, in a vector and alone") {
  for (const Case& it : cases()) {
    INFO(kernel::name_of(it.scalar) << " from " << name_of(it.from) << " to " << name_of(it.to));
    const std::vector<double> values = edges(it.from);
    const size_t n = it.args == 1 ? values.size() : values.size() * values.size();
    const auto operand = [&](size_t k, size_t i) { return values[k == 0 ? i % values.size() : i / values.size()]; };
    const kernel::Kernel kernel = one(it, false), alone = one(it, true);
    const std::vector<int64_t> extents = {static_cast<int64_t>(n)};
    REQUIRE(kernel::verify(kernel).empty());
    const auto fill = [&](size_t k, int64_t i) { return k < it.args ? operand(k, static_cast<size_t>(i)) : 0; };
    Memories expected = make_operands(kernel, extents, fill);
    interpret(kernel, expected, extents, 0, extents[0]);
    for (const int bits : vector_widths()) {
      Memories found = make_operands(kernel, extents, fill);
      call(compiled(kernel, bits), found, extents, 0, extents[0]);
      const auto function = compiled(alone, bits);
      for (int64_t i = 0; i < extents[0]; ++i) {
        const Value a = expected.back().get(i), b = found.back().get(i);
        const std::string at =
            fmt::format("of {} and {} with {} bits: {} / {} expected, {} / {} computed", operand(0, static_cast<size_t>(i)),
                        operand(1, static_cast<size_t>(i)), bits, a.real, a.whole, b.real, b.whole);
        if (!same(it.to, a, b, allowed_ulps(it.scalar, it.to))) FAIL_CHECK(at);
        Memories single = make_operands(alone, {}, [&](size_t k, int64_t) { return fill(k, i); });
        call(function, single, {}, 0, 1);
        const Value c = single.back().get(0);
        const bool equal = is_float(it.to) ? std::isnan(b.real) == std::isnan(c.real) &&
                                                 (std::isnan(b.real) || std::bit_cast<uint64_t>(b.real) == std::bit_cast<uint64_t>(c.real))
                                           : b.whole == c.whole;
        if (!equal) FAIL_CHECK(at << ", alone " << c.real << " / " << c.whole);
      }
    }
  }
}

TEST_CASE("select takes one side or the other, of any type") {
  for (const char* type : {"f32", "f64", "bf16", "f16", "i64", "i32", "i8", "u8", "bool"}) {
    check_kernel(fmt::format(R"(operand 0 bool[$0]
operand 1 {0}[$0]
operand 2 {0}[$0]
operand 3 {0}[$0] written
outer 0 $0
%0 = loop i64 0
%1 = load bool 0[%0]
%2 = load {0} 1[%0]
%3 = load {0} 2[%0]
%4 = select {0} %1, %2, %3
stage []
  store 3[%0] %4
)",
                             type),
                 {37}, {}, [](size_t k, int64_t i) {
                   return k == 0 ? static_cast<double>(i % 3 == 0) : k == 1 ? static_cast<double>(i % 2) : 1 - static_cast<double>(i % 2);
                 });
  }
}

TEST_CASE("the larger of an absolute value and zero keeps negative numbers' absolute values, and NaN") {
  for (const char* op : {"maximum", "minimum"}) {
    check_kernel(fmt::format("operand 0 f32[$0]\noperand 1 f32[$0] written\nouter 0 $0\n%0 = loop i64 0\n%1 = load f32 0[%0]\n%2 = abs f32 "
                             "%1\n%3 = constant f32 0.0\n"
                             "%4 = {} f32 %2, %3\nstage []\n  store 1[%0] %4\n",
                             op),
                 {35}, {}, [](size_t, int64_t i) { return i % 7 == 6 ? NAN : static_cast<double>(i % 5) - 2; });
  }
}

TEST_CASE("constants of every type, NaN and infinities among them") {
  const auto check = [](const std::string& type, const std::string& number) {
    check_kernel(fmt::format("operand 0 {0}[$0] written\nouter 0 $0\n%0 = loop i64 0\n%1 = constant {0} {1}\nstage []\n  store 0[%0] %1\n",
                             type, number),
                 {19}, {});
  };
  for (const char* number : {"0.0", "-0.0", "inf", "-inf", "nan", "0.1", "1e-310", "1e30"}) {
    check("f64", number);
    check("f32", number);
    check("bf16", number);
    check("f16", number);
  }
  for (const char* number : {"0.0", "1.0", "-1.0", "127.0", "-128.0"}) {
    for (const char* type : {"i64", "i32", "i8"}) check(type, number);
  }
  check("u8", "255.0");
  check("i32", "-2147483648.0");
  check("i64", "-9223372036854775808.0");
  check("bool", "1.0");
}

TEST_CASE("uniform gives the bits of philox") {
  for (const char* type : {"f32", "f64", "bf16", "f16"}) {
    for (const int64_t stream : {int64_t{0}, int64_t{7}, (int64_t{5} << 32) + 1, (int64_t{1} << 53) - 1}) {
      const std::string text = fmt::format(R"(operand 0 i64[]
operand 1 i64[]
operand 2 {0}[$0] written
outer 0 $0
%0 = loop i64 0
%1 = load i64 0[]
%2 = load i64 1[]
%3 = size i64 $1
%4 = add i64 %0, %3
%5 = size i64 $2
%6 = uniform {0} %1, %2, %4, %5
stage []
  store 2[%0] %6
)",
                                           type);
      for (const int64_t first : {int64_t{0}, (int64_t{1} << 32) - 9}) {
        const auto fill = [](size_t k, int64_t) { return k == 0 ? 0x1p62 + 0x1p20 : k == 1 ? 12345.0 : 0.0; };
        check_kernel(text, {67, first, stream}, {}, fill);
        Memories operands = make_operands(parsed(text), {67, first, stream}, fill);
        call(compiled(parsed(text), 128), operands, {67, first, stream}, 0, 67);
        for (int64_t i = 0; i < 67; ++i) {
          CHECK(operands[2].get(i).real ==
                philox_uniform((uint64_t{1} << 62) + (1 << 20), static_cast<uint64_t>(stream), 12345, static_cast<uint64_t>(first + i), uniform_bits(*parse_dtype(type))));
        }
      }
    }
  }
}

TEST_CASE("vector functions are right within 4 units of the last place all over their range") {
  struct Range {
    const char* name;
    double low, high;
  };
  const std::vector<Range> ranges = {{"exp", -104, 89},     {"exp", -1, 1},       {"log", 1e-40, 1e-37},  {"log", 1e-3, 8},
                                     {"log", 1, 3e38},      {"log1p", -0.999, 4}, {"log1p", -1e-5, 1e-5}, {"tanh", -12, 12},
                                     {"tanh", -1e-3, 1e-3}, {"erf", -5, 5},       {"erf", -1e-3, 1e-3},   {"sin", -20, 20},
                                     {"sin", -1e6, 1e6},    {"cos", -20, 20},     {"cos", -1e6, 1e6},     {"sigmoid", -87, 90}};
  constexpr int64_t kPoints = 20000;
  for (const char* type : {"f32", "f64"}) {
    for (const Range& range : ranges) {
      INFO(range.name << " in " << type << " from " << range.low << " to " << range.high);
      const kernel::Kernel kernel =
          parsed(fmt::format("operand 0 {0}[$0]\noperand 1 {0}[$0] written\nouter 0 $0\n%0 = loop i64 0\n%1 = load {0} 0[%0]\n%2 = {1} {0} "
                             "%1\nstage []\n  store 1[%0] %2\n",
                             type, range.name));
      const DType dtype = kernel.operands[0].dtype;
      const auto fill = [&](size_t, int64_t i) { return range.low + (range.high - range.low) * static_cast<double>(i) / kPoints; };
      Memories expected = make_operands(kernel, {kPoints}, fill);
      interpret(kernel, expected, {kPoints}, 0, kPoints);
      for (const int bits : vector_widths()) {
        Memories found = make_operands(kernel, {kPoints}, fill);
        call(compiled(kernel, bits), found, {kPoints}, 0, kPoints);
        double worst = 0;
        int64_t where = 0;
        for (int64_t i = 0; i < kPoints; ++i) {
          const double distance = ulps(dtype, expected[1].get(i).real, found[1].get(i).real);
          if (distance > worst) worst = distance, where = i;
        }
        INFO("vectors of " << bits << " bits: worst at " << expected[0].get(where).real << ", " << expected[1].get(where).real
                           << " expected");
        CHECK(worst <= (range.name == std::string("sigmoid") ? 5 : 4));
      }
    }
  }
}
