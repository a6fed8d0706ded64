// Parts of tensors and tensors of parts: slice, pad, concat.
#include <algorithm>

#include "compiler/ops/array.h"
#include "compiler/ops/body.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/formula.h"
#include "compiler/ops/letters.h"

namespace dtl::ops {
namespace {

using graph::AttrKind;
using graph::Linear;
using kernel::Scalar;
using Cotangents = std::vector<std::optional<ValueId>>;

const Dim kBatch = Dim::symbol("batch");

/// Dimensions that are whole on both sides share a letter, the others need their whole axis.
std::string window_axes(const std::vector<Dim>& operand, const std::vector<Dim>& result) {
  LetterGroup from = letters(operand.size()), to = letters(result.size(), operand.size());
  for (size_t d = 0; d < operand.size(); ++d) {
    if (operand[d] == result[d]) {
      to[d] = from[d];
    } else {
      from[d] += "!";
      to[d] += "!";
    }
  }
  return axes_text({from}, {to});
}

std::string window_rule(const graph::AxesContext& context) {
  return window_axes(context.operands[0].dims, context.attrs.get<Dims>("shape"));
}

/// Is [start, start + part) inside [0, whole), whatever the symbols are? They are counts, never below 0.
bool inside(int64_t start, const Dim& part, const Dim& whole) {
  const Dim room = whole - part - Dim(start);
  return start >= 0 && std::all_of(room.terms().begin(), room.terms().end(), [](const Dim::Term& term) { return term.second >= 0; });
}

graph::Sample window_sample(TensorType x, const char* offsets_name, Ints offsets, Dims shape, std::string fails) {
  return {{std::move(x)}, {{offsets_name, std::move(offsets)}, {"shape", std::move(shape)}}, std::move(fails), sample_dims()};
}

// ---- slice

Inferred slice_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const TensorType& x = operands[0];
  const Ints& starts = attrs.get<Ints>("starts");
  const Dims& shape = attrs.get<Dims>("shape");
  if (starts.size() != x.rank() || shape.size() != x.rank()) {
    return fail(0, "`slice` of {} has {} starts and {} sizes", x.str(), starts.size(), shape.size());
  }
  for (size_t d = 0; d < x.rank(); ++d) {
    if (!inside(starts[d], shape[d], x.dims[d])) {
      return fail(0, "`slice` takes {} from {} on of dimension {}, which is {}", shape[d].str(), starts[d], d, x.dims[d].str());
    }
  }
  return Types{{x.dtype, shape}};
}

std::vector<Array> slice_evaluate(const graph::EvaluateContext& context, const Attrs& attrs, std::span<const Array> operands) {
  const Array& x = operands[0];
  const Ints& starts = attrs.get<Ints>("starts");
  Array result = zeros(x.dtype, context.result_shapes[0]);
  size_t at = 0;
  each_index(result.shape, [&](Shape index) {
    for (size_t d = 0; d < index.size(); ++d) index[d] += starts[d];
    result.data[at++] = x.data[static_cast<size_t>(flat(x.shape, index))];
  });
  return {std::move(result)};
}

graph::Lowering slice_lower(const graph::LowerContext& context) {
  Body body;
  std::vector<int32_t> index;
  const Ints& starts = context.attrs.get<Ints>("starts");
  for (size_t d = 0; d < starts.size(); ++d) {
    if (context.results[0].dims[d] == Dim(1) && context.operands[0].dims[d] != Dim(1)) {
      // One entry of many, as a step of a scan reads: which one is no reason for a kernel of its own.
      index.push_back(body.late(starts[d]));
      continue;
    }
    const int32_t loop = body.loop(d);
    index.push_back(starts[d] == 0 ? loop : body.apply(Scalar::add, DType::i64, {loop, body.constant(static_cast<double>(starts[d]))}));
  }
  const int32_t value = body.load(0, context.operands[0].dtype, index);
  return std::move(body).done(value);
}

std::vector<graph::Sample> slice_samples() {
  const DType f64 = DType::f64;
  const auto sample = [](TensorType x, Ints starts, Dims shape, std::string fails = {}) {
    return window_sample(std::move(x), "starts", std::move(starts), std::move(shape), std::move(fails));
  };
  return {
      sample({f64, {kBatch, 7}}, {0, 2}, {kBatch, 3}),
      sample({DType::f32, {5, 7}}, {1, 0}, {3, 7}),
      sample({DType::i64, {4}}, {0}, {4}),
      sample({f64, {}}, {}, {}),
      sample({f64, {4, 3}}, {2, 0}, {0, 3}),
      sample({f64, {kBatch + Dim(1)}}, {1}, {kBatch}),
      sample({f64, {kBatch + Dim(3)}}, {1}, {2}),
      sample({f64, {4}}, {2}, {3}, "`slice` takes 3 from 2 on of dimension 0, which is 4"),
      sample({f64, {4}}, {-1}, {3}, "`slice` takes 3 from -1 on of dimension 0, which is 4"),
      sample({f64, {kBatch}}, {0}, {3}, "`slice` takes 3 from 0 on of dimension 0, which is batch"),
      sample({f64, {4}}, {0, 0}, {3}, "`slice` of f64[4] has 2 starts and 1 sizes"),
  };
}

graph::OpRecord slice() {
  return {
      .signature =
          graph::Signature{
              "slice", {"x"}, {{"starts", AttrKind::ints}, {"shape", AttrKind::dims}}, 1, "the part of that shape that begins at `starts`"},
      .axes = axes_by(window_rule),
      .infer = graph::Infer(slice_infer),
      .evaluate = graph::Evaluate{slice_evaluate, {}},
      .gradient = by_rule([](graph::GradientContext& context) {
        const std::vector<Dim> dims = context.builder.type(context.operands[0]).dims;
        return Cotangents{
            context.builder.add("pad", {*context.cotangents[0]}, {{"before", context.attrs.get<Ints>("starts")}, {"shape", dims}})};
      }),
      .placements = linear(Linear::joint),
      .lower = graph::Lower(slice_lower),
      .samples = slice_samples(),
  };
}

// ---- pad

Inferred pad_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const TensorType& x = operands[0];
  const Ints& before = attrs.get<Ints>("before");
  const Dims& shape = attrs.get<Dims>("shape");
  if (auto error = refuse_dtype(Domain::numbers, "pad", x.dtype, 0)) return Unexpected{*error};
  if (before.size() != x.rank() || shape.size() != x.rank()) {
    return fail(0, "`pad` of {} has {} offsets and {} sizes", x.str(), before.size(), shape.size());
  }
  for (size_t d = 0; d < x.rank(); ++d) {
    if (!inside(before[d], x.dims[d], shape[d])) {
      return fail(0, "`pad` puts {} at {} of dimension {}, which is {}", x.dims[d].str(), before[d], d, shape[d].str());
    }
  }
  return Types{{x.dtype, shape}};
}

