// Columns gathered one by one, and put side by side.
#include "runtime/data/stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "runtime/plan/fault.h"

namespace dtl::data {
namespace {

void add_names(const std::string& name, const std::vector<int64_t>& shape, size_t dim, std::vector<std::string>& to) {
  if (dim == shape.size()) {
    to.push_back(name);
    return;
  }
  for (int64_t i = 0; i < shape[dim]; ++i) add_names(fmt::format("{}_{}", name, i), shape, dim + 1, to);
}

class Stacked final : public Source {
 public:
  Stacked(std::shared_ptr<const Source> source, const std::vector<Field>& wanted, const std::string& path,
          const std::vector<std::string>& others)
      : source_(std::move(source)), fields_(wanted) {
    const std::vector<Field>& all = source_->fields();
    std::string there;
    for (const Field& field : all) there += (there.empty() ? "`" : ", `") + field.name + "`";
    for (const std::string& other : others) there += (there.empty() ? "`" : ", `") + other + "`";
    for (const Field& field : fields_) {
      std::vector<size_t>& columns = columns_.emplace_back();
      for (const std::string& name : column_names(field)) {
        const auto at = std::find_if(all.begin(), all.end(), [&](const Field& f) { return f.name == name; });
        if (at == all.end()) throw Fault(6121, {path, "`" + name + "`", there.empty() ? "" : "; it has " + there});
        assert(at->text == field.text && at->shape.empty() && (field.text || at->dtype == field.dtype));
        columns.push_back(static_cast<size_t>(at - all.begin()));
      }
    }
  }

  int64_t examples() const override { return source_->examples(); }
  const std::vector<Field>& fields() const override { return fields_; }
  void finish() const override { source_->finish(); }
  std::string_view text(size_t field, int64_t row) const override { return source_->text(columns_[field][0], row); }
  std::string place(int64_t row) const override { return source_->place(row); }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    if (fields_[field].shape.empty()) return source_->gather(columns_[field][0], rows, to);
    for (const int64_t row : rows) {
      for (const size_t column : columns_[field]) {
        source_->gather(column, std::span(&row, 1), to);
        to += size_of(fields_[field].dtype);
      }
    }
  }

 private:
  std::shared_ptr<const Source> source_;
  std::vector<Field> fields_;
  std::vector<std::vector<size_t>> columns_;
};

}  // namespace

std::vector<std::string> column_names(const Field& field) {
  std::vector<std::string> names;
  add_names(field.name, field.shape, 0, names);
  return names;
}

std::shared_ptr<const Source> stack_columns(std::shared_ptr<const Source> source, const std::vector<Field>& wanted, const std::string& path,
                                            const std::vector<std::string>& others) {
  return std::make_shared<Stacked>(std::move(source), wanted, path, others);
}

}  // namespace dtl::data
