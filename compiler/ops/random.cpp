// Random numbers: Philox 4×32-10 on (seed, stream, step, global index), so that any member can make any part.
#include <algorithm>

#include "compiler/ops/array.h"
#include "compiler/ops/body.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/letters.h"
#include "runtime/plan/philox.h"

namespace dtl::ops {
namespace {

using graph::AttrKind;

/// A stream travels through kernels as a number, exact below 2^53.
constexpr int64_t kStreams = int64_t{1} << 53;

/// All dimensions, in the order in which they count in an element's index: `axis` is outermost, so that the rows of a batch go on
/// where those of the batch before ended; the others follow.
std::vector<size_t> order_of(const Dims& dims, const Attrs& attrs) {
  std::vector<size_t> order;
  for (size_t d = 0; d < dims.size(); ++d) order.push_back(d);
  if (!attrs.find("axis")) return order;
  const auto axis = order.begin() + static_cast<std::ptrdiff_t>(attrs.get<int64_t>("axis"));
  std::rotate(order.begin(), axis, axis + 1);
  return order;
}

Inferred uniform_infer(std::span<const TensorType> operands, const Attrs& attrs) {
  const TensorType scalar{DType::i64, {}};
  constexpr const char* kNames[] = {"seed", "step", "rows"};
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k] != scalar) return fail(static_cast<int>(k), "the {} of `uniform` is i64[], not {}", kNames[k], operands[k].str());
  }
  const bool has_axis = attrs.find("axis") != nullptr;
  if (has_axis != (operands.size() > 2)) return fail(-1, "`uniform` has rows and their axis, or neither");
  const TensorType type{attrs.get<DType>("dtype"), attrs.get<Dims>("shape")};
  if (has_axis) {
    if (auto error = refuse_axis("uniform", attrs.get<int64_t>("axis"), type, -1)) return Unexpected{*error};
  }
  const DType dtype = type.dtype;
  if (!is_float(dtype)) return fail(-1, "`uniform` gives floats, not {}", name_of(dtype));
  const auto stream = attrs.get<int64_t>("stream");
  if (stream < 0 || stream >= kStreams) return fail(-1, "stream {} of `uniform` is outside 0 … 2^53", stream);
  return Types{type};
}

std::vector<Array> uniform_evaluate(const graph::EvaluateContext& context, const Attrs& attrs, std::span<const Array> operands) {
  Array result = zeros(attrs.get<DType>("dtype"), context.result_shapes[0]);
  Shape whole;
  for (const Dim& dim : context.result_types[0].dims) whole.push_back(dim.evaluate(context.dims));
  const auto seed = static_cast<uint64_t>(static_cast<int64_t>(operands[0].data[0]));
  const auto step = static_cast<uint64_t>(static_cast<int64_t>(operands[1].data[0]));
  const auto stream = static_cast<uint64_t>(attrs.get<int64_t>("stream"));
  const std::vector<size_t> order = order_of(context.result_types[0].dims, attrs);
  const int64_t before = operands.size() > 2 ? static_cast<int64_t>(operands[2].data[0]) : 0;
  size_t at = 0;
  each_index(result.shape, [&](const Shape& index) {
    int64_t place = before;
    for (size_t k = 0; k < order.size(); ++k) {
      const size_t d = order[k];
      place = (k == 0 ? place : place * whole[d]) + index[d] + context.result_offsets[0][d];
    }
    result.data[at++] = philox_uniform(seed, stream, step, static_cast<uint64_t>(place), uniform_bits(result.dtype));
  });
  return {std::move(result)};
}

graph::Lowering uniform_lower(const graph::LowerContext& context) {
  using kernel::Scalar;
  Body body;
  const int32_t seed = body.load(0, DType::i64, {}), step = body.load(1, DType::i64, {});
  const Dims& dims = context.results[0].dims;
  std::optional<int32_t> index;
  for (const size_t d : order_of(dims, context.attrs)) {
    if (index) {
      const int32_t outer = body.apply(Scalar::multiply, DType::i64, {*index, body.size(dims[d])});
      index = body.apply(Scalar::add, DType::i64, {outer, body.global(d)});
      continue;
    }
    index = body.global(d);
    if (context.operands.size() < 3) continue;
    index = body.apply(Scalar::add, DType::i64, {*index, body.load(2, DType::i64, {})});
  }
  if (!index) index = body.constant(0);
  const int32_t value = body.uniform(context.attrs.get<int64_t>("stream"), context.results[0].dtype, {seed, step, *index});
  return std::move(body).done(value);
}

