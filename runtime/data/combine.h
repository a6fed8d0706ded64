// Sources made of sources. Row i of each is a pure function of the rows of what it is made of.
#pragma once

#include "runtime/data/row_expression.h"
#include "runtime/data/table.h"

namespace dtl::data {

/// The rows for which `predicate` is not 0, in their order. Reads every row of the fields it names.
std::shared_ptr<const Source> where(std::shared_ptr<const Source> source, const RowExpression& predicate);

/// All rows but those, which are in their order.
std::shared_ptr<const Source> without(std::shared_ptr<const Source> source, std::span<const int64_t> rows);

/// All rows in one random order, the same each epoch.
std::shared_ptr<const Source> shuffled(std::shared_ptr<const Source> source, uint64_t seed);

/// The rows of one after those of the other. Fault 5115 where fields differ.
std::shared_ptr<const Source> concat(std::vector<std::shared_ptr<const Source>> sources);

/// The fields of all, side by side. Faults: 5009 numbers of rows differ, 5024 a name that occurs twice.
std::shared_ptr<const Source> zip(std::vector<std::shared_ptr<const Source>> sources);

/// Each row with rows of `table` besides: those that row i of `at`, one field of integers, names. Table's fields follow the
/// source's own, with `at`'s dimensions first. Faults: 5009 numbers of rows differ, 5024 a name that occurs twice, 5116 what
/// cannot be joined; 5019, at `finish`, an index that the table has no row for.
std::shared_ptr<const Source> join(std::shared_ptr<const Source> source, std::shared_ptr<const Source> table,
                                   std::shared_ptr<const Source> at);

/// Example i holds the rows i·stride … i·stride + size: each field gets a first dimension of `size`. What is left at the end
/// is dropped. Fault 5116 for fields of texts.
std::shared_ptr<const Source> windows(std::shared_ptr<const Source> source, int64_t size, int64_t stride);

/// All rows, made once and kept in a table.
std::shared_ptr<const Source> stored(const Source& source, const Cache& cache, const std::string& key);

}  // namespace dtl::data
