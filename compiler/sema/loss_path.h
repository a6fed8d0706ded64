// What stands between the weights that are trained and their loss.
#pragma once

#include <optional>
#include <vector>

#include "compiler/graph/op.h"
#include "compiler/sema/program.h"

namespace dtl::sema {

struct LossPath {
  bool reaches_weights = false;  ///< does a gradient of the loss reach one of the weights?
  std::vector<int32_t> reached;  ///< which of them
  /// The first value by which one would enter a `per_replica` region: a share of it is taken there.
  std::optional<int32_t> region;
};

/// How `loss` depends on the weights `weights` in `body`.
LossPath loss_path(const Body& body, const graph::OpTable& ops, int32_t loss, const std::vector<int32_t>& weights);

}  // namespace dtl::sema
