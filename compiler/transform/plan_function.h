// Planning of one function: its buffers and steps.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"
#include "compiler/kernel/kernel.h"
#include "compiler/transform/locals.h"
#include "runtime/plan/plan.h"

namespace dtl::transform {

/// What the functions of a graph have in common while they are planned.
struct PlanDraft {
  explicit PlanDraft(const graph::Graph& graph, const graph::OpTable& ops) : graph(graph), ops(ops) {}

  const graph::Graph& graph;
  const graph::OpTable& ops;
  plan::Plan plan;
  std::vector<kernel::Kernel> kernels;  ///< of Plan::kernels
  std::map<std::string, int32_t> kernel_of_text;
  std::map<std::pair<plan::StateRole, std::string>, int32_t> states;  ///< buffers
  std::map<std::string, int32_t> inputs;                              ///< buffers by field
};

/// Appends the function's buffers, kernels and entry to the plan. Throws PlaceError.
void plan_function(PlanDraft& draft, Locals& locals, graph::FunctionId function);

}  // namespace dtl::transform
