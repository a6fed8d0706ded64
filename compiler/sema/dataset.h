// Datasets: splits opened, batch and shuffle read, and `example` as tensor statements over a whole batch.
#pragma once

#include "compiler/sema/settings.h"

namespace dtl::sema {

/// What one example is made of, after `example`: names and tensors whose first dimension is the batch.
struct ExampleFields {
  std::vector<std::string> names;
  std::vector<Value> values;
  std::vector<source::Range> ranges;
};

/// Fills Program::data and Program::fields. False after a report.
bool read_dataset(Evaluator& evaluator, const syntax::Decl& decl, const Settings& settings, const OpenSource& open);

/// Emits the inputs and the `example` of a dataset read before into the current body.
std::optional<ExampleFields> emit_example(Evaluator& evaluator, const syntax::Decl& decl);

/// Names of source functions, for name resolution: `idx`, `take`, `csv`, …
bool is_source_name(std::string_view name);

}  // namespace dtl::sema
