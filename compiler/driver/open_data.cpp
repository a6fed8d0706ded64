// Source expressions to Sources, faults to diagnostics at the stage that is to blame.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "compiler/codegen/jit.h"
#include "compiler/driver/csv_stage.h"
#include "compiler/driver/data_store.h"
#include "compiler/driver/fault_text.h"
#include "compiler/sema/value.h"
#include "compiler/source/check.h"
#include "runtime/data/combine.h"
#include "runtime/data/csv.h"
#include "runtime/data/npy.h"
#include "runtime/data/synthetic.h"
#include "runtime/data/text.h"

namespace dtl::driver {
namespace {

using Shared = std::shared_ptr<const data::Source>;

data::Generator generator_of(const std::string& name) {
  if (name == "normal") return data::Generator::normal;
  if (name == "uniform") return data::Generator::uniform;
  DTL_CHECK(name == "integers", "unknown generator {}", name);
  return data::Generator::integers;
}

Shared open_synthetic(const sema::SourceStage& stage) {
  std::vector<data::SyntheticField> fields;
  // Beyond what the source itself can judge: bounds that no i64 holds.
  constexpr double kMost = 0x1p62;
  for (const auto& field : stage.fields) {
    if (std::abs(field.low) > kMost || std::abs(field.high) > kMost) throw Fault(5110, {field.name});
    fields.push_back(
        {field.name, generator_of(field.generator), static_cast<int64_t>(field.low), static_cast<int64_t>(field.high), field.shape});
  }
  return data::synthetic(stage.integers.at("examples"), static_cast<uint64_t>(stage.integers.at("seed")), fields);
}

data::RowExpression row_expression(const sema::RowExpr& expr) {
  using Op = data::RowExpression::Op;
  static const std::map<std::string, Op> ops = {{"field", Op::field},
                                                {"number", Op::number},
                                                {"text", Op::text},
                                                {"equal", Op::equal},
                                                {"less", Op::less},
                                                {"less_equal", Op::less_equal},
                                                {"logical_and", Op::logical_and},
                                                {"logical_or", Op::logical_or},
                                                {"logical_not", Op::logical_not},
                                                {"add", Op::add},
                                                {"subtract", Op::subtract},
                                                {"multiply", Op::multiply},
                                                {"divide", Op::divide},
                                                {"negate", Op::negate},
                                                {"length", Op::length},
                                                {"starts_with", Op::starts_with},
                                                {"ends_with", Op::ends_with},
                                                {"contains", Op::contains}};
  const auto op = ops.find(expr.op);
  DTL_CHECK(op != ops.end(), "unknown operation {} of rows", expr.op);
  data::RowExpression made{op->second, expr.op == "field" ? static_cast<size_t>(expr.number) : 0, expr.number, expr.text, {}};
  for (const sema::RowExpr& item : expr.items) made.items.push_back(row_expression(item));
  return made;
}

template <class T, class From>
void put_all(std::byte* to, const std::vector<From>& values) {
  for (const From value : values) {
    const T element = static_cast<T>(value);
    std::memcpy(to, &element, sizeof element);
    to += sizeof element;
  }
}

Shared open_records(const sema::SourceStage& stage) {
  data::TableWriter writer({});
  for (const sema::RecordField& record : stage.records) {
    const bool text = record.type == "text";
    int64_t bytes = 0;
    for (const std::string& value : record.texts) bytes += static_cast<int64_t>(value.size());
    writer.add({record.name, text ? DType::u8 : *parse_dtype(record.type), record.shape, text}, stage.rows, bytes);
  }
  writer.begin();
  for (size_t i = 0; i < stage.records.size(); ++i) {
    const sema::RecordField& record = stage.records[i];
    for (size_t row = 0; row < record.texts.size(); ++row) writer.put_text(i, static_cast<int64_t>(row), record.texts[row]);
    if (record.type == "i64") put_all<int64_t>(writer.cell(i, 0), record.integers);
    if (record.type == "f32") put_all<float>(writer.cell(i, 0), record.numbers);
    if (record.type == "bool") put_all<uint8_t>(writer.cell(i, 0), record.numbers);
  }
  return writer.finish(stage.rows, {}, {}, {});
}

int64_t count_of(const sema::SourceStage& stage, int64_t examples) {
  const auto fraction = stage.numbers.find("fraction");
  return fraction == stage.numbers.end() ? stage.integers.at("count") : std::llround(fraction->second * static_cast<double>(examples));
}

}  // namespace

std::string cache_directory(const Options& options) {
  if (options.cache == "none") return {};
  return options.cache.empty() ? codegen::default_cache_directory() : options.cache;
}

namespace {

/// Of decoded data, inside the folder of kernels.
std::string data_directory(const Options& options) {
  const std::string folder = cache_directory(options);
  return folder.empty() ? folder : (std::filesystem::path(folder) / "data").string();
}

}  // namespace

DataStore::DataStore(const Options& options, data::Decoding decoding)
    : options_(&options), cache_(data_directory(options)), files_(decoding, {.folder = cache_.folder()}) {}

data::Places DataStore::places() const {
  data::Places places{options_->data, std::filesystem::path(options_->file).parent_path(), {}};
  if (const char* variable = std::getenv("DTL_DATA")) places.variable = variable;
  return places;
}

std::string DataStore::path_of(const std::string& file) const { return data::look_up(file, places()); }

std::string DataStore::key_of(const sema::SourceSpec& spec, size_t count, bool contents) const {
  std::string key;
  const auto row = [](const auto& self, const sema::RowExpr& expr) -> std::string {
    std::string text = fmt::format("({} {:?} {}", expr.op, expr.text, expr.number);
    for (const sema::RowExpr& item : expr.items) text += self(self, item);
    return text + ")";
  };
  for (size_t i = 0; i < count; ++i) {
    const sema::SourceStage& stage = spec.stages[i];
    key += "|" + stage.function;
    for (const auto& [name, value] : stage.strings) key += fmt::format(" {}={:?}", name, value);
    for (const auto& [name, value] : stage.strings) {
      if (contents && (name == "file" || name == "images" || name == "labels")) key += " " + data::identity_of(path_of(value));
    }
    for (const auto& [name, value] : stage.integers) key += fmt::format(" {}={}", name, value);
    for (const auto& [name, value] : stage.numbers) key += fmt::format(" {}={}", name, value);
    for (const auto& [name, values] : stage.lists) key += fmt::format(" {}={:?}", name, fmt::join(values, ","));
    for (const auto& field : stage.fields)
      key += fmt::format(" {}={}({}, {}, {})", field.name, field.generator, field.low, field.high, fmt::join(field.shape, ","));
    if (stage.columns) {
      for (const sema::ColumnWish& wish : *stage.columns) key += fmt::format(" {:?}:{}", wish.name, wish.type);
    }
    if (stage.predicate) key += " " + row(row, *stage.predicate);
    if (stage.vocabulary) {
      const sema::VocabularySpec& from = *stage.vocabulary;
      key += fmt::format(" {}({:?} {:?} {} {:?} {} {:?})", from.unit, from.file, from.column.value_or(""), from.keep, from.delimiter,
                         from.header, fmt::join(from.missing, ","));
      if (contents) {
        const std::string text = vocabularies_.at(stage.vocabulary->name)->to_text();
        key += fmt::format(" {:016x}", data::hash_of(text.data(), static_cast<int64_t>(text.size())));
      }
    }
    for (const sema::SourceSpec& inner : stage.sources) key += "(" + key_of(inner, inner.stages.size(), contents) + ")";
    for (const sema::RecordField& record : stage.records) {
      key += fmt::format(" {}={} [{}] {} {}", record.name, record.type, fmt::join(record.shape, ","), fmt::join(record.numbers, ","),
                         fmt::join(record.integers, ","));
      for (const std::string& text : record.texts) key += fmt::format(" {:?}", text);
    }
  }
  return key;
}

std::optional<std::string> DataStore::near_file(const std::string& file) const {
  namespace fs = std::filesystem;
  const fs::path written(file);
  const data::Places places = this->places();
  std::vector<std::string> folders = places.given;
  folders.push_back(places.beside);
  for (size_t begin = 0; begin < places.variable.size();) {
    const size_t end = std::min(places.variable.find(':', begin), places.variable.size());
    folders.push_back(places.variable.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string& folder : folders) {
    const fs::path in = written.is_absolute() ? written.parent_path() : fs::path(folder) / written.parent_path();
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(in.empty() ? fs::path(".") : in, error), end; !error && it != end; it.increment(error))
      names.push_back(it->path().filename().string());
    std::sort(names.begin(), names.end());  // a folder has no order
    if (const auto near = sema::nearest(written.filename().string(), names)) return (written.parent_path() / *near).string();
  }
  return std::nullopt;
}

std::optional<source::Reported> DataStore::report(source::Sink& into, source::Range range, const Fault& fault) {
  // Splits of one file have its faults in common.
  const std::string message = fault_message(fault);
  if (!told_.insert(message).second) return std::nullopt;
  const std::vector<source::CatalogueRow>& rows = source::catalogue();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const source::CatalogueRow& r) { return r.code == fault.code(); });
  DTL_CHECK(row != rows.end(), "fault {} has no row in the catalogue", fault.code());
  source::Reported reported = into.add({row->code, row->symbol, row->severity, range, message, {}, {}});
  if (fault.code() == diag::no_data_file.code) {
    const auto near = near_file(fault.arguments()[0]);
    reported.help(near ? fmt::format("did you mean `{}`?", *near) : "name the folder of the data with --data or DTL_DATA");
    if (described_) reported.help("the checkpoint does without data only where it keeps a description of it, and of the same source");
  }
  if (fault.code() == diag::bad_cell.code && fault.arguments().back() == "the number is missing") {
    const std::string& column = fault.arguments()[3];
    reported.help(fmt::format("`csv(…, fill = {{ {0} = 0 }})` gives a missing `{0}` that number", column));
  }
  if (fault.code() == diag::bad_row.code || fault.code() == diag::bad_cell.code) reported.help(kSkipHelp);
  return reported;
}