std::vector<Array> pad_evaluate(const graph::EvaluateContext& context, const Attrs& attrs, std::span<const Array> operands) {
  const Array& x = operands[0];
  const Ints& before = attrs.get<Ints>("before");
  Array result = zeros(x.dtype, context.result_shapes[0]);
  size_t at = 0;
  each_index(x.shape, [&](Shape index) {
    for (size_t d = 0; d < index.size(); ++d) index[d] += before[d];
    result.data[static_cast<size_t>(flat(result.shape, index))] = x.data[at++];
  });
  return {std::move(result)};
}

graph::Lowering pad_lower(const graph::LowerContext& context) {
  const TensorType &x = context.operands[0], &result = context.results[0];
  const Ints& before = context.attrs.get<Ints>("before");
  Body body;
  std::vector<int32_t> index;
  std::optional<int32_t> within;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (x.dims[d] == Dim(0) && result.dims[d] != Dim(0)) {
      const int32_t nothing = body.constant(0, x.dtype);
      return std::move(body).done(nothing);
    }
    int32_t at = body.loop(d);
    if (x.dims[d] != result.dims[d]) {
      at = body.apply(Scalar::subtract, DType::i64, {at, body.constant(static_cast<double>(before[d]))});
      const int32_t kept = body.clamp(at, x.dims[d]);
      const int32_t same = body.apply(Scalar::equal, DType::boolean, {at, kept});
      within = within ? body.apply(Scalar::logical_and, DType::boolean, {*within, same}) : same;
      at = kept;
    }
    index.push_back(at);
  }
  int32_t value = body.load(0, x.dtype, index);
  if (within) value = body.apply(Scalar::select, x.dtype, {*within, value, body.constant(0, x.dtype)});
  return std::move(body).done(value);
}

