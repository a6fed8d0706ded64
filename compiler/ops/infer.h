// What the infer parts share: short names, the wording of common refusals, and the check of operands and attributes
// against a signature.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/op.h"

namespace dtl::ops {

using types::Attrs;
using types::Dim;
using types::Dims;
using types::Ints;
using types::TensorType;

using Types = std::vector<TensorType>;
using Inferred = Expected<Types, graph::InferError>;

/// A refusal about operand `operand` (−1: none in particular).
template <class... Args>
Unexpected<graph::InferError> fail(int operand, fmt::format_string<Args...> text, Args&&... args) {
  return {graph::InferError{fmt::format(text, std::forward<Args>(args)...), operand}};
}

/// Which element types an op takes.
enum class Domain : uint8_t { floats, numbers, integers, booleans, any };
bool accepts(Domain domain, DType dtype);
/// "`exp` takes floats, not i64", or nothing.
std::optional<graph::InferError> refuse_dtype(Domain domain, const std::string& op, DType dtype, int operand);

/// "axis 2 of `argmax` is outside f32[3, 4]", or nothing.
std::optional<graph::InferError> refuse_axis(const std::string& op, int64_t axis, const TensorType& type, int operand = 0);

/// The same infer, after operands and attributes are seen to fit the signature: it may read attributes without asking.
graph::Infer checked(const graph::Signature& signature, graph::Infer infer);

}  // namespace dtl::ops
