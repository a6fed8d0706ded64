// Lowering of one typed body: statements in order.
#include "compiler/lower/body.h"

#include "compiler/source/check.h"

namespace dtl::lower {

using graph::ValueId;
using sema::Statement;
using sema::StatementKind;

std::vector<std::optional<ValueId>> lower_body(graph::Builder& builder, const sema::Body& body, const Surroundings& surroundings) {
  std::vector<std::optional<ValueId>> values(body.values.size());
  for (const auto& [index, value] : surroundings.given) values[static_cast<size_t>(index)] = value;
  const auto bind = [&](int32_t index, ValueId value) {
    const sema::TypedValue& typed = body.values[static_cast<size_t>(index)];
    DTL_CHECK(builder.type(value) == typed.type, "`{}` is {} for sema and {} in the graph", typed.name, typed.type.str(),
              builder.type(value).str());
    values[static_cast<size_t>(index)] = value;
  };

  std::vector<std::string> scopes{surroundings.scope};
  for (const Statement& statement : body.statements) {
    std::vector<ValueId> operands;
    for (const int32_t operand : statement.operands) {
      const auto& value = values[static_cast<size_t>(operand)];
      DTL_CHECK(value.has_value(), "`{}` is read before it is made", body.values[static_cast<size_t>(operand)].name);
      operands.push_back(*value);
    }
    builder.at(statement.range, scopes.back());
    switch (statement.kind) {
      case StatementKind::op: {
        std::vector<std::string> names;
        for (const int32_t result : statement.results) {
          const std::string& name = body.values[static_cast<size_t>(result)].name;
          names.push_back(name.empty() ? statement.op : name);
        }
        const auto results = builder.add_named(statement.op, std::move(operands), statement.attrs, names);
        DTL_CHECK(results.size() == statement.results.size(), "`{}` gives {} results, not {}", statement.op, results.size(),
                  statement.results.size());
        for (size_t i = 0; i < results.size(); ++i) bind(statement.results[i], results[i]);
        break;
      }
      case StatementKind::input:
      case StatementKind::read_weight:
      case StatementKind::read_state:
      case StatementKind::read_updates:
      case StatementKind::read_seed:
      case StatementKind::read_rows:
        bind(statement.results[0], surroundings.read(statement));
        break;
      case StatementKind::write_state:
      case StatementKind::minimize:
      case StatementKind::report:
        surroundings.effect(statement, operands);
        break;
      case StatementKind::check_index:
        surroundings.effect(statement, operands);
        bind(statement.results[0], operands[0]);
        break;
      case StatementKind::enter:
        scopes.push_back(statement.path);
        break;
      case StatementKind::leave:
        DTL_CHECK(scopes.size() > 1, "a scope is left that was not entered");
        scopes.pop_back();
        break;
    }
  }
  builder.at({}, surroundings.scope);
  return values;
}

}  // namespace dtl::lower
