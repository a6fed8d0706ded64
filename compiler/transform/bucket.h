// The bucket pass: all-reduces travel together, in the order in which they become ready.
#pragma once

#include <string>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::transform {

/// Joins all-reduces of equal op and mesh axis into variadic ones, `{bucket = i}`. Each function goes in rounds: a round ends
/// where no work is left but what needs one of its all-reduces. In a round nodes keep their order, and an all-reduce joins the
/// open bucket of its kind as soon as its operand is there. A bucket is emitted when it holds enough (strategy.communication:
/// `first_bucket` bytes for the first of its kind, `bucket` for later ones), the rest at the end of the round. So nothing waits
/// while there is other work, and the loss's small reduction travels with gradients:
///
///   %a.1 = all_reduce(%a)   %y = exp(%a.1)   %b = negate(%x)   %b.1 = all_reduce(%b)
///   becomes   %b = negate(%x)   %a.1, %b.1 = all_reduce(%a, %b) {bucket = 0 …}   %y = exp(%a.1)
///
/// Elementwise work that only a later round reads is done there, beside its readers, where it can be fused with them.
graph::Graph bucket(const graph::Graph& graph, const graph::OpTable& ops);
/// An all-reduce outside any bucket, or empty.
std::string bucket_broken(const graph::Graph& graph, const graph::OpTable& ops);

}  // namespace dtl::transform
