// Names, sizes and neutral elements of element types and reductions.
#include "runtime/plan/dtype.h"

#include <array>
#include <cmath>
#include <limits>

namespace dtl {
namespace {

struct Row {
  std::string_view name;
  int64_t size;
};

constexpr std::array<Row, 9> kRows = {{
    {"f64", 8},
    {"f32", 4},
    {"bf16", 2},
    {"f16", 2},
    {"i64", 8},
    {"i32", 4},
    {"i8", 1},
    {"u8", 1},
    {"bool", 1},
}};

constexpr std::array<std::string_view, 4> kReduceNames = {"sum", "max", "min", "product"};

}  // namespace

std::string_view name_of(DType dtype) { return kRows[static_cast<size_t>(dtype)].name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int64_t size_of(DType dtype) { return kRows[static_cast<size_t>(dtype)].size; }

bool is_float(DType dtype) { return dtype <= DType::f16; }

bool is_narrow(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

bool is_integer(DType dtype) { return dtype >= DType::i64 && dtype <= DType::u8; }

std::string_view name_of(ReduceOp op) { return kReduceNames[static_cast<size_t>(op)]; }

std::optional<ReduceOp> parse_reduce_op(std::string_view name) {
  for (size_t i = 0; i < kReduceNames.size(); ++i) {
    if (kReduceNames[i] == name) return static_cast<ReduceOp>(i);
  }
  return std::nullopt;
}

double identity_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return 0;
    case ReduceOp::max:
      return -std::numeric_limits<double>::infinity();
    case ReduceOp::min:
      return std::numeric_limits<double>::infinity();
    case ReduceOp::product:
      return 1;
  }
  __builtin_unreachable();
}

double start_of(ReduceOp op, DType dtype) {
  const double identity = identity_of(op);
  if (is_float(dtype) || std::isfinite(identity)) return identity;
  if (dtype == DType::u8 || dtype == DType::boolean) return identity < 0 ? 0 : dtype == DType::u8 ? 255 : 1;
  const double limit = std::ldexp(1.0, 8 * static_cast<int>(size_of(dtype)) - 1);
  return identity < 0 ? -limit : dtype == DType::i64 ? std::nextafter(limit, 0.0) : limit - 1;
}

ReduceOp reduction_from(double identity) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min}) {
    if (identity_of(op) == identity) return op;
  }
  return ReduceOp::product;
}

double combine(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::sum:
      return a + b;
    // A NaN on either side stays: a lost NaN would hide a diverged replica.
    case ReduceOp::max:
      return std::isnan(a) || a > b ? a : b;
    case ReduceOp::min:
      return std::isnan(a) || a < b ? a : b;
    case ReduceOp::product:
      return a * b;
  }
  __builtin_unreachable();
}

}  // namespace dtl
