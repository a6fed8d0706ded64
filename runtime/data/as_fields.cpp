// Fields chosen and converted as they are gathered.
#include "runtime/data/as_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "runtime/plan/fault.h"

namespace dtl::data {
namespace {

bool widens(DType dtype) { return dtype == DType::f64 || dtype == DType::f32; }

bool convertible(DType from, DType to) {
  if (from == to) return true;
  if (widens(from)) return widens(to);
  return is_integer(from) && (is_integer(to) || widens(to));
}

/// `f(T{})` with the type of the elements; only of those that are converted.
template <class F>
void with_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::f64:
      return f(double{});
    case DType::f32:
      return f(float{});
    case DType::i64:
      return f(int64_t{});
    case DType::i32:
      return f(int32_t{});
    case DType::i8:
      return f(int8_t{});
    case DType::u8:
      return f(uint8_t{});
    case DType::bf16:
    case DType::f16:
    case DType::boolean:
      return;
  }
}

void convert(DType from, const std::byte* at, int64_t count, DType to, std::byte* into) {
  with_type(from, [&](auto before) {
    with_type(to, [&](auto after) {
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(&before, at + i * static_cast<int64_t>(sizeof before), sizeof before);
        after = static_cast<decltype(after)>(before);
        std::memcpy(into + i * static_cast<int64_t>(sizeof after), &after, sizeof after);
      }
    });
  });
}

std::string shown(const Field& field) {
  return field.text ? "text" : fmt::format("{}[{}]", name_of(field.dtype), fmt::join(field.shape, ", "));
}

class AsFields final : public Source {
 public:
  AsFields(std::shared_ptr<const Source> source, const std::vector<Field>& wanted, const std::string& path)
      : source_(std::move(source)), fields_(wanted) {
    std::vector<std::string> there;
    for (const Field& field : source_->fields()) there.push_back("`" + field.name + "`");
    for (const Field& field : fields_) {
      const std::vector<Field>& all = source_->fields();
      const bool unnamed = all.size() == 1 && all[0].name.empty();
      if (unnamed && fields_.size() > 1) throw Fault(6121, {path, wanted_names(), " (an `.npz` archive holds several)"});
      const auto at = unnamed ? all.begin() : std::find_if(all.begin(), all.end(), [&](const Field& f) { return f.name == field.name; });
      if (at == all.end()) throw Fault(6121, {path, "`" + field.name + "`", fmt::format("; it has {}", fmt::join(there, ", "))});
      const bool fits = at->text == field.text && (field.text || (at->shape == field.shape && convertible(at->dtype, field.dtype)));
      if (!fits) throw Fault(6122, {field.name, path, shown(*at), shown(field)});
      from_.push_back(static_cast<size_t>(at - all.begin()));
      if (!field.text && is_integer(at->dtype) && is_integer(field.dtype) && at->dtype != field.dtype)
        check_numbers(from_.size() - 1, path);
    }
  }

  int64_t examples() const override { return source_->examples(); }
  const std::vector<Field>& fields() const override { return fields_; }
  void finish() const override { source_->finish(); }
  std::string_view text(size_t field, int64_t row) const override { return source_->text(from_[field], row); }
  std::string place(int64_t row) const override { return source_->place(row); }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    const Field& from = before(field);
    if (from.dtype == fields_[field].dtype) return source_->gather(from_[field], rows, to);
    thread_local std::vector<std::byte> buffer;  // grows to one row of the widest field
    buffer.resize(std::max(buffer.size(), static_cast<size_t>(from.bytes())));
    for (const int64_t row : rows) {
      source_->gather(from_[field], std::span(&row, 1), buffer.data());
      convert(from.dtype, buffer.data(), from.elements(), fields_[field].dtype, to);
      to += fields_[field].bytes();
    }
  }

 private:
  const Field& before(size_t field) const { return source_->fields()[from_[field]]; }
  std::string wanted_names() const {
    std::string names;
    for (const Field& field : fields_) names += (names.empty() ? "`" : ", `") + field.name + "`";
    return names;
  }
  void check_numbers(size_t field, const std::string& path) const {
    const Field& from = before(field);
    std::vector<std::byte> row(static_cast<size_t>(from.bytes())), wide(static_cast<size_t>(from.elements()) * sizeof(int64_t));
    with_type(fields_[field].dtype, [&](auto type) {
      using Limits = std::numeric_limits<decltype(type)>;
      if constexpr (Limits::is_integer) {
        for (int64_t i = 0; i < examples(); ++i) {
          source_->gather(from_[field], std::span(&i, 1), row.data());
          convert(from.dtype, row.data(), from.elements(), DType::i64, wide.data());
          for (int64_t k = 0; k < from.elements(); ++k) {
            int64_t number = 0;
            std::memcpy(&number, &wide[static_cast<size_t>(k) * sizeof number], sizeof number);
            if (number < int64_t{Limits::min()} || number > int64_t{Limits::max()})
              throw Fault(6122, {fields_[field].name, path, fmt::format("{} in {}", number, place(i)), shown(fields_[field])});
          }
        }
      }
    });
  }

  std::shared_ptr<const Source> source_;
  std::vector<Field> fields_;
  std::vector<size_t> from_;
};

}  // namespace

std::shared_ptr<const Source> as_fields(std::shared_ptr<const Source> source, const std::vector<Field>& wanted, const std::string& path) {
  source->finish();
  return std::make_shared<AsFields>(std::move(source), wanted, path);
}

}  // namespace dtl::data
