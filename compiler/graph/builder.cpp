// Builder: adds nodes with inferred types and unique names.
#include "compiler/graph/builder.h"

#include "compiler/graph/signature.h"
#include "compiler/source/check.h"

namespace dtl::graph {

Builder::Builder(const OpTable& ops, Graph& graph, FunctionId function) : ops_(&ops), graph_(&graph), function_(function) {
  for (const Port& port : graph[function].params) names_.emplace(graph[port.value].name, 0);
  for (const NodeId node : graph[function].nodes) {
    for (const ValueId result : graph[node].results) names_.emplace(graph[result].name, 0);
  }
}

ValueId Builder::param(std::string name, types::TensorType type, Role role, std::string path, double identity) {
  auto& params = (*graph_)[function_].params;
  const ValueId id{static_cast<int32_t>(graph_->values.size())};
  graph_->values.push_back({std::move(type), {}, unique(std::move(name)), function_, std::nullopt, static_cast<int32_t>(params.size())});
  params.push_back({id, role, std::move(path), identity});
  return id;
}

void Builder::result(ValueId value, Role role, std::string path, double identity) {
  DTL_CHECK((*graph_)[value].function == function_, "`%{}` is a value of another function", (*graph_)[value].name);
  (*graph_)[function_].results.push_back({value, role, std::move(path), identity});
}

std::vector<ValueId> Builder::add_multi(std::string_view op, std::vector<ValueId> operands, types::Attrs attrs, std::string name) {
  std::vector<std::string> names;
  if (!name.empty()) names.push_back(std::move(name));
  return add_named(op, std::move(operands), std::move(attrs), names);
}

std::vector<ValueId> Builder::add_named(std::string_view op, std::vector<ValueId> operands, types::Attrs attrs,
                                        const std::vector<std::string>& names) {
  const auto op_id = ops_->find(op);
  DTL_CHECK(op_id.has_value(), "there is no op `{}`", op);
  const OpRecord& record = (*ops_)[*op_id];
  const std::string mismatch = signature_mismatch(*record.signature, operands.size(), attrs);
  DTL_CHECK(mismatch.empty(), "{} in `{}`", mismatch, (*graph_)[function_].name);
  std::vector<types::TensorType> operand_types;
  for (const ValueId operand : operands) {
    DTL_CHECK((*graph_)[operand].function == function_, "`%{}` is a value of another function than `{}`", (*graph_)[operand].name,
              (*graph_)[function_].name);
    operand_types.push_back((*graph_)[operand].type);
  }
  const auto result_types_of = [&] { return result_types(*graph_, record, operand_types, attrs); };
  auto types = result_types_of();
  if (!types) {
    std::string shown;
    for (const types::TensorType& type : operand_types) shown += (shown.empty() ? "" : ", ") + type.str();
    DTL_CHECK(false, "`{}` {} over ({}) in `{}`: {}", op, attrs.str(), shown, (*graph_)[function_].name, types.error().text);
  }

  const NodeId node{static_cast<int32_t>(graph_->nodes.size())};
  std::vector<ValueId> results;
  for (size_t i = 0; i < types->size(); ++i) {
    const ValueId id{static_cast<int32_t>(graph_->values.size())};
    const std::string& name = i < names.size() ? names[i] : !names.empty() ? names.back() : record.name();
    graph_->values.push_back({std::move((*types)[i]), {}, unique(name), function_, node, static_cast<int32_t>(i)});
    results.push_back(id);
  }
  graph_->nodes.push_back({*op_id, std::move(operands), std::move(attrs), results, function_, range_, scope_});
  (*graph_)[function_].nodes.push_back(node);
  return results;
}

ValueId Builder::add(std::string_view op, std::vector<ValueId> operands, types::Attrs attrs, std::string name) {
  const std::vector<ValueId> results = add_multi(op, std::move(operands), std::move(attrs), std::move(name));
  DTL_CHECK(results.size() == 1, "`{}` gives {} results", op, results.size());
  return results[0];
}

ValueId Builder::constant(double value, DType dtype, std::vector<types::Dim> dims) {
  return add("constant", {}, {{"value", value}, {"dtype", dtype}, {"shape", std::move(dims)}});
}

void Builder::at(source::Range range, std::string scope) {
  range_ = range;
  scope_ = std::move(scope);
}

const types::TensorType& Builder::type(ValueId value) const { return (*graph_)[value].type; }

std::string Builder::unique(std::string name) {
  if (name.empty()) name = "value";
  // What graph text allows in a name; an optimizer's `kernel:adam.m` becomes `kernel/adam.m`.
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/';
    if (!plain) c = c == ':' ? '/' : '_';
  }
  if (names_.emplace(name, 0).second) return name;
  while (true) {
    std::string candidate = fmt::format("{}.{}", name, ++names_[name]);
    if (names_.emplace(candidate, 0).second) return candidate;
  }
}

}  // namespace dtl::graph
