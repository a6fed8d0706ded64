// Marks and regions: gradient, fused, pin, stop_gradient, and the doors of a per-replica region.
#include <algorithm>

#include "compiler/ops/array.h"
#include "compiler/ops/elementwise.h"

namespace dtl::ops {
namespace {

using graph::AttrKind;
using graph::Linear;
using graph::PlacementRow;
using types::Placement;

const Dim kBatch = Dim::symbol("batch");

std::vector<Array> same_value(const graph::EvaluateContext&, const Attrs&, std::span<const Array> operands) { return {operands[0]}; }
graph::Lowering same_memory(const graph::LowerContext&) { return graph::ViewRule{0}; }

graph::Lower expanded_by(const char* pass) {
  return [pass](const graph::LowerContext&) -> graph::Lowering { return graph::ExpandedRule{pass}; };
}

// ---- replaced by a pass

graph::OpRecord gradient() {
  const TensorType loss{DType::f32, {}}, w{DType::f32, {3, 4}};
  return {
      .signature =
          graph::Signature{"gradient", {"loss", "w..."}, {}, -1, "the derivative of loss by each w; the gradient pass replaces it"},
      .axes = no_axes("replaced before placement"),
      .infer = graph::Infer([](std::span<const TensorType> operands, const Attrs&) -> Inferred {
        if (operands[0].rank() != 0 || !is_float(operands[0].dtype))
          return fail(0, "the loss of `gradient` is a float scalar, not {}", operands[0].str());
        for (size_t k = 1; k < operands.size(); ++k) {
          if (!is_float(operands[k].dtype)) return fail(static_cast<int>(k), "`gradient` is by floats, not {}", operands[k].str());
        }
        return Types(operands.begin() + 1, operands.end());
      }),
      .evaluate = graph::Evaluate{},
      .gradient = graph::Gradient(graph::NotDifferentiable{"gradients of gradients are not taken"}),
      .placements = linear(Linear::none),
      .lower = expanded_by("gradient"),
      .samples =
          std::vector<graph::Sample>{
              {{loss, w}, {}},
              {{loss, w, {DType::f64, {}}}, {}},
              {{w, w}, {}, "the loss of `gradient` is a float scalar, not f32[3, 4]"},
              {{loss, {DType::i64, {2}}}, {}, "`gradient` is by floats, not i64[2]"},
              {{loss}, {}, "`gradient` takes at least 2 operands, not 1"},
          },
  };
}

/// `f32[batch, 10]; f32[]`.
std::optional<Types> parse_types(std::string_view text) {
  Types types;
  while (true) {
    const size_t end = text.find("; ");
    auto type = TensorType::parse(text.substr(0, end));
    if (!type) return std::nullopt;
    types.push_back(std::move(*type));
    if (end == std::string_view::npos) return types;
    text.remove_prefix(end + 2);
  }
}

graph::OpRecord fused() {
  const auto sample = [](std::vector<TensorType> operands, std::string results, std::string fails = {}) {
    return graph::Sample{
        std::move(operands), {{"function", std::string("fused.0")}, {"results", std::move(results)}}, std::move(fails), sample_dims()};
  };
  return {
      .signature = graph::Signature{"fused",
                                    {"x..."},
                                    {{"function", AttrKind::text}, {"results", AttrKind::text}},
                                    -1,
                                    "calls a function of the graph; results are its types, `f32[2]; f32[]`"},
      .axes = no_axes("decided by its function"),
      .infer = graph::Infer([](std::span<const TensorType>, const Attrs& attrs) -> Inferred {
        const std::string& text = attrs.get<std::string>("results");
        auto types = parse_types(text);
        if (!types) return fail(-1, "`fused` gives no types: `{}`", text);
        return std::move(*types);
      }),
      .evaluate = graph::Evaluate{},
      .gradient = graph::Gradient(graph::NotDifferentiable{"fusion comes after gradients"}),
      .placements = linear(Linear::none),
      .lower = expanded_by("make_plan"),
      .samples =
          std::vector<graph::Sample>{
              sample({{DType::f32, {kBatch, 3}}}, "f32[batch, 3]"),
              sample({{DType::f32, {2}}, {DType::f32, {2}}}, "f32[2]; f32[]"),
              sample({{DType::f32, {2}}}, "f32", "`fused` gives no types: `f32`"),
          },
  };
}

// ---- marks

constexpr const char* kRoles[] = {"batch", "weights", "gradients", "optimizer"};

graph::OpRecord pin() {
  const auto sample = [](TensorType x, std::string role, std::string fails = {}) {
    return graph::Sample{{std::move(x)}, {{"role", std::move(role)}}, std::move(fails), sample_dims()};
  };
  return {
      .signature = graph::Signature{"pin",
                                    {"x"},
                                    {{"role", AttrKind::text}, {"of", AttrKind::text, true}},
                                    1,
                                    "x, placed as the strategy places that role (batch, weights, gradients, optimizer) of the weight `of`"},
      .axes = same_axes(1),
      .infer = graph::Infer([](std::span<const TensorType> operands, const Attrs& attrs) -> Inferred {
        const std::string& role = attrs.get<std::string>("role");
        if (std::find(std::begin(kRoles), std::end(kRoles), role) == std::end(kRoles)) return fail(-1, "`pin` knows no role `{}`", role);
        return Types{operands[0]};
      }),
      .evaluate = graph::Evaluate{same_value, {}},
      .gradient =
          by_rule([](graph::GradientContext& context) { return std::vector<std::optional<graph::ValueId>>{context.cotangents[0]}; }),
      .placements = linear(Linear::joint),
      .lower = graph::Lower(same_memory),
      .samples =
          std::vector<graph::Sample>{
              sample({DType::f64, {kBatch, 3}}, "batch"),
              sample({DType::f32, {5}}, "weights"),
              sample({DType::f64, {}}, "gradients"),
              sample({DType::f64, {0}}, "optimizer"),
              sample({DType::f64, {2}}, "loss", "`pin` knows no role `loss`"),
          },
  };
}

graph::OpRecord stop_gradient() {
  std::vector<graph::Sample> samples;
  for (const auto& shape : sample_shapes()) samples.push_back({{{DType::f64, shape}}, {}, {}, sample_dims()});
  samples.push_back({{{DType::boolean, {3}}}, {}});
  samples.push_back({{}, {}, "`stop_gradient` takes 1 operand, not 0"});
  return {
      .signature = graph::Signature{"stop_gradient", {"x"}, {}, 1, "x; to the gradient a constant"},
      .axes = same_axes(1),
      .infer = graph::Infer([](std::span<const TensorType> operands, const Attrs&) -> Inferred { return Types{operands[0]}; }),
      .evaluate = graph::Evaluate{same_value, {}},
      .gradient = graph::Gradient(graph::Zero{}),
      .placements = linear(Linear::joint),
      .lower = graph::Lower(same_memory),
      .samples = std::move(samples),
  };
}

// ---- doors of a per-replica region

graph::OpRecord local_share() {
  const Dim share = Dim::symbol(types::share_of("batch"));
  const auto sample = [](TensorType x, std::string fails = {}) {
    return graph::Sample{{std::move(x)}, {}, std::move(fails), {{"batch", 5}, {types::share_of("batch"), 5}}};
  };
  return {
      .signature =
          graph::Signature{
              "local_share", {"x"}, {}, 1, "into a per-replica region: this replica's part of a batch, or the whole of anything else"},
      .axes = no_axes("a change of view"),
      .infer = graph::Infer([](std::span<const TensorType> operands, const Attrs&) -> Inferred {
        TensorType result = operands[0];
        for (size_t d = 0; d < result.rank(); ++d) {
          if (result.dims[d].is_constant()) continue;
          const auto symbol = result.dims[d].as_symbol();
          if (d > 0 || !symbol) return fail(0, "the share of {} in {} is not known", result.dims[d].str(), result.str());
          result.dims[d] = Dim::symbol(types::share_of(*symbol));
        }
        return Types{result};
      }),
      .evaluate = graph::Evaluate{same_value, {}},
      .gradient = graph::Gradient(graph::NotDifferentiable{"a loss may not go through `per_replica`"}),
      .placements = graph::PlacementRule{Linear::none,
                                         [](const graph::PlacementContext& context) -> std::vector<PlacementRow> {
                                           // A batch comes in parts; what has no batch comes whole.
                                           const TensorType& type = context.operands[0];
                                           const bool parts = type.rank() > 0 && !type.dims[0].is_constant();
                                           return {{{parts ? Placement::split(0) : Placement::broadcast()}, {Placement::varying()}}};
                                         }},
      .lower = graph::Lower(same_memory),
      .samples =
          std::vector<graph::Sample>{
              sample({DType::f64, {kBatch, 3}}),
              sample({DType::u8, {kBatch}}),
              sample({DType::f32, {2, 3}}),
              sample({DType::f64, {}}),
              sample({DType::f64, {3, kBatch}}, "the share of batch in f64[3, batch] is not known"),
              sample({DType::f64, {kBatch * Dim(2)}}, "the share of " + (kBatch * Dim(2)).str() + " in " +
                                                          TensorType{DType::f64, {kBatch * Dim(2)}}.str() + " is not known"),
          },
  };
}

graph::OpRecord reduce_varying() {
  const auto sample = [](TensorType x, ReduceOp op, std::string fails = {}) {
    return graph::Sample{{std::move(x)}, {{"op", op}}, std::move(fails), sample_dims()};
  };
  return {
      .signature =
          graph::Signature{
              "reduce_varying", {"x"}, {{"op", AttrKind::reduce_op}}, 1, "out of a per-replica region: all replicas' values combined"},
      .axes = no_axes("a change of view"),
      .infer = graph::Infer([](std::span<const TensorType> operands, const Attrs&) -> Inferred {
        if (auto error = refuse_dtype(Domain::numbers, "reduce_varying", operands[0].dtype, 0)) return Unexpected{*error};
        for (const Dim& dim : operands[0].dims) {
          if (!dim.is_constant())
            return fail(0, "`reduce` combines values of one shape, but {} differs between replicas", operands[0].str());
        }
        return Types{operands[0]};
      }),
      .evaluate = graph::Evaluate{same_value, {}},
      .gradient = graph::Gradient(graph::NotDifferentiable{"a loss may not go through `per_replica`"}),
      // What each member holds is one contribution, also where all hold the same.
      .placements = graph::PlacementRule{Linear::none,
                                         [](const graph::PlacementContext& context) -> std::vector<PlacementRow> {
                                           const std::vector<Placement> result = {Placement::partial(context.attrs.get<ReduceOp>("op"))};
                                           return {{{Placement::varying()}, result}, {{Placement::broadcast()}, result}};
                                         }},
      .lower = graph::Lower(same_memory),
      .samples =
          std::vector<graph::Sample>{
              sample({DType::f64, {}}, ReduceOp::sum),
              sample({DType::f32, {3}}, ReduceOp::max),
              sample({DType::i64, {2, 2}}, ReduceOp::min),
              sample({DType::f64, {Dim::symbol(types::share_of("batch"))}}, ReduceOp::sum,
                     "`reduce` combines values of one shape, but f64[batch/share] differs between replicas"),
              sample({DType::boolean, {}}, ReduceOp::sum, "`reduce_varying` takes numbers, not bool"),
          },
  };
}

}  // namespace

std::vector<graph::OpRecord> calls() {
  std::vector<graph::OpRecord> records;
  records.push_back(gradient());
  records.push_back(fused());
  records.push_back(pin());
  records.push_back(stop_gradient());
  records.push_back(local_share());
  records.push_back(reduce_varying());
  return records;
}

}  // namespace dtl::ops
