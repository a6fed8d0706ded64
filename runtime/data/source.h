// Source: a finite, indexable list of examples, each a record of fields of fixed shape.
//
// takes:    files, or a description (synthetic)
// gives:    fields and any rows of them, by index
// promises: row i is the same bytes on every call, machine and thread; after `finish` the whole of every file is checked
// print it: `dslc emit --stage typed` (the data block)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/dtype.h"
#include "runtime/plan/fault.h"

namespace dtl::data {

struct Field {
  std::string name;  ///< empty where the source names none (idx)
  DType dtype;
  std::vector<int64_t> shape;  ///< of one example
  bool text = false;           ///< UTF-8 of any length, without dtype and shape: read by `text`, never gathered

  int64_t elements() const;
  int64_t bytes() const { return elements() * size_of(dtype); }
};

class Source {
 public:
  virtual ~Source() = default;

  virtual int64_t examples() const = 0;
  virtual const std::vector<Field>& fields() const = 0;
  /// Waits until everything is read. Before the first `gather`. Throws the Fault of a file that is found broken behind
  /// its header.
  virtual void finish() const {}
  /// Writes field `field` of the examples `rows`, one after another, to `to`. Callable from any thread; allocates nothing.
  virtual void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const = 0;
  /// The text of a field of texts. Valid as long as the source is.
  virtual std::string_view text(size_t field, int64_t row) const;
  /// Between what the numbers of a field lie, where that is known without reading them.
  virtual std::optional<std::pair<int64_t, int64_t>> bounds(size_t /*field*/) const { return std::nullopt; }
  /// Where row `row` was read, for messages: `messages.csv`, row 17.
  virtual std::string place(int64_t row) const;
};

/// A row in which a number of a field is not in [0, size), of floats not in [0, size − 1], and the first such number.
struct OutOfRange {
  int64_t row;
  std::string value;
};
/// These rows in their order, the first `most` of them.
std::vector<OutOfRange> out_of_range(const Source& source, size_t field, int64_t size, int64_t most);
/// What is wrong with one: fault 5019. `name` is the field's in the program, `use` what the numbers are for.
Fault out_of_range_fault(const Source& source, const OutOfRange& found, const std::string& name, const std::string& use, int64_t size);
/// Fault 5019 where there is such a row.
void check_range(const Source& source, size_t field, const std::string& name, int64_t size);

/// One batch on its way to the executor: which rows of which source.
struct Batch {
  const Source* source = nullptr;
  std::span<const int64_t> rows;
};

/// The examples [begin, begin + count) of another source: `take`, `skip`.
std::shared_ptr<const Source> take(std::shared_ptr<const Source> source, int64_t count);  ///< Fault 5109 if there are fewer
std::shared_ptr<const Source> skip(std::shared_ptr<const Source> source, int64_t count);  ///< Fault 5109 if there are fewer

}  // namespace dtl::data
