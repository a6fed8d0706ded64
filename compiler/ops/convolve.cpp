// Windows of spatial axes: patches, and overlap_add, its transpose. Convolutions and pooling are made of them in stdlib/.
//
// `[..., s…, c]` ↔ `[..., o…, k…, c]` with as many sizes s, positions o and offsets k as the window has dimensions: position
// o and offset k meet at o · stride + k · dilation − before.
#include <algorithm>
#include <cmath>

#include "compiler/graph/builder.h"
#include "compiler/ops/array.h"
#include "compiler/ops/body.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/letters.h"

namespace dtl::ops {
namespace {

using graph::AttrKind;
using kernel::Scalar;
using Cotangents = std::vector<std::optional<graph::ValueId>>;

const Dim kBatch = Dim::symbol("batch");

/// Sizes, strides and paddings beyond this are refused: their products then fit.
constexpr int64_t kMost = 1'000'000'000;

/// What a window does along one spatial axis.
struct Reach {
  int64_t size, window, stride, dilation, before;
  int64_t span() const { return (window - 1) * dilation + 1; }
};

/// "the strides of `patches`" are as many as the window's dimensions and in range; or why not.
std::optional<graph::InferError> refuse_ints(const std::string& op, const char* what, const Ints& values, size_t count, int64_t least) {
  if (values.size() != count) {
    return graph::InferError{fmt::format("`{}` has a window of {} dimensions and {} {}", op, count, values.size(), what)};
  }
  for (const int64_t value : values) {
    if (value < least || value > kMost) {
      return graph::InferError{fmt::format("the {} of `{}` are from {} to {}, not {}", what, op, least, kMost, value)};
    }
  }
  return std::nullopt;
}

LetterGroup whole(LetterGroup group) {
  for (std::string& letter : group) letter += "!";
  return group;
}

LetterGroup operator+(LetterGroup a, const LetterGroup& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The letters of the side with sizes and of the side with windows: leading axes and the last may be split.
std::pair<LetterGroup, LetterGroup> sides(size_t leading, size_t spatial) {
  const LetterGroup lead = letters(leading), last = letters(1, leading);
  return {lead + whole(letters(spatial, leading + 1)) + last, lead + whole(letters(2 * spatial, leading + 1 + spatial)) + last};
}

/// Position and offset to the place in memory; nothing where that is outside.
std::optional<int64_t> meeting(const Reach& reach, int64_t position, int64_t offset) {
  const int64_t place = position * reach.stride + offset * reach.dilation - reach.before;
  return place >= 0 && place < reach.size ? std::optional(place) : std::nullopt;
}

/// Visits every index of the windows' side with its index on the other side; nothing where that is outside.
template <class Visit>
void each_meeting(const Shape& windows, size_t leading, const std::vector<Reach>& reaches, Visit visit) {
  const size_t spatial = reaches.size();
  each_index(windows, [&](const Shape& index) {
    std::optional<Shape> place(std::in_place, index.begin(), index.begin() + static_cast<int64_t>(leading));
    for (size_t d = 0; d < spatial && place; ++d) {
      const auto at = meeting(reaches[d], index[leading + d], index[leading + spatial + d]);
      if (at) place->push_back(*at);
      if (!at) place.reset();
    }
    if (place) place->push_back(index.back());
    visit(index, place);
  });
}

// ---- patches

std::vector<Reach> reaches_of_patches(const TensorType& x, const Attrs& attrs) {
  const Ints &window = attrs.get<Ints>("window"), &stride = attrs.get<Ints>("stride"), &dilation = attrs.get<Ints>("dilation");
  const size_t leading = x.rank() - window.size() - 1;
  std::vector<Reach> result;
  for (size_t d = 0; d < window.size(); ++d)
    result.push_back({x.dims[leading + d].constant().value_or(0), window[d], stride[d], dilation[d], attrs.get<Ints>("before")[d]});
  return result;
}

std::string patches_axes(const graph::AxesContext& context) {
  const size_t spatial = context.attrs.get<Ints>("window").size();
  const auto [from, to] = sides(context.operands[0].rank() - spatial - 1, spatial);
  return axes_text({from}, {to});
}

Inferred patches_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const TensorType& x = operands[0];
  const size_t spatial = attrs.get<Ints>("window").size();
  if (auto error = refuse_dtype(Domain::numbers, "patches", x.dtype, 0)) return Unexpected{*error};
  if (spatial == 0) return fail(-1, "the window of `patches` has no dimensions");
  if (x.rank() < spatial + 1)
    return fail(0, "`patches` of {} has a window of {} dimensions, which stand before the last axis", x.str(), spatial);
  const std::pair<const char*, int64_t> ints[] = {{"window", 1}, {"stride", 1}, {"dilation", 1}, {"before", 0}, {"after", 0}};
  const char* const names[] = {"sizes of the window", "strides", "dilations", "paddings before", "paddings after"};
  for (size_t i = 0; i < 5; ++i) {
    if (auto error = refuse_ints("patches", names[i], attrs.get<Ints>(ints[i].first), spatial, ints[i].second)) return Unexpected{*error};
  }
  const double filled = attrs.get<double>("fill");
  if (!is_float(x.dtype) &&
      (filled != std::floor(filled) || filled < static_cast<double>(lowest(x.dtype)) || filled > static_cast<double>(highest(x.dtype)))) {
    return fail(-1, "`patches` of {} cannot be filled with {}", x.str(), filled);
  }
  const size_t leading = x.rank() - spatial - 1;
  TensorType result{x.dtype, {x.dims.begin(), x.dims.begin() + static_cast<int64_t>(leading)}};
  const std::vector<Reach> reaches = reaches_of_patches(x, attrs);
  for (size_t d = 0; d < spatial; ++d) {
    const Dim& size = x.dims[leading + d];
    if (!size.is_constant()) return fail(0, "`patches` needs the size of axis {} as a number, not {}", leading + d, size.str());
    if (size == Dim(0)) return fail(0, "axis {} of `patches` is empty: {}", leading + d, x.str());
    const int64_t padded = reaches[d].size + reaches[d].before + attrs.get<Ints>("after")[d];
    if (reaches[d].span() > padded) {
      return fail(0, "the window of `patches` spans {} of axis {}, which is {}{}", reaches[d].span(), leading + d, size.str(),
                  padded > reaches[d].size ? fmt::format(", {} with its padding", padded) : "");
    }
    result.dims.emplace_back((padded - reaches[d].span()) / reaches[d].stride + 1);
  }
  for (const Reach& reach : reaches) result.dims.emplace_back(reach.window);
  result.dims.push_back(x.dims.back());
  return Types{result};
}

std::vector<Array> patches_evaluate(const graph::EvaluateContext& context, const Attrs& attrs, std::span<const Array> operands) {
  const Array& x = operands[0];
  const TensorType whole_x{x.dtype, {x.shape.begin(), x.shape.end()}};
  const std::vector<Reach> reaches = reaches_of_patches(whole_x, attrs);
  Array result = zeros(x.dtype, context.result_shapes[0]);
  std::fill(result.data.begin(), result.data.end(), attrs.get<double>("fill"));
  size_t at = 0;
  each_meeting(result.shape, x.shape.size() - reaches.size() - 1, reaches, [&](const Shape&, const std::optional<Shape>& place) {
    if (place) result.data[at] = x.data[static_cast<size_t>(flat(x.shape, *place))];
    ++at;
  });
  return {std::move(result)};
}

Cotangents patches_gradient(graph::GradientContext& context) {
  const TensorType x = context.builder.type(context.operands[0]);
  Ints size;
  for (const Reach& reach : reaches_of_patches(x, context.attrs)) size.push_back(reach.size);
  return {context.builder.add("overlap_add", {*context.cotangents[0]},
                              {{"size", size},
                               {"stride", context.attrs.get<Ints>("stride")},
                               {"dilation", context.attrs.get<Ints>("dilation")},
                               {"before", context.attrs.get<Ints>("before")}})};
}

/// Only axes on which some window lies outside are tested, and kept inside.
graph::Lowering patches_lower(const graph::LowerContext& context) {
  const TensorType &x = context.operands[0], &result = context.results[0];
  const std::vector<Reach> reaches = reaches_of_patches(x, context.attrs);
  const size_t spatial = reaches.size(), leading = x.rank() - spatial - 1;
  Body body;
  const auto number = [&](int64_t value) { return body.constant(static_cast<double>(value)); };
  std::vector<int32_t> index = body.loops(0, leading);
  std::optional<int32_t> within;
  for (size_t d = 0; d < spatial; ++d) {
    const Reach& reach = reaches[d];
    int32_t at = body.loop(leading + d);
    if (reach.stride != 1) at = body.apply(Scalar::multiply, DType::i64, {at, number(reach.stride)});
    if (reach.window != 1) {
      int32_t offset = body.loop(leading + spatial + d);
      if (reach.dilation != 1) offset = body.apply(Scalar::multiply, DType::i64, {offset, number(reach.dilation)});
      at = body.apply(Scalar::add, DType::i64, {at, offset});
    }
    if (reach.before != 0) at = body.apply(Scalar::subtract, DType::i64, {at, number(reach.before)});
    const int64_t last = (result.dims[leading + d].constant().value_or(1) - 1) * reach.stride + reach.span() - 1 - reach.before;
    if (reach.before > 0 || last >= reach.size) {
      const int32_t kept = body.clamp(at, x.dims[leading + d]);
      const int32_t same = body.apply(Scalar::equal, DType::boolean, {at, kept});
      within = within ? body.apply(Scalar::logical_and, DType::boolean, {*within, same}) : same;
      at = kept;
    }
    index.push_back(at);
  }
  index.push_back(body.loop(leading + 2 * spatial));
  int32_t value = body.load(0, x.dtype, index);
  if (within) {
    const int32_t fill = body.constant(context.attrs.get<double>("fill"), x.dtype);
    value = body.apply(Scalar::select, x.dtype, {*within, value, fill});
  }
  return std::move(body).done(value);
}

std::vector<graph::Sample> patches_samples() {
  std::vector<graph::Sample> result;
  struct Window {
    Ints window, stride, dilation, before, after;
    double fill = 0;
  };
  const auto add = [&](TensorType x, const Window& w, std::string fails = {}) {
    result.push_back(
        {{std::move(x)},
         {{"window", w.window}, {"stride", w.stride}, {"dilation", w.dilation}, {"before", w.before}, {"after", w.after}, {"fill", w.fill}},
         std::move(fails),
         sample_dims()});
  };
  const DType f64 = DType::f64;
  const Ints one = {1}, none = {0};
  add({f64, {kBatch, 4, 5, 2}}, {{3, 2}, {1, 1}, {1, 1}, {1, 0}, {1, 1}});
  add({DType::f32, {kBatch, 5, 4, 3}}, {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, -3.5});
  add({f64, {2, 9, 2}}, {{3}, {2}, {2}, {2}, {1}, 0.5});
  add({f64, {7, 3}}, {{3}, one, one, {2}, none});
  add({DType::i64, {3, 4, 1}}, {{2}, {3}, one, none, {2}, -7});
  add({f64, {2, 3, 3, 3, 1}}, {{2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}});
  add({f64, {0, 4, 2}}, {{3}, one, one, none, none});
  add({f64, {4, 5, kBatch}}, {{2}, {4}, {3}, {5}, {6}});
  add({f64, {2, 4, 1}}, {{5}, one, one, none, none}, "the window of `patches` spans 5 of axis 1, which is 4");
  add({f64, {2, 4, 1}}, {{3}, one, {3}, {1}, none}, "the window of `patches` spans 7 of axis 1, which is 4, 5 with its padding");
  add({f64, {2, kBatch, 1}}, {{3}, one, one, none, none}, "`patches` needs the size of axis 1 as a number, not batch");
  add({f64, {2, 0, 1}}, {{1}, one, one, {1}, none}, "axis 1 of `patches` is empty: f64[2, 0, 1]");
  add({f64, {2}}, {{3}, one, one, none, none}, "`patches` of f64[2] has a window of 1 dimensions, which stand before the last axis");
  add({f64, {2, 4, 1}}, {{}, {}, {}, {}, {}}, "the window of `patches` has no dimensions");
  add({f64, {2, 4, 1}}, {{0}, one, one, none, none}, "the sizes of the window of `patches` are from 1 to 1000000000, not 0");
  add({f64, {2, 4, 1}}, {{2}, {0}, one, none, none}, "the strides of `patches` are from 1 to 1000000000, not 0");
  add({f64, {2, 4, 1}}, {{2}, one, one, {-1}, none}, "the paddings before of `patches` are from 0 to 1000000000, not -1");
  add({f64, {2, 4, 1}}, {{2}, {1, 1}, one, none, none}, "`patches` has a window of 1 dimensions and 2 strides");
  add({DType::u8, {2, 4, 1}}, {{2}, one, one, none, none, -1}, "`patches` of u8[2, 4, 1] cannot be filled with -1");
  add({DType::boolean, {2, 4, 1}}, {{2}, one, one, none, none}, "`patches` takes numbers, not bool");
  return result;
}

graph::OpRecord patches() {
  return {
      .signature = graph::Signature{"patches",
                                    {"x"},
                                    {{"window", AttrKind::ints},
                                     {"stride", AttrKind::ints},
                                     {"dilation", AttrKind::ints},
                                     {"before", AttrKind::ints},
                                     {"after", AttrKind::ints},
                                     {"fill", AttrKind::number}},
                                    1,
                                    "the windows of the axes before the last, `[..., s…, c]` to `[..., positions…, window…, c]`; "
                                    "before and after x there is `fill`"},
      .axes = axes_by(patches_axes),
      .infer = graph::Infer(patches_infer),
      .evaluate = graph::Evaluate{patches_evaluate, {}},
      .gradient = by_rule(patches_gradient),
      // Linear where it fills with 0.
      .placements = graph::PlacementRule{graph::Linear::none,
                                         [](const graph::PlacementContext& context) {
                                           std::vector<graph::PlacementRow> rows;
                                           if (context.attrs.get<double>("fill") == 0) rows.push_back(partial_row(1, {0}, ReduceOp::sum));
                                           return rows;
                                         }},
      .lower = graph::Lower(patches_lower),
      .samples = patches_samples(),
  };
}

// ---- overlap_add

std::vector<Reach> reaches_of_overlap(const TensorType& x, const Attrs& attrs) {
  const Ints &size = attrs.get<Ints>("size"), &stride = attrs.get<Ints>("stride"), &dilation = attrs.get<Ints>("dilation");
  const size_t spatial = size.size(), leading = x.rank() - 2 * spatial - 1;
  std::vector<Reach> result;
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t window = x.dims[leading + spatial + d].constant().value_or(1);
    result.push_back({size[d], window, stride[d], dilation[d], attrs.get<Ints>("before")[d]});
  }
  return result;
}

/// How far the last of `positions` windows reaches past the end.
int64_t padding_after(const Reach& reach, int64_t positions) {
  return std::max<int64_t>(0, (positions - 1) * reach.stride + reach.span() - reach.before - reach.size);
}

std::string overlap_axes(const graph::AxesContext& context) {
  const size_t spatial = context.attrs.get<Ints>("size").size();
  const auto [to, from] = sides(context.operands[0].rank() - 2 * spatial - 1, spatial);
  return axes_text({from}, {to});
}

Inferred overlap_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const TensorType& x = operands[0];
  const size_t spatial = attrs.get<Ints>("size").size();
  if (auto error = refuse_dtype(Domain::numbers, "overlap_add", x.dtype, 0)) return Unexpected{*error};
  if (spatial == 0) return fail(-1, "the window of `overlap_add` has no dimensions");
  if (x.rank() < 2 * spatial + 1) {
    return fail(0, "`overlap_add` of {} to {} sizes: positions and a window stand before the last axis", x.str(), spatial);
  }
  const std::pair<const char*, int64_t> ints[] = {{"size", 1}, {"stride", 1}, {"dilation", 1}, {"before", 0}};
  const char* const names[] = {"sizes", "strides", "dilations", "paddings before"};
  for (size_t i = 0; i < 4; ++i) {
    if (auto error = refuse_ints("overlap_add", names[i], attrs.get<Ints>(ints[i].first), spatial, ints[i].second))
      return Unexpected{*error};
  }
  const size_t leading = x.rank() - 2 * spatial - 1;
  for (size_t d = leading; d < leading + 2 * spatial; ++d) {
    const auto size = x.dims[d].constant();
    if (!size) return fail(0, "`overlap_add` needs the size of axis {} as a number, not {}", d, x.dims[d].str());
    if (*size < 1 || *size > kMost) return fail(0, "axis {} of `overlap_add` is from 1 to {}, not {}", d, kMost, *size);
  }
  TensorType result{x.dtype, {x.dims.begin(), x.dims.begin() + static_cast<int64_t>(leading)}};
  const std::vector<Reach> reaches = reaches_of_overlap(x, attrs);
  for (size_t d = 0; d < spatial; ++d) {
    const Reach& reach = reaches[d];
    const int64_t positions = *x.dims[leading + d].constant();
    const int64_t padded = reach.size + reach.before + padding_after(reach, positions);
    const int64_t fit = (padded - reach.span()) / reach.stride + 1;
    if (padded < reach.span() || fit != positions) {
      return fail(0, "`overlap_add` has {} windows along an axis of {}, which {} cover", positions, reach.size, std::max<int64_t>(fit, 0));
    }
    result.dims.emplace_back(reach.size);
  }
  result.dims.push_back(x.dims.back());
  return Types{result};
}

