// Collectives: changes of placement along one mesh axis. Operands and results have the same global types.
#include <algorithm>

#include "compiler/ops/array.h"
#include "compiler/ops/elementwise.h"

namespace dtl::ops {
namespace {

using graph::AttrKind;
using graph::PlacementRow;
using types::Placement;

const Dim kBatch = Dim::symbol("batch");

/// All members' values combined, in their order.
Array combined_members(ReduceOp op, std::span<const Array> members) {
  Array result = members[0];
  for (size_t m = 1; m < members.size(); ++m) {
    for (size_t i = 0; i < result.data.size(); ++i) result.data[i] = combined(op, result.dtype, result.data[i], members[m].data[i]);
  }
  return result;
}

/// The part [begin, begin + size) along dim.
Array part(const Array& whole, size_t dim, int64_t begin, int64_t size) {
  Shape shape = whole.shape;
  shape[dim] = size;
  Array result = zeros(whole.dtype, shape);
  size_t at = 0;
  each_index(shape, [&](Shape index) {
    index[dim] += begin;
    result.data[at++] = whole.data[static_cast<size_t>(flat(whole.shape, index))];
  });
  return result;
}

/// Members' parts along dim, put together in their order.
Array gathered(std::span<const Array> members, size_t dim) {
  Shape shape = members[0].shape;
  shape[dim] = 0;
  for (const Array& member : members) shape[dim] += member.shape[dim];
  Array result = zeros(members[0].dtype, shape);
  int64_t begin = 0;
  for (const Array& member : members) {
    size_t at = 0;
    each_index(member.shape, [&](Shape index) {
      index[dim] += begin;
      result.data[static_cast<size_t>(flat(shape, index))] = member.data[at++];
    });
    begin += member.shape[dim];
  }
  return result;
}

/// Member m's part of whole(m), sized by its result.
template <class Whole>
std::vector<Array> shared_out(const graph::CollectiveContext& context, size_t dim, size_t members, Whole whole) {
  std::vector<Array> results;
  int64_t begin = 0;
  for (size_t m = 0; m < members; ++m) {
    const int64_t size = context.result_shapes[m][dim];
    results.push_back(part(whole(m), dim, begin, size));
    begin += size;
  }
  return results;
}

size_t dim_of(const Attrs& attrs, const char* name) { return static_cast<size_t>(attrs.get<int64_t>(name)); }

/// Results like operands, once the named dimension attributes are in range.
graph::Infer same_types(std::string op, Domain domain, std::vector<std::string> dims) {
  return [op, domain, dims](std::span<const TensorType> operands, const Attrs& attrs) -> Inferred {
    if (attrs.get<int64_t>("axis") < 0) return fail(-1, "mesh axis {} of `{}` does not exist", attrs.get<int64_t>("axis"), op);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (auto error = refuse_dtype(domain, op, operands[k].dtype, static_cast<int>(k))) return Unexpected{*error};
    }
    for (const std::string& name : dims) {
      const auto dim = attrs.get<int64_t>(name);
      if (dim < 0 || dim >= static_cast<int64_t>(operands[0].rank()))
        return fail(0, "dimension {} of `{}` is outside {}", dim, op, operands[0].str());
    }
    return Types(operands.begin(), operands.end());
  };
}

struct Parts {
  graph::Signature signature;
  Domain domain;
  std::vector<std::string> dims;  ///< attributes that name a dimension
  graph::EvaluateCollective evaluate;
  std::function<std::vector<PlacementRow>(const graph::PlacementContext&)> rows;  ///< along its own mesh axis
  std::vector<graph::Sample> samples;
};

graph::OpRecord record(Parts parts) {
  const std::string name = parts.signature.name;
  return {
      .signature = std::move(parts.signature),
      .axes = no_axes("a change of placement"),
      .infer = same_types(name, parts.domain, parts.dims),
      .evaluate = graph::Evaluate{{}, std::move(parts.evaluate)},
      .gradient = graph::Gradient(graph::NotDifferentiable{"collectives are placed after gradients are taken"}),
      .placements = graph::PlacementRule{graph::Linear::none, std::move(parts.rows)},
      .lower = graph::Lower([](const graph::LowerContext&) -> graph::Lowering { return graph::CollectiveRule{}; }),
      .samples = std::move(parts.samples),
  };
}

const graph::AttrSpec kAxis{"axis", AttrKind::integer}, kOp{"op", AttrKind::reduce_op}, kDim{"dim", AttrKind::integer};

graph::OpRecord all_reduce() {
  const auto sample = [](std::vector<TensorType> operands, ReduceOp op, int64_t axis, std::string fails = {}) {
    return graph::Sample{std::move(operands), {{"op", op}, {"axis", axis}}, std::move(fails), sample_dims()};
  };
  graph::Sample bucketed = sample({{DType::f32, {3}}, {DType::f32, {2, 2}}}, ReduceOp::sum, 0);
  bucketed.attrs.set("bucket", int64_t{1});
  return record({
      .signature = {"all_reduce",
                    {"x..."},
                    {kOp, kAxis, {"bucket", AttrKind::integer, true}},
                    -1,
                    "every member gets the combination of all members' values"},
      .domain = Domain::numbers,
      .dims = {},
      .evaluate =
          [](const graph::CollectiveContext&, const Attrs& attrs, std::span<const Array> members) {
            return std::vector<Array>(members.size(), combined_members(attrs.get<ReduceOp>("op"), members));
          },
      .rows = [](const graph::PlacementContext& context) -> std::vector<PlacementRow> {
        const size_t n = context.operands.size();
        const std::vector<Placement> result(n, Placement::broadcast());
        return {{std::vector(n, Placement::partial(context.attrs.get<ReduceOp>("op"))), result},
                {std::vector(n, Placement::varying()), result}};
      },
      .samples = {sample({{DType::f64, {5, 3}}}, ReduceOp::sum, 0), bucketed, sample({{DType::f64, {kBatch}}}, ReduceOp::max, 0),
                  sample({{DType::f32, {}}}, ReduceOp::min, 0), sample({{DType::f64, {4}}}, ReduceOp::product, 0),
                  sample({{DType::i64, {0}}}, ReduceOp::sum, 0),
                  sample({{DType::f64, {2}}}, ReduceOp::sum, -1, "mesh axis -1 of `all_reduce` does not exist"),
                  sample({{DType::boolean, {2}}}, ReduceOp::sum, 0, "`all_reduce` takes numbers, not bool"),
                  sample({}, ReduceOp::sum, 0, "`all_reduce` takes at least 1 operand, not 0")},
  });
}

graph::OpRecord reduce_scatter() {
  const auto sample = [](TensorType x, ReduceOp op, int64_t dim, std::string fails = {}) {
    return graph::Sample{{std::move(x)}, {{"op", op}, {"axis", int64_t{0}}, {"dim", dim}}, std::move(fails), sample_dims()};
  };
  return record({
      .signature = {"reduce_scatter", {"x"}, {kOp, kAxis, kDim}, 1, "every member gets its part of the combination of all members' values"},
      .domain = Domain::numbers,
      .dims = {"dim"},
      .evaluate =
          [](const graph::CollectiveContext& context, const Attrs& attrs, std::span<const Array> members) {
            const Array whole = combined_members(attrs.get<ReduceOp>("op"), members);
            return shared_out(context, dim_of(attrs, "dim"), members.size(), [&](size_t) -> const Array& { return whole; });
          },
      .rows = [](const graph::PlacementContext& context) -> std::vector<PlacementRow> {
        return {{{Placement::partial(context.attrs.get<ReduceOp>("op"))},
                 {Placement::split(static_cast<int>(context.attrs.get<int64_t>("dim")))}}};
      },
      .samples = {sample({DType::f64, {5, 3}}, ReduceOp::sum, 0), sample({DType::f32, {2, 7}}, ReduceOp::max, 1),
                  sample({DType::f64, {0}}, ReduceOp::sum, 0),
                  sample({DType::f64, {5, 3}}, ReduceOp::sum, 2, "dimension 2 of `reduce_scatter` is outside f64[5, 3]")},
  });
}

graph::OpRecord all_gather() {
  const auto sample = [](TensorType x, int64_t dim, std::string fails = {}) {
    return graph::Sample{{std::move(x)}, {{"axis", int64_t{0}}, {"dim", dim}}, std::move(fails), sample_dims()};
  };
  return record({
      .signature = {"all_gather", {"x"}, {kAxis, kDim}, 1, "every member gets all members' parts"},
      .domain = Domain::any,
      .dims = {"dim"},
      .evaluate =
          [](const graph::CollectiveContext&, const Attrs& attrs, std::span<const Array> members) {
            return std::vector<Array>(members.size(), gathered(members, dim_of(attrs, "dim")));
          },
      .rows = [](const graph::PlacementContext& context) -> std::vector<PlacementRow> {
        return {{{Placement::split(static_cast<int>(context.attrs.get<int64_t>("dim")))}, {Placement::broadcast()}}};
      },
      .samples = {sample({DType::f64, {5, 3}}, 0), sample({DType::f32, {2, 7}}, 1), sample({DType::boolean, {kBatch}}, 0),
                  sample({DType::f64, {0, 2}}, 0), sample({DType::f64, {}}, 0, "dimension 0 of `all_gather` is outside f64[]")},
  });
}

graph::OpRecord all_to_all() {
  const auto sample = [](TensorType x, int64_t from, int64_t to, std::string fails = {}) {
    return graph::Sample{{std::move(x)}, {{"axis", int64_t{0}}, {"from", from}, {"to", to}}, std::move(fails), sample_dims()};
  };
  return record({
      .signature = {"all_to_all",
                    {"x"},
                    {kAxis, {"from", AttrKind::integer}, {"to", AttrKind::integer}},
                    1,
                    "parts along one dimension become parts along another"},
      .domain = Domain::any,
      .dims = {"from", "to"},
      .evaluate =
          [](const graph::CollectiveContext& context, const Attrs& attrs, std::span<const Array> members) {
            const Array whole = gathered(members, dim_of(attrs, "from"));
            return shared_out(context, dim_of(attrs, "to"), members.size(), [&](size_t) -> const Array& { return whole; });
          },
      .rows = [](const graph::PlacementContext& context) -> std::vector<PlacementRow> {
        const auto split = [&](const char* name) { return Placement::split(static_cast<int>(context.attrs.get<int64_t>(name))); };
        return {{{split("from")}, {split("to")}}};
      },
      .samples = {sample({DType::f64, {5, 3}}, 0, 1), sample({DType::f32, {2, 7, 3}}, 2, 0), sample({DType::i64, {kBatch, 0}}, 0, 1),
                  sample({DType::f64, {5, 3}}, 0, 2, "dimension 2 of `all_to_all` is outside f64[5, 3]")},
  });
}

graph::OpRecord local_slice() {
  const auto sample = [](TensorType x, int64_t dim, std::string fails = {}) {
    return graph::Sample{{std::move(x)}, {{"axis", int64_t{0}}, {"dim", dim}}, std::move(fails), sample_dims()};
  };
  return record({
      .signature = {"local_slice", {"x"}, {kAxis, kDim}, 1, "every member keeps its part of what it holds whole"},
      .domain = Domain::any,
      .dims = {"dim"},
      .evaluate =
          [](const graph::CollectiveContext& context, const Attrs& attrs, std::span<const Array> members) {
            return shared_out(context, dim_of(attrs, "dim"), members.size(), [&](size_t m) -> const Array& { return members[m]; });
          },
      .rows = [](const graph::PlacementContext& context) -> std::vector<PlacementRow> {
        return {{{Placement::broadcast()}, {Placement::split(static_cast<int>(context.attrs.get<int64_t>("dim")))}}};
      },
      .samples = {sample({DType::f64, {5, 3}}, 0), sample({DType::boolean, {2, 7}}, 1), sample({DType::f64, {0}}, 0),
                  sample({DType::f64, {5}}, 1, "dimension 1 of `local_slice` is outside f64[5]")},
  });
}

}  // namespace

std::vector<graph::OpRecord> collectives() {
  std::vector<graph::OpRecord> records;
  records.push_back(all_reduce());
  records.push_back(reduce_scatter());
  records.push_back(all_gather());
  records.push_back(all_to_all());
  records.push_back(local_slice());
  return records;
}

}  // namespace dtl::ops
