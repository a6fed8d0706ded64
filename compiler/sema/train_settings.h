// Settings of a train block beyond numbers: how gradients are joined and clipped, when splits are evaluated, when training stops.
#pragma once

#include "compiler/sema/evaluate.h"
#include "compiler/sema/settings.h"

namespace dtl::sema {

/// `gradients = { accumulate = 4, clip_norm = 1.0, clip_value = 0.5 }`.
void read_gradients(Evaluator& evaluator, const Settings& settings, const syntax::Decl& train, Scope* scope);
/// `evaluate_every = 500 steps`, `2 epochs`.
void read_evaluate_every(Evaluator& evaluator, const Settings& settings, const syntax::Decl& train, Scope* scope);
/// `stop_early = { watch = validation.loss, patience = 3, … }`; after the steps, whose reports it may watch.
void read_stop_early(Evaluator& evaluator, const Settings& settings, const syntax::Decl& train, Scope* scope);

/// Builds the site's rule for its gradients from Program::gradients: the library's `clip_values` and `clip_by_norm`.
void add_clipping(Evaluator& evaluator, MinimizeSite& site, source::Range range);

}  // namespace dtl::sema
