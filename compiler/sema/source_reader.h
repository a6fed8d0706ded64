// Source expressions: `csv("messages.csv") |> where(row => row.split == "train")` to a SourceSpec, and vocabularies.
#pragma once

#include "compiler/sema/evaluate.h"

namespace dtl::sema {

/// What the sources of one dataset have in common.
struct SourceContext {
  const DataCatalogue* catalogue = nullptr;
  const std::vector<syntax::Parameter>* parameters = nullptr;  ///< of `example`; null: there is none
  int64_t skip_limit = -1;                                     ///< of `on_error`
};

/// False after a report.
bool read_source(Evaluator& evaluator, Scope* scope, const SourceContext& context, const syntax::Expr& expr, SourceSpec& spec);

/// A vocabulary, opened; an error after a report. `name` is `Corpus.vocabulary`.
Value read_vocabulary(Evaluator& evaluator, Scope* scope, const SourceContext& context, const syntax::Expr& expr, const std::string& name);

/// The expression `row => …` over the fields of `info`; nothing after a report. `source` is where the data comes from.
std::optional<RowExpr> read_row_expr(Evaluator& evaluator, Scope* scope, const syntax::Expr& lambda, const SplitInfo& info,
                                     source::Range source);

/// Names of functions that give or change a source: `idx`, `take`, `csv`, …
bool is_source_name(std::string_view name);
bool is_vocabulary_name(std::string_view name);
/// All functions of sources, without those that make vocabularies.
std::vector<std::string> source_names();

}  // namespace dtl::sema
