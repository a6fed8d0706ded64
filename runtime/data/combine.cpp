// Sources made of sources: each maps its rows to rows of those below, in pieces on the stack, as gather allocates nothing.
#include "runtime/data/combine.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <cstring>
#include <set>

#include "runtime/data/order.h"
#include "runtime/plan/fault.h"

namespace dtl::data {
namespace {

using Shared = std::shared_ptr<const Source>;

/// Calls `gather` with mapped rows, piece by piece.
template <class Map, class Gather>
void in_pieces(std::span<const int64_t> rows, const Map& map, const Gather& gather) {
  std::array<int64_t, 128> mapped;
  for (size_t begin = 0; begin < rows.size(); begin += mapped.size()) {
    const size_t n = std::min(rows.size() - begin, mapped.size());
    for (size_t i = 0; i < n; ++i) mapped[i] = map(rows[begin + i]);
    gather(std::span<const int64_t>(mapped.data(), n), begin);
  }
}

class Chosen : public Source {
 public:
  Chosen(Shared source, std::vector<int64_t> rows) : source_(std::move(source)), rows_(std::move(rows)) {}

  int64_t examples() const override { return static_cast<int64_t>(rows_.size()); }
  const std::vector<Field>& fields() const override { return source_->fields(); }
  void finish() const override { source_->finish(); }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    const int64_t bytes = fields()[field].bytes();
    in_pieces(
        rows, [&](int64_t row) { return rows_[static_cast<size_t>(row)]; },
        [&](std::span<const int64_t> mapped, size_t begin) { source_->gather(field, mapped, to + static_cast<int64_t>(begin) * bytes); });
  }
  std::string_view text(size_t field, int64_t row) const override { return source_->text(field, rows_[static_cast<size_t>(row)]); }
  std::string place(int64_t row) const override { return source_->place(rows_[static_cast<size_t>(row)]); }
  std::optional<std::pair<int64_t, int64_t>> bounds(size_t field) const override { return source_->bounds(field); }

 private:
  Shared source_;
  std::vector<int64_t> rows_;
};

class Concat : public Source {
 public:
  explicit Concat(std::vector<Shared> sources) : sources_(std::move(sources)) {
    for (const Shared& source : sources_) {
      starts_.push_back(examples_);
      examples_ += source->examples();
    }
  }

  int64_t examples() const override { return examples_; }
  const std::vector<Field>& fields() const override { return sources_[0]->fields(); }
  void finish() const override {
    for (const Shared& source : sources_) source->finish();
  }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    const int64_t bytes = fields()[field].bytes();
    // Runs of rows of one source go together.
    for (size_t begin = 0; begin < rows.size();) {
      const size_t source = source_of(rows[begin]);
      size_t end = begin + 1;
      while (end < rows.size() && source_of(rows[end]) == source) ++end;
      in_pieces(
          rows.subspan(begin, end - begin), [&](int64_t row) { return row - starts_[source]; },
          [&](std::span<const int64_t> mapped, size_t at) {
            sources_[source]->gather(field, mapped, to + static_cast<int64_t>(begin + at) * bytes);
          });
      begin = end;
    }
  }
  std::string_view text(size_t field, int64_t row) const override {
    const size_t source = source_of(row);
    return sources_[source]->text(field, row - starts_[source]);
  }
  std::string place(int64_t row) const override {
    const size_t source = source_of(row);
    return sources_[source]->place(row - starts_[source]);
  }

 private:
  size_t source_of(int64_t row) const {
    return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), row) - starts_.begin()) - 1;
  }

  std::vector<Shared> sources_;
  std::vector<int64_t> starts_;
  int64_t examples_ = 0;
};

class Zip : public Source {
 public:
  explicit Zip(std::vector<Shared> sources) : sources_(std::move(sources)) {
    for (size_t i = 0; i < sources_.size(); ++i) {
      for (size_t j = 0; j < sources_[i]->fields().size(); ++j) {
        fields_.push_back(sources_[i]->fields()[j]);
        from_.push_back({i, j});
      }
    }
  }

  int64_t examples() const override { return sources_[0]->examples(); }
  const std::vector<Field>& fields() const override { return fields_; }
  void finish() const override {
    for (const Shared& source : sources_) source->finish();
  }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    sources_[from_[field].first]->gather(from_[field].second, rows, to);
  }
  std::string_view text(size_t field, int64_t row) const override { return sources_[from_[field].first]->text(from_[field].second, row); }
  std::string place(int64_t row) const override { return sources_[0]->place(row); }
  std::optional<std::pair<int64_t, int64_t>> bounds(size_t field) const override {
    return sources_[from_[field].first]->bounds(from_[field].second);
  }

 private:
  std::vector<Shared> sources_;
  std::vector<Field> fields_;
  std::vector<std::pair<size_t, size_t>> from_;  ///< source and field
};