namespace {

void tell_skipped(source::Sink& into, source::Range range, const std::string& file, const data::TableNotes& notes) {
  if (!notes.skipped.empty()) into.report(range, diag::rows_skipped, file, static_cast<int64_t>(notes.skipped.size()), notes.first_skipped);
}

}  // namespace

Shared DataStore::open_stage(const sema::SourceSpec& spec, size_t index, Shared before, std::vector<Shared> inner, source::Sink& into) {
  const sema::SourceStage& stage = spec.stages[index];
  const std::string& name = stage.function;
  if (name == "idx") return data::idx(files_, path_of(stage.strings.at("images")), path_of(stage.strings.at("labels")));
  if (name == "synthetic") return open_synthetic(stage);
  if (name == "csv") {
    auto table = data::read_csv(path_of(stage.strings.at("file")), csv_options(stage), cache_);
    tell_skipped(into, stage.range, stage.strings.at("file"), table->notes());
    return table;
  }
  if (name == "npy" || name == "npz") {
    const std::string path = path_of(stage.strings.at("file"));
    const auto finite = stage.integers.find("finite");
    const bool checked = finite == stage.integers.end() || finite->second != 0;
    return name == "npy" ? data::read_npy(path, checked) : data::read_npz(path, checked, cache_);
  }
  if (name == "text") {
    const auto begin = stage.numbers.find("begin"), end = stage.numbers.find("end");
    const bool part = begin != stage.numbers.end();
    return data::read_text(path_of(stage.strings.at("file")), part ? begin->second : 0, part ? end->second : 1, cache_);
  }
  if (name == "records") return open_records(stage);
  if (name == "concat") return data::concat(std::move(inner));
  if (name == "zip") return data::zip(std::move(inner));
  if (name == "join") return data::join(std::move(before), inner[0], inner[1]);
  if (name == "take") return data::take(before, count_of(stage, before->examples()));
  if (name == "skip") return data::skip(before, count_of(stage, before->examples()));
  if (name == "where") return data::where(std::move(before), row_expression(*stage.predicate));
  if (name == "shuffle") return data::shuffled(std::move(before), static_cast<uint64_t>(stage.integers.at("seed")));
  if (name == "windows") return data::windows(std::move(before), stage.integers.at("size"), stage.integers.at("stride"));
  if (name == "encode") return data::encode_all(*before, *find_vocabulary(*stage.vocabulary), cache_, key_of(spec, index + 1, true));
  DTL_CHECK(name == "cache", "unknown source function {}", name);
  return data::stored(*before, cache_, key_of(spec, index + 1, true));
}

