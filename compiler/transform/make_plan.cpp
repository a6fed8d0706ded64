// make_plan: what the functions share, then each function.
#include "compiler/transform/make_plan.h"

#include "compiler/source/check.h"
#include "compiler/transform/plan_function.h"

namespace dtl::transform {

Expected<plan::Plan, PlaceError> make_plan(const graph::Graph& graph, const graph::OpTable& ops) {
  const ContextNote note("making the plan");
  PlanDraft draft(graph, ops);
  try {
    draft.plan.mesh = graph.strategy.mesh.axes;
    Locals locals(graph, draft.plan);
    for (size_t f = 0; f < graph.functions.size(); ++f) plan_function(draft, locals, {static_cast<int32_t>(f)});
    return std::move(draft.plan);
  } catch (PlaceError& error) {
    return Unexpected{std::move(error)};
  }
}

}  // namespace dtl::transform
