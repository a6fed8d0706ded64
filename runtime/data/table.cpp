// Tables to files and back.
#include "runtime/data/table.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>
#include <filesystem>

#include "runtime/plan/fault.h"

namespace dtl::data {
namespace {

constexpr char kMagic[9] = "dtltab03";
constexpr int64_t kTrailer = 24;
/// Above this only the description is checked when a file is opened: reading all of it would take longer than it saves.
constexpr int64_t kChecked = int64_t{256} << 20;
/// Smaller tables are made as fast as they are read.
constexpr int64_t kWorthKeeping = 1 << 16;

int64_t aligned(int64_t at) { return (at + 63) / 64 * 64; }

/// Numbers and strings, one after another.
class Describer {
 public:
  void number(int64_t value) { text_.append(reinterpret_cast<const char*>(&value), 8); }
  void string(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    text_ += value;
  }
  void strings(const std::vector<std::string>& values) {
    number(static_cast<int64_t>(values.size()));
    for (const std::string& value : values) string(value);
  }
  void numbers(const std::vector<int64_t>& values) {
    number(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) number(value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Reads what a Describer wrote; `good` turns false at the first thing that cannot be.
class Described {
 public:
  explicit Described(std::string_view text) : text_(text) {}
  bool good = true;

  int64_t number() {
    int64_t value = 0;
    if (text_.size() - at_ < 8) {
      good = false;
      return 0;
    }
    std::memcpy(&value, text_.data() + at_, 8);
    at_ += 8;
    return value;
  }
  int64_t count() {
    const int64_t n = number();
    if (n < 0 || n > static_cast<int64_t>(text_.size())) good = false;
    return good ? n : 0;
  }
  std::string string() {
    const auto n = static_cast<size_t>(count());
    if (n > text_.size() - at_) {
      good = false;
      return {};
    }
    at_ += n;
    return std::string(text_.substr(at_ - n, n));
  }
  std::vector<std::string> strings() {
    std::vector<std::string> values(static_cast<size_t>(count()));
    for (std::string& value : values) value = good ? string() : std::string();
    return values;
  }
  std::vector<int64_t> numbers() {
    std::vector<int64_t> values(static_cast<size_t>(count()));
    for (int64_t& value : values) value = good ? number() : 0;
    return values;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

uint64_t checksum(const std::byte* data, int64_t description, int64_t end) {
  const int64_t begin = end <= kChecked ? 0 : description;
  return hash_of(data + begin, end - begin);
}

}  // namespace

Table::Table(Bytes bytes, std::vector<Column> columns, int64_t rows, TableNotes notes)
    : bytes_(std::move(bytes)), columns_(std::move(columns)), rows_(rows), notes_(std::move(notes)) {
  for (const Column& column : columns_) fields_.push_back(column.field);
}

std::shared_ptr<const Table> Table::open(const std::string& path, const std::string& key) {
  Bytes bytes;
  try {
    bytes = read_bytes(path);
  } catch (const Fault&) {
    return nullptr;
  }
  if (bytes.size() < kTrailer) return nullptr;
  int64_t description = 0;
  uint64_t sum = 0;
  const int64_t end = bytes.size() - kTrailer;
  std::memcpy(&description, bytes.data() + end, 8);
  std::memcpy(&sum, bytes.data() + end + 8, 8);
  if (std::memcmp(bytes.data() + end + 16, kMagic, 8) != 0 || description < 0 || description > end) return nullptr;
  if (checksum(bytes.data(), description, end) != sum) return nullptr;

  Described in(bytes.text().substr(static_cast<size_t>(description), static_cast<size_t>(end - description)));
  if (in.string() != key) return nullptr;
  TableNotes notes;
  notes.file = in.string();
  notes.skipped = in.numbers();
  notes.first_skipped = in.string();
  notes.unread = in.strings();
  notes.why = in.strings();
  notes.headings = in.strings();
  const int64_t rows = in.number();
  std::vector<Column> columns(static_cast<size_t>(in.count()));
  for (Column& column : columns) {
    column.field.name = in.string();
    const int64_t dtype = in.number();
    if (dtype < 0 || dtype > static_cast<int64_t>(DType::boolean)) return nullptr;
    column.field.dtype = static_cast<DType>(dtype);
    column.field.text = in.number() != 0;
    column.field.shape.resize(static_cast<size_t>(in.count()));
    for (int64_t& dim : column.field.shape) dim = in.number();
    column.offset = in.number();
    column.index = in.number();
    column.bytes = in.number();
    if (!in.good || column.offset < 0 || column.bytes < 0 || column.offset > description - column.bytes) return nullptr;
    if (column.field.text && (column.index < 0 || column.index > description - 8 * (rows + 1))) return nullptr;
  }
  if (!in.good || rows < 0) return nullptr;
  return std::make_shared<Table>(std::move(bytes), std::move(columns), rows, std::move(notes));
}

void Table::gather(size_t field, std::span<const int64_t> rows, std::byte* to) const {
  const Column& column = columns_[field];
  assert(!column.field.text);
  const int64_t bytes = column.field.bytes();
  const std::byte* from = bytes_.data() + column.offset;
  for (const int64_t row : rows) {
    assert(row >= 0 && row < rows_);
    if (bytes > 0) std::memcpy(to, from + row * bytes, static_cast<size_t>(bytes));
    to += bytes;
  }
}

std::string_view Table::text(size_t field, int64_t row) const {
  const Column& column = columns_[field];
  assert(column.field.text && row >= 0 && row < rows_);
  std::array<int64_t, 2> ends{};
  std::memcpy(ends.data(), bytes_.data() + column.index + 8 * row, 16);
  // A large file of the cache is not checked whole.
  if (ends[0] < 0 || ends[1] < ends[0] || ends[1] > column.bytes) return {};
  return {reinterpret_cast<const char*>(bytes_.data()) + column.offset + ends[0], static_cast<size_t>(ends[1] - ends[0])};
}

int64_t Table::number_in_file(int64_t row) const {
  int64_t number = row + 1;
  for (const int64_t skipped : notes_.skipped) {
    if (skipped > number) break;
    ++number;
  }
  return number;
}

std::string Table::place(int64_t row) const {
  return notes_.file.empty() ? Source::place(row) : fmt::format("`{}`, row {}", notes_.file, number_in_file(row));
}

size_t TableWriter::add(Field field, int64_t capacity, int64_t text_bytes) {
  Table::Column column;
  column.field = std::move(field);
  if (column.field.text) {
    column.index = size_;
    size_ = aligned(size_ + 8 * (capacity + 1));
    column.bytes = text_bytes;
  } else {
    column.bytes = capacity * column.field.bytes();
  }
  column.offset = size_;
  size_ = aligned(size_ + column.bytes);
  columns_.push_back(std::move(column));
  return columns_.size() - 1;
}

void TableWriter::begin() {
  filled_.assign(columns_.size(), 0);
  storage_->resize(size_);
}

void TableWriter::put_text(size_t column, int64_t row, std::string_view text) {
  const Table::Column& to = columns_[column];
  assert(filled_[column] + static_cast<int64_t>(text.size()) <= to.bytes);
  if (!text.empty()) std::memcpy(storage_->data() + to.offset + filled_[column], text.data(), text.size());
  filled_[column] += static_cast<int64_t>(text.size());
  std::memcpy(storage_->data() + to.index + 8 * (row + 1), &filled_[column], 8);
}

std::shared_ptr<const Table> TableWriter::finish(int64_t rows, TableNotes notes, const std::string& path, const std::string& key) {
  // What the last column has too much room for is given back.
  if (!columns_.empty() && !columns_.back().field.text) {
    Table::Column& last = columns_.back();
    last.bytes = rows * last.field.bytes();
    size_ = aligned(last.offset + last.bytes);
    storage_->resize(size_);
  }
  if (!path.empty() && size_ >= kWorthKeeping) {
    Describer out;
    out.string(key);
    out.string(notes.file);
    out.numbers(notes.skipped);
    out.string(notes.first_skipped);
    out.strings(notes.unread);
    out.strings(notes.why);
    out.strings(notes.headings);
    out.number(rows);
    out.number(static_cast<int64_t>(columns_.size()));
    for (const Table::Column& column : columns_) {
      out.string(column.field.name);
      out.number(static_cast<int64_t>(column.field.dtype));
      out.number(column.field.text);
      out.number(static_cast<int64_t>(column.field.shape.size()));
      for (const int64_t dim : column.field.shape) out.number(dim);
      out.number(column.offset);
      out.number(column.index);
      out.number(column.bytes);
    }
    const int64_t end = size_ + static_cast<int64_t>(out.text().size());
    storage_->resize(end + kTrailer);
    std::memcpy(storage_->data() + size_, out.text().data(), out.text().size());
    const uint64_t sum = checksum(storage_->data(), size_, end);
    std::memcpy(storage_->data() + end, &size_, 8);
    std::memcpy(storage_->data() + end + 8, &sum, 8);
    std::memcpy(storage_->data() + end + 16, kMagic, 8);
    storage_->keep_as(path);
  }
  return std::make_shared<Table>(Storage::freeze(std::move(storage_)), std::move(columns_), rows, std::move(notes));
}

std::string Cache::path_of(const std::string& key) const {
  if (folder_.empty()) return {};
  const uint64_t a = hash_of(key.data(), static_cast<int64_t>(key.size())), b = hash_of(key.data(), static_cast<int64_t>(key.size()), a);
  return (std::filesystem::path(folder_) / fmt::format("{:016x}{:016x}.table", a, b)).string();
}

}  // namespace dtl::data