Shared DataStore::open_stages(const sema::SourceSpec& spec, size_t count, source::Sink& into) {
  const std::string key = key_of(spec, count, false);
  if (const auto known = opened_.find(key); known != opened_.end()) return known->second.source;
  Shared before;
  if (count > 1) {
    before = open_stages(spec, count - 1, into);
    if (!before) return nullptr;
  }
  const sema::SourceStage& stage = spec.stages[count - 1];
  std::vector<Shared> inner;
  for (const sema::SourceSpec& source : stage.sources) {
    inner.push_back(open_stages(source, source.stages.size(), into));
    if (!inner.back()) return nullptr;
  }
  try {
    const Shared made = open_stage(spec, count - 1, std::move(before), std::move(inner), into);
    return opened_.emplace(key, Opened{stage.range, made}).first->second.source;
  } catch (const Fault& fault) {
    report(into, stage.range, fault);
    return nullptr;
  }
}

void DataStore::note(const std::string& file, source::Range range) {
  if (!range.known()) return;
  try {
    named_.emplace_back(range, std::filesystem::absolute(path_of(file)).lexically_normal().string());
  } catch (const Fault&) {
    // There is none: told where it is opened, unless a checkpoint has what it would give.
  }
}

void DataStore::note(const sema::SourceSpec& spec) {
  for (const sema::SourceStage& stage : spec.stages) {
    for (const char* key : {"file", "images", "labels"}) {
      if (const auto file = stage.strings.find(key); file != stage.strings.end()) note(file->second, stage.written.at(key));
    }
    if (stage.vocabulary) note(stage.vocabulary->file, stage.vocabulary->file_range);
    for (const sema::SourceSpec& inner : stage.sources) note(inner);
  }
}

