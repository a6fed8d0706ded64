// Built-in functions of the language itself: over compile-time values, replicas and training steps.
#include <algorithm>

#include "compiler/sema/builtin_rows.h"

namespace dtl::sema {
namespace {

using source::Range;
using types::Dims;

const Operand& at(const BuiltinCall& call, size_t i) { return *call.arguments[i]; }

Arg argument(Value value, Range range, Scope* scope) {
  Arg arg;
  arg.value = std::move(value);
  arg.range = range;
  arg.scope = scope;
  return arg;
}

Value run_fold(BuiltinCall& call) {
  const Operand& over = at(call, 0);
  const Value& body = at(call, 2).value;
  std::vector<Value> items;
  if (over.value.is(ValueKind::range) && (*over.value.items)[0].is(ValueKind::integer) && (*over.value.items)[1].is(ValueKind::integer)) {
    for (int64_t i = (*over.value.items)[0].integer; i < (*over.value.items)[1].integer; ++i) {
      items.push_back(Value::of_integer(i));
      if (!call.evaluator.take_turns(1, over.range)) return {};
    }
  } else if (over.value.is(ValueKind::list)) {
    items = *over.value.items;
  } else {
    call.evaluator.reporter().report(over.range, diag::setting_type, "`fold`", "a range or a list known at compile time",
                                     call.evaluator.shown(over.value));
    return {};
  }
  if (!call.evaluator.is_callable(body)) {
    call.evaluator.reporter().report(at(call, 2).range, diag::not_callable, call.evaluator.shown(body));
    return {};
  }
  Value value = at(call, 1).value;
  for (Value& item : items) {
    if (!value.ok()) return {};
    value = call.evaluator.call(
        body, {argument(std::move(value), at(call, 1).range, call.scope), argument(std::move(item), over.range, call.scope)}, call.range,
        call.scope);
  }
  return value;
}

/// Numbers of nested lists, in row-major order; the lengths that all lists of a depth have. False after a report.
bool flatten_list(BuiltinCall& call, const Value& value, size_t depth, Dims& shape, std::vector<Value>& numbers) {
  const Operand& list = at(call, 0);
  if (!value.is(ValueKind::list)) {
    if (depth == shape.size() && (value.is(ValueKind::integer) || value.is(ValueKind::number) || value.is(ValueKind::boolean))) {
      numbers.push_back(value);
      return true;
    }
    call.evaluator.reporter().report(list.range, diag::setting_type, "`tensor`", "nested lists of numbers, alike in depth",
                                     call.evaluator.shown(value));
    return false;
  }
  const auto length = static_cast<int64_t>(value.items->size());
  if (depth == shape.size() && numbers.empty()) shape.emplace_back(length);
  if (depth >= shape.size() || shape[depth] != types::Dim(length)) {
    call.evaluator.reporter().report(list.range, diag::setting_type, "`tensor`", "lists of one length at each depth",
                                     call.evaluator.shown(value));
    return false;
  }
  return std::all_of(value.items->begin(), value.items->end(),
                     [&](const Value& item) { return flatten_list(call, item, depth + 1, shape, numbers); });
}

Value run_tensor(BuiltinCall& call) {
  const Operand& list = at(call, 0);
  Dims shape;
  std::vector<Value> numbers;
  if (!flatten_list(call, list.value, 0, shape, numbers)) return {};
  // Each is a constant of its own in the graph; what is larger belongs into a file.
  constexpr size_t kMost = 4096;
  if (numbers.size() > kMost || !call.evaluator.take_turns(static_cast<int64_t>(numbers.size()), list.range)) {
    if (numbers.size() > kMost)
      call.evaluator.reporter().report(list.range, diag::setting_type, "`tensor`", fmt::format("up to {} numbers", kMost),
                                       fmt::format("a list of {}", numbers.size()));
    return {};
  }
  Emitter& emitter = call.evaluator.emitter();
  const auto all = [&](ValueKind kind) {
    return !numbers.empty() && std::all_of(numbers.begin(), numbers.end(), [&](const Value& x) { return x.is(kind); });
  };
  DType to = all(ValueKind::boolean) ? DType::boolean : all(ValueKind::integer) ? DType::i32 : emitter.float_dtype();
  if (call.arguments[1] && !call.arguments[1]->value.is(ValueKind::none)) {
    const Value& given = call.arguments[1]->value;
    if (!given.is(ValueKind::dtype)) {
      call.evaluator.reporter().report(call.arguments[1]->range, diag::setting_type, "`dtype`", "an element type",
                                       call.evaluator.shown(given));
      return {};
    }
    to = given.dtype;
  }
  const Dims one{types::Dim(1)};
  std::vector<Operand> parts;
  for (const Value& number : numbers) {
    const DType as = to == DType::boolean ? DType::u8 : to;  // parts are joined as numbers
    const Tensor x =
        emitter.materialise({number.is(ValueKind::boolean) ? Value::of_integer(number.boolean) : number, list.range}, as, one, "tensor");
    if (!x.ok()) return {};
    parts.push_back({Value::of_tensor(emitter.broadcast(x, one, call.range)), list.range});
  }
  if (parts.empty()) return Value::of_tensor(emitter.constant(0, to, shape, call.range));
  const Tensor all_parts = parts.size() == 1 ? parts[0].value.tensor : emitter.concat(parts, 0, call.range);
  const Tensor x = emitter.reshape(all_parts, shape, call.range);
  return Value::of_tensor(to == DType::boolean ? emitter.cast(x, to, call.range) : x);
}

Value run_len(BuiltinCall& call) {
  const Value& value = at(call, 0).value;
  if (value.is(ValueKind::list) || value.is(ValueKind::tuple) || value.is(ValueKind::record))
    return Value::of_integer(static_cast<int64_t>(value.items->size()));
  if (value.is(ValueKind::text)) return Value::of_integer(static_cast<int64_t>(value.text.size()));
  call.evaluator.reporter().report(at(call, 0).range, diag::setting_type, "`len`", "a list", call.evaluator.shown(value));
  return {};
}

Value run_error(BuiltinCall& call) {
  const Value& text = at(call, 0).value;
  call.evaluator.reporter().report(call.range, diag::requirement_failed, text.is(ValueKind::text) ? text.text : describe(text));
  return {};
}

Value run_is_none(BuiltinCall& call) { return Value::of_boolean(at(call, 0).value.is(ValueKind::none)); }

Value run_is_list(BuiltinCall& call) { return Value::of_boolean(at(call, 0).value.is(ValueKind::list)); }

/// Whether a value is a mean over a replica's own share: a sum divided by that share's size.
bool is_mean_of_share(const Body& body, int32_t id) {
  for (auto it = body.statements.rbegin(); it != body.statements.rend(); ++it) {
    if (it->results.empty() || it->results[0] != id) continue;
    if (it->op == "divide") {
      for (const Statement& divisor : body.statements) {
        if (divisor.results.empty() || divisor.results[0] != it->operands[1]) continue;
        return divisor.op == "size" && body.values[static_cast<size_t>(divisor.results[0])].local;
      }
    }
    return false;
  }
  return false;
}

Value run_reduce(BuiltinCall& call) {
  Emitter& emitter = call.evaluator.emitter();
  Reporter& reporter = call.evaluator.reporter();
  const std::string& word = at(call, 0).value.text;
  const Operand& operand = at(call, 1);
  const bool inside = emitter.has_context() && emitter.context().region_start.has_value();
  if (inside && call.builtin.name == "reduce") {
    reporter.report(call.range, diag::misplaced, "`reduce`", "inside `per_replica`: it makes one value for all replicas")
        .help("write `all_reduce`, or reduce the region's result");
    return {};
  }
  if (!operand.value.is(ValueKind::tensor) || (!inside && !emitter.local(operand.value.tensor))) {
    auto reported =
        reporter.report(operand.range, diag::reduce_of_global, std::string(call.builtin.name), call.evaluator.shown(operand.value));
    reported.help("a value made by `per_replica { … }`; `sum`, `mean` and `max` reduce a global one");
    return {};
  }
  Tensor x = operand.value.tensor;
  if (inside) x = emitter.use(x, operand.range, "`all_reduce`");
  if (!x.ok()) return {};
  const auto start = emitter.context().region_start;
  emitter.context().region_start.reset();
  Tensor result;
  if (word == "mean") {
    if (is_mean_of_share(*emitter.context().body, x.id)) {
      auto reported = reporter.report(call.range, diag::mean_of_means);
      const Range made = emitter.range(x);
      reported.note(reporter.in_library(made) ? operand.range : made, "this is the mean of one replica's share, and shares differ in size");
      reported.help("reduce the sum and the count instead: `reduce(sum, …) / count(…)`");
    }
    const DType dtype = emitter.type(x).dtype;
    const Tensor ones = emitter.share(emitter.constant(1, is_float(dtype) ? dtype : emitter.float_dtype(), {}, call.range), call.range);
    const Value sum = Value::of_tensor(emitter.reduce_varying(ReduceOp::sum, x, call.range));
    const Value count = Value::of_tensor(emitter.reduce_varying(ReduceOp::sum, ones, call.range));
    result = emitter.binary("divide", {sum, call.range}, {count, call.range}, call.range, "reduce");
  } else {
    result = emitter.reduce_varying(word == "prod" ? ReduceOp::product : *parse_reduce_op(word), x, call.range);
  }
  emitter.context().region_start = start;
  if (inside && result.ok()) result = emitter.share(result, call.range);
  return Value::of_tensor(result);
}

/// The weights of a model that has been called, or of a layer bound once, each as it is now: a list in the order of their making.
/// With `matching`, those whose path has that text.
Value run_weights_of(BuiltinCall& call) {
  Evaluator& evaluator = call.evaluator;
  Emitter& emitter = evaluator.emitter();
  const Operand& owner = at(call, 0);
  std::string path;
  if (owner.value.is(ValueKind::declared) && owner.value.closure->decl->kind == syntax::DeclKind::model) {
    path = owner.value.closure->decl->name.text;
  } else if (owner.value.is(ValueKind::instance)) {
    path = owner.value.closure->instance->path;
  } else {
    evaluator.reporter().report(owner.range, diag::setting_type, "`weights_of`", "a model, or a layer bound by `let`",
                                evaluator.shown(owner.value));
    return {};
  }
  std::string matching;
  if (call.arguments[1] && !call.arguments[1]->value.is(ValueKind::none)) {
    if (!at(call, 1).value.is(ValueKind::text)) {
      evaluator.reporter().report(at(call, 1).range, diag::setting_type, "`matching`", "a string", evaluator.shown(at(call, 1).value));
      return {};
    }
    matching = at(call, 1).value.text;
  }
  const bool in_body =
      emitter.has_context() && !emitter.context().initial && !emitter.context().optimizer && !emitter.context().per_example;
  if (!in_body) {
    evaluator.reporter().report(call.range, diag::misplaced, "`weights_of`", "here: weights are read in a loss, a step or a model");
    return {};
  }
  std::vector<Value> weights;
  const std::vector<Variable>& all = evaluator.program().weights;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].path.starts_with(path + "/") || all[i].path.find(matching, path.size()) == std::string::npos) continue;
    const Tensor x = emitter.value(all[i].path, all[i].type, call.range);
    Statement& read = emitter.statement(StatementKind::read_weight, call.range);
    read.index = static_cast<int32_t>(i);
    read.results = {x.id};
    read.path = all[i].path;
    weights.push_back(Value::of_tensor(emitter.context().region_start ? emitter.share(x, call.range) : x));
  }
  if (weights.empty()) {
    // What would have made them may have a mistake, which is told.
    if (all.empty() && evaluator.reporter().has_errors()) return {};
    auto reported = evaluator.reporter().report(owner.range, diag::weights_not_made, "`" + path + "`");
    reported.help(matching.empty() ? "a model gets its weights by being called: read them after that"
                                   : "no path of a weight has the text \"" + matching + "\"");
    return {};
  }
  return Value::of_items(ValueKind::list, std::move(weights));
}

