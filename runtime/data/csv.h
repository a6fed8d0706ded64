// Tables of comma-separated values, plain or gzip. Types of columns come from the program or from the whole file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/table.h"

namespace dtl::data {

/// What a column is read as where the program says so.
enum class CsvType : uint8_t { inferred, text, boolean, f64, f32, i64, i32, i8, u8 };

struct CsvColumn {
  std::string name;
  CsvType type = CsvType::inferred;
};

struct CsvOptions {
  char delimiter = ',';
  bool header = true;                             ///< else columns are `column_1`, `column_2`, …
  std::vector<std::string> missing;               ///< cells that mean a missing value, besides empty ones
  std::optional<double> fill;                     ///< stands for a missing number; without it, one is a fault
  std::map<std::string, double> fill_of;          ///< the same for one column, by the name of its field; before `fill`
  bool finite = true;                             ///< NaN and infinities are faults
  int64_t skip_limit = -1;                        ///< as many faulty rows are left out; −1: the first one is a fault
  std::optional<std::vector<CsvColumn>> columns;  ///< the ones that are read, where the file has them; nothing: all
};

/// The name of the field of a column: its heading, in which each run of characters that no name has is one `_`; none is left at the
/// end. `Sepal Length (cm)` is `Sepal_Length_cm`, `2nd` is `_2nd`, and a word that the language reserves has a `_` behind it. Empty
/// where nothing is left: such a column of a table is `column_3` by its place, from 1.
std::string field_name(std::string_view heading);

/// A column is i64 where each value is a whole number of 64 bits, f32 where each is a number, bool where each is `true` or
/// `false`, else text. A missing text is empty; a missing bool is text.
/// Faults: those of `read_unzipped`, 5010 and 5011 a faulty row or cell, 5017 more of them than the limit, 5023 no header,
/// 5012 a column of `fill_of` that is not there, 5024 one that occurs twice, 5025 two columns whose fields would have one name.
std::shared_ptr<const Table> read_csv(const std::string& path, const CsvOptions& options, const Cache& cache);

}  // namespace dtl::data
