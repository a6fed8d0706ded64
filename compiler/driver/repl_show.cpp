// Elements to text, rows to lines.
#include "compiler/driver/repl_show.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace dtl::driver {
namespace {

constexpr int64_t kWhole = 1000;  // elements that are shown without leaving any out
constexpr int64_t kEdge = 3;

template <class T>
T at(std::span<const std::byte> bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

double half(uint16_t bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent == 31) return fraction ? std::nan("") : sign * HUGE_VAL;
  return exponent == 0 ? sign * std::ldexp(fraction, -24) : sign * std::ldexp(1024 + fraction, exponent - 25);
}

std::string number(double value) { return std::isnan(value) ? "nan" : fmt::format("{:.5g}", value); }

std::string element(DType dtype, std::span<const std::byte> bytes, int64_t index) {
  switch (dtype) {
    case DType::f64:
      return number(at<double>(bytes, index));
    case DType::f32:
      return number(at<float>(bytes, index));
    case DType::bf16:
      return number(std::bit_cast<float>(static_cast<uint32_t>(at<uint16_t>(bytes, index)) << 16));
    case DType::f16:
      return number(half(at<uint16_t>(bytes, index)));
    case DType::i64:
      return std::to_string(at<int64_t>(bytes, index));
    case DType::i32:
      return std::to_string(at<int32_t>(bytes, index));
    case DType::i8:
      return std::to_string(at<int8_t>(bytes, index));
    case DType::u8:
      return std::to_string(at<uint8_t>(bytes, index));
    case DType::boolean:
      return at<uint8_t>(bytes, index) ? "true" : "false";
  }
  return {};
}

class Shower {
 public:
  Shower(DType dtype, const std::vector<int64_t>& shape, std::span<const std::byte> bytes) : dtype_(dtype), shape_(shape), bytes_(bytes) {
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    shortened_ = elements > kWhole;
    if (elements == 0) return;
    // Columns align: as wide as the widest element shown.
    visit(0, 0, [&](int64_t index) { width_ = std::max(width_, element(dtype_, bytes_, index).size()); });
  }

  std::string run() {
    rows(0, 0);
    return std::move(text_);
  }

 private:
  template <class F>
  void visit(size_t dim, int64_t index, const F& f) const {
    if (dim == shape_.size()) return f(index);
    each(dim, [&](int64_t i) {
      if (i >= 0) visit(dim + 1, index * shape_[dim] + i, f);
    });
  }

  /// The places shown along a dimension; −1: some are left out here.
  template <class F>
  void each(size_t dim, const F& f) const {
    const int64_t size = shape_[dim];
    for (int64_t i = 0; i < size; ++i) {
      if (shortened_ && size > 2 * kEdge && i == kEdge) {
        f(-1);
        i = size - kEdge;
      }
      f(i);
    }
  }

  void rows(size_t dim, int64_t index) {
    if (dim == shape_.size()) {
      text_ += shape_.empty() ? element(dtype_, bytes_, index) : fmt::format("{:>{}}", element(dtype_, bytes_, index), width_);
      return;
    }
    text_ += '[';
    bool first = true;
    each(dim, [&](int64_t i) {
      if (!first) {
        text_ += ',';
        // The last dimension lies along a line.
        text_ += dim + 1 == shape_.size() ? std::string(" ") : std::string(shape_.size() - dim - 1, '\n') + std::string(dim + 1, ' ');
      }
      first = false;
      if (i < 0) {
        text_ += "…";
      } else {
        rows(dim + 1, index * shape_[dim] + i);
      }
    });
    text_ += ']';
  }

  DType dtype_;
  const std::vector<int64_t>& shape_;
  std::span<const std::byte> bytes_;
  bool shortened_ = false;
  size_t width_ = 0;
  std::string text_;
};

}  // namespace

std::string show_tensor(DType dtype, const std::vector<int64_t>& shape, std::span<const std::byte> bytes) {
  return Shower(dtype, shape, bytes).run();
}

}  // namespace dtl::driver
