// One walk forward from the weights, one backward from the loss, over statements that pass gradients on.
#include "compiler/sema/loss_path.h"

#include <algorithm>

#include "compiler/source/check.h"

namespace dtl::sema {
namespace {

bool passes_gradients(const Statement& statement, const graph::OpTable& ops) {
  if (statement.kind != StatementKind::op || statement.op == "stop_gradient") return false;
  const auto id = ops.find(statement.op);
  DTL_CHECK(id, "sema uses the op `{}`, which the table lacks", statement.op);
  return !std::holds_alternative<graph::Zero>(*ops[*id].gradient);
}

}  // namespace

LossPath loss_path(const Body& body, const graph::OpTable& ops, int32_t loss, const std::vector<int32_t>& weights) {
  std::vector<char> depends(body.values.size()), reaches(body.values.size());
  const auto at = [](int32_t value) { return static_cast<size_t>(value); };
  for (const Statement& statement : body.statements) {
    const bool trained =
        statement.kind == StatementKind::read_weight && std::find(weights.begin(), weights.end(), statement.index) != weights.end();
    const bool passes = passes_gradients(statement, ops) && std::any_of(statement.operands.begin(), statement.operands.end(),
                                                                        [&](int32_t operand) { return depends[at(operand)]; });
    for (const int32_t result : statement.results) depends[at(result)] = trained || passes;
  }
  reaches[at(loss)] = 1;
  LossPath found;
  found.reaches_weights = depends[at(loss)] != 0;
  for (auto statement = body.statements.rbegin(); statement != body.statements.rend(); ++statement) {
    const bool needed =
        std::any_of(statement->results.begin(), statement->results.end(), [&](int32_t result) { return reaches[at(result)]; });
    if (needed && statement->kind == StatementKind::read_weight &&
        std::find(weights.begin(), weights.end(), statement->index) != weights.end()) {
      found.reached.push_back(statement->index);
    }
    if (!needed || !passes_gradients(*statement, ops)) continue;
    for (const int32_t operand : statement->operands) reaches[at(operand)] = 1;
    if (statement->op == "local_share" && depends[at(statement->operands[0])]) found.region = statement->operands[0];
  }
  return found;
}

}  // namespace dtl::sema
