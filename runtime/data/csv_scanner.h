// Cells of comma-separated values (RFC 4180): rows end with \n or \r\n, a cell may stand in double quotes, two of them in a
// quoted cell are one. Besides: a byte order mark is skipped, empty lines are no rows, and a quote within an unquoted cell
// is itself.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace dtl::data {

class CsvScanner {
 public:
  CsvScanner(std::string_view text, char delimiter);

  /// Reads a row into `cells`; false at the end. A row that breaks the rules has `fault` set and the cells before it; the
  /// scanner goes on with the next line.
  bool next();

  std::vector<std::string_view> cells;  ///< valid until the next row
  std::string fault;                    ///< what is wrong with this row; empty: nothing
  int64_t line = 0;                     ///< where it starts, from 1

 private:
  std::string_view quoted();
  void skip_line();

  std::string_view text_;
  char delimiter_;
  size_t at_ = 0;
  int64_t next_line_ = 1;
  std::deque<std::string> unescaped_;  ///< cells with doubled quotes, of this row
};

}  // namespace dtl::data
