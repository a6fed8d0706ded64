// Texts to numbers, each once: what is made is kept in tables.
#include "runtime/data/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "runtime/plan/fault.h"

namespace dtl::data {
namespace {

class Text : public Source {
 public:
  Text(std::string name, Bytes bytes, std::string_view part) : name_(std::move(name)), bytes_(std::move(bytes)), part_(part) {
    Field field;
    field.dtype = DType::u8;
    field.text = true;
    fields_.push_back(std::move(field));
  }

  int64_t examples() const override { return 1; }
  const std::vector<Field>& fields() const override { return fields_; }
  void gather(size_t, std::span<const int64_t>, std::byte*) const override { assert(false && "a text is not gathered"); }
  std::string_view text(size_t, int64_t) const override { return part_; }
  std::string place(int64_t) const override { return "`" + name_ + "`"; }

 private:
  std::string name_;
  Bytes bytes_;
  std::string_view part_;
  std::vector<Field> fields_;
};

/// The start of the first character at or behind the fraction `at` of the bytes.
size_t cut(std::string_view text, double at) {
  size_t i = std::min(text.size(), static_cast<size_t>(std::llround(at * static_cast<double>(text.size()))));
  while (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) ++i;
  return i;
}

class Derived : public Source {
 public:
  Derived(std::shared_ptr<const Source> source, std::shared_ptr<const Table> table)
      : source_(std::move(source)), table_(std::move(table)), fields_(source_->fields()) {
    fields_.insert(fields_.end(), table_->fields().begin(), table_->fields().end());
  }

  int64_t examples() const override { return source_->examples(); }
  const std::vector<Field>& fields() const override { return fields_; }
  void finish() const override { source_->finish(); }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    const size_t own = source_->fields().size();
    field < own ? source_->gather(field, rows, to) : table_->gather(field - own, rows, to);
  }
  std::string_view text(size_t field, int64_t row) const override { return source_->text(field, row); }
  std::string place(int64_t row) const override { return source_->place(row); }

 private:
  std::shared_ptr<const Source> source_;
  std::shared_ptr<const Table> table_;
  std::vector<Field> fields_;
};

}  // namespace

std::shared_ptr<const Source> read_text(const std::string& path, double begin, double end, const Cache& cache) {
  const Bytes bytes = read_unzipped(path, cache.folder());
  std::string_view text = bytes.text();
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  // Checked before the cut, which reads no further than its own part otherwise.
  const size_t first = cut(text, begin), last = cut(text, end);
  const std::string_view part = text.substr(first, last - first);
  const int64_t bad = first_not_utf8(part);
  if (bad >= 0) {
    const int64_t offset = (part.data() - bytes.text().data()) + bad;
    const auto line = 1 + std::count(bytes.text().begin(), bytes.text().begin() + offset, '\n');
    throw Fault(5013, {path, std::to_string(offset), std::to_string(line)});
  }
  return std::make_shared<Text>(std::filesystem::path(path).filename().string(), bytes, part);
}

std::shared_ptr<const Source> encode_all(const Source& source, const Vocabulary& vocabulary, const Cache& cache, const std::string& key) {
  const std::vector<Field>& fields = source.fields();
  if (fields.size() != 1 || !fields[0].text) {
    throw Fault(5116, {"encode", "it takes texts alone, as `text(…)` gives them; for a field of a table, encode in `example`"});
  }
  return cache.get(key, [&](const std::string& keep_as) {
    source.finish();
    // A piece takes a byte or more.
    int64_t bytes = 0;
    for (int64_t row = 0; row < source.examples(); ++row) bytes += static_cast<int64_t>(source.text(0, row).size());
    TableWriter writer(cache.folder());
    writer.add({"", DType::i32, {}}, bytes);
    writer.begin();
    int64_t count = 0;
    for (int64_t row = 0; row < source.examples(); ++row) {
      const std::string_view text = source.text(0, row);
      if (bytes > 0) count += vocabulary.encode(text, bytes - count, reinterpret_cast<int32_t*>(writer.cell(0, count)));
    }
    return writer.finish(count, {}, keep_as, key);
  });
}

