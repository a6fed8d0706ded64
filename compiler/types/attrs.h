// Attributes of a graph node: a small sorted map from names to values known at compile time.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/types/dim.h"
#include "compiler/types/placement.h"
#include "runtime/plan/dtype.h"

namespace dtl::types {

using Ints = std::vector<int64_t>;
using Dims = std::vector<Dim>;
using AttrValue = std::variant<bool, int64_t, double, std::string, Ints, DType, ReduceOp, Dims, Placements>;

/// Names sorted. `{axis = 1, keep = true, name = "x", to = f32, shape = [batch, 10], dims = #[0, 1], op = sum,
/// value = 1.5, placement = split(0)}`: each alternative prints in a form of its own, so text parses back to equal attributes.
/// (Doubles always carry a `.`, an exponent, `inf` or `nan`; Ints print `#[..]`, Dims `[..]`.)
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> values);
  void set(std::string name, AttrValue value);
  const AttrValue* find(std::string_view name) const;
  /// Must be there, of this type.
  template <class T>
  const T& get(std::string_view name) const {
    return std::get<T>(*find(name));
  }
  template <class T>
  T get_or(std::string_view name, T otherwise) const {
    const AttrValue* value = find(name);
    return value ? std::get<T>(*value) : otherwise;
  }
  bool empty() const { return values_.empty(); }
  const std::vector<std::pair<std::string, AttrValue>>& values() const { return values_; }
  bool operator==(const Attrs&) const = default;
  std::string str() const;
  static std::optional<Attrs> parse(std::string_view text);

 private:
  std::vector<std::pair<std::string, AttrValue>> values_;
};

}  // namespace dtl::types
