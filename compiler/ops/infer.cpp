// Wording of common refusals; operands and attributes against a signature.
#include "compiler/ops/infer.h"

#include <algorithm>

namespace dtl::ops {
namespace {

using graph::AttrKind;
using graph::InferError;

std::string_view words(Domain domain) {
  switch (domain) {
    case Domain::floats:
      return "floats";
    case Domain::numbers:
      return "numbers";
    case Domain::integers:
      return "integers";
    case Domain::booleans:
      return "booleans";
    case Domain::any:
      return "anything";
  }
  __builtin_unreachable();
}

bool holds(const types::AttrValue& value, AttrKind kind) {
  switch (kind) {
    case AttrKind::boolean:
      return std::holds_alternative<bool>(value);
    case AttrKind::integer:
      return std::holds_alternative<int64_t>(value);
    case AttrKind::number:
      return std::holds_alternative<double>(value);
    case AttrKind::text:
      return std::holds_alternative<std::string>(value);
    case AttrKind::ints:
      return std::holds_alternative<Ints>(value);
    case AttrKind::dtype:
      return std::holds_alternative<DType>(value);
    case AttrKind::reduce_op:
      return std::holds_alternative<ReduceOp>(value);
    case AttrKind::dims:
      return std::holds_alternative<Dims>(value);
    case AttrKind::placements:
      return std::holds_alternative<types::Placements>(value);
  }
  __builtin_unreachable();
}

std::string_view words(AttrKind kind) {
  switch (kind) {
    case AttrKind::boolean:
      return "true or false";
    case AttrKind::integer:
      return "an integer";
    case AttrKind::number:
      return "a number";
    case AttrKind::text:
      return "a text";
    case AttrKind::ints:
      return "a list of integers";
    case AttrKind::dtype:
      return "an element type";
    case AttrKind::reduce_op:
      return "a reduction";
    case AttrKind::dims:
      return "a list of dimensions";
    case AttrKind::placements:
      return "a list of placements";
  }
  __builtin_unreachable();
}

std::optional<InferError> refuse_signature(const graph::Signature& signature, size_t operands, const Attrs& attrs) {
  const size_t named = signature.operands.size();
  if (named > 0 && signature.operands.back().ends_with("...")) {
    // The last name stands for one or more: no op makes sense over nothing.
    if (operands < named)
      return InferError{fmt::format("`{}` takes at least {} operand{}, not {}", signature.name, named, named == 1 ? "" : "s", operands)};
  } else if (operands != named && !(named > 0 && signature.operands.back().ends_with('?') && operands + 1 == named)) {
    return InferError{fmt::format("`{}` takes {} operand{}, not {}", signature.name, named, named == 1 ? "" : "s", operands)};
  }
  for (const graph::AttrSpec& spec : signature.attrs) {
    const types::AttrValue* value = attrs.find(spec.name);
    if (!value && !spec.optional) return InferError{fmt::format("`{}` lacks the attribute `{}`", signature.name, spec.name)};
    if (value && !holds(*value, spec.kind))
      return InferError{fmt::format("attribute `{}` of `{}` is not {}", spec.name, signature.name, words(spec.kind))};
  }
  for (const auto& [name, value] : attrs.values()) {
    const auto& specs = signature.attrs;
    const bool known = std::any_of(specs.begin(), specs.end(), [&](const graph::AttrSpec& spec) { return spec.name == name; });
    if (!known) return InferError{fmt::format("`{}` has no attribute `{}`", signature.name, name)};
  }
  return std::nullopt;
}

}  // namespace

bool accepts(Domain domain, DType dtype) {
  switch (domain) {
    case Domain::floats:
      return is_float(dtype);
    case Domain::numbers:
      return is_float(dtype) || is_integer(dtype);
    case Domain::integers:
      return is_integer(dtype);
    case Domain::booleans:
      return dtype == DType::boolean;
    case Domain::any:
      return true;
  }
  __builtin_unreachable();
}

std::optional<InferError> refuse_dtype(Domain domain, const std::string& op, DType dtype, int operand) {
  if (accepts(domain, dtype)) return std::nullopt;
  return InferError{fmt::format("`{}` takes {}, not {}", op, words(domain), name_of(dtype)), operand};
}

std::optional<InferError> refuse_axis(const std::string& op, int64_t axis, const TensorType& type, int operand) {
  if (axis >= 0 && axis < static_cast<int64_t>(type.rank())) return std::nullopt;
  return InferError{fmt::format("axis {} of `{}` is outside {}", axis, op, type.str()), operand};
}

graph::Infer checked(const graph::Signature& signature, graph::Infer infer) {
  return [signature, infer = std::move(infer)](std::span<const TensorType> operands, const Attrs& attrs) -> Inferred {
    if (auto error = refuse_signature(signature, operands.size(), attrs)) return Unexpected{std::move(*error)};
    return infer(operands, attrs);
  };
}

}  // namespace dtl::ops
