// Stages of sema to options of the reader.
#include "compiler/driver/csv_stage.h"

#include "compiler/source/check.h"

namespace dtl::driver {

data::CsvType csv_type(const std::string& name) {
  if (name.empty()) return data::CsvType::inferred;
  if (name == "text") return data::CsvType::text;
  if (name == "bool") return data::CsvType::boolean;
  if (name == "f64") return data::CsvType::f64;
  if (name == "f32") return data::CsvType::f32;
  if (name == "i64") return data::CsvType::i64;
  if (name == "i32") return data::CsvType::i32;
  if (name == "i8") return data::CsvType::i8;
  DTL_CHECK(name == "u8", "a column cannot be read as {}", name);
  return data::CsvType::u8;
}

data::CsvOptions csv_options(const sema::SourceStage& stage) {
  data::CsvOptions options;
  if (const auto text = stage.strings.find("delimiter"); text != stage.strings.end()) options.delimiter = text->second[0];
  if (const auto header = stage.integers.find("header"); header != stage.integers.end()) options.header = header->second != 0;
  if (const auto missing = stage.lists.find("missing"); missing != stage.lists.end()) options.missing = missing->second;
  if (const auto fill = stage.numbers.find("fill"); fill != stage.numbers.end()) options.fill = fill->second;
  for (const auto& [key, value] : stage.numbers) {
    if (key.starts_with("fill.")) options.fill_of[key.substr(5)] = value;
  }
  if (const auto finite = stage.integers.find("finite"); finite != stage.integers.end()) options.finite = finite->second != 0;
  options.skip_limit = stage.integers.at("skip_limit");
  if (stage.columns) {
    options.columns.emplace();
    for (const sema::ColumnWish& wish : *stage.columns) options.columns->push_back({wish.name, csv_type(wish.type)});
  }
  return options;
}

}  // namespace dtl::driver
