// Search for nested reductions: a walk from a value to what it is made of.
#include "compiler/sema/nested_reduction.h"

#include <algorithm>
#include <set>
#include <vector>

namespace dtl::sema {
namespace {

class NestedReduction {
 public:
  explicit NestedReduction(const Body& body) : body_(body), made_by_(body.values.size(), -1) {
    int depth = 0;
    for (size_t i = 0; i < body.statements.size(); ++i) {
      const Statement& statement = body.statements[i];
      const bool region = statement.path.ends_with("per_replica");
      if (statement.kind == StatementKind::enter && !region) ++depth;
      if (statement.kind == StatementKind::leave && !region) --depth;
      if (statement.kind != StatementKind::op || depth > 0) continue;
      for (const int32_t result : statement.results) made_by_[static_cast<size_t>(result)] = static_cast<int32_t>(i);
    }
  }

  /// The inner of the two; −1: none.
  int32_t find(int32_t value) { return visit(value, Inside::nothing); }

 private:
  enum class Inside : uint8_t {
    nothing,
    replicas,  ///< a `reduce` over replicas, which makes one reduction with the one that each replica made
    reduction,
  };

  bool over_batch(const Statement& statement) const {
    const auto varies = [](const types::Dim& dim) { return !dim.is_constant(); };
    if (statement.op == "size") return varies(statement.attrs.get<types::Dims>("dim")[0]);
    if (statement.op != "reduce") return false;
    const types::Dims& dims = body_.values[static_cast<size_t>(statement.operands[0])].type.dims;
    const types::Ints& axes = statement.attrs.get<types::Ints>("axes");
    return std::any_of(axes.begin(), axes.end(), [&](int64_t axis) { return varies(dims[static_cast<size_t>(axis)]); });
  }

  int32_t visit(int32_t value, Inside inside) {
    const int32_t made = made_by_[static_cast<size_t>(value)];
    if (made < 0 || !seen_.insert({value, inside}).second) return -1;
    const Statement& statement = body_.statements[static_cast<size_t>(made)];
    Inside below = inside;
    if (statement.op == "reduce_varying") {
      if (inside != Inside::nothing) return value;
      below = Inside::replicas;
    } else if (over_batch(statement)) {
      if (inside == Inside::reduction) return value;
      below = Inside::reduction;
    }
    for (const int32_t operand : statement.operands) {
      if (const int32_t found = visit(operand, below); found >= 0) return found;
    }
    return -1;
  }

  const Body& body_;
  std::vector<int32_t> made_by_;
  std::set<std::pair<int32_t, Inside>> seen_;
};

}  // namespace

int32_t nested_reduction(const Body& body, int32_t value) { return NestedReduction(body).find(value); }

}  // namespace dtl::sema
