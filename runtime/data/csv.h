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
  bool finite = true;                             ///< NaN and infinities are faults
  int64_t skip_limit = -1;                        ///< as many faulty rows are left out; −1: the first one is a fault
  std::optional<std::vector<CsvColumn>> columns;  ///< the ones that are read, where the file has them; nothing: all
};

/// A column is i64 where each value is a whole number of 64 bits, f32 where each is a number, bool where each is `true` or
/// `false`, else text. A missing text is empty; a missing bool is text.
/// Faults: those of `read_unzipped`, 5010 and 5011 a faulty row or cell, 5017 more of them than the limit, 5023 no header,
/// 5024 a column that occurs twice.
std::shared_ptr<const Table> read_csv(const std::string& path, const CsvOptions& options, const Cache& cache);

}  // namespace dtl::data
