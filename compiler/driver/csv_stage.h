// What a `csv` of a program asks of the reader.
#pragma once

#include <string>

#include "compiler/sema/data_catalogue.h"
#include "runtime/data/csv.h"

namespace dtl::driver {

/// Of an element type's name or `text`; empty: the whole file decides.
data::CsvType csv_type(const std::string& name);
data::CsvOptions csv_options(const sema::SourceStage& stage);

}  // namespace dtl::driver