std::vector<graph::Sample> pad_samples() {
  const DType f64 = DType::f64;
  const auto sample = [](TensorType x, Ints before, Dims shape, std::string fails = {}) {
    return window_sample(std::move(x), "before", std::move(before), std::move(shape), std::move(fails));
  };
  return {
      sample({f64, {kBatch, 3}}, {0, 2}, {kBatch, 7}),
      sample({DType::f32, {3, 2}}, {1, 1}, {5, 3}),
      sample({DType::i64, {4}}, {0}, {4}),
      sample({f64, {}}, {}, {}),
      sample({f64, {0, 2}}, {1, 0}, {3, 2}),
      sample({f64, {kBatch}}, {1}, {kBatch + Dim(1)}),
      sample({f64, {2}}, {1}, {kBatch + Dim(3)}),
      sample({f64, {4}}, {2}, {5}, "`pad` puts 4 at 2 of dimension 0, which is 5"),
      sample({f64, {kBatch}}, {0}, {5}, "`pad` puts batch at 0 of dimension 0, which is 5"),
      sample({DType::boolean, {4}}, {0}, {5}, "`pad` takes numbers, not bool"),
      sample({f64, {4}}, {}, {3}, "`pad` of f64[4] has 0 offsets and 1 sizes"),
  };
}

graph::OpRecord pad() {
  return {
      .signature =
          graph::Signature{
              "pad", {"x"}, {{"before", AttrKind::ints}, {"shape", AttrKind::dims}}, 1, "x placed at `before` in zeros of that shape"},
      .axes = axes_by(window_rule),
      .infer = graph::Infer(pad_infer),
      .evaluate = graph::Evaluate{pad_evaluate, {}},
      .gradient = by_rule([](graph::GradientContext& context) {
        const std::vector<Dim> dims = context.builder.type(context.operands[0]).dims;
        return Cotangents{
            context.builder.add("slice", {*context.cotangents[0]}, {{"starts", context.attrs.get<Ints>("before")}, {"shape", dims}})};
      }),
      .placements = linear(Linear::joint),
      .lower = graph::Lower(pad_lower),
      .samples = pad_samples(),
  };
}

// ---- concat

std::string concat_axes(const graph::AxesContext& context) {
  const size_t rank = context.operands[0].rank();
  const auto axis = static_cast<size_t>(context.attrs.get<int64_t>("axis"));
  size_t next = rank;
  const auto group = [&] {
    LetterGroup result = letters(rank);
    result[axis] = letters(1, next++)[0] + "!";
    return result;
  };
  std::vector<LetterGroup> operands;
  for (size_t k = 0; k < context.operands.size(); ++k) operands.push_back(group());
  return axes_text(operands, {group()});
}

Inferred concat_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const auto axis = attrs.get<int64_t>("axis");
  if (auto error = refuse_axis("concat", axis, operands[0])) return Unexpected{*error};
  TensorType result = operands[0];
  for (size_t k = 1; k < operands.size(); ++k) {
    const int operand = static_cast<int>(k);
    if (operands[k].dtype != result.dtype) {
      return fail(operand, "element types of `concat` differ: {} and {}", name_of(result.dtype), name_of(operands[k].dtype));
    }
    TensorType as_first = operands[k];
    if (as_first.rank() == result.rank()) as_first.dims[static_cast<size_t>(axis)] = operands[0].dims[static_cast<size_t>(axis)];
    if (as_first.dims != operands[0].dims) {
      return fail(operand, "shapes of `concat` differ outside axis {}: {} and {}", axis, types::str(operands[0].dims),
                  types::str(operands[k].dims));
    }
    // Later operands begin at a place that the kernel and the gradient's slices state as a number.
    const Dim& before = operands[k - 1].dims[static_cast<size_t>(axis)];
    if (!before.is_constant())
      return fail(operand - 1, "only the last operand of `concat` may have a size that varies along axis {}: {}", axis, before.str());
    Dim& size = result.dims[static_cast<size_t>(axis)];
    size = size + operands[k].dims[static_cast<size_t>(axis)];
  }
  return Types{result};
}

std::vector<Array> concat_evaluate(const graph::EvaluateContext& context, const Attrs& attrs, std::span<const Array> operands) {
  const auto axis = static_cast<size_t>(attrs.get<int64_t>("axis"));
  Array result = zeros(operands[0].dtype, context.result_shapes[0]);
  int64_t offset = 0;
  for (const Array& x : operands) {
    size_t at = 0;
    each_index(x.shape, [&](Shape index) {
      index[axis] += offset;
      result.data[static_cast<size_t>(flat(result.shape, index))] = x.data[at++];
    });
    offset += x.shape[axis];
  }
  return {std::move(result)};
}