std::vector<Array> overlap_evaluate(const graph::EvaluateContext& context, const Attrs& attrs, std::span<const Array> operands) {
  const Array& x = operands[0];
  const TensorType whole_x{x.dtype, {x.shape.begin(), x.shape.end()}};
  const std::vector<Reach> reaches = reaches_of_overlap(whole_x, attrs);
  Array result = zeros(x.dtype, context.result_shapes[0]);
  size_t at = 0;
  each_meeting(x.shape, x.shape.size() - 2 * reaches.size() - 1, reaches, [&](const Shape&, const std::optional<Shape>& place) {
    const double value = x.data[at++];
    if (!place) return;
    double& slot = result.data[static_cast<size_t>(flat(result.shape, *place))];
    slot = combined(ReduceOp::sum, x.dtype, slot, value);
  });
  return {std::move(result)};
}

Cotangents overlap_gradient(graph::GradientContext& context) {
  const TensorType x = context.builder.type(context.operands[0]);
  const std::vector<Reach> reaches = reaches_of_overlap(x, context.attrs);
  const size_t leading = x.rank() - 2 * reaches.size() - 1;
  Ints window, after;
  for (size_t d = 0; d < reaches.size(); ++d) {
    window.push_back(reaches[d].window);
    after.push_back(padding_after(reaches[d], x.dims[leading + d].constant().value_or(1)));
  }
  return {context.builder.add("patches", {*context.cotangents[0]},
                              {{"window", window},
                               {"stride", context.attrs.get<Ints>("stride")},
                               {"dilation", context.attrs.get<Ints>("dilation")},
                               {"before", context.attrs.get<Ints>("before")},
                               {"after", after},
                               {"fill", 0.0}})};
}

