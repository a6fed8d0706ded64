// Strategies: a declaration with its hyperparameters to a types::Strategy. No strategy's name means anything here.
#pragma once

#include "compiler/sema/evaluate.h"

namespace dtl::sema {

/// A `strategy` value, or an error after a report.
Value evaluate_strategy(Evaluator& evaluator, const syntax::Decl& decl, const Args& args, source::Range range);

/// The same strategy with fields changed: `mirrored() with { weights = split(data) }`.
Value strategy_with(Evaluator& evaluator, const Value& base, const std::vector<syntax::Argument>& changes, source::Range range);

/// Where nothing is said of one: everything in one place.
types::Strategy default_strategy();

/// The names of a strategy's fields.
const std::vector<std::string>& strategy_fields();

}  // namespace dtl::sema
