// Built-in functions by which the library tells its users of likely mistakes; none of them computes anything.
#include <set>

#include "compiler/sema/builtins.h"

namespace dtl::sema {
namespace {

using source::Range;

/// Where a value was made a probability; nothing where it is none. Back through what moves numbers and changes none.
std::optional<Range> made_probability(const BodyContext& context, int32_t id) {
  static const std::set<std::string> kMoves = {"cast", "reshape", "slice", "transpose", "broadcast", "stop_gradient", "local_share"};
  const std::vector<Statement>& statements = context.body->statements;
  for (auto it = statements.rbegin(); it != statements.rend(); ++it) {
    if (const auto known = context.probabilities.find(id); known != context.probabilities.end()) return known->second;
    if (it->results.size() != 1 || it->results[0] != id) continue;
    if (it->kind == StatementKind::op && it->op == "sigmoid") return context.ranges[static_cast<size_t>(id)];
    if (it->kind != StatementKind::op || !kMoves.contains(it->op)) return std::nullopt;
    id = it->operands[0];
  }
  return std::nullopt;
}

}  // namespace

Value as_probabilities(BuiltinCall& call) {
  const Value& x = call.arguments[0]->value;
  if (x.is(ValueKind::tensor)) {
    Evaluator& evaluator = call.evaluator;
    evaluator.emitter().context().probabilities.emplace(x.tensor.id, evaluator.reporter().place(call.range));
  }
  return x;
}

Value as_logits(BuiltinCall& call) {
  const Value& x = call.arguments[0]->value;
  if (!x.is(ValueKind::tensor)) return x;
  Reporter& reporter = call.evaluator.reporter();
  const auto made = made_probability(call.evaluator.emitter().context(), x.tensor.id);
  const Range place = reporter.place(call.range);
  if (!made || !reporter.first(diag::probabilities_as_logits, place)) return x;
  const std::string callee = reporter.callee(call.range);
  const std::string user = callee.empty() ? std::string(call.builtin.name) : callee;
  auto reported = reporter.report(place, diag::probabilities_as_logits, user);
  if (!reporter.in_library(*made)) reported.note(*made, "they are made here");
  reported.help("give it the numbers before that: `" + user + "` makes probabilities of them itself, and loses no digits");
  return x;
}

Value warn(BuiltinCall& call) {
  const Value& text = call.arguments[0]->value;
  Reporter& reporter = call.evaluator.reporter();
  const Range place = reporter.place(call.range);
  if (reporter.first(diag::library_warns, place))
    reporter.report(place, diag::library_warns, text.is(ValueKind::text) ? text.text : describe(text));
  return Value::unit_value();
}

}  // namespace dtl::sema
