// Rows of the extent table.
#include "compiler/transform/locals.h"

#include "compiler/transform/pass.h"
#include "runtime/plan/slice.h"

namespace dtl::transform {

using plan::Extent;
using plan::ExtentKind;
using types::Dim;

Locals::Locals(const graph::Graph& graph, plan::Plan& plan) : graph_(graph), plan_(plan) {
  for (const auto& [name, bound] : graph.bounds) row(name, ExtentKind::global, bound);
}

int32_t Locals::row(const std::string& name, ExtentKind kind, int64_t bound, int32_t of, int32_t axis, int32_t by) {
  const auto [at, added] = rows_.emplace(name, static_cast<int32_t>(plan_.extents.size()));
  if (added) plan_.extents.push_back({name, kind, bound, of, axis, by});
  return at->second;
}

/// This member's share, or its begin, of `dim` along a mesh axis.
Extent Locals::part(const Dim& dim, int32_t axis, ExtentKind kind) {
  const plan::MeshAxis& mesh_axis = plan_.mesh[static_cast<size_t>(axis)];
  Extent units = extent(dim);
  if (units.slot < 0) units = {1, row(dim.str(), ExtentKind::fixed, units.scale)};
  const int32_t of = units.slot;
  const plan::ExtentEntry whole = plan_.extents[static_cast<size_t>(of)];
  const std::string name = whole.name + "/" + mesh_axis.name;
  const plan::Slice first = plan::share_of_rank(whole.bound, 0, mesh_axis.size),
                    last = plan::share_of_rank(whole.bound, mesh_axis.size - 1, mesh_axis.size);
  const int32_t own =
      kind == ExtentKind::share ? row(name, kind, first.count(), of, axis) : row(name + ".begin", kind, last.begin, of, axis);
  return {units.scale, own};
}

/// The member's part of `dim`, as a dimension over the name of its row.
Dim Locals::shared(const Dim& dim, size_t axis) {
  const Extent own = part(dim, static_cast<int32_t>(axis), ExtentKind::share);
  return Dim(own.scale) * Dim::symbol(plan_.extents[static_cast<size_t>(own.slot)].name);
}

Extent Locals::extent(const Dim& dim) {
  if (const auto size = dim.constant()) return {*size, -1};
  const auto& terms = dim.terms();
  if (terms.size() != 1)
    throw PlaceError{{}, fmt::format("a plan cannot hold the size {}: only names and numbers that are multiplied", dim.str())};
  if (terms[0].first.size() > 1) {
    std::vector<Extent> factors = {{terms[0].second, -1}};
    for (const std::string& symbol : terms[0].first) factors.push_back(extent(Dim::symbol(symbol)));
    return product(factors);
  }
  const std::string& symbol = terms[0].first[0];
  if (const auto at = rows_.find(symbol); at != rows_.end()) return {terms[0].second, at->second};
  // `batch/share`: what a replica has of the batch inside per_replica.
  for (const auto& [name, bound] : graph_.bounds) {
    if (types::share_of(name) != symbol) continue;
    Dim part_dim = Dim::symbol(name);
    for (size_t axis = 0; axis < graph_.strategy.batch.size(); ++axis) {
      if (graph_.strategy.batch[axis].kind != types::PlacementKind::split || plan_.mesh[axis].size == 1) continue;
      part_dim = shared(part_dim, axis);
    }
    return {terms[0].second, extent(part_dim).slot};
  }
  throw PlaceError{{}, fmt::format("the size {} is not known when a step starts", dim.str())};
}

types::TensorType Locals::type(const graph::Value& value) {
  types::TensorType type = value.type;
  for (size_t axis = 0; axis < value.placements.size(); ++axis) {
    const types::Placement& placement = value.placements[axis];
    if (placement.kind != types::PlacementKind::split || plan_.mesh[axis].size == 1) continue;
    Dim& dim = type.dims[static_cast<size_t>(placement.dim)];
    dim = shared(dim, axis);
  }
  return type;
}

std::vector<Extent> Locals::dims(const graph::Value& value) {
  std::vector<Extent> result;
  for (const Dim& dim : type(value).dims) result.push_back(extent(dim));
  return result;
}

std::optional<Extent> Locals::begin(const graph::Value& value, size_t dim) {
  std::optional<Extent> result;
  for (size_t axis = 0; axis < value.placements.size(); ++axis) {
    const auto next = begin_along(value, dim, axis);
    if (!next) continue;
    if (!result) {
      result = next;
      continue;
    }
    // Both count units of the dimension: a part of a part.
    const plan::ExtentEntry a = plan_.extents[static_cast<size_t>(result->slot)], b = plan_.extents[static_cast<size_t>(next->slot)];
    result->slot = row(a.name + "+" + b.name, ExtentKind::sum, a.bound + b.bound, result->slot, -1, next->slot);
  }
  return result;
}

std::optional<Extent> Locals::begin_along(const graph::Value& value, size_t dim, size_t axis) {
  const auto splits = [&](size_t at) {
    const types::Placement& placement = value.placements[at];
    return placement.kind == types::PlacementKind::split && static_cast<size_t>(placement.dim) == dim && plan_.mesh[at].size > 1;
  };
  if (!splits(axis)) return std::nullopt;
  Dim left = value.type.dims[dim];
  for (size_t outer = 0; outer < axis; ++outer) {
    if (splits(outer)) left = shared(left, outer);
  }
  return part(left, static_cast<int32_t>(axis), ExtentKind::begin);
}

int64_t Locals::bound(Extent extent) const {
  return extent.slot < 0 ? extent.scale : extent.scale * plan_.extents[static_cast<size_t>(extent.slot)].bound;
}

int64_t Locals::elements_bound(const std::vector<Extent>& dims) const {
  int64_t elements = 1;
  for (const Extent& dim : dims) elements *= bound(dim);
  return elements;
}

int64_t Locals::bytes_bound(const std::vector<Extent>& dims, DType dtype, const std::string& name) const {
  constexpr double kMost = 0x1p46;  // 64 TB: offsets of many such buffers still fit
  double bytes = static_cast<double>(size_of(dtype));
  for (const Extent& dim : dims) bytes *= static_cast<double>(bound(dim));
  if (bytes > kMost) throw PlaceError{{}, fmt::format("`{}` would take {:.0f} TB of memory", name, bytes / 1e12)};
  return static_cast<int64_t>(bytes);
}

Extent Locals::product(const std::vector<Extent>& dims) {
  Extent result;
  for (const Extent& dim : dims) {
    int32_t slot = std::max(result.slot, dim.slot);
    if (dim.slot >= 0 && result.slot >= 0) {
      const plan::ExtentEntry a = plan_.extents[static_cast<size_t>(result.slot)], b = plan_.extents[static_cast<size_t>(dim.slot)];
      slot = row(a.name + "*" + b.name, ExtentKind::product, a.bound * b.bound, result.slot, -1, dim.slot);
    }
    result = {result.scale * dim.scale, slot};
  }
  return result;
}

}  // namespace dtl::transform
