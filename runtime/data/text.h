// Texts: whole files, the numbers of their pieces, and what `example` makes of fields of texts.
#pragma once

#include <optional>
#include <string>

#include "runtime/data/csv.h"
#include "runtime/data/vocabulary.h"

namespace dtl::data {

/// One example with one unnamed field of text: the part of a file from the fraction `begin` of its bytes to `end`, both moved
/// on to the next start of a character. A byte order mark is left out.
/// Faults: those of `read_unzipped`, 5013 no UTF-8.
std::shared_ptr<const Source> read_text(const std::string& path, double begin, double end, const Cache& cache);

/// The numbers of the pieces of all texts of `source`, one an example: one unnamed i32 field. Fault 5116 where it has no field
/// of texts, or several.
std::shared_ptr<const Source> encode_all(const Source& source, const Vocabulary& vocabulary, const Cache& cache, const std::string& key);

/// The vocabulary of a file, or of one column of a table.
/// `options` are those of the table. Faults: those of `read_text` and `read_csv`, 5012 no such column.
std::shared_ptr<const Vocabulary> count_vocabulary(const std::string& path, const std::optional<std::string>& column,
                                                   const CsvOptions& options, TextUnit unit, int64_t keep, const Cache& cache);

/// A field that is made of a field of texts.
struct DerivedField {
  std::string name;
  std::string of;                                ///< the field of texts
  std::shared_ptr<const Vocabulary> vocabulary;  ///< i32[length]: numbers of the first pieces, padded with 0; i32[] of categories
  int64_t length = 0;
  std::string equals;  ///< without a vocabulary: bool[], whether the text is this one
};

/// `source` with further fields behind its own. `names` are those of its unnamed fields, by position.
std::shared_ptr<const Source> with_derived(std::shared_ptr<const Source> source, const std::vector<std::string>& names,
                                           const std::vector<DerivedField>& derived, const Cache& cache, const std::string& key);

}  // namespace dtl::data
