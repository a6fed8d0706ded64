// OpTable: records by index and by name.
#include "compiler/graph/op.h"

#include "compiler/source/check.h"

namespace dtl::graph {

OpTable::OpTable(std::vector<OpRecord> records) : records_(std::move(records)) {
  for (size_t i = 0; i < records_.size(); ++i) {
    const bool added = by_name_.emplace(records_[i].name(), OpId{static_cast<int32_t>(i)}).second;
    DTL_CHECK(added, "two ops are called `{}`", records_[i].name());
    DTL_CHECK(!records_[i].evaluate->local || !records_[i].evaluate->collective,
              "`{}` is evaluated by member or by all members of an axis, not both", records_[i].name());
  }
}

std::optional<OpId> OpTable::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

}  // namespace dtl::graph