std::vector<graph::Sample> uniform_samples() {
  const Dim batch = Dim::symbol("batch");
  const TensorType scalar{DType::i64, {}};
  std::vector<graph::Sample> result;
  const auto add = [&](std::vector<TensorType> operands, Dims shape, int64_t stream, DType dtype, std::string fails = {},
                       std::optional<int64_t> axis = {}) {
    Attrs attrs{{"shape", std::move(shape)}, {"stream", stream}, {"dtype", dtype}};
    if (axis) attrs.set("axis", *axis);
    result.push_back({std::move(operands), std::move(attrs), std::move(fails), sample_dims(), 0, 1000});
  };
  add({scalar, scalar}, {batch, 3}, 7, DType::f64);
  add({scalar, scalar}, {4, batch}, 7, DType::f32);
  add({scalar, scalar}, {300}, 7, DType::bf16);
  add({scalar, scalar}, {300}, 7, DType::f16);
  add({scalar, scalar}, {2, 3, 2}, (int64_t{5} << 32) + 1, DType::f64);
  add({scalar, scalar}, {}, 0, DType::f64);
  add({scalar, scalar}, {0, 2}, 0, DType::f64);
  add({scalar, scalar, scalar}, {batch, 3}, 7, DType::f64, {}, 0);
  add({scalar, scalar, scalar}, {4, batch * Dim(2), 3}, 7, DType::f32, {}, 1);
  add({scalar, scalar, scalar}, {batch}, 7, DType::f32, "`uniform` has rows and their axis, or neither");
  add({scalar, scalar, scalar}, {batch}, 7, DType::f32, "axis 1 of `uniform` is outside f32[batch]", 1);
  add({{DType::f32, {}}, scalar}, {3}, 0, DType::f32, "the seed of `uniform` is i64[], not f32[]");
  add({scalar, {DType::i64, {2}}}, {3}, 0, DType::f32, "the step of `uniform` is i64[], not i64[2]");
  add({scalar, scalar, {DType::i64, {1}}}, {batch}, 0, DType::f32, "the rows of `uniform` is i64[], not i64[1]");
  add({scalar}, {3}, 0, DType::f32, "`uniform` takes 3 operands, not 1");
  add({scalar, scalar}, {3}, 0, DType::i64, "`uniform` gives floats, not i64");
  add({scalar, scalar}, {3}, -1, DType::f32, "stream -1 of `uniform` is outside 0 … 2^53");
  return result;
}

graph::OpRecord uniform() {
  return {
      .signature =
          graph::Signature{
              "uniform",
              {"seed", "step", "rows?"},
              {{"shape", AttrKind::dims}, {"stream", AttrKind::integer}, {"dtype", AttrKind::dtype}, {"axis", AttrKind::integer, true}},
              1,
              "numbers in [0, 1) by seed, stream, step and global index, whoever makes them; `rows` indices along `axis` came before"},
      .axes = axes_by([](const graph::AxesContext& context) {
        return axes_text(std::vector<LetterGroup>(context.operands.size()), {letters(context.attrs.get<Dims>("shape").size())});
      }),
      .infer = graph::Infer(uniform_infer),
      .evaluate = graph::Evaluate{uniform_evaluate, {}},
      .gradient = graph::Gradient(graph::Zero{}),
      .placements = linear(graph::Linear::none),
      .lower = graph::Lower(uniform_lower),
      .samples = uniform_samples(),
  };
}

}  // namespace

std::vector<graph::OpRecord> random_ops() {
  std::vector<graph::OpRecord> records;
  records.push_back(uniform());
  return records;
}

}  // namespace dtl::ops