std::shared_ptr<const Vocabulary> count_vocabulary(const std::string& path, const std::optional<std::string>& column,
                                                   const CsvOptions& options, TextUnit unit, int64_t keep, const Cache& cache) {
  // Kept as a table of one text, as all that is made of files.
  std::string key =
      fmt::format("vocabulary 1 {} {} column {} keep {} skip {} delimiter {} header {}", static_cast<int>(unit), identity_of(path),
                  column ? ":" + *column : "none", keep, options.skip_limit, static_cast<int>(options.delimiter), options.header);
  for (const std::string& text : options.missing) key += fmt::format(" missing {}:{}", text.size(), text);
  const std::string kept = cache.path_of(key);
  if (!kept.empty()) {
    if (const auto table = Table::open(kept, key); table && table->examples() == 1) {
      if (auto vocabulary = Vocabulary::from_text(table->text(0, 0))) return vocabulary;
    }
  }
  VocabularyCounter counter(unit);
  if (column) {
    CsvOptions one = options;
    const std::string field = field_name(*column);
    one.columns = {{field.empty() ? *column : field, CsvType::text}};
    const auto table = read_csv(path, one, cache);
    if (table->fields().empty()) throw Fault(5012, {path, *column});
    for (int64_t row = 0; row < table->examples(); ++row) counter.add(table->text(0, row));
  } else {
    counter.add(read_text(path, 0, 1, cache)->text(0, 0));
  }
  auto vocabulary = std::make_shared<const Vocabulary>(counter.finish(keep));
  const std::string text = vocabulary->to_text();
  TableWriter writer(cache.folder());
  Field field;
  field.dtype = DType::u8;
  field.text = true;
  writer.add(std::move(field), 1, static_cast<int64_t>(text.size()));
  writer.begin();
  writer.put_text(0, 0, text);
  writer.finish(1, {}, kept, key);
  return vocabulary;
}

std::shared_ptr<const Source> with_derived(std::shared_ptr<const Source> source, const std::vector<std::string>& names,
                                           const std::vector<DerivedField>& derived, const Cache& cache, const std::string& key) {
  if (derived.empty()) return source;
  std::string whole = key;
  for (const DerivedField& field : derived) {
    const std::string text = field.vocabulary ? field.vocabulary->to_text() : std::string();
    whole += fmt::format(" derived {:?} of {:?} equals {:?} length {} vocabulary {:016x}", field.name, field.of, field.equals, field.length,
                         hash_of(text.data(), static_cast<int64_t>(text.size())));
  }
  auto table = cache.get(whole, [&](const std::string& keep_as) {
    source->finish();
    const int64_t rows = source->examples();
    TableWriter writer(cache.folder());
    std::vector<size_t> from;
    for (const DerivedField& field : derived) {
      size_t i = 0;
      const std::vector<Field>& fields = source->fields();
      while (i < fields.size() && (fields[i].name.empty() && i < names.size() ? names[i] : fields[i].name) != field.of) ++i;
      assert(i < fields.size() && fields[i].text);
      from.push_back(i);
      if (field.vocabulary) {
        const bool one = is_categories(field.vocabulary->unit());
        writer.add({field.name, DType::i32, one ? std::vector<int64_t>() : std::vector<int64_t>{field.length}}, rows);
      } else {
        writer.add({field.name, DType::boolean, {}}, rows);
      }
    }
    writer.begin();
    for (size_t i = 0; i < derived.size(); ++i) {
      for (int64_t row = 0; row < rows; ++row) {
        const std::string_view text = source->text(from[i], row);
        std::byte* to = writer.cell(i, row);
        if (derived[i].vocabulary) {
          const int64_t most = is_categories(derived[i].vocabulary->unit()) ? 1 : derived[i].length;
          derived[i].vocabulary->encode(text, most, reinterpret_cast<int32_t*>(to));  // the rest is 0: padding
        } else {
          *to = static_cast<std::byte>(text == derived[i].equals);
        }
      }
    }
    return writer.finish(rows, {}, keep_as, whole);
  });
  return std::make_shared<Derived>(std::move(source), std::move(table));
}

}  // namespace dtl::data
