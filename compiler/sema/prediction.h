// What `dslc predict` computes: the model's result, or a layer's, and nothing that it does not need.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/sema/evaluate.h"

namespace dtl::sema {

/// Results of layers and models by the paths of their instances, in order; a layer that is applied several times has several.
using LayerResults = std::vector<std::pair<std::string, Value>>;

/// Fills the outputs of Program::prediction, whose body computes `result` and `layers`, and drops statements that they do not
/// need. `layer` is a path, or its end where only one has it; empty: `result` is wanted. Reports at `range`.
void choose_outputs(Evaluator& evaluator, const Value& result, const LayerResults& layers, const std::string& layer, source::Range range);

}  // namespace dtl::sema
