// Lowering: a typed Program to a Graph with one function per entry point, of global meaning.
//
// takes:    Program
// gives:    Graph with `init`, `train_step` (weights, states, optimizer states, metrics and counters in and out),
//           `eval_step`, `train_report`, `eval_report`; `gradient` and `pin` nodes still in place
// promises: the verifier holds; names come from the source
// print it: `dslc emit --stage graph`
#pragma once

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"
#include "compiler/sema/program.h"

namespace dtl::lower {

/// What a graph is for. Of initial values, evaluation and prediction need those of weights and states of layers alone.
enum class Purpose : uint8_t {
  train,     ///< everything but predict_step
  evaluate,  ///< init, eval_step, eval_report
  predict,   ///< init, predict_step: outputs of Program::prediction
};

graph::Graph lower(const sema::Program& program, const graph::OpTable& ops, Purpose purpose = Purpose::train);

}  // namespace dtl::lower