Cotangents concat_gradient(graph::GradientContext& context) {
  const auto axis = static_cast<size_t>(context.attrs.get<int64_t>("axis"));
  Cotangents result;
  int64_t offset = 0;
  for (const ValueId operand : context.operands) {
    const std::vector<Dim> dims = context.builder.type(operand).dims;
    Ints starts(dims.size(), 0);
    starts[axis] = offset;
    result.push_back(context.builder.add("slice", {*context.cotangents[0]}, {{"starts", starts}, {"shape", dims}}));
    offset += dims[axis].constant().value_or(0);
  }
  return result;
}

/// From the last operand to the first: inside the first's end its element, else what the later ones give.
graph::Lowering concat_lower(const graph::LowerContext& context) {
  const auto axis = static_cast<size_t>(context.attrs.get<int64_t>("axis"));
  const DType dtype = context.results[0].dtype;
  struct Part {
    int32_t operand;
    int64_t begin;
  };
  std::vector<Part> parts;
  int64_t begin = 0;
  for (size_t k = 0; k < context.operands.size(); ++k) {
    const Dim& size = context.operands[k].dims[axis];
    if (size != Dim(0)) parts.push_back({static_cast<int32_t>(k), begin});
    begin += size.constant().value_or(0);
  }
  Body body;
  const std::vector<int32_t> loops = body.loops(0, context.results[0].rank());
  std::optional<int32_t> value;
  for (size_t i = parts.size(); i-- > 0;) {
    const TensorType& type = context.operands[static_cast<size_t>(parts[i].operand)];
    std::vector<int32_t> index = loops;
    const int32_t at = body.apply(Scalar::subtract, DType::i64, {loops[axis], body.constant(static_cast<double>(parts[i].begin))});
    index[axis] = parts.size() == 1 ? at : body.clamp(at, type.dims[axis]);
    const int32_t element = body.load(parts[i].operand, dtype, index);
    if (!value) {
      value = element;
      continue;
    }
    const int32_t next_begin = body.constant(static_cast<double>(parts[i + 1].begin));
    const int32_t mine = body.apply(Scalar::less, DType::boolean, {loops[axis], next_begin});
    value = body.apply(Scalar::select, dtype, {mine, element, *value});
  }
  if (!value) value = body.constant(0, dtype);  // nothing but empty operands: never run
  return std::move(body).done(*value);
}

std::vector<graph::Sample> concat_samples() {
  std::vector<graph::Sample> result;
  const auto add = [&](std::vector<TensorType> operands, int64_t axis, std::string fails = {}) {
    result.push_back({std::move(operands), {{"axis", axis}}, std::move(fails), sample_dims()});
  };
  const DType f64 = DType::f64, f32 = DType::f32;
  add({{f64, {kBatch, 2}}, {f64, {kBatch, 3}}}, 1);
  add({{f32, {2, 3}}, {f32, {1, 3}}, {f32, {4, 3}}}, 0);
  add({{DType::i64, {3}}}, 0);
  add({{f64, {2, 0}}, {f64, {2, 3}}, {f64, {2, 0}}}, 1);
  add({{f64, {2}}, {f64, {kBatch}}}, 0);
  add({{f64, {2}}, {f32, {2}}}, 0, "element types of `concat` differ: f64 and f32");
  add({{f64, {2, 3}}, {f64, {2, 4}}}, 0, "shapes of `concat` differ outside axis 0: [2, 3] and [2, 4]");
  add({{f64, {2, 3}}, {f64, {2}}}, 0, "shapes of `concat` differ outside axis 0: [2, 3] and [2]");
  add({{f64, {2}}, {f64, {2}}}, 1, "axis 1 of `concat` is outside f64[2]");
  add({{f64, {kBatch}}, {f64, {2}}}, 0, "only the last operand of `concat` may have a size that varies along axis 0: batch");
  add({}, 0, "`concat` takes at least 1 operand, not 0");
  return result;
}

graph::OpRecord concat() {
  return {
      .signature = graph::Signature{"concat", {"x..."}, {{"axis", AttrKind::integer}}, 1, "one after the other along the axis"},
      .axes = axes_by(concat_axes),
      .infer = graph::Infer(concat_infer),
      .evaluate = graph::Evaluate{concat_evaluate, {}},
      .gradient = by_rule(concat_gradient),
      .placements = linear(Linear::joint),
      .lower = graph::Lower(concat_lower),
      .samples = concat_samples(),
  };
}

}  // namespace

std::vector<graph::OpRecord> slice_ops() {
  std::vector<graph::OpRecord> records;
  records.push_back(slice());
  records.push_back(pad());
  records.push_back(concat());
  return records;
}

}  // namespace dtl::ops
