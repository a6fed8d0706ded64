// Table: decoded columns, one after another in a file of the cache or in memory. What is decoded once is mapped from then on:
// rows are read at random, and the system's page cache is the buffer, so that a table may be larger than memory.
//
// A file is: the columns, each at a multiple of 64 bytes (of texts: offsets, then bytes), a description, and at the very end
// where the description starts, a checksum and a magic number. A file that is damaged or of another key is as good as none.
#pragma once

#include <string>
#include <vector>

#include "runtime/data/bytes.h"
#include "runtime/data/source.h"

namespace dtl::data {

/// What a reader tells of a table beside its columns.
struct TableNotes {
  std::string file;                   ///< the name of the file it was made from; empty where there is none
  std::vector<int64_t> skipped;       ///< the numbers of faulty rows that were left out, from 1
  std::string first_skipped;          ///< what was wrong with the first
  std::vector<std::string> unread;    ///< columns of the file that nobody asked for
  std::vector<std::string> headings;  ///< of the first columns, as they stand in the file; at most 16
  std::vector<std::string> why;       ///< for each column, why it is text though it holds numbers; empty: no doubt
};

class Table : public Source {
 public:
  struct Column {
    Field field;
    int64_t offset = 0, index = 0;  ///< of the elements or text; of the texts' offsets
    int64_t bytes = 0;
  };

  Table(Bytes bytes, std::vector<Column> columns, int64_t rows, TableNotes notes);
  /// Nothing where `path` is absent, broken, or holds what was made with another `key`.
  static std::shared_ptr<const Table> open(const std::string& path, const std::string& key);

  int64_t examples() const override { return rows_; }
  const std::vector<Field>& fields() const override { return fields_; }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override;
  std::string_view text(size_t field, int64_t row) const override;
  std::string place(int64_t row) const override;
  const TableNotes& notes() const { return notes_; }
  /// The number of a row in the file it was made from, from 1: faulty rows count there.
  int64_t number_in_file(int64_t row) const;

 private:
  Bytes bytes_;
  std::vector<Column> columns_;
  std::vector<Field> fields_;
  int64_t rows_;
  TableNotes notes_;
};

/// Makes a table: columns are declared with room for `capacity` rows, then filled, in order of rows where they are texts.
class TableWriter {
 public:
  /// `folder`: where the table is made, as in Storage.
  explicit TableWriter(const std::string& folder) : storage_(std::make_shared<Storage>(folder)) {}

  size_t add(Field field, int64_t capacity, int64_t text_bytes = 0);
  /// After the last `add`.
  void begin();
  std::byte* cell(size_t column, int64_t row) { return storage_->data() + columns_[column].offset + row * columns_[column].field.bytes(); }
  void put_text(size_t column, int64_t row, std::string_view text);
  /// The table of the first `rows` rows; kept as `path` for `Table::open` where it is not empty and can be written.
  std::shared_ptr<const Table> finish(int64_t rows, TableNotes notes, const std::string& path, const std::string& key);

 private:
  std::shared_ptr<Storage> storage_;
  std::vector<Table::Column> columns_;
  std::vector<int64_t> filled_;
  int64_t size_ = 0;
};

/// A folder of tables; empty: none, everything is made anew.
class Cache {
 public:
  Cache() = default;
  explicit Cache(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  /// Where the table of `key` lies, or would; empty without a folder.
  std::string path_of(const std::string& key) const;
  /// The table of `key`, from its file, else from `make`, which is given that file's path.
  template <class Make>
  std::shared_ptr<const Table> get(const std::string& key, const Make& make) const {
    const std::string path = path_of(key);
    if (!path.empty()) {
      if (auto table = Table::open(path, key)) return table;
    }
    return make(path);
  }

 private:
  std::string folder_;
};

}  // namespace dtl::data
