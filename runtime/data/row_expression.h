// Expressions over the scalar fields of one row, evaluated on the data's side: what `where(row => …)` keeps, and what `example`
// makes of texts before they become tensors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/source.h"

namespace dtl::data {

/// Numbers are doubles, truth is 1 and 0; texts are compared byte by byte, which is in the order of their code points.
struct RowExpression {
  enum class Op : uint8_t {
    field,   ///< `index`
    number,  ///< `value`
    text,    ///< `literal`
    equal,   ///< of two numbers or two texts, as all comparisons
    less,
    less_equal,
    logical_and,
    logical_or,
    logical_not,
    add,
    subtract,
    multiply,
    divide,
    negate,
    length,       ///< code points of a text
    starts_with,  ///< of two texts
    ends_with,
    contains,
  };
  Op op;
  size_t index = 0;
  double value = 0;
  std::string literal;
  std::vector<RowExpression> items;
};

/// The value for row `row`; the expression is no text.
double evaluate(const RowExpression& expression, const Source& source, int64_t row);

}  // namespace dtl::data