std::optional<DataStore::Missing> DataStore::find_missing(const sema::SourceSpec& spec) const {
  for (const sema::SourceStage& stage : spec.stages) {
    for (const char* key : {"file", "images", "labels"}) {
      const auto file = stage.strings.find(key);
      if (file == stage.strings.end()) continue;
      try {
        static_cast<void>(path_of(file->second));
      } catch (const Fault& fault) {
        return Missing{stage.range, fault};
      }
    }
    for (const sema::SourceSpec& inner : stage.sources) {
      if (auto missing = find_missing(inner)) return missing;
    }
  }
  return std::nullopt;
}

bool DataStore::require(const sema::SourceSpec& spec, source::Sink& into) {
  if (source(spec)) return true;
  const auto missing = find_missing(spec);
  DTL_CHECK(missing, "a source that is there was not opened");
  report(into, missing->range, missing->fault);
  return false;
}

std::optional<sema::SplitInfo> DataStore::open(const sema::SourceSpec& spec, source::Sink& into) {
  note(spec);
  const std::string key = key_of(spec, spec.stages.size(), false);
  if (described_ && find_missing(spec)) {
    const auto described = described_->find(hash_of_source(key));
    if (described != described_->end()) return description_[key] = described->second;
  }
  auto info = look_at(spec, into);
  if (info) description_[key] = *info;
  return info;
}

