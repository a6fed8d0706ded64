// The list of families, and the table of ops as markdown.
#include "compiler/ops/registry.h"

#include <fmt/format.h>

#include "compiler/ops/family.h"
#include "compiler/ops/infer.h"

namespace dtl::ops {
namespace {

using graph::OpRecord;

/// The explicit list. A new family is one line here; a new op is one record in its family's file.
std::vector<OpRecord> records() {
  std::vector<OpRecord> all;
  for (auto* family : {elementwise_unary, elementwise_binary, elementwise_others, reductions, contractions, shape_ops, slice_ops, index_ops,
                       convolution_ops, creation_ops, random_ops, collectives, calls}) {
    for (OpRecord& record : family()) {
      record.infer.value = checked(*record.signature, std::move(record.infer.value));
      all.push_back(std::move(record));
    }
  }
  return all;
}

// ---- markdown

std::string_view word(graph::AttrKind kind) {
  using graph::AttrKind;
  switch (kind) {
    case AttrKind::boolean:
      return "boolean";
    case AttrKind::integer:
      return "integer";
    case AttrKind::number:
      return "number";
    case AttrKind::text:
      return "text";
    case AttrKind::ints:
      return "ints";
    case AttrKind::dtype:
      return "dtype";
    case AttrKind::reduce_op:
      return "reduce_op";
    case AttrKind::dims:
      return "dims";
    case AttrKind::placements:
      return "placements";
  }
  __builtin_unreachable();
}

std::string signature_text(const graph::Signature& signature) {
  std::string text = fmt::format("`{}({})`", signature.name, fmt::join(signature.operands, ", "));
  if (signature.attrs.empty()) return text;
  text += " `{";
  for (size_t i = 0; i < signature.attrs.size(); ++i) {
    const graph::AttrSpec& spec = signature.attrs[i];
    text += fmt::format("{}{}{}: {}", i > 0 ? ", " : "", spec.name, spec.optional ? "?" : "", word(spec.kind));
  }
  return text + "}`";
}

/// A bar would end the cell.
std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string axes_text(const OpRecord& op, const graph::Sample& sample) {
  if (!op.axes->rule) return "none: " + op.axes->reason;
  return fmt::format("`{}`", op.axes->rule({sample.operands, sample.attrs}));
}

std::string gradient_text(const OpRecord& op) {
  const graph::Gradient& gradient = *op.gradient;
  if (const auto* refused = std::get_if<graph::NotDifferentiable>(&gradient)) return "refused: " + refused->reason;
  return std::holds_alternative<graph::Zero>(gradient) ? "zero" : "rule";
}

std::string row_text(const graph::PlacementRow& row) {
  const auto side = [](const std::vector<types::Placement>& placements) {
    std::string text;
    for (size_t i = 0; i < placements.size(); ++i) text += (i > 0 ? ", " : "") + placements[i].str();
    return text;
  };
  return fmt::format("{} → {}", side(row.operands), side(row.results));
}

std::string placement_text(const OpRecord& op, const graph::Sample& sample, const std::vector<types::TensorType>& results) {
  std::string text;
  switch (op.placements->linear) {
    case graph::Linear::none:
      break;
    case graph::Linear::joint:
      text = "joint";
      break;
    case graph::Linear::each:
      text = "each";
      break;
  }
  if (op.placements->extra) {
    const int mesh_axis = op.evaluate->collective ? static_cast<int>(sample.attrs.get<int64_t>("axis")) : 0;
    for (const graph::PlacementRow& row : op.placements->extra({sample.operands, results, sample.attrs, mesh_axis})) {
      text += (text.empty() ? "" : "; ") + row_text(row);
    }
  }
  return text.empty() ? "–" : text;
}

std::string lowering_text(const OpRecord& op, const graph::Sample& sample, const std::vector<types::TensorType>& results) {
  const graph::Lowering lowering = (*op.lower)({sample.operands, results, sample.attrs});
  if (const auto* rule = std::get_if<graph::KernelRule>(&lowering)) {
    std::string stages;
    for (const kernel::Reduction& first : rule->first) stages += fmt::format("{}, then ", name_of(first.op));
    return rule->combine ? fmt::format("kernel: {}{}", stages, name_of(*rule->combine)) : "kernel";
  }
  if (std::holds_alternative<graph::GemmRule>(lowering)) return "gemm";
  if (std::holds_alternative<graph::ScatterRule>(lowering)) return "scatter";
  if (std::holds_alternative<graph::ViewRule>(lowering)) return "view";
  if (std::holds_alternative<graph::CollectiveRule>(lowering)) return "collective";
  return "replaced by " + std::get<graph::ExpandedRule>(lowering).by;
}

}  // namespace

const graph::OpTable& table() {
  static const graph::OpTable kTable{records()};
  return kTable;
}

std::string ops_table() {
  std::string text =
      "# Primitive ops\n\n"
      "Made by `dslc ops` from the records in `compiler/ops/`; axes, placements and lowering are shown for each op's first\n"
      "sample. Every op may also be split along any letter of its axes without `!`, and joint or each says where partial sums\n"
      "stay partial.\n\n"
      "| op | meaning | axes | gradient | placements | lowering |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const OpRecord& op : table().records()) {
    const graph::Sample& sample = op.samples->front();
    const auto results = (*op.infer)(sample.operands, sample.attrs);
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", signature_text(*op.signature), cell(op.signature->doc), axes_text(op, sample),
                        gradient_text(op), placement_text(op, sample, *results), lowering_text(op, sample, *results));
  }
  return text;
}

}  // namespace dtl::ops
