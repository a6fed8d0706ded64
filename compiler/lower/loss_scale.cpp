// Loss scaling as nodes of the step.
#include "compiler/lower/loss_scale.h"

#include <limits>
#include <numeric>

namespace dtl::lower {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr double kGoodUpdates = 2000;
constexpr double kLargest = 0x1p32;

/// A scalar in every place of `like`'s shape.
ValueId spread(Builder& builder, ValueId scalar, ValueId like) {
  const types::TensorType type = builder.type(like);
  if (type.rank() == 0) return scalar;
  return builder.add("broadcast", {scalar}, {{"shape", type.dims}, {"dims", types::Ints{}}});
}

ValueId as(Builder& builder, ValueId scalar, DType dtype) {
  return builder.type(scalar).dtype == dtype ? scalar : builder.add("cast", {scalar}, {{"to", dtype}});
}

}  // namespace

std::string loss_scale_path(size_t site) { return fmt::format("loss_scale/{}", site); }
std::string good_updates_path(size_t site) { return loss_scale_path(site) + ".good"; }

ValueId scaled_loss(Builder& builder, const LossScale& now, ValueId loss) {
  return builder.add("multiply", {loss, as(builder, now.scale, builder.type(loss).dtype)}, {}, "scaled_loss");
}

std::vector<ValueId> unscaled(Builder& builder, const LossScale& now, const std::vector<ValueId>& gradients) {
  const ValueId one = builder.constant(1, builder.type(now.scale).dtype);
  const ValueId inverse = builder.add("divide", {one, now.scale}, {}, "inverse_scale");
  std::vector<ValueId> result;
  for (const ValueId gradient : gradients) {
    const ValueId factor = spread(builder, as(builder, inverse, builder.type(gradient).dtype), gradient);
    result.push_back(builder.add("multiply", {gradient, factor}, {}, builder.graph()[gradient].name));
  }
  return result;
}

ValueId all_finite(Builder& builder, const std::vector<ValueId>& gradients) {
  std::optional<ValueId> all;
  for (const ValueId gradient : gradients) {
    // A maximum keeps NaN, which is not below anything.
    types::Ints axes(builder.type(gradient).rank());
    std::iota(axes.begin(), axes.end(), 0);
    const ValueId size = builder.add("abs", {gradient});
    const ValueId largest = axes.empty() ? size : builder.add("reduce", {size}, {{"op", ReduceOp::max}, {"axes", axes}}, "largest");
    const ValueId infinity = builder.constant(std::numeric_limits<double>::infinity(), builder.type(largest).dtype);
    const ValueId finite = builder.add("less", {largest, infinity}, {}, "finite");
    all = all ? builder.add("logical_and", {*all, finite}, {}, "finite") : finite;
  }
  return *all;
}

LossScale next_loss_scale(Builder& builder, const LossScale& now, ValueId finite) {
  const auto number = [&](double value, ValueId like) { return builder.constant(value, builder.type(like).dtype); };
  const ValueId good = builder.add("add", {now.good, number(1, now.good)});
  const ValueId enough = builder.add("less_equal", {number(kGoodUpdates, now.good), good});
  const ValueId doubled = builder.add("minimum", {builder.add("multiply", {now.scale, number(2, now.scale)}), number(kLargest, now.scale)});
  const ValueId halved = builder.add("multiply", {now.scale, number(0.5, now.scale)});
  const ValueId grown = builder.add("select", {enough, doubled, now.scale});
  const ValueId counted = builder.add("select", {enough, number(0, now.good), good});
  return {builder.add("select", {finite, grown, halved}, {}, "loss_scale"),
          builder.add("select", {finite, counted, number(0, now.good)}, {}, "good_updates")};
}

ValueId made_if(Builder& builder, ValueId finite, ValueId after, ValueId before) {
  return builder.add("select", {spread(builder, finite, after), after, before}, {}, builder.graph()[after].name);
}

}  // namespace dtl::lower
