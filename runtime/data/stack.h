// Rows of arrays out of columns of numbers: `x_0`, `x_1`, `x_2` make an `x` of shape [3].
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/data/source.h"

namespace dtl::data {

/// The columns of a field, row-major: `x` itself for a field without a shape, else `x_0`, or `x_1_0` of two dimensions.
std::vector<std::string> column_names(const Field& field);

/// `source` with the fields `wanted`, each made of its columns, which have its element type. Fault 6121 (`path`): a column that
/// is not there.
std::shared_ptr<const Source> stack_columns(std::shared_ptr<const Source> source, const std::vector<Field>& wanted, const std::string& path,
                                            const std::vector<std::string>& others);

}  // namespace dtl::data
