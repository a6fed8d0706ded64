// RowWriter: rows of fields to a file: comma-separated values, an array of NumPy, or a JSON object a line.
//
// takes:    fields, how many rows there will be, rows in order
// gives:    a file, under another name until it is whole
// promises: PATH is what it was before, or all of the new rows; numbers are read back as the same bits
#pragma once

#include <cstddef>
#include <fstream>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/source.h"

namespace dtl::data {

enum class RowFormat : uint8_t {
  csv,    ///< a header; a column for each element, `logits_0`, `logits_1`, … where a row has a shape
  npy,    ///< one field; its first dimension counts rows
  jsonl,  ///< `{"logits": [0.1, 0.9]}`; null where a number is not finite
};

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual void begin(const std::vector<Field>& fields, int64_t rows) = 0;
  /// `fields[i]` has the next `rows` rows of field i.
  virtual void write(int64_t rows, std::span<const std::span<const std::byte>> fields) = 0;
};

std::unique_ptr<RowWriter> make_writer(RowFormat format, std::ostream& out);

/// A file that is not there before it is whole: it is written as PATH.partial. One that is given up leaves nothing.
class NewFile {
 public:
  /// Fault 6120.
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  std::ostream& stream() { return out_; }
  /// Fault 6120 where something could not be written so far: a disk that is full is told at once.
  void check();
  /// All is written: the file gets its name. Fault 6120.
  void finish();

 private:
  [[noreturn]] void fail() const;

  std::string path_, partial_;
  std::ofstream out_;
};

}  // namespace dtl::data
