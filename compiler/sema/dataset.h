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
bool read_dataset(Evaluator& evaluator, const syntax::Decl& decl, const Settings& settings, const DataCatalogue& catalogue);

/// The names that entries of a dataset may use: its `let`s and vocabularies.
Scope* dataset_scope(Evaluator& evaluator, const syntax::Decl& decl);
/// `Corpus.vocabulary`; nothing where the dataset has no vocabulary of that name.
std::optional<Value> vocabulary_of(Evaluator& evaluator, const syntax::Decl& decl, const std::string& name);
/// A block of a dataset, `example`; null: there is none.
const syntax::Item* block_of(const syntax::Decl& decl, std::string_view name);
/// `text == "spam"` in `example`: a bool that the data's side makes.
Tensor text_equals(Evaluator& evaluator, const std::string& field, const std::string& text, source::Range range);

/// Emits the inputs, the `example` and, in training, the `augment` of a dataset read before into the current body.
std::optional<ExampleFields> emit_example(Evaluator& evaluator, const syntax::Decl& decl);
/// The dataset's `augment`, in a training body: fields that it sets are replaced, the others stay. Values are still those of
/// each example, as in `example`.
void emit_augment(Evaluator& evaluator, const syntax::Decl& decl, const syntax::Item& augment, ExampleFields& fields);

}  // namespace dtl::sema