std::optional<sema::SplitInfo> DataStore::look_at(const sema::SourceSpec& spec, source::Sink& into) {
  const Shared source = open_stages(spec, spec.stages.size(), into);
  if (!source) return std::nullopt;
  sema::SplitInfo info{source->examples(), {}, {}};
  for (const data::Field& field : source->fields()) info.fields.push_back({field.name, field.dtype, field.shape, field.text, {}});
  // What the table at the bottom has besides, for suggestions.
  const auto* table = dynamic_cast<const data::Table*>(open_stages(spec, 1, into).get());
  if (!table || table->fields().size() != info.fields.size()) return info;
  info.unread = table->notes().unread;
  info.headings = table->notes().headings;
  for (size_t i = 0; i < info.fields.size() && i < table->notes().why.size(); ++i) info.fields[i].why = table->notes().why[i];
  return info;
}

std::shared_ptr<const data::Vocabulary> DataStore::find_vocabulary(const sema::VocabularySpec& spec) {
  auto& known = vocabularies_[spec.name];
  if (known) return known;
  if (const auto saved = saved_.find(spec.name); saved != saved_.end()) return known = saved->second;
  data::CsvOptions options;
  options.skip_limit = spec.skip_limit;
  options.delimiter = spec.delimiter;
  options.header = spec.header;
  options.missing = spec.missing;
  const auto unit = spec.unit == "words"             ? data::TextUnit::words
                    : spec.unit == "categories"      ? data::TextUnit::categories
                    : spec.unit == "open_categories" ? data::TextUnit::open_categories
                                                     : data::TextUnit::characters;
  auto counted = data::count_vocabulary(path_of(spec.file), spec.column, options, unit, spec.keep, cache_);
  return known = std::move(counted);
}

std::optional<int64_t> DataStore::vocabulary(const sema::VocabularySpec& spec, source::Sink& into) {
  note(spec.file, spec.file_range);
  try {
    return find_vocabulary(spec)->size();
  } catch (const Fault& fault) {
    vocabularies_.erase(spec.name);
    report(into, spec.range, fault);
    return std::nullopt;
  }
}

Shared DataStore::source(const sema::SourceSpec& spec) const {
  const auto known = opened_.find(key_of(spec, spec.stages.size(), false));
  return known == opened_.end() ? nullptr : known->second.source;
}

Shared DataStore::source(const sema::SourceSpec& spec, const std::vector<std::string>& names,
                         const std::vector<sema::DerivedField>& derived) {
  Shared source = this->source(spec);
  if (derived.empty()) return source;
  std::string key = key_of(spec, spec.stages.size(), true);
  if (const auto rows = left_out_.find(key_of(spec, spec.stages.size(), false)); rows != left_out_.end())
    key += fmt::format(" without {}", fmt::join(rows->second, ","));
  return derive(std::move(source), names, derived, key);
}

Shared DataStore::derive(Shared source, const std::vector<std::string>& names, const std::vector<sema::DerivedField>& derived,
                         const std::string& key) {
  std::vector<data::DerivedField> fields;
  for (const sema::DerivedField& field : derived) {
    data::DerivedField made;
    made.name = field.field.name;
    made.of = field.of;
    made.equals = field.equals;
    if (field.vocabulary) {
      made.vocabulary = find_vocabulary(*field.vocabulary);
      made.length = field.field.shape.empty() ? 1 : field.field.shape[0];
    }
    fields.push_back(std::move(made));
  }
  return data::with_derived(std::move(source), names, fields, cache_, key);
}

bool DataStore::finish(const Opened& opened, source::Sink& into) {
  try {
    opened.source->finish();
    return true;
  } catch (const Fault& fault) {
    report(into, opened.range, fault);
    return false;
  }
}

bool DataStore::finish(source::Sink& into) {
  bool good = true;
  for (const auto& [key, opened] : opened_) good &= finish(opened, into);
  return good;
}

bool DataStore::finish(const sema::SourceSpec& spec, source::Sink& into) {
  bool good = true;
  for (size_t i = 0; i < spec.stages.size(); ++i) {
    for (const sema::SourceSpec& inner : spec.stages[i].sources) good &= finish(inner, into);
    good &= finish(opened_.at(key_of(spec, i + 1, false)), into);
  }
  return good;
}

}  // namespace dtl::driver
