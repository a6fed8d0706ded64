// Dynamic loss scaling of one `minimize` (Micikevicius et al., "Mixed precision training", ICLR 2018), for precision f16.
//
// takes:    a loss, the gradients of the scaled loss, after they are reduced
// gives:    the scaled loss, the gradients unscaled, whether all are finite, the next state
// promises: every replica decides the same, for it decides by reduced gradients
// print it: `dslc emit --stage graph`
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/builder.h"

namespace dtl::lower {

/// Two states of the run: `loss_scale/0`, an f32, and `loss_scale/0.good`, the i64 count of updates in a row since the scale was
/// last changed; 0 is the index of the `minimize`.
struct LossScale {
  graph::ValueId scale, good;
};

constexpr double kFirstLossScale = 65536;

std::string loss_scale_path(size_t site);
std::string good_updates_path(size_t site);

graph::ValueId scaled_loss(graph::Builder& builder, const LossScale& now, graph::ValueId loss);
/// Divided by the scale, which is a power of two: exact, but for what gets subnormal.
std::vector<graph::ValueId> unscaled(graph::Builder& builder, const LossScale& now, const std::vector<graph::ValueId>& gradients);
/// bool[]: no element is infinite or NaN.
graph::ValueId all_finite(graph::Builder& builder, const std::vector<graph::ValueId>& gradients);
/// Halved where the gradients are not finite; doubled after 2000 updates, up to 2³².
LossScale next_loss_scale(graph::Builder& builder, const LossScale& now, graph::ValueId finite);
/// `after` where the update is made, else `before`: of any shape.
graph::ValueId made_if(graph::Builder& builder, graph::ValueId finite, graph::ValueId after, graph::ValueId before);

}  // namespace dtl::lower