Value run_update(BuiltinCall& call) {
  Value value = Value::of_text(ValueKind::update, std::string(call.builtin.name));
  return value;
}

Value run_source(BuiltinCall& call) {
  call.evaluator.reporter().report(call.range, diag::misplaced, "`" + std::string(call.builtin.name) + "`",
                                   "here: sources of data stand in a dataset");
  return {};
}

constexpr Builtin kRows[] = {
    {"fold", "over initial body", run_fold, ""},
    {"scan", "initial over body axis? reverse?", scan, ""},
    {"len", "list", run_len, ""},
    {"tensor", "numbers dtype?", run_tensor, "constant"},
    {"error", "message", run_error, ""},
    {"warn", "message", warn, ""},
    {"as_probabilities", "x", as_probabilities, ""},
    {"as_logits", "x", as_logits, ""},
    {"is_none", "value", run_is_none, ""},
    {"weights_of", "model matching?", run_weights_of, ""},
    {"is_list", "value", run_is_list, ""},
    {"minimize", "loss over using", minimize, ""},
    {"report", "names...", report, ""},
    {"reduce", "op:sum|max|min|mean|prod value", run_reduce, ""},
    {"all_reduce", "op:sum|max|min|mean|prod value", run_reduce, ""},
    {"periodic", "every outer?", run_update, ""},
    {"asynchronous", "max_staleness?", run_update, ""},
    {"idx", "images labels", run_source, ""},
    {"synthetic", "examples fields seed?", run_source, ""},
    {"csv", "file header? delimiter? missing? fill? finite?", run_source, ""},
    {"npy", "file finite?", run_source, ""},
    {"npz", "file finite?", run_source, ""},
    {"text", "file range?", run_source, ""},
    {"records", "rows", run_source, ""},
    {"zip", "sources", run_source, ""},
    {"where", "source condition", run_source, ""},
    {"shuffle", "source seed?", run_source, ""},
    {"windows", "source size stride?", run_source, ""},
    {"cache", "source", run_source, ""},
    {"characters", "of column? keep? header? delimiter? missing?", run_source, ""},
    {"words", "of column? keep? header? delimiter? missing?", run_source, ""},
    {"categories", "of column unknown? header? delimiter? missing?", run_source, ""},
    {"encode", "text vocabulary length?", encode, ""},
    {"checked_index", "index size", checked_index, ""},
    {"checked_share", "x", checked_share, ""},
    {"take", "source n", run_source, ""},
    {"skip", "source n", run_source, ""},
};

}  // namespace

std::span<const Builtin> language_builtins() { return kRows; }

}  // namespace dtl::sema
