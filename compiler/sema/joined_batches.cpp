// One walk forward from the data, one backward from the loss.
#include "compiler/sema/joined_batches.h"

#include <algorithm>

namespace dtl::sema {
namespace {

int rows_in(const types::TensorType& type) {
  return static_cast<int>(std::count_if(type.dims.begin(), type.dims.end(), [](const types::Dim& dim) { return !dim.is_constant(); }));
}

}  // namespace

const Statement* row_that_knows_others(const Body& body, const graph::OpTable& ops, int32_t loss) {
  const auto at = [](int32_t value) { return static_cast<size_t>(value); };
  const auto rows = [&](int32_t value) { return rows_in(body.values[at(value)].type); };
  std::vector<char> of_data(body.values.size()), reduced(body.values.size()), needed(body.values.size());
  for (const Statement& statement : body.statements) {
    bool data = statement.kind == StatementKind::input, known = false;
    int most = 0;
    for (const int32_t operand : statement.operands) {
      data |= of_data[at(operand)] != 0;
      known |= reduced[at(operand)] != 0;
      if (of_data[at(operand)]) most = std::max(most, rows(operand));
    }
    for (const int32_t result : statement.results) {
      of_data[at(result)] = data;
      // Rows are gone, or there is a place for each pair of them.
      reduced[at(result)] = known || (statement.kind == StatementKind::op && data && most > 0 && rows(result) != most);
    }
  }
  needed[at(loss)] = 1;
  const Statement* first = nullptr;
  for (auto statement = body.statements.rbegin(); statement != body.statements.rend(); ++statement) {
    const auto is_needed = [&](int32_t result) { return needed[at(result)] != 0; };
    if (statement->kind != StatementKind::op || std::none_of(statement->results.begin(), statement->results.end(), is_needed)) continue;
    const auto id = ops.find(statement->op);
    if (!id || std::holds_alternative<graph::Zero>(*ops[*id].gradient)) continue;
    for (const int32_t operand : statement->operands) needed[at(operand)] = 1;
    const int32_t result = statement->results[0];
    if (reduced[at(result)] && rows(result) > 0) first = &*statement;
  }
  return first;
}

void warn_of_joined_batches(Reporter& reporter, const Program& program, const graph::OpTable& ops,
                            const std::vector<source::Range>& ranges) {
  if (program.gradients.accumulate == 1 || reporter.has_errors()) return;
  for (const Statement& statement : program.train_step.statements) {
    if (statement.kind != StatementKind::minimize) continue;
    const Statement* row = row_that_knows_others(program.train_step, ops, statement.operands[0]);
    if (!row) continue;
    const source::Range range = ranges[static_cast<size_t>(row->results[0])];
    if (!reporter.first(diag::rows_of_own_batch, range)) continue;
    reporter.report(range, diag::rows_of_own_batch, program.gradients.accumulate)
        .help("it sees the rows of one batch at a time: a larger `batch`, or a layer without statistics over the batch, would not differ");
  }
}

}  // namespace dtl::sema