class Joined : public Source {
 public:
  static constexpr int64_t kMostIndices = 1024;  ///< of one row: they are read onto the stack

  Joined(Shared source, Shared table, Shared at)
      : source_(std::move(source)), table_(std::move(table)), at_(std::move(at)), fields_(source_->fields()) {
    const std::vector<int64_t>& shape = at_->fields()[0].shape;
    for (Field field : table_->fields()) {
      field.shape.insert(field.shape.begin(), shape.begin(), shape.end());
      fields_.push_back(std::move(field));
    }
  }

  int64_t examples() const override { return source_->examples(); }
  const std::vector<Field>& fields() const override { return fields_; }
  void finish() const override {
    source_->finish();
    table_->finish();
    at_->finish();
    check_range(*at_, 0, "at", table_->examples());
  }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    const size_t own = source_->fields().size();
    if (field < own) return source_->gather(field, rows, to);
    const Field& index = at_->fields()[0];
    const auto each = static_cast<size_t>(index.elements());
    if (each == 0) return;
    std::array<std::byte, kMostIndices * 8> read;
    std::array<int64_t, kMostIndices> mapped;
    const size_t most = kMostIndices / each;
    for (size_t begin = 0; begin < rows.size(); begin += most) {
      const size_t n = std::min(rows.size() - begin, most);
      at_->gather(0, rows.subspan(begin, n), read.data());
      for (size_t i = 0; i < n * each; ++i) mapped[i] = number(index.dtype, read.data(), i);
      table_->gather(field - own, {mapped.data(), n * each}, to);
      to += static_cast<int64_t>(n) * fields_[field].bytes();
    }
  }
  std::string_view text(size_t field, int64_t row) const override { return source_->text(field, row); }
  std::string place(int64_t row) const override { return source_->place(row); }
  std::optional<std::pair<int64_t, int64_t>> bounds(size_t field) const override {
    const size_t own = source_->fields().size();
    return field < own ? source_->bounds(field) : table_->bounds(field - own);
  }

 private:
  template <class T>
  static int64_t element(const std::byte* from, size_t i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    return static_cast<int64_t>(value);
  }
  static int64_t number(DType dtype, const std::byte* from, size_t i) {
    if (dtype == DType::i64) return element<int64_t>(from, i);
    if (dtype == DType::i32) return element<int32_t>(from, i);
    return dtype == DType::i8 ? element<int8_t>(from, i) : element<uint8_t>(from, i);
  }

  Shared source_, table_, at_;
  std::vector<Field> fields_;
};

class Windows : public Source {
 public:
  Windows(Shared source, int64_t size, int64_t stride)
      : source_(std::move(source)), size_(size), stride_(stride), fields_(source_->fields()) {
    for (Field& field : fields_) field.shape.insert(field.shape.begin(), size);
    const int64_t rows = source_->examples();
    examples_ = rows < size ? 0 : (rows - size) / stride + 1;
  }

  int64_t examples() const override { return examples_; }
  const std::vector<Field>& fields() const override { return fields_; }
  void finish() const override { source_->finish(); }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    const int64_t bytes = source_->fields()[field].bytes();
    std::array<int64_t, 128> mapped;
    for (const int64_t row : rows) {
      for (int64_t done = 0; done < size_;) {
        const auto n = static_cast<size_t>(std::min<int64_t>(size_ - done, mapped.size()));
        for (size_t i = 0; i < n; ++i) mapped[i] = row * stride_ + done + static_cast<int64_t>(i);
        source_->gather(field, {mapped.data(), n}, to);
        done += static_cast<int64_t>(n);
        to += static_cast<int64_t>(n) * bytes;
      }
    }
  }
  std::string place(int64_t row) const override { return "the window from " + source_->place(row * stride_); }
  std::optional<std::pair<int64_t, int64_t>> bounds(size_t field) const override { return source_->bounds(field); }

 private:
  Shared source_;
  int64_t size_, stride_, examples_ = 0;
  std::vector<Field> fields_;
};

}  // namespace

Shared where(Shared source, const RowExpression& predicate) {
  source->finish();
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < source->examples(); ++row) {
    if (evaluate(predicate, *source, row) != 0) rows.push_back(row);
  }
  return std::make_shared<Chosen>(std::move(source), std::move(rows));
}

