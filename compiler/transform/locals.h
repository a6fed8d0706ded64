// Locals: one member's view of a placed graph. Its sizes become rows of the plan's extent table.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "runtime/plan/plan.h"

namespace dtl::transform {

/// A split dimension appears under the name of its row: the part of `batch` along axis `data` is `batch/data`, the 10 of a
/// split weight `10/data`. An axis with one member splits nothing. Sizes that no row can hold throw PlaceError.
class Locals {
 public:
  /// Adds the global rows to `plan`; later calls add the others as they are asked for.
  Locals(const graph::Graph& graph, plan::Plan& plan);

  /// The member's own part of a value.
  types::TensorType type(const graph::Value& value);
  std::vector<plan::Extent> dims(const graph::Value& value);
  /// A size, of the whole program or (by the names above) of a member.
  plan::Extent extent(const types::Dim& dim);
  /// The index at which the member's part of dimension `dim` begins; nothing: 0, the dimension is not split.
  std::optional<plan::Extent> begin(const graph::Value& value, size_t dim);
  /// The same, within what the mesh axes outside of `axis` leave to it.
  std::optional<plan::Extent> begin_along(const graph::Value& value, size_t dim, size_t axis);

  /// The largest value.
  int64_t bound(plan::Extent extent) const;
  int64_t elements_bound(const std::vector<plan::Extent>& dims) const;
  /// Bytes of that many elements; throws where `name` is larger than any memory.
  int64_t bytes_bound(const std::vector<plan::Extent>& dims, DType dtype, const std::string& name) const;
  plan::Extent product(const std::vector<plan::Extent>& dims);

 private:
  int32_t row(const std::string& name, plan::ExtentKind kind, int64_t bound, int32_t of = -1, int32_t axis = -1, int32_t by = -1);
  plan::Extent part(const types::Dim& dim, int32_t axis, plan::ExtentKind kind);
  types::Dim shared(const types::Dim& dim, size_t axis);

  const graph::Graph& graph_;
  plan::Plan& plan_;
  std::map<std::string, int32_t> rows_;
};

}  // namespace dtl::transform
