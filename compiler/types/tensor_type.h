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
  /// Reads what `str` prints.
  static std::optional<TensorType> parse(std::string_view text);
};

/// `[batch, 10]`, and back.
std::string str(const std::vector<Dim>& dims);
std::optional<std::vector<Dim>> parse_dims(std::string_view text);

/// NumPy's rule: aligned from the right, 1 stretches. Nothing where two dimensions differ and neither is 1.
std::optional<std::vector<Dim>> broadcast_dims(const std::vector<Dim>& a, const std::vector<Dim>& b);

}  // namespace dtl::types
