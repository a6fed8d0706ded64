// Checks of nodes against signatures.
#include "compiler/graph/signature.h"

#include <algorithm>

namespace dtl::graph {
namespace {

bool has_kind(const types::AttrValue& value, AttrKind kind) {
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
      return std::holds_alternative<types::Ints>(value);
    case AttrKind::dtype:
      return std::holds_alternative<DType>(value);
    case AttrKind::reduce_op:
      return std::holds_alternative<ReduceOp>(value);
    case AttrKind::dims:
      return std::holds_alternative<types::Dims>(value);
    case AttrKind::placements:
      return std::holds_alternative<types::Placements>(value);
  }
  __builtin_unreachable();
}

}  // namespace

std::string signature_mismatch(const Signature& signature, size_t operands, const types::Attrs& attrs) {
  const bool open = !signature.operands.empty() && signature.operands.back().ends_with("...");
  const bool may_lack = !signature.operands.empty() && signature.operands.back().ends_with('?');
  const size_t least = signature.operands.size() - (open || may_lack ? 1 : 0);
  if (operands < least || (!open && operands > signature.operands.size())) {
    return fmt::format("`{}` takes {}{} operands, not {}", signature.name, open ? "at least " : "", least, operands);
  }
  for (const AttrSpec& spec : signature.attrs) {
    const types::AttrValue* value = attrs.find(spec.name);
    if (!value && !spec.optional) return fmt::format("`{}` needs attribute `{}`", signature.name, spec.name);
    if (value && !has_kind(*value, spec.kind)) return fmt::format("attribute `{}` of `{}` is of another kind", spec.name, signature.name);
  }
  for (const auto& [name, value] : attrs.values()) {
    const bool known = std::any_of(signature.attrs.begin(), signature.attrs.end(), [&](const AttrSpec& spec) { return spec.name == name; });
    if (!known) return fmt::format("`{}` has no attribute `{}`", signature.name, name);
  }
  return {};
}

bool calls_function(const Signature& signature) {
  return std::any_of(signature.attrs.begin(), signature.attrs.end(), [](const AttrSpec& spec) { return spec.name == "function"; });
}

Expected<std::vector<types::TensorType>, InferError> result_types(const Graph& graph, const OpRecord& op,
                                                                  std::span<const types::TensorType> operands, const types::Attrs& attrs) {
  if (!calls_function(*op.signature)) return (*op.infer)(operands, attrs);
  const std::string& name = attrs.get<std::string>("function");
  const auto id = graph.find_function(name);
  if (!id) return Unexpected{InferError{fmt::format("there is no function `{}`", name)}};
  const Function& function = graph[*id];
  if (function.params.size() != operands.size()) {
    return Unexpected{InferError{fmt::format("`{}` has {} parameters, not {}", name, function.params.size(), operands.size())}};
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    const types::TensorType& param = graph[function.params[i].value].type;
    if (param == operands[i]) continue;
    return Unexpected{
        InferError{fmt::format("parameter {} of `{}` is {}, not {}", i, name, param.str(), operands[i].str()), static_cast<int>(i)}};
  }
  std::vector<types::TensorType> types;
  for (const Port& port : function.results) types.push_back(graph[port.value].type);
  return types;
}

}  // namespace dtl::graph
