// Drawing, spreading, evaluating; kernels of rules.
#include "tests/unit/ops/laws_testing.h"

#include <catch2/catch.hpp>

#include "compiler/codegen/jit.h"
#include "compiler/ops/registry.h"
#include "runtime/device/scatter.h"
#include "runtime/plan/half.h"

namespace dtl::ops::test {

using graph::Members;
using kernel::Scalar;
using types::Placement;
using types::PlacementKind;

std::string str(const OpRecord& op, size_t at) {
  const Sample& sample = (*op.samples)[at];
  std::string operands;
  for (const TensorType& type : sample.operands) operands += (operands.empty() ? "" : ", ") + type.str();
  return fmt::format("{} #{}: ({}) {}", op.name(), at, operands, sample.attrs.str());
}

void each_sample(const std::function<void(const OpRecord&, const Sample&, Random&)>& visit) {
  for (const OpRecord& op : table().records()) {
    for (size_t at = 0; at < op.samples->size(); ++at) {
      if (!(*op.samples)[at].fails.empty()) continue;
      INFO(str(op, at));
      Random random(at + 1);
      visit(op, (*op.samples)[at], random);
    }
  }
}

Types result_types(const OpRecord& op, const Sample& sample) {
  const auto types = (*op.infer)(sample.operands, sample.attrs);
  if (!types) FAIL(types.error().text);
  return *types;
}

Sizes dims_of(const Sample& sample) {
  Sizes dims = sample.dims;
  for (const auto& [name, size] : sample.dims) {
    if (name.find('/') == std::string::npos) dims.emplace(types::share_of(name), size);
  }
  return dims;
}

std::vector<int64_t> shape_of(const TensorType& type, const Sizes& dims) {
  std::vector<int64_t> shape;
  for (const types::Dim& dim : type.dims) shape.push_back(dim.evaluate(dims));
  return shape;
}

namespace {

int64_t count(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

double between(double low, double high, Random& random) { return std::uniform_real_distribution<double>(low, high)(random); }

}  // namespace

double wrapped(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::i32:
      return static_cast<int32_t>(value);
    case DType::i8:
      return static_cast<int8_t>(value);
    case DType::u8:
      return static_cast<uint8_t>(value);
    case DType::boolean:
      return value != 0;
    case DType::i64:
    case DType::f64:
    case DType::f32:
    case DType::bf16:
    case DType::f16:
      return static_cast<double>(value);
  }
  return 0;
}

Array draw(const TensorType& type, const Sizes& dims, const Sample& sample, Random& random) {
  Array array{type.dtype, shape_of(type, dims), {}};
  const bool natural = type.dtype == DType::u8 || type.dtype == DType::boolean;
  for (int64_t i = 0; i < count(array.shape); ++i) {
    double value = between(sample.low, sample.high, random);
    if (type.dtype == DType::f32) value = static_cast<float>(value);
    value = plan::narrowed(type.dtype, value);
    if (type.dtype == DType::boolean) value = between(0, 2, random);
    if (!is_float(type.dtype)) value = std::max(std::floor(value), natural ? 0.0 : -0x1p62);
    array.data.push_back(is_float(type.dtype) ? value : wrapped(type.dtype, static_cast<int64_t>(value)));
  }
  return array;
}

Arrays draw_operands(const Sample& sample, Random& random) {
  Arrays operands;
  for (const TensorType& type : sample.operands) operands.push_back(draw(type, dims_of(sample), sample, random));
  return operands;
}

Arrays evaluate(const OpRecord& op, const Sample& sample, const Arrays& operands) {
  const Types types = result_types(op, sample);
  const Sizes dims = dims_of(sample);
  std::vector<std::vector<int64_t>> shapes, offsets;
  for (const TensorType& type : types) {
    shapes.push_back(shape_of(type, dims));
    offsets.emplace_back(type.rank(), 0);
  }
  return op.evaluate->local({types, shapes, offsets, dims}, sample.attrs, operands);
}

// ---- members

namespace {

graph::Graph mesh_of(int64_t size) {
  graph::Graph result;
  result.strategy.mesh.axes = {{"data", size}};
  result.strategy.batch = {Placement::split(0)};
  return result;
}

/// Without shares: they follow from the mesh.
Sizes global(Sizes dims) {
  std::erase_if(dims, [](const auto& dim) { return dim.first.find('/') != std::string::npos; });
  return dims;
}

/// Contributions of `members` that make up the whole by `op`.
Arrays contributions(const Array& whole, ReduceOp op, size_t members, Random& random) {
  Arrays parts(members, whole);
  const bool real = is_float(whole.dtype);
  for (size_t i = 0; i < whole.data.size(); ++i) {
    const size_t special = random() % members;
    double rest = whole.data[i];
    for (size_t m = 0; m < members; ++m) {
      if (m == special) continue;
      const double one = real ? between(-2, 2, random) : std::floor(between(-3, 4, random));
      double& part = parts[m].data[i];
      switch (op) {
        case ReduceOp::sum:
          part = real ? one : wrapped(whole.dtype, static_cast<int64_t>(one));
          rest = real ? rest - part : wrapped(whole.dtype, static_cast<int64_t>(rest) - static_cast<int64_t>(part));
          break;
        case ReduceOp::max:
          part = whole.dtype == DType::boolean || whole.dtype == DType::u8 ? 0 : rest - std::fabs(one);
          break;
        case ReduceOp::min:
          part = whole.dtype == DType::boolean ? 1 : whole.dtype == DType::u8 ? 255 : rest + std::fabs(one);
          break;
        case ReduceOp::product:
          part = real ? std::exp2(std::floor(one)) : 1, rest = real ? rest / part : rest;
          break;
      }
    }
    parts[special].data[i] = rest;
  }
  return parts;
}

}  // namespace

Mesh::Mesh(int64_t size, const Sizes& dims) : graph(mesh_of(size)), members(graph, true, global(dims)) {}

Arrays spread(const Array& whole, const TensorType& type, const Placement& placement, const Members& members, Random& random) {
  if (placement.kind == PlacementKind::partial) return contributions(whole, placement.op, members.count(), random);
  graph::Value value;
  value.type = type;
  value.placements = {placement};
  return members.cut(whole, value);
}

std::vector<Arrays> evaluate_members(const OpRecord& op, const Sample& sample, const Types& types, const std::vector<Placement>& placements,
                                     const std::vector<Arrays>& operands, const Members& members) {
  std::vector<Arrays> results(types.size());
  std::vector<std::vector<std::vector<int64_t>>> shapes(members.count()), offsets(members.count());
  for (size_t m = 0; m < members.count(); ++m) {
    for (size_t r = 0; r < types.size(); ++r) {
      const graph::Part part = members.part(types[r], {placements[r]}, m);
      shapes[m].push_back(part.shape);
      offsets[m].push_back(part.offset);
    }
  }
  if (op.evaluate->collective) {
    for (size_t r = 0; r < types.size(); ++r) {
      std::vector<std::vector<int64_t>> own_shapes, own_offsets;
      for (size_t m = 0; m < members.count(); ++m) own_shapes.push_back(shapes[m][r]), own_offsets.push_back(offsets[m][r]);
      results[r] = op.evaluate->collective({own_shapes, own_offsets}, sample.attrs, operands[r]);
    }
    return results;
  }
  for (size_t m = 0; m < members.count(); ++m) {
    Arrays own;
    for (const Arrays& operand : operands) own.push_back(operand[m]);
    const Arrays found = op.evaluate->local({types, shapes[m], offsets[m], members.dims(m)}, sample.attrs, own);
    for (size_t r = 0; r < types.size(); ++r) results[r].push_back(found[r]);
  }
  return results;
}

// ---- kernels

Composed compose(const graph::KernelRule& rule, const Arrays& operands, const Array& result, const std::vector<int64_t>& offset,
                 const std::vector<int64_t>& reduced, const std::vector<int64_t>& sizes, Known known) {
  Composed composed;
  kernel::Kernel& kernel = composed.kernel;
  const auto size = [&](int64_t value) -> kernel::Size {
    if (known == Known::all) return {value, -1};
    composed.extents.push_back(value);
    return {1, static_cast<int32_t>(composed.extents.size()) - 1};
  };
  const auto dims = [&](const Array& array) {
    std::vector<kernel::Size> all;
    for (const int64_t extent : array.shape) all.push_back(size(extent));
    return all;
  };
  for (const Array& operand : operands) kernel.operands.push_back({operand.dtype, dims(operand)});
  kernel.operands.push_back({result.dtype, dims(result), true});
  kernel.loops = dims(result);
  kernel.outer = static_cast<int32_t>(result.shape.size());
  std::vector<int32_t> trailing;
  for (const int64_t extent : reduced) {
    trailing.push_back(static_cast<int32_t>(kernel.loops.size()));
    kernel.loops.push_back(size(extent));
  }
  kernel.body = rule.body;
  for (kernel::Instruction& it : kernel.body) {
    if (it.scalar == Scalar::size) it.size = size(sizes[static_cast<size_t>(it.index)]), it.index = 0;
    if (it.scalar == Scalar::begin) it.scalar = Scalar::size, it.size = size(offset[static_cast<size_t>(it.index)]), it.index = 0;
  }
  auto value = static_cast<int32_t>(kernel.body.size()) - 1;
  for (const kernel::Reduction& first : rule.first) kernel.stages.push_back({trailing, {first}, {}});
  if (rule.combine) {
    kernel.stages.push_back({trailing, {{*rule.combine, value}}, {}});
    const DType accumulated = is_narrow(result.dtype) ? DType::f32 : result.dtype;
    kernel.body.push_back({.scalar = Scalar::reduced, .dtype = accumulated, .args = {}, .index = static_cast<int32_t>(rule.first.size())});
    value = static_cast<int32_t>(kernel.body.size()) - 1;
    if (accumulated != result.dtype) {
      kernel.body.push_back({Scalar::cast, result.dtype, {value}});
      ++value;
    }
  }
  std::vector<int32_t> place;
  for (int32_t d = 0; d < kernel.outer; ++d) {
    place.push_back(static_cast<int32_t>(kernel.body.size()));
    kernel.body.push_back({.scalar = Scalar::loop, .dtype = DType::i64, .args = {}, .index = d});
  }
  kernel.stages.push_back({{}, {}, {{static_cast<int32_t>(operands.size()), place, value}}});
  return composed;
}

namespace {

/// What converts to and from a double.
template <class T>
using Wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

template <class T>
void convert(const std::vector<double>& from, std::vector<char>& bytes) {
  bytes.resize(std::max<size_t>(from.size(), 1) * sizeof(T));
  for (size_t i = 0; i < from.size(); ++i) reinterpret_cast<T*>(bytes.data())[i] = T(static_cast<Wide<T>>(from[i]));
}
template <class T>
void convert(const std::vector<char>& bytes, std::vector<double>& to) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(static_cast<Wide<T>>(reinterpret_cast<const T*>(bytes.data())[i]));
}

/// Calls `convert` with the type in memory.
template <class From, class To>
void converted(DType dtype, const From& from, To& to) {
  switch (dtype) {
    case DType::f64:
      return convert<double>(from, to);
    case DType::f32:
      return convert<float>(from, to);
    case DType::i64:
      return convert<int64_t>(from, to);
    case DType::i32:
      return convert<int32_t>(from, to);
    case DType::i8:
      return convert<int8_t>(from, to);
    case DType::u8:
    case DType::boolean:
      return convert<uint8_t>(from, to);
    case DType::bf16:
      return convert<plan::Bf16>(from, to);
    case DType::f16:
      return convert<plan::F16>(from, to);
  }
}

}  // namespace

