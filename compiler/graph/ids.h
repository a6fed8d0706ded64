// Typed indices into a Graph's flat stores.
#pragma once

#include <compare>
#include <cstdint>

namespace dtl::graph {

struct ValueId {
  int32_t index = 0;
  auto operator<=>(const ValueId&) const = default;
};
struct NodeId {
  int32_t index = 0;
  auto operator<=>(const NodeId&) const = default;
};
struct FunctionId {
  int32_t index = 0;
  auto operator<=>(const FunctionId&) const = default;
};
/// Index into the OpTable.
struct OpId {
  int32_t index = 0;
  auto operator<=>(const OpId&) const = default;
};

}  // namespace dtl::graph