/// Each place looks through the window for what meets it: right on any number of threads, in one order of addition.
graph::Lowering overlap_lower(const graph::LowerContext& context) {
  const TensorType& x = context.operands[0];
  const std::vector<Reach> reaches = reaches_of_overlap(x, context.attrs);
  const size_t spatial = reaches.size(), leading = x.rank() - 2 * spatial - 1, rank = leading + spatial + 1;
  Body body;
  const auto number = [&](int64_t value) { return body.constant(static_cast<double>(value)); };
  std::vector<int32_t> index = body.loops(0, leading);
  std::optional<int32_t> meets;
  const auto require = [&](int32_t a, int32_t b) {
    const int32_t same = body.apply(Scalar::equal, DType::boolean, {a, b});
    meets = meets ? body.apply(Scalar::logical_and, DType::boolean, {*meets, same}) : same;
  };
  for (size_t d = 0; d < spatial; ++d) {
    const Reach& reach = reaches[d];
    int32_t from = body.loop(leading + d);
    if (reach.before != 0) from = body.apply(Scalar::add, DType::i64, {from, number(reach.before)});
    int32_t offset = body.loop(rank + d);
    if (reach.dilation != 1) offset = body.apply(Scalar::multiply, DType::i64, {offset, number(reach.dilation)});
    from = body.apply(Scalar::subtract, DType::i64, {from, offset});
    int32_t position = from;
    if (reach.stride != 1) {
      position = body.apply(Scalar::floor_div, DType::i64, {from, number(reach.stride)});
      require(body.apply(Scalar::multiply, DType::i64, {position, number(reach.stride)}), from);
    }
    const int32_t kept = body.clamp(position, x.dims[leading + d]);
    require(position, kept);
    index.push_back(kept);
  }
  Dims window;
  for (size_t d = 0; d < spatial; ++d) {
    index.push_back(body.loop(rank + d));
    window.push_back(x.dims[leading + spatial + d]);
  }
  index.push_back(body.loop(rank - 1));
  const int32_t element = body.load(0, x.dtype, index);
  const int32_t value = body.apply(Scalar::select, x.dtype, {*meets, element, body.constant(0, x.dtype)});
  return std::move(body).done(value, std::move(window), ReduceOp::sum);
}

