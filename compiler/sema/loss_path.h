// What stands between the weights that are trained and their loss.
#pragma once

#include <vector>

#include "compiler/graph/op.h"
#include "compiler/sema/program.h"

namespace dtl::sema {

/// The first value of `body` by which a gradient of `loss` to one of `weights` would enter a `per_replica` region: a share of
/// it is taken there. Nothing if there is none.
std::optional<int32_t> region_on_path(const Body& body, const graph::OpTable& ops, int32_t loss, const std::vector<int32_t>& weights);

}  // namespace dtl::sema
