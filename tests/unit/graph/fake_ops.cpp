// Records of the fake ops.
#include "fake_ops.h"

namespace dtl::graph::test {
namespace {

using types::Attrs;
using types::Dim;
using types::Dims;
using types::Placement;
using types::TensorType;
using Types = std::vector<TensorType>;
using Inferred = Expected<Types, InferError>;
using Operands = std::span<const TensorType>;
using Arrays = std::span<const Array>;

int64_t elements(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

Axes axes(std::string rule) {
  return {[rule](const AxesContext&) { return rule; }, {}, [](const Attrs&) { return ReduceOp::sum; }};
}
Axes no_axes() { return {nullptr, "a test", nullptr}; }
Evaluate local(std::function<std::vector<Array>(const EvaluateContext&, const Attrs&, Arrays)> run) { return {std::move(run), nullptr}; }
Evaluate collective(EvaluateCollective run) { return {nullptr, std::move(run)}; }
PlacementRule rule(Linear linear) { return {linear, nullptr}; }
Lower no_lower() {
  return [](const LowerContext&) -> Lowering { return ExpandedRule{"a test"}; };
}

Inferred same_as_first(Operands operands, const Attrs&) {
  for (size_t i = 1; i < operands.size(); ++i) {
    if (operands[i] != operands[0]) return Unexpected{InferError{"operands differ", static_cast<int>(i)}};
  }
  return Types{operands[0]};
}

template <class Function>
Evaluate elementwise(Function function) {
  return local([function](const EvaluateContext&, const Attrs&, Arrays operands) {
    Array result = operands[0];
    for (size_t i = 0; i < result.data.size(); ++i) result.data[i] = function(operands[0].data[i], operands.back().data[i]);
    return std::vector<Array>{result};
  });
}

std::vector<Array> evaluate_index(const EvaluateContext& context, const Attrs&, Arrays) {
  const std::vector<int64_t>& shape = context.result_shapes[0];
  std::vector<int64_t> whole;
  for (const Dim& dim : context.result_types[0].dims) whole.push_back(dim.evaluate(context.dims));
  Array result{DType::f64, shape, {}};
  for (int64_t i = 0; i < elements(shape); ++i) {
    int64_t rest = i, index = 0, scale = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      index += (rest % shape[d] + context.result_offsets[0][d]) * scale;
      rest /= shape[d];
      scale *= whole[d];
    }
    result.data.push_back(static_cast<double>(index));
  }
  return {result};
}

std::vector<Array> evaluate_sum(const EvaluateContext& context, const Attrs& attrs, Arrays operands) {
  const auto axis = static_cast<size_t>(attrs.get<int64_t>("axis"));
  const Array& x = operands[0];
  Array result{x.dtype, context.result_shapes[0], std::vector<double>(static_cast<size_t>(elements(context.result_shapes[0])))};
  int64_t inner = 1;
  for (size_t d = axis + 1; d < x.shape.size(); ++d) inner *= x.shape[d];
  for (int64_t i = 0; i < elements(x.shape); ++i) {
    result.data[static_cast<size_t>(i / (inner * x.shape[axis]) * inner + i % inner)] += x.data[static_cast<size_t>(i)];
  }
  return {result};
}

std::vector<Array> evaluate_all_reduce(const CollectiveContext&, const Attrs& attrs, Arrays members) {
  Array total = members[0];
  for (size_t m = 1; m < members.size(); ++m) {
    for (size_t i = 0; i < total.data.size(); ++i) total.data[i] = combine(attrs.get<ReduceOp>("op"), total.data[i], members[m].data[i]);
  }
  return std::vector<Array>(members.size(), total);
}

/// Along dimension 0 only.
std::vector<Array> evaluate_all_gather(const CollectiveContext& context, const Attrs&, Arrays members) {
  Array whole{members[0].dtype, context.result_shapes[0], {}};
  for (const Array& member : members) whole.data.insert(whole.data.end(), member.data.begin(), member.data.end());
  return std::vector<Array>(members.size(), whole);
}

std::vector<PlacementRow> all_reduce_rows(const PlacementContext& context) {
  const ReduceOp op = context.attrs.get<ReduceOp>("op");
  return {{std::vector(context.operands.size(), Placement::partial(op)), std::vector(context.results.size(), Placement::broadcast())}};
}
std::vector<PlacementRow> all_gather_rows(const PlacementContext& context) {
  return {{{Placement::split(static_cast<int>(context.attrs.get<int64_t>("dim")))}, {Placement::broadcast()}}};
}
std::vector<PlacementRow> share_rows(const PlacementContext&) { return {{{Placement::split(0)}, {Placement::varying()}}}; }

std::vector<OpRecord> records() {
  const auto copy_all = [](Operands operands, const Attrs&) -> Inferred { return Types(operands.begin(), operands.end()); };
  const auto of_shape = [](Operands, const Attrs& attrs) -> Inferred {
    return Types{{attrs.get_or("dtype", DType::f64), attrs.get<Dims>("shape")}};
  };
  const auto share_type = [](Operands operands, const Attrs&) -> Inferred {
    TensorType type = operands[0];
    type.dims[0] = type.dims[0].substitute({{"batch", Dim::symbol("batch/share")}});
    return Types{type};
  };
  const auto sum_type = [](Operands operands, const Attrs& attrs) -> Inferred {
    const int64_t axis = attrs.get<int64_t>("axis");
    TensorType type = operands[0];
    if (axis < 0 || static_cast<size_t>(axis) >= type.rank()) return Unexpected{InferError{"no such axis", 0}};
    type.dims.erase(type.dims.begin() + axis);
    return Types{type};
  };
  const auto sum_axes = [](const AxesContext& context) {
    std::string from, to;
    for (size_t d = 0; d < context.operands[0].rank(); ++d) {
      const std::string letter = std::string(1, static_cast<char>('a' + d)) + " ";
      from += letter;
      if (static_cast<int64_t>(d) != context.attrs.get<int64_t>("axis")) to += letter;
    }
    return from + "->" + to;
  };
  const auto no_infer = [](Operands, const Attrs&) -> Inferred { return Unexpected{InferError{"decided by the function"}}; };
  std::vector<OpRecord> all;
  const auto add = [&](Signature signature, Axes axes, Infer infer, Evaluate evaluate, PlacementRule placements) {
    all.push_back({std::move(signature), std::move(axes), std::move(infer), std::move(evaluate), Gradient{Zero{}}, std::move(placements),
                   no_lower(), std::vector<Sample>{}});
  };
  add({"constant", {}, {{"value", AttrKind::number}, {"dtype", AttrKind::dtype}, {"shape", AttrKind::dims}}, 1, ""}, no_axes(), of_shape,
      local([](const EvaluateContext& context, const Attrs& attrs, Arrays) {
        const auto& shape = context.result_shapes[0];
        return std::vector<Array>{
            {attrs.get<DType>("dtype"), shape, std::vector<double>(static_cast<size_t>(elements(shape)), attrs.get<double>("value"))}};
      }),
      rule(Linear::none));
  add({"index", {}, {{"shape", AttrKind::dims}}, 1, ""}, axes("-> ..."), of_shape, local(evaluate_index), rule(Linear::none));
  add({"negate", {"x"}, {}, 1, ""}, axes("... -> ..."), same_as_first, elementwise([](double a, double) { return -a; }),
      rule(Linear::joint));
  add({"add", {"a", "b"}, {}, 1, ""}, axes("..., ... -> ..."), same_as_first, elementwise([](double a, double b) { return a + b; }),
      rule(Linear::joint));
  add({"multiply", {"a", "b"}, {}, 1, ""}, axes("..., ... -> ..."), same_as_first, elementwise([](double a, double b) { return a * b; }),
      rule(Linear::each));
  add({"sum", {"x"}, {{"axis", AttrKind::integer}}, 1, ""}, {sum_axes, {}, [](const Attrs&) { return ReduceOp::sum; }}, sum_type,
      local(evaluate_sum), rule(Linear::joint));
  add(
      {"halves", {"x"}, {}, 2, ""}, axes("... -> ..., ..."),
      [](Operands operands, const Attrs&) -> Inferred { return Types{operands[0], operands[0]}; },
      local([](const EvaluateContext&, const Attrs&, Arrays operands) {
        Array half = operands[0];
        for (double& x : half.data) x /= 2;
        return std::vector<Array>{half, half};
      }),
      rule(Linear::none));
  add({"share", {"x"}, {}, 1, ""}, no_axes(), share_type,
      local([](const EvaluateContext&, const Attrs&, Arrays operands) { return std::vector<Array>{operands[0]}; }),
      {Linear::none, share_rows});
  add({"all_reduce", {"x..."}, {{"op", AttrKind::reduce_op}, {"axis", AttrKind::integer}}, -1, ""}, no_axes(), copy_all,
      collective(evaluate_all_reduce), {Linear::none, all_reduce_rows});
  add({"all_gather", {"x"}, {{"axis", AttrKind::integer}, {"dim", AttrKind::integer}}, 1, ""}, no_axes(), copy_all,
      collective(evaluate_all_gather), {Linear::none, all_gather_rows});
  add({"call", {"x..."}, {{"function", AttrKind::text}}, -1, ""}, no_axes(), no_infer, Evaluate{}, rule(Linear::none));
  add({"mystery", {"x"}, {{"flag", AttrKind::boolean, true}}, 1, ""}, no_axes(), same_as_first, Evaluate{}, rule(Linear::none));
  return all;
}

}  // namespace

const OpTable& fake_ops() {
  static const OpTable table(records());
  return table;
}

}  // namespace dtl::graph::test