std::vector<graph::Sample> overlap_samples() {
  std::vector<graph::Sample> result;
  const auto add = [&](TensorType x, Ints size, Ints stride, Ints dilation, Ints before, std::string fails = {}) {
    result.push_back(
        {{std::move(x)},
         {{"size", std::move(size)}, {"stride", std::move(stride)}, {"dilation", std::move(dilation)}, {"before", std::move(before)}},
         std::move(fails),
         sample_dims()});
  };
  const DType f64 = DType::f64;
  add({f64, {kBatch, 4, 5, 3, 2, 2}}, {4, 5}, {1, 1}, {1, 1}, {1, 0});
  add({DType::f32, {kBatch, 2, 2, 2, 2, 3}}, {5, 4}, {2, 2}, {1, 1}, {0, 0});
  add({f64, {2, 4, 3, 2}}, {9}, {2}, {2}, {2});
  add({f64, {7, 3, 3}}, {7}, {1}, {1}, {2});
  add({DType::i64, {3, 2, 2, 1}}, {4}, {3}, {1}, {0});
  add({f64, {2, 3, 2, 2, 2, 2, 2, 1}}, {3, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0});
  add({f64, {0, 2, 3, 2}}, {4}, {1}, {1}, {0});
  add({f64, {5, 4, 2, kBatch}}, {6}, {4}, {3}, {5});
  add({f64, {2, 5, 3, 1}}, {9}, {1}, {1}, {0}, "`overlap_add` has 5 windows along an axis of 9, which 7 cover");
  add({f64, {2, kBatch, 3, 1}}, {9}, {1}, {1}, {0}, "`overlap_add` needs the size of axis 1 as a number, not batch");
  add({f64, {2, 3, 1}}, {9}, {1}, {0}, {0}, "the dilations of `overlap_add` are from 1 to 1000000000, not 0");
  add({f64, {2, 0, 3, 1}}, {9}, {1}, {1}, {0}, "axis 1 of `overlap_add` is from 1 to 1000000000, not 0");
  add({f64, {2, 3}}, {9}, {1}, {1}, {0}, "`overlap_add` of f64[2, 3] to 1 sizes: positions and a window stand before the last axis");
  add({f64, {2, 3, 1}}, {9}, {1, 1}, {1}, {0}, "`overlap_add` has a window of 1 dimensions and 2 strides");
  add({f64, {2, 3, 1}}, {}, {}, {}, {}, "the window of `overlap_add` has no dimensions");
  add({DType::boolean, {2, 3, 1}}, {4}, {1}, {1}, {0}, "`overlap_add` takes numbers, not bool");
  return result;
}

graph::OpRecord overlap_add() {
  return {
      .signature =
          graph::Signature{"overlap_add",
                           {"x"},
                           {{"size", AttrKind::ints}, {"stride", AttrKind::ints}, {"dilation", AttrKind::ints}, {"before", AttrKind::ints}},
                           1,
                           "the sum of windows where they lie, `[..., positions…, window…, c]` to `[..., size…, c]`; what "
                           "lies outside is left out"},
      .axes = axes_by(overlap_axes),
      .infer = graph::Infer(overlap_infer),
      .evaluate = graph::Evaluate{overlap_evaluate, {}},
      .gradient = by_rule(overlap_gradient),
      .placements = linear(graph::Linear::joint),
      .lower = graph::Lower(overlap_lower),
      .samples = overlap_samples(),
  };
}

}  // namespace

std::vector<graph::OpRecord> convolution_ops() {
  std::vector<graph::OpRecord> records;
  records.push_back(patches());
  records.push_back(overlap_add());
  return records;
}

}  // namespace dtl::ops
