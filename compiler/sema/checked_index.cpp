// Numbers used as indices: what is a field of the data is looked at before the first step, what is computed in every step.
#include <algorithm>
#include <set>

#include "compiler/sema/builtins.h"

namespace dtl::sema {
namespace {

using source::Range;

/// Where the numbers of an index come from.
struct Origin {
  enum class Kind : uint8_t {
    field,   ///< they are all numbers of the field `path`
    within,  ///< whatever the data, they are from 0 to `below` − 1
    computed,
  };
  Kind kind = Kind::computed;
  std::string path;
  int64_t below = 0;
};

const types::TensorType& type_of(const Body& body, int32_t id) { return body.values[static_cast<size_t>(id)].type; }

/// Whether a result has each of the numbers of the operand, and no others.
bool keeps_numbers(const Body& body, const Statement& statement, bool share) {
  static const std::set<std::string> kMoves = {"reshape", "transpose", "broadcast"};
  if (statement.kind == StatementKind::check_index) return true;
  if (statement.kind != StatementKind::op || statement.operands.size() != 1) return false;
  const types::TensorType &from = type_of(body, statement.operands[0]), &to = type_of(body, statement.results[0]);
  if (statement.op == "slice") return from.dims == to.dims;
  // A number that a narrower type cannot hold is no index either.
  if (statement.op == "cast") return (is_integer(from.dtype) && is_integer(to.dtype)) || (share && from.dtype != DType::boolean);
  return kMoves.contains(statement.op);
}

/// The numbers that a statement can give, whatever the data, are below this.
std::optional<int64_t> bound_of(const Body& body, const Statement& statement) {
  if (statement.kind != StatementKind::op) return std::nullopt;
  const auto dim = [](const types::TensorType& type, int64_t axis) { return type.dims[static_cast<size_t>(axis)].constant(); };
  if (statement.op == "iota") return dim(type_of(body, statement.results[0]), statement.attrs.get<int64_t>("axis"));
  if (statement.op == "argmax") return dim(type_of(body, statement.operands[0]), statement.attrs.get<int64_t>("axis"));
  if (statement.op == "cast" && type_of(body, statement.operands[0]).dtype == DType::boolean) return 2;
  if (statement.op == "constant") {
    const double value = statement.attrs.get<double>("value");
    if (value >= 0 && value < 0x1p53) return static_cast<int64_t>(value) + 1;
  }
  return std::nullopt;
}

/// Of an index or, which may be a float, a share.
Origin origin_of(const Body& body, int32_t id, bool share) {
  for (auto it = body.statements.rbegin(); it != body.statements.rend(); ++it) {
    if (it->results.size() != 1 || it->results[0] != id) continue;
    if (it->kind == StatementKind::input && (share || is_integer(type_of(body, id).dtype))) return {Origin::Kind::field, it->path, 0};
    if (const auto below = bound_of(body, *it)) return {Origin::Kind::within, {}, *below};
    if (!keeps_numbers(body, *it, share)) return {};
    id = it->operands[0];
  }
  return {};
}

void check_field(Program& program, const std::string& field, int64_t size, Range range, bool share) {
  std::vector<IndexCheck>& checks = program.data.checks;
  const auto known =
      std::find_if(checks.begin(), checks.end(), [&](const IndexCheck& check) { return check.field == field && check.share == share; });
  if (known == checks.end()) {
    checks.push_back({field, size, range, share});
  } else {
    known->size = std::min(known->size, size);
  }
}

}  // namespace

Tensor checked_index(BuiltinCall& call, Tensor index, const types::Dim& size) {
  Emitter& emitter = call.evaluator.emitter();
  const auto bound = size.constant();
  const types::TensorType& type = type_of(*index.body, index.id);
  const bool empty = std::any_of(type.dims.begin(), type.dims.end(), [](const types::Dim& dim) { return dim == types::Dim(0); });
  if (!bound || empty || !is_integer(type.dtype) || emitter.context().initial || emitter.context().optimizer) return index;
  const Origin origin = origin_of(*emitter.context().body, index.id, false);
  if (origin.kind == Origin::Kind::field) {
    check_field(call.evaluator.program(), origin.path, *bound, call.range, false);
    return index;
  }
  if (origin.kind == Origin::Kind::within && origin.below <= *bound) return index;
  std::vector<IndexSite>& sites = call.evaluator.program().index_sites;
  const auto site = static_cast<int32_t>(sites.size());
  const Reporter& reporter = call.evaluator.reporter();
  const std::string callee = reporter.callee(call.range);
  sites.push_back(
      {fmt::format("index.{}", site), callee.empty() ? std::string(call.builtin.name) : callee, *bound, reporter.place(call.range)});
  return emitter.check_index(index, site, call.range);
}

Value checked_share(BuiltinCall& call) {
  const Value& x = call.arguments[0]->value;
  if (!x.is(ValueKind::tensor) || !call.evaluator.emitter().has_context()) return x;
  const BodyContext& context = call.evaluator.emitter().context();
  if (context.initial || context.optimizer) return x;
  const Origin origin = origin_of(*context.body, x.tensor.id, true);
  if (origin.kind == Origin::Kind::field) check_field(call.evaluator.program(), origin.path, 2, call.range, true);
  return x;
}

Value checked_index(BuiltinCall& call) {
  const Value& index = call.arguments[0]->value;
  const auto size = as_dim(call.arguments[1]->value);
  if (!index.is(ValueKind::tensor) || !size) return index;
  const Tensor used = call.evaluator.emitter().use(index.tensor, call.range, "`checked_index`");
  return used.ok() ? Value::of_tensor(checked_index(call, used, *size)) : Value();
}

}  // namespace dtl::sema
