// Lowering: a Program's entry points, one after the other.
#include "compiler/lower/lower.h"

#include "compiler/graph/builder.h"
#include "compiler/lower/body.h"
#include "compiler/lower/loss_scale.h"
#include "compiler/lower/step.h"
#include "compiler/source/check.h"

namespace dtl::lower {
namespace {

using graph::Builder;
using graph::Graph;
using graph::Role;
using graph::ValueId;
using sema::StatementKind;

/// `init`: first values of weights, states and optimizer states, from the seed.
void add_init(Graph& graph, const graph::OpTable& ops, const sema::Program& program, bool trains) {
  const graph::FunctionId function{static_cast<int32_t>(graph.functions.size())};
  graph.functions.push_back({"init", {}, {}, {}});
  Builder builder(ops, graph, function);
  const types::TensorType counter{DType::i64, {}};
  std::optional<ValueId> seed;
  std::vector<ValueId> weights;

  Surroundings surroundings;
  surroundings.read = [&](const sema::Statement& statement) -> ValueId {
    if (statement.kind == StatementKind::read_seed) {
      if (!seed) seed = builder.param("seed", counter, Role::seed);
      return *seed;
    }
    // Optimizer states may start from their weight, which comes first; no update was made yet.
    if (statement.kind == StatementKind::read_weight) return weights.at(static_cast<size_t>(statement.index));
    DTL_CHECK(statement.kind == StatementKind::read_updates, "an initial value reads the batch or a state");
    return builder.constant(0, DType::i64);
  };
  surroundings.effect = [](const sema::Statement&, std::span<const ValueId>) { DTL_CHECK(false, "an initial value has effects"); };
  const auto add = [&](const std::vector<sema::Variable>& variables, Role role) {
    for (const sema::Variable& variable : variables) {
      surroundings.scope = variable.path;
      const auto values = lower_body(builder, variable.init, surroundings);
      const ValueId value = *values[static_cast<size_t>(variable.init_value)];
      DTL_CHECK(builder.type(value) == variable.type, "`{}` is {}, its first value {}", variable.path, variable.type.str(),
                builder.type(value).str());
      builder.result(value, role, variable.path);
      if (role == Role::weight) weights.push_back(value);
    }
  };
  if (trains && program.precision == sema::Precision::f16) {
    for (size_t site = 0; site < program.minimize_sites.size(); ++site) {
      builder.result(builder.constant(kFirstLossScale, DType::f32), Role::state, loss_scale_path(site));
      builder.result(builder.constant(0, DType::i64), Role::state, good_updates_path(site));
    }
  }
  add(program.weights, Role::weight);
  add(program.states, Role::state);
  if (trains) add(program.optimizer_states, Role::optimizer);
}

}  // namespace

Graph lower(const sema::Program& program, const graph::OpTable& ops, Purpose purpose) {
  Graph graph;
  graph.strategy = program.strategy;
  for (const sema::Variable& weight : program.weights) {
    if (!weight.placement.empty()) graph.strategy.own[weight.path] = weight.placement;
  }
  if (program.precision == sema::Precision::bf16) graph.products = DType::bf16;
  if (program.precision == sema::Precision::f16) graph.products = DType::f16;
  graph.bounds = {{"batch", program.data.batch}};
  add_init(graph, ops, program, purpose == Purpose::train);
  if (purpose == Purpose::predict) {
    add_step(graph, ops, program, program.prediction->body, "predict", Batches::one, program.prediction->outputs);
    return graph;
  }
  if (purpose == Purpose::evaluate) {
    add_step(graph, ops, program, *program.eval_step, "eval");
    return graph;
  }
  const bool several = program.gradients.accumulate > 1;
  if (several) add_step(graph, ops, program, program.train_step, "train", Batches::adds);
  add_step(graph, ops, program, program.train_step, "train", several ? Batches::closes : Batches::one);
  if (program.eval_step) add_step(graph, ops, program, *program.eval_step, "eval");
  return graph;
}

}  // namespace dtl::lower
