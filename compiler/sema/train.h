// Train blocks: settings read, data opened, the training step and the evaluation step built.
#pragma once

#include "compiler/sema/settings.h"

namespace dtl::sema {

/// Fills the evaluator's Program from a train block; reports what is wrong with it and with all that it uses.
void check_train(Evaluator& evaluator, const syntax::Decl& train, const Settings& settings, const DataCatalogue& catalogue);

/// The strategy that an expression names; a declaration by its bare name takes its defaults. Nothing after a report.
std::optional<types::Strategy> strategy_of(Evaluator& evaluator, const syntax::Expr& expr, Scope* scope);

}  // namespace dtl::sema
