// Walks over a step's statements: forward from the data, back from the loss.
#include "compiler/sema/joined_batches.h"

#include <algorithm>

namespace dtl::sema {
namespace {

int rows_in(const types::TensorType& type) {
  return static_cast<int>(std::count_if(type.dims.begin(), type.dims.end(), [](const types::Dim& dim) { return !dim.is_constant(); }));
}

/// The walk from a loss to what it divides by.
class Denominators {
 public:
  explicit Denominators(const Body& body)
      : body_(body), maker_(body.values.size()), of_data_(body.values.size()), of_weights_(body.values.size()) {
    for (const Statement& statement : body.statements) {
      bool data = statement.kind == StatementKind::input, weights = statement.kind == StatementKind::read_weight;
      for (const int32_t operand : statement.operands) {
        data |= of_data_[at(operand)] != 0;
        weights |= of_weights_[at(operand)] != 0;
      }
      for (const int32_t result : statement.results) {
        maker_[at(result)] = &statement;
        of_data_[at(result)] = data;
        of_weights_[at(result)] = weights;
      }
    }
  }

  /// The one value by which all that `loss` adds up is divided.
  std::optional<int32_t> find(int32_t loss) { return visit(loss) && found_ ? found_ : std::nullopt; }

 private:
  static size_t at(int32_t value) { return static_cast<size_t>(value); }

  /// False where batches cannot be weighted by one value.
  bool visit(int32_t value) {
    if (!of_data_[at(value)]) return true;  // the same in each batch
    const Statement& made = *maker_[at(value)];
    if (made.kind != StatementKind::op || !body_.values[at(value)].type.dims.empty()) return false;
    const auto operand = [&](size_t i) { return made.operands[i]; };
    if (made.op == "add" || made.op == "subtract") return visit(operand(0)) && visit(operand(1));
    if (made.op == "negate" || made.op == "cast" || made.op == "reshape") return visit(operand(0));
    if (made.op == "multiply") {
      if (!of_data_[at(operand(0))]) return visit(operand(1));
      return !of_data_[at(operand(1))] && visit(operand(0));
    }
    if (made.op == "select") return !of_weights_[at(operand(0))] && visit(operand(1)) && visit(operand(2));
    if (made.op != "divide") return false;
    if (!of_data_[at(operand(1))]) return visit(operand(0));
    const int32_t divisor = guarded(operand(1));
    if (of_weights_[at(divisor)] || (found_ && *found_ != divisor)) return false;
    found_ = divisor;
    return true;
  }

  /// The sum itself, where what is divided by is guarded against zero: select(sum == 0, 1, sum).
  int32_t guarded(int32_t value) const {
    for (;;) {
      const Statement& made = *maker_[at(value)];
      if (made.kind != StatementKind::op) return value;
      if (made.op == "cast") {
        value = made.operands[0];
      } else if (made.op == "select" && !of_data_[at(made.operands[1])]) {
        value = made.operands[2];
      } else if (made.op == "select" && !of_data_[at(made.operands[2])]) {
        value = made.operands[1];
      } else {
        return value;
      }
    }
  }

  const Body& body_;
  std::vector<const Statement*> maker_;
  std::vector<char> of_data_, of_weights_;
  std::optional<int32_t> found_;
};

}  // namespace

std::optional<int32_t> weight_of_batch(const Body& body, int32_t loss) { return Denominators(body).find(loss); }

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
