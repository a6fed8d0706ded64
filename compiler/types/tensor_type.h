// The type of a tensor: element type and dimensions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/types/dim.h"
#include "runtime/plan/dtype.h"

namespace dtl::types {

struct TensorType {
  DType dtype = DType::f32;
  std::vector<Dim> dims;

  size_t rank() const { return dims.size(); }
  Dim elements() const;
  bool operator==(const TensorType&) const = default;
  /// `f32[batch, 10]`, `i64[]`.
  std::string str() const;
};

/// NumPy's rule: aligned from the right, 1 stretches. Nothing where two dimensions differ and neither is 1.
std::optional<std::vector<Dim>> broadcast_dims(const std::vector<Dim>& a, const std::vector<Dim>& b);

}  // namespace dtl::types