Array run(const Composed& composed, const Arrays& operands, const Array& like) {
  static codegen::Jit jit({});
  const std::string broken = kernel::verify(composed.kernel);
  if (!broken.empty()) FAIL(broken << "\n" << kernel::print(composed.kernel));
  std::vector<std::vector<char>> memory(operands.size() + 1);
  for (size_t k = 0; k < operands.size(); ++k) converted(operands[k].dtype, operands[k].data, memory[k]);
  converted(like.dtype, like.data, memory.back());
  std::vector<void*> pointers;
  for (auto& bytes : memory) pointers.push_back(bytes.data());
  const int64_t end = composed.kernel.outer == 0 ? 1 : like.shape[0];
  jit.compile({{"law", kernel::print(composed.kernel)}})[0](pointers.data(), composed.extents.data(), 0, end);
  Array result = like;
  converted(like.dtype, memory.back(), result.data);
  return result;
}

Array run(const graph::ScatterRule& rule, const Sizes& dims, const Arrays& operands, const Array& like) {
  const device::ScatterShape shape{like.dtype, operands[0].dtype, rule.updates.evaluate(dims), rule.rows.evaluate(dims),
                                   rule.width.evaluate(dims)};
  std::vector<char> index, update, table;
  converted(operands[0].dtype, operands[0].data, index);
  converted(operands[1].dtype, operands[1].data, update);
  converted(like.dtype, std::vector<double>(like.data.size(), 7), table);
  for (int thread = 0; thread < 3; ++thread) device::scatter_add(shape, index.data(), update.data(), table.data(), thread, 3);
  Array result = like;
  converted(like.dtype, table, result.data);
  return result;
}

std::string difference(const Array& expected, const Array& actual, double tolerance) {
  if (expected.dtype != actual.dtype) return fmt::format("{} expected, not {}", name_of(expected.dtype), name_of(actual.dtype));
  if (expected.shape != actual.shape)
    return fmt::format("shape [{}] expected, not [{}]", fmt::join(expected.shape, ", "), fmt::join(actual.shape, ", "));
  if (expected.data.size() != actual.data.size())
    return fmt::format("{} elements expected, not {}", expected.data.size(), actual.data.size());
  for (size_t i = 0; i < expected.data.size(); ++i) {
    const double a = expected.data[i], b = actual.data[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const bool near = is_float(expected.dtype) && std::fabs(a - b) <= tolerance * (1 + std::fabs(a));
    if (!near) return fmt::format("element {} is {}, expected {}", i, b, a);
  }
  return {};
}

}  // namespace dtl::ops::test
