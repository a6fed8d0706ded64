// Cutting values into members' parts and joining them again.
#include "compiler/graph/members.h"

#include <bit>

#include "compiler/source/check.h"

namespace dtl::graph {
namespace {

using types::Placement;
using types::PlacementKind;

struct Share {
  int64_t begin, count;
};

/// The first n mod `members` members get one more.
Share share(int64_t n, int64_t member, int64_t members) {
  const int64_t each = n / members, more = n % members;
  return {member * each + std::min(member, more), each + (member < more ? 1 : 0)};
}

int64_t product(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  return elements;
}

/// Calls `run(offset into a, offset into b)` for each row of `shape`, whose first element is at `begin` in an array of shape
/// `whole` (a) and which is contiguous in b. Rows run along the last dimension.
template <class Run>
void for_rows(const std::vector<int64_t>& whole, const std::vector<int64_t>& shape, const std::vector<int64_t>& begin, Run run) {
  if (product(shape) == 0) return;
  if (shape.empty()) return run(int64_t{0}, int64_t{0});
  const size_t rank = shape.size();
  std::vector<int64_t> index(rank, 0);
  int64_t packed = 0;
  while (true) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d) offset = offset * whole[d] + begin[d] + index[d];
    run(offset, packed);
    packed += shape[rank - 1];
    size_t d = rank - 1;
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

Array slice(const Array& whole, const std::vector<int64_t>& shape, const std::vector<int64_t>& begin) {
  Array part{whole.dtype, shape, std::vector<double>(static_cast<size_t>(product(shape)))};
  const int64_t row = shape.empty() ? 1 : shape.back();
  for_rows(whole.shape, shape, begin,
           [&](int64_t from, int64_t to) { std::copy_n(whole.data.begin() + from, row, part.data.begin() + to); });
  return part;
}

Array concatenate(const std::vector<Array>& parts, size_t dim) {
  Array whole{parts[0].dtype, parts[0].shape, {}};
  whole.shape[dim] = 0;
  for (const Array& part : parts) whole.shape[dim] += part.shape[dim];
  whole.data.resize(static_cast<size_t>(product(whole.shape)));
  std::vector<int64_t> begin(whole.shape.size(), 0);
  for (const Array& part : parts) {
    const int64_t row = part.shape.back();
    for_rows(whole.shape, part.shape, begin,
             [&](int64_t to, int64_t from) { std::copy_n(part.data.begin() + from, row, whole.data.begin() + to); });
    begin[dim] += part.shape[dim];
  }
  return whole;
}

Array stack(const std::vector<Array>& parts, const std::string& name) {
  Array whole{parts[0].dtype, parts[0].shape, {}};
  whole.shape.insert(whole.shape.begin(), static_cast<int64_t>(parts.size()));
  for (const Array& part : parts) {
    DTL_CHECK(part.shape == parts[0].shape, "members hold `%{}` in different shapes", name);
    whole.data.insert(whole.data.end(), part.data.begin(), part.data.end());
  }
  return whole;
}

void check_equal(const std::vector<Array>& parts, const std::string& name) {
  for (const Array& part : parts) {
    DTL_CHECK(part.shape == parts[0].shape, "members hold `%{}` in different shapes", name);
    for (size_t i = 0; i < part.data.size(); ++i) {
      DTL_CHECK(std::bit_cast<uint64_t>(part.data[i]) == std::bit_cast<uint64_t>(parts[0].data[i]),
                "`%{}` is broadcast, yet element {} is {} in one member and {} in another", name, i, parts[0].data[i], part.data[i]);
    }
  }
}

Array join_along(std::vector<Array> parts, const Placement& placement, const std::string& name) {
  switch (placement.kind) {
    case PlacementKind::split:
      return concatenate(parts, static_cast<size_t>(placement.dim));
    case PlacementKind::varying:
      return stack(parts, name);
    case PlacementKind::broadcast:
      check_equal(parts, name);
      return std::move(parts[0]);
    case PlacementKind::partial:
      for (size_t m = 1; m < parts.size(); ++m) {
        for (size_t i = 0; i < parts[0].data.size(); ++i) parts[0].data[i] = combine(placement.op, parts[0].data[i], parts[m].data[i]);
      }
      return std::move(parts[0]);
    case PlacementKind::at:
      DTL_CHECK(false, "the interpreter has no places yet: `%{}`", name);
  }
  __builtin_unreachable();
}

}  // namespace

Members::Members(const Graph& graph, bool placed, const std::map<std::string, int64_t>& dims) {
  if (placed) {
    for (const plan::MeshAxis& axis : graph.strategy.mesh.axes) sizes_.push_back(axis.size);
  }
  coordinates_.emplace_back();
  for (const int64_t size : sizes_) {
    std::vector<std::vector<int64_t>> longer;
    for (const auto& coordinate : coordinates_) {
      for (int64_t k = 0; k < size; ++k) {
        longer.push_back(coordinate);
        longer.back().push_back(k);
      }
    }
    coordinates_ = std::move(longer);
  }
  for (const auto& coordinate : coordinates_) {
    std::map<std::string, int64_t> own = dims;
    for (const auto& [name, size] : dims) {
      int64_t count = size;
      for (size_t axis = 0; axis < sizes_.size() && axis < graph.strategy.batch.size(); ++axis) {
        if (graph.strategy.batch[axis].kind == PlacementKind::split) count = share(count, coordinate[axis], sizes_[axis]).count;
      }
      own.emplace(types::share_of(name), count);
    }
    dims_.push_back(std::move(own));
  }
}

std::vector<std::vector<size_t>> Members::groups(int64_t axis) const {
  std::vector<std::vector<size_t>> groups;
  if (sizes_.empty()) return {{0}};
  DTL_CHECK(axis >= 0 && static_cast<size_t>(axis) < sizes_.size(), "a collective works on mesh axis {} of {}", axis, sizes_.size());
  size_t step = 1;
  for (size_t inner = static_cast<size_t>(axis) + 1; inner < sizes_.size(); ++inner) step *= static_cast<size_t>(sizes_[inner]);
  for (size_t member = 0; member < count(); ++member) {
    if (coordinates_[member][static_cast<size_t>(axis)] != 0) continue;
    std::vector<size_t> group;
    for (size_t k = 0; k < static_cast<size_t>(sizes_[static_cast<size_t>(axis)]); ++k) group.push_back(member + k * step);
    groups.push_back(std::move(group));
  }
  return groups;
}

Part Members::part(const types::TensorType& type, const types::Placements& placements, size_t member) const {
  Part part;
  for (const types::Dim& dim : type.dims) part.shape.push_back(dim.evaluate(dims_[member]));
  part.offset.assign(part.shape.size(), 0);
  for (size_t axis = 0; axis < sizes_.size() && axis < placements.size(); ++axis) {
    if (placements[axis].kind != PlacementKind::split) continue;
    const auto dim = static_cast<size_t>(placements[axis].dim);
    const int64_t unit = type.dims[dim].unit();
    const Share own = share(part.shape[dim] / unit, coordinates_[member][axis], sizes_[axis]);
    part.offset[dim] += own.begin * unit;
    part.shape[dim] = own.count * unit;
  }
  return part;
}

std::vector<Array> Members::cut(const Array& whole, const Value& value) const {
  std::vector<Array> parts;
  for (size_t member = 0; member < count(); ++member) {
    Part part = this->part(value.type, value.placements, member);
    std::vector<int64_t> leading;
    bool neutral = false;
    ReduceOp op = ReduceOp::sum;
    for (size_t axis = 0; axis < sizes_.size(); ++axis) {
      const Placement& placement = value.placements[axis];
      if (placement.kind == PlacementKind::varying) leading.push_back(coordinates_[member][axis]);
      if (placement.kind == PlacementKind::partial && coordinates_[member][axis] > 0) neutral = true, op = placement.op;
    }
    if (neutral) {
      parts.push_back({whole.dtype, part.shape, std::vector<double>(static_cast<size_t>(product(part.shape)), identity_of(op))});
      continue;
    }
    // One entry of the leading axes, which are not part of the type.
    std::vector<int64_t> shape(leading.size(), 1), begin = leading;
    shape.insert(shape.end(), part.shape.begin(), part.shape.end());
    begin.insert(begin.end(), part.offset.begin(), part.offset.end());
    const std::vector<int64_t> expected = this->part(value.type, {}, member).shape;
    bool fits = whole.shape.size() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) {
      fits = d < leading.size() ? begin[d] < whole.shape[d] : whole.shape[d] == expected[d - leading.size()];
    }
    DTL_CHECK(fits, "`%{}` is {}, but an array of shape [{}] is given", value.name, value.type.str(), fmt::join(whole.shape, ", "));
    Array cut = slice(whole, shape, begin);
    cut.shape = part.shape;
    parts.push_back(std::move(cut));
  }
  return parts;
}

Array Members::join(std::vector<Array> parts, const Value& value) const {
  // Innermost axis first: parts that lie side by side are joined before parts of parts.
  for (size_t axis = sizes_.size(); axis-- > 0;) {
    const auto size = static_cast<size_t>(sizes_[axis]);
    // An inner varying axis has put a dimension in front.
    Placement placement = value.placements[axis];
    if (placement.kind == PlacementKind::split && !parts.empty())
      placement.dim += static_cast<int>(parts[0].shape.size() - value.type.rank());
    std::vector<Array> joined;
    for (size_t first = 0; first < parts.size(); first += size) {
      std::vector<Array> group(std::make_move_iterator(parts.begin() + static_cast<std::ptrdiff_t>(first)),
                               std::make_move_iterator(parts.begin() + static_cast<std::ptrdiff_t>(first + size)));
      joined.push_back(join_along(std::move(group), placement, value.name));
    }
    parts = std::move(joined);
  }
  return std::move(parts[0]);
}

}  // namespace dtl::graph
