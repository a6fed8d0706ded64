// Fields of examples, and parts of a source.
#include "runtime/data/source.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <numeric>

#include "runtime/plan/fault.h"

namespace dtl::data {
namespace {

class Part : public Source {
 public:
  Part(std::shared_ptr<const Source> source, int64_t begin, int64_t count) : source_(std::move(source)), begin_(begin), count_(count) {}

  int64_t examples() const override { return count_; }
  const std::vector<Field>& fields() const override { return source_->fields(); }
  void finish() const override { source_->finish(); }
  std::string_view text(size_t field, int64_t row) const override { return source_->text(field, row + begin_); }
  std::string place(int64_t row) const override { return source_->place(row + begin_); }
  std::optional<std::pair<int64_t, int64_t>> bounds(size_t field) const override { return source_->bounds(field); }

  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    if (begin_ == 0) return source_->gather(field, rows, to);
    // Shifted in pieces on the stack: gather allocates nothing.
    std::array<int64_t, 128> shifted;
    const int64_t bytes = fields()[field].bytes();
    while (!rows.empty()) {
      const size_t n = std::min(rows.size(), shifted.size());
      for (size_t i = 0; i < n; ++i) shifted[i] = rows[i] + begin_;
      source_->gather(field, {shifted.data(), n}, to);
      rows = rows.subspan(n);
      to += static_cast<int64_t>(n) * bytes;
    }
  }

 private:
  std::shared_ptr<const Source> source_;
  int64_t begin_, count_;
};

void check_count(const Source& source, int64_t count, const char* stage) {
  assert(count >= 0);
  if (count > source.examples()) throw Fault(5109, {std::string(stage), std::to_string(count), std::to_string(source.examples())});
}

}  // namespace

int64_t Field::elements() const {
  int64_t n = 1;
  for (const int64_t dim : shape) n *= dim;
  return n;
}

std::string_view Source::text(size_t /*field*/, int64_t /*row*/) const {
  assert(false && "a source without texts");
  return {};
}

namespace {

template <class T>
std::vector<OutOfRange> elements_out_of_range(const Source& source, size_t field, int64_t size, int64_t most) {
  std::vector<OutOfRange> found;
  const int64_t elements = source.fields()[field].elements();
  if (elements == 0) return found;
  // Pieces of about a quarter of a megabyte.
  const int64_t piece = std::max<int64_t>(1, (1 << 18) / (elements * static_cast<int64_t>(sizeof(T))));
  std::vector<int64_t> rows;
  std::vector<T> values;
  for (int64_t begin = 0; begin < source.examples(); begin += piece) {
    const int64_t n = std::min(piece, source.examples() - begin);
    rows.resize(static_cast<size_t>(n));
    std::iota(rows.begin(), rows.end(), begin);
    values.resize(static_cast<size_t>(n * elements));
    source.gather(field, rows, reinterpret_cast<std::byte*>(values.data()));
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] >= 0 && static_cast<double>(values[i]) <= static_cast<double>(size - 1)) continue;
      const int64_t row = begin + static_cast<int64_t>(i) / elements;
      if (!found.empty() && found.back().row == row) continue;
      if (static_cast<int64_t>(found.size()) == most) return found;
      found.push_back({row, fmt::format("{}", values[i] + T{0})});
    }
  }
  return found;
}

}  // namespace

std::vector<OutOfRange> out_of_range(const Source& source, size_t field, int64_t size, int64_t most) {
  const auto known = source.bounds(field);
  if (known && known->first >= 0 && known->second <= size - 1) return {};
  switch (source.fields()[field].dtype) {
    case DType::i64:
      return elements_out_of_range<int64_t>(source, field, size, most);
    case DType::i32:
      return elements_out_of_range<int32_t>(source, field, size, most);
    case DType::i8:
      return elements_out_of_range<int8_t>(source, field, size, most);
    case DType::u8:
      return elements_out_of_range<uint8_t>(source, field, size, most);
    case DType::f64:
      return elements_out_of_range<double>(source, field, size, most);
    case DType::f32:
      return elements_out_of_range<float>(source, field, size, most);
    case DType::bf16:
    case DType::f16:
    case DType::boolean:
      return {};
  }
  __builtin_unreachable();
}

Fault out_of_range_fault(const Source& source, const OutOfRange& found, const std::string& name, const std::string& use, int64_t size) {
  return {5019, {source.place(found.row), name, found.value, fmt::format("{} from 0 to {}", use, size - 1)}};
}

void check_range(const Source& source, size_t field, const std::string& name, int64_t size) {
  const std::vector<OutOfRange> found = out_of_range(source, field, size, 1);
  if (!found.empty()) throw out_of_range_fault(source, found[0], name, "an index", size);
}

std::string Source::place(int64_t row) const { return fmt::format("example {}", row); }

std::shared_ptr<const Source> take(std::shared_ptr<const Source> source, int64_t count) {
  check_count(*source, count, "take");
  return std::make_shared<Part>(std::move(source), 0, count);
}

std::shared_ptr<const Source> skip(std::shared_ptr<const Source> source, int64_t count) {
  check_count(*source, count, "skip");
  const int64_t rest = source->examples() - count;
  return std::make_shared<Part>(std::move(source), count, rest);
}

}  // namespace dtl::data