Shared without(Shared source, std::span<const int64_t> rows) {
  std::vector<int64_t> left;
  for (int64_t row = 0; row < source->examples(); ++row) {
    if (!rows.empty() && rows.front() == row) {
      rows = rows.subspan(1);
    } else {
      left.push_back(row);
    }
  }
  return std::make_shared<Chosen>(std::move(source), std::move(left));
}

Shared shuffled(Shared source, uint64_t seed) {
  Order order(source->examples(), -1, seed);
  const std::span<const int64_t> rows = order.epoch(0);
  return std::make_shared<Chosen>(std::move(source), std::vector<int64_t>(rows.begin(), rows.end()));
}

Shared concat(std::vector<Shared> sources) {
  assert(!sources.empty());
  const std::vector<Field>& first = sources[0]->fields();
  for (const Shared& source : sources) {
    const std::vector<Field>& fields = source->fields();
    if (fields.size() != first.size()) throw Fault(5115, {fmt::format("{} fields and {}", first.size(), fields.size())});
    for (size_t i = 0; i < first.size(); ++i) {
      const Field &a = first[i], &b = fields[i];
      if (a.name != b.name) throw Fault(5115, {fmt::format("`{}` and `{}`", a.name, b.name)});
      if (a.text != b.text || (!a.text && (a.dtype != b.dtype || a.shape != b.shape))) {
        const auto shown = [](const Field& f) {
          return f.text ? std::string("text") : fmt::format("{}[{}]", name_of(f.dtype), fmt::join(f.shape, ", "));
        };
        throw Fault(5115,
                    {fmt::format("{} is {} and {}", a.name.empty() ? fmt::format("field {}", i) : "`" + a.name + "`", shown(a), shown(b))});
      }
    }
  }
  return sources.size() == 1 ? sources[0] : std::make_shared<Concat>(std::move(sources));
}

Shared zip(std::vector<Shared> sources) {
  assert(!sources.empty());
  std::set<std::string> names;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i]->examples() != sources[0]->examples()) {
      throw Fault(5009, {"zip, source 1", std::to_string(sources[0]->examples()), fmt::format("zip, source {}", i + 1),
                         std::to_string(sources[i]->examples())});
    }
    for (const Field& field : sources[i]->fields()) {
      if (!field.name.empty() && !names.insert(field.name).second) throw Fault(5024, {"zip", field.name});
    }
  }
  return std::make_shared<Zip>(std::move(sources));
}

Shared join(Shared source, Shared table, Shared at) {
  if (at->examples() != source->examples())
    throw Fault(5009, {"join", std::to_string(source->examples()), "its `at`", std::to_string(at->examples())});
  const std::vector<Field>& indices = at->fields();
  if (indices.size() != 1 || indices[0].text || !is_integer(indices[0].dtype)) throw Fault(5116, {"join", "`at` is one field of integers"});
  if (indices[0].elements() > Joined::kMostIndices)
    throw Fault(5116,
                {"join", fmt::format("each row of `at` has {} indices, and {} is the most", indices[0].elements(), Joined::kMostIndices)});
  for (const Field& field : table->fields()) {
    if (field.text) throw Fault(5116, {"join", "the joined table has texts"});
    for (const Field& other : source->fields()) {
      if (!field.name.empty() && field.name == other.name) throw Fault(5024, {"join", field.name});
    }
  }
  return std::make_shared<Joined>(std::move(source), std::move(table), std::move(at));
}

Shared windows(Shared source, int64_t size, int64_t stride) {
  assert(size > 0 && stride > 0);
  for (const Field& field : source->fields()) {
    if (field.text) throw Fault(5116, {"windows", "it has texts, which `encode(vocabulary)` makes numbers of first"});
  }
  return std::make_shared<Windows>(std::move(source), size, stride);
}

Shared stored(const Source& source, const Cache& cache, const std::string& key) {
  return cache.get(key, [&](const std::string& keep_as) {
    source.finish();
    const int64_t rows = source.examples();
    TableWriter writer(cache.folder());
    for (size_t i = 0; i < source.fields().size(); ++i) {
      int64_t text = 0;
      if (source.fields()[i].text) {
        for (int64_t row = 0; row < rows; ++row) text += static_cast<int64_t>(source.text(i, row).size());
      }
      writer.add(source.fields()[i], rows, text);
    }
    writer.begin();
    for (size_t i = 0; i < source.fields().size(); ++i) {
      for (int64_t row = 0; row < rows; ++row) {
        if (source.fields()[i].text) {
          writer.put_text(i, row, source.text(i, row));
        } else {
          source.gather(i, {&row, 1}, writer.cell(i, row));
        }
      }
    }
    return writer.finish(rows, {}, keep_as, key);
  });
}

}  // namespace dtl::data
