// Rows that are faulty by what the program does with their numbers, and the file of `predict --input`, of which every row that has
// no prediction is told.
#include <algorithm>
#include <span>

#include "compiler/driver/csv_stage.h"
#include "compiler/driver/data_store.h"
#include "compiler/driver/fault_text.h"
#include "compiler/source/check.h"
#include "runtime/data/as_fields.h"
#include "runtime/data/bytes.h"
#include "runtime/data/combine.h"
#include "runtime/data/npy.h"
#include "runtime/data/stack.h"

namespace dtl::driver {

using Shared = std::shared_ptr<const data::Source>;

DataStore::Faulty DataStore::find_faulty(const data::Source& source, const std::vector<std::string>& names,
                                         const std::vector<sema::IndexCheck>& checks, int64_t allowed, int64_t limit,
                                         const std::string& file) {
  const auto index_of = [&](const std::string& name) {
    size_t i = 0;
    const std::vector<data::Field>& fields = source.fields();
    while (i < fields.size() && (fields[i].name.empty() && i < names.size() ? names[i] : fields[i].name) != name) ++i;
    DTL_CHECK(i < fields.size(), "a check of the field `{}`, which there is not", name);
    return i;
  };
  std::set<int64_t> rows;
  std::optional<std::pair<int64_t, std::string>> first;
  for (const sema::IndexCheck& check : checks) {
    for (const data::OutOfRange& found : data::out_of_range(source, index_of(check.field), check.size, std::max<int64_t>(allowed, 0) + 1)) {
      Fault fault = data::out_of_range_fault(source, found, check.field, check.share ? "a share" : "an index", check.size);
      if (!check.text.empty() && found.value == "-1") {
        const std::string_view text = source.text(index_of(check.text), found.row);
        fault = Fault(5026, {source.place(found.row), check.text, text.empty() ? "missing" : data::shown(text), std::to_string(check.size),
                             check.categories});
      }
      if (limit < 0) throw fault;
      rows.insert(found.row);
      if (!first || found.row < first->first) first.emplace(found.row, fault_message(fault));
    }
  }
  if (static_cast<int64_t>(rows.size()) > allowed && !rows.empty()) throw Fault(5017, {file, std::to_string(limit), first->second});
  return {{rows.begin(), rows.end()}, first ? first->second : ""};
}

Shared DataStore::open_input(const std::string& file, const sema::SourceSpec& like, const Input& wanted, source::Sink& into) {
  Shared source;
  std::shared_ptr<const data::Table> table;
  if (file.ends_with(".npy")) {
    source = data::as_fields(data::read_npy(file, true), wanted.fields, file);
  } else if (file.ends_with(".npz")) {
    source = data::as_fields(data::read_npz(file, true, cache_), wanted.fields, file);
  } else {
    const bool alike = like.stages[0].function == "csv";
    data::CsvOptions options = alike ? csv_options(like.stages[0]) : data::CsvOptions();
    if (!alike && file.ends_with(".tsv")) options.delimiter = '\t';
    options.skip_limit = wanted.skip_limit;
    options.columns.emplace();
    for (const data::Field& field : wanted.fields) {
      if (!field.text && is_narrow(field.dtype)) throw Fault(6122, {field.name, file, "a column", std::string(name_of(field.dtype))});
      const data::CsvType type = csv_type(field.text ? "text" : std::string(name_of(field.dtype)));
      for (std::string& name : data::column_names(field)) options.columns->push_back({std::move(name), type});
    }
    table = data::read_csv(file, options, cache_);
    source = data::stack_columns(table, wanted.fields, file, table->notes().unread);
  }
  source->finish();
  std::vector<int64_t> left_out = table ? table->notes().skipped : std::vector<int64_t>();
  if (!wanted.derived.empty())
    source = derive(std::move(source), {}, wanted.derived,
                    fmt::format("input {} {} without {}", file, data::identity_of(file), fmt::join(left_out, ",")));
  const auto skipped = static_cast<int64_t>(left_out.size());
  const Faulty faulty = find_faulty(*source, {}, wanted.checks, wanted.skip_limit - skipped, wanted.skip_limit, file);
  std::string first = table ? table->notes().first_skipped : "";
  if (!faulty.rows.empty()) {
    std::vector<int64_t> numbers = faulty.rows;
    for (int64_t& number : numbers) number = table ? table->number_in_file(number) : number;
    if (left_out.empty() || numbers[0] < left_out[0]) first = faulty.first;
    left_out.insert(left_out.end(), numbers.begin(), numbers.end());
    std::sort(left_out.begin(), left_out.end());
    source = data::without(std::move(source), faulty.rows);
  }
  if (!left_out.empty()) {
    // Whoever puts inputs and predictions side by side must know.
    constexpr size_t kTold = 20;
    const auto told = std::span(left_out).first(std::min(left_out.size(), kTold));
    into.report({}, diag::rows_skipped, file, static_cast<int64_t>(left_out.size()), first)
        .note({}, fmt::format("there is no prediction for {}{} {}{}", table ? "row" : "example", left_out.size() == 1 ? "" : "s",
                              fmt::join(told, ", "), left_out.size() > kTold ? ", …" : ""));
  }
  return source;
}

bool DataStore::check_ranges(const sema::SourceSpec& spec, const std::vector<std::string>& names, const sema::Dataset& dataset,
                             source::Sink& into) {
  const sema::SourceStage& stage = spec.stages[0];
  const std::string key = key_of(spec, spec.stages.size(), false);
  std::string file = stage.function;
  for (const char* name : {"file", "labels"}) {
    if (const auto text = stage.strings.find(name); text != stage.strings.end()) file = text->second;
  }
  const auto* table = dynamic_cast<const data::Table*>(opened_.at(key_of(spec, 1, false)).source.get());
  const int64_t skipped = table ? static_cast<int64_t>(table->notes().skipped.size()) : 0;
  try {
    const Shared whole = source(spec, names, dataset.derived);
    const Faulty faulty = find_faulty(*whole, names, dataset.checks, dataset.skip_limit - skipped, dataset.skip_limit, file);
    if (faulty.rows.empty()) return true;
    into.report(stage.range, diag::rows_skipped, file, static_cast<int64_t>(faulty.rows.size()), faulty.first);
    Opened& opened = opened_.at(key);
    opened.source = data::without(std::move(opened.source), faulty.rows);
    left_out_[key] = faulty.rows;
    return true;
  } catch (const Fault& fault) {
    auto reported = report(into, stage.range, fault);
    if (reported && fault.code() == diag::index_out_of_data.code) reported->help(kSkipHelp);
    if (reported && fault.code() == diag::not_a_category.code)
      reported->help("`unknown = true` in `categories(…)` gives all other texts the number 0").help(kSkipHelp);
    return false;
  }
}

void DataStore::warn_of_absent(const sema::DataSplit& split, const std::vector<std::string>& names, const sema::Dataset& dataset,
                               source::Sink& into) {
  const bool compares = std::any_of(dataset.derived.begin(), dataset.derived.end(), [](const auto& field) { return !field.vocabulary; });
  if (!compares) return;
  const Shared whole = source(split.source, names, dataset.derived);
  const std::vector<data::Field>& fields = whole->fields();
  for (const sema::DerivedField& field : dataset.derived) {
    if (field.vocabulary) continue;
    const auto at = std::find_if(fields.begin(), fields.end(), [&](const data::Field& f) { return f.name == field.field.name; });
    bool found = false;
    std::byte hit{0};
    for (int64_t row = 0; row < whole->examples() && !found; ++row) {
      whole->gather(static_cast<size_t>(at - fields.begin()), std::span(&row, 1), &hit);
      found = hit != std::byte{0};
    }
    if (!found) into.report(field.range, diag::text_never_occurs, field.of, split.name, data::shown(field.equals));
  }
}

bool DataStore::leaves_out(const sema::SourceSpec& spec) const { return left_out_.contains(key_of(spec, spec.stages.size(), false)); }

}  // namespace dtl::driver
