// Names of roles, and lookup of functions.
#include "compiler/graph/graph.h"

#include <array>

namespace dtl::graph {
namespace {

constexpr std::array<std::string_view, 13> kRoleNames = {"input",   "weight", "state",  "optimizer", "metric", "pending",
                                                         "updates", "seed",   "report", "output",    "least",  "most",    "none"};

}  // namespace

std::string_view name_of(Role role) { return kRoleNames[static_cast<size_t>(role)]; }

std::optional<Role> parse_role(std::string_view name) {
  for (size_t i = 0; i < kRoleNames.size(); ++i) {
    if (kRoleNames[i] == name) return static_cast<Role>(i);
  }
  return std::nullopt;
}

std::optional<FunctionId> Graph::find_function(std::string_view name) const {
  for (size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].name == name) return FunctionId{static_cast<int32_t>(i)};
  }
  return std::nullopt;
}

}  // namespace dtl::graph
