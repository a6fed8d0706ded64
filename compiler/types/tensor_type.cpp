// Printing, parsing and broadcasting of tensor types.
#include "compiler/types/tensor_type.h"

#include <algorithm>

#include "compiler/types/scan.h"

namespace dtl::types {

Dim TensorType::elements() const {
  Dim product(1);
  for (const Dim& dim : dims) product = product * dim;
  return product;
}

std::string TensorType::str() const { return std::string(name_of(dtype)) + types::str(dims); }

std::optional<TensorType> TensorType::parse(std::string_view text) {
  text = trim(text);
  const size_t bracket = text.find('[');
  if (bracket == std::string_view::npos) return std::nullopt;
  const auto dtype = parse_dtype(text.substr(0, bracket));
  auto dims = parse_dims(text.substr(bracket));
  if (!dtype || !dims) return std::nullopt;
  return TensorType{*dtype, std::move(*dims)};
}

std::string str(const std::vector<Dim>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + dims[i].str();
  return text + "]";
}

std::optional<std::vector<Dim>> parse_dims(std::string_view text) {
  const auto content = inside(text, '[', ']');
  if (!content) return std::nullopt;
  const auto parts = split_outside(*content, ',');
  if (!parts) return std::nullopt;
  std::vector<Dim> dims;
  for (const std::string_view part : *parts) {
    auto dim = Dim::parse(part);
    if (!dim) return std::nullopt;
    dims.push_back(std::move(*dim));
  }
  return dims;
}

std::optional<std::vector<Dim>> broadcast_dims(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  const size_t rank = std::max(a.size(), b.size());
  std::vector<Dim> dims(rank);
  const Dim one(1);
  for (size_t back = 1; back <= rank; ++back) {
    const Dim& left = back <= a.size() ? a[a.size() - back] : one;
    const Dim& right = back <= b.size() ? b[b.size() - back] : one;
    if (left != right && left != one && right != one) return std::nullopt;
    dims[rank - back] = left == one ? right : left;
  }
  return dims;
}

}  // namespace dtl::types
