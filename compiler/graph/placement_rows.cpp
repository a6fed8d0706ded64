// Derivation of placement rows from axes, linearity and extra rows.
#include "compiler/graph/placement_rows.h"

#include <algorithm>

#include "compiler/graph/axes.h"
#include "compiler/source/check.h"

namespace dtl::graph {
namespace {

using types::Placement;
using types::PlacementKind;

std::optional<int> position(const AxisGroup& group, const std::string& letter) {
  for (size_t i = 0; i < group.size(); ++i) {
    if (group[i].letter == letter) return static_cast<int>(i);
  }
  return std::nullopt;
}

/// Letters in order of first occurrence that no group needs whole.
std::vector<std::string> splittable(const AxisRule& rule) {
  std::vector<std::string> letters, whole;
  for (const auto* side : {&rule.operands, &rule.results}) {
    for (const AxisGroup& group : *side) {
      for (const AxisLetter& letter : group) {
        if (letter.whole) whole.push_back(letter.letter);
        if (std::find(letters.begin(), letters.end(), letter.letter) == letters.end()) letters.push_back(letter.letter);
      }
    }
  }
  std::erase_if(letters, [&](const std::string& letter) { return std::find(whole.begin(), whole.end(), letter) != whole.end(); });
  return letters;
}

std::optional<PlacementRow> letter_row(const OpRecord& op, const AxisRule& rule, const std::string& letter, const types::Attrs& attrs) {
  PlacementRow row;
  for (const AxisGroup& group : rule.operands) {
    const auto dim = position(group, letter);
    row.operands.push_back(dim ? Placement::split(*dim) : Placement::broadcast());
  }
  size_t having = 0;
  for (const AxisGroup& group : rule.results) {
    const auto dim = position(group, letter);
    having += dim ? 1 : 0;
    row.results.push_back(dim ? Placement::split(*dim) : Placement::broadcast());
  }
  if (having == rule.results.size()) return row;
  // Some results would need the whole axis, others only a part of it.
  if (having > 0 || !op.axes->combine) return std::nullopt;
  std::fill(row.results.begin(), row.results.end(), Placement::partial(op.axes->combine(attrs)));
  return row;
}

void add_linear_rows(const OpRecord& op, const PlacementContext& context, std::vector<PlacementRow>& rows) {
  const size_t operands = context.operands.size(), results = context.results.size();
  const Placement partial = Placement::partial(ReduceOp::sum);
  if (operands == 0) return;
  switch (op.placements->linear) {
    case Linear::none:
      return;
    case Linear::joint:
      rows.push_back({std::vector(operands, partial), std::vector(results, partial)});
      return;
    case Linear::each:
      for (size_t i = 0; i < operands; ++i) {
        PlacementRow row{std::vector(operands, Placement::broadcast()), std::vector(results, partial)};
        row.operands[i] = partial;
        rows.push_back(std::move(row));
      }
      return;
  }
}

/// Every choice of varying and broadcast operands, fewest varying first; `none_too` includes the one without varying.
void add_varying_rows(const PlacementContext& context, bool none_too, std::vector<PlacementRow>& rows) {
  const size_t operands = context.operands.size();
  const std::vector<Placement> results(context.results.size(), Placement::varying());
  constexpr size_t kEnumerated = 8;
  if (operands > kEnumerated) {
    // Too many to list: a long operand list is all of one kind.
    rows.push_back({std::vector(operands, Placement::varying()), results});
    return;
  }
  for (uint32_t mask = none_too ? 0 : 1; mask < (1U << operands); ++mask) {
    PlacementRow row{std::vector(operands, Placement::broadcast()), results};
    for (size_t i = 0; i < operands; ++i) {
      if (mask >> i & 1) row.operands[i] = Placement::varying();
    }
    rows.push_back(std::move(row));
  }
}

/// A collective along another mesh axis than its own: each value stays placed as it is.
std::vector<PlacementRow> bystander_rows(const PlacementContext& context) {
  std::vector<PlacementRow> rows;
  size_t rank = context.operands.empty() ? 0 : context.operands[0].rank();
  for (const types::TensorType& type : context.operands) rank = std::min(rank, type.rank());
  std::vector<Placement> kinds;
  for (size_t dim = 0; dim < rank; ++dim) kinds.push_back(Placement::split(static_cast<int>(dim)));
  kinds.insert(kinds.end(), {Placement::partial(ReduceOp::sum), Placement::partial(ReduceOp::max), Placement::partial(ReduceOp::min),
                             Placement::partial(ReduceOp::product), Placement::broadcast(), Placement::varying()});
  for (const Placement& kind : kinds)
    rows.push_back({std::vector(context.operands.size(), kind), std::vector(context.results.size(), kind)});
  return rows;
}

}  // namespace

bool names_share(const types::TensorType& type) {
  constexpr std::string_view kSuffix = "/share";
  for (const types::Dim& dim : type.dims) {
    for (const std::string& symbol : dim.symbols()) {
      if (symbol.ends_with(kSuffix)) return true;
    }
  }
  return false;
}

std::vector<PlacementRow> placement_rows(const OpRecord& op, const PlacementContext& context) {
  std::vector<PlacementRow> extra;
  if (op.placements->extra) extra = op.placements->extra(context);
  for (const PlacementRow& row : extra) {
    DTL_CHECK(row.operands.size() == context.operands.size() && row.results.size() == context.results.size(),
              "`{}`: an extra placement row is for {} operands and {} results", op.name(), row.operands.size(), row.results.size());
  }
  if (op.evaluate->collective) return context.attrs.get<int64_t>("axis") == context.mesh_axis ? extra : bystander_rows(context);
  if (std::any_of(context.results.begin(), context.results.end(), names_share)) {
    add_varying_rows(context, extra.empty(), extra);
    return extra;
  }

  std::vector<PlacementRow> rows;
  if (const auto rule = resolve_axes(*op.axes, {context.operands, context.attrs}, context.results)) {
    for (const std::string& letter : splittable(*rule)) {
      if (auto row = letter_row(op, *rule, letter, context.attrs)) rows.push_back(std::move(*row));
    }
  }
  add_linear_rows(op, context, rows);

  const auto overridden = [&](const PlacementRow& row) {
    return std::any_of(extra.begin(), extra.end(), [&](const PlacementRow& other) { return other.operands == row.operands; });
  };
  std::erase_if(rows, overridden);
  rows.insert(rows.end(), extra.begin(), extra.end());

  PlacementRow whole{std::vector(context.operands.size(), Placement::broadcast()),
                     std::vector(context.results.size(), Placement::broadcast())};
  if (!overridden(whole)) rows.push_back(std::move(whole));
  // An op that states what it does with varying operands (a written reduce) does nothing else with them.
  const bool own_varying = std::any_of(extra.begin(), extra.end(), [](const PlacementRow& row) {
    return std::any_of(row.operands.begin(), row.operands.end(), [](const Placement& one) { return one.kind == PlacementKind::varying; });
  });
  if (!own_varying) add_varying_rows(context, false, rows);
  return rows;
}

}  // namespace dtl::graph
