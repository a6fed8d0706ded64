// Settings of a train block beyond numbers: how gradients are joined and clipped, when splits are evaluated, when training stops,
// what is saved.
#pragma once

#include <optional>
#include <string>

#include "compiler/sema/evaluate.h"
#include "compiler/sema/record_setting.h"
#include "compiler/sema/settings.h"

namespace dtl::sema {

/// `gradients = { accumulate = 4, clip_norm = 1.0, clip_value = 0.5 }`.
void read_gradients(Evaluator& evaluator, const Settings& settings, const syntax::Decl& train, Scope* scope);
/// `evaluate_every = 500 steps`, `2 epochs`.
void read_evaluate_every(Evaluator& evaluator, const Settings& settings, const syntax::Decl& train, Scope* scope);
/// `stop_early = { watch = validation.loss, patience = 3, … }`; after the steps, whose reports it may watch.
void read_stop_early(Evaluator& evaluator, const Settings& settings, const syntax::Decl& train, Scope* scope);

/// `checkpoint = { directory = "runs/x", every = 1 epoch, keep = 3, watch = validation.loss, mode = min }`; after the steps.
void read_checkpoint(Evaluator& evaluator, const Settings& settings, const syntax::Decl& train, Scope* scope);

/// What `watch` and `mode` of a record say; nothing after a report. A mode that is not said is known by the report's name.
struct Watch {
  std::string split, report;
  bool maximize = false;
};
std::optional<Watch> read_watch(Evaluator& evaluator, RecordSetting& record, const std::string& setting);

/// Builds the site's rule for its gradients from Program::gradients: the library's `clip_values` and `clip_by_norm`.
void add_clipping(Evaluator& evaluator, MinimizeSite& site, source::Range range);

}  // namespace dtl::sema
