// A walk over the expression for each row.
#include "runtime/data/row_expression.h"

#include <cassert>
#include <cstring>

namespace dtl::data {
namespace {

using Op = RowExpression::Op;

bool is_text(const RowExpression& expression, const Source& source) {
  return expression.op == Op::text || (expression.op == Op::field && source.fields()[expression.index].text);
}

std::string_view text(const RowExpression& expression, const Source& source, int64_t row) {
  return expression.op == Op::text ? std::string_view(expression.literal) : source.text(expression.index, row);
}

template <class T>
double as_double(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<double>(value);
}

double number(size_t index, const Source& source, int64_t row) {
  std::array<std::byte, 8> bytes{};
  source.gather(index, {&row, 1}, bytes.data());
  switch (source.fields()[index].dtype) {
    case DType::f64:
      return as_double<double>(bytes.data());
    case DType::f32:
      return as_double<float>(bytes.data());
    case DType::i64:
      return as_double<int64_t>(bytes.data());
    case DType::i32:
      return as_double<int32_t>(bytes.data());
    case DType::i8:
      return as_double<int8_t>(bytes.data());
    case DType::u8:
    case DType::boolean:
      return as_double<uint8_t>(bytes.data());
    case DType::bf16:
    case DType::f16:
      break;
  }
  assert(false && "sema refuses half-precision fields in expressions over rows");
  return 0;
}

}  // namespace

double evaluate(const RowExpression& e, const Source& source, int64_t row) {
  const auto value = [&](size_t i) { return evaluate(e.items[i], source, row); };
  const auto string = [&](size_t i) { return text(e.items[i], source, row); };
  switch (e.op) {
    case Op::field:
      return number(e.index, source, row);
    case Op::number:
      return e.value;
    case Op::equal:
      return is_text(e.items[0], source) ? string(0) == string(1) : value(0) == value(1);
    case Op::less:
      return is_text(e.items[0], source) ? string(0) < string(1) : value(0) < value(1);
    case Op::less_equal:
      return is_text(e.items[0], source) ? string(0) <= string(1) : value(0) <= value(1);
    case Op::logical_and:
      return value(0) != 0 && value(1) != 0;
    case Op::logical_or:
      return value(0) != 0 || value(1) != 0;
    case Op::logical_not:
      return value(0) == 0;
    case Op::add:
      return value(0) + value(1);
    case Op::subtract:
      return value(0) - value(1);
    case Op::multiply:
      return value(0) * value(1);
    case Op::divide:
      return value(0) / value(1);
    case Op::negate:
      return -value(0);
    case Op::length: {
      double count = 0;
      for (const char c : string(0)) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
      return count;
    }
    case Op::starts_with:
      return string(0).starts_with(string(1));
    case Op::ends_with:
      return string(0).ends_with(string(1));
    case Op::contains:
      return string(0).find(string(1)) != std::string_view::npos;
    case Op::text:
      break;
  }
  assert(false && "a text is no number");
  return 0;
}

}  // namespace dtl::data
