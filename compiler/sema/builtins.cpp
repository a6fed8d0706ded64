// The table of built-in names and what is shared by its rows: binding, compile-time folding, calls of functions.
#include "compiler/sema/builtins.h"

#include "compiler/sema/builtin_rows.h"
#include "compiler/source/check.h"

namespace dtl::sema {

using source::Range;

std::vector<std::string_view> split_words(std::string_view text, char by) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(by), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

namespace {

std::string_view bare(std::string_view parameter) {
  parameter = parameter.substr(0, parameter.find(':'));
  if (parameter.ends_with('?')) parameter.remove_suffix(1);
  return parameter;
}

const std::map<std::string_view, const Builtin*>& by_name() {
  static const auto table = [] {
    std::map<std::string_view, const Builtin*> rows;
    for (const std::span<const Builtin> part : {tensor_builtins(), language_builtins()}) {
      for (const Builtin& row : part) rows.emplace(row.name, &row);
    }
    return rows;
  }();
  return table;
}

// What the language page names and a later version brings; each is refused by name, where it is used.
constexpr std::string_view kLater[] = {"machines", "images", "parquet", "all_gather"};

constexpr std::string_view kValues[] = {"none", "training", "synchronous", "updates_per_epoch"};

}  // namespace

std::vector<std::string> Builtin::parameter_names() const {
  std::vector<std::string> names;
  for (const std::string_view parameter : split_words(parameters, ' ')) names.emplace_back(bare(parameter));
  return names;
}

std::vector<std::string_view> Builtin::words_of(std::string_view wanted) const {
  for (const std::string_view parameter : split_words(parameters, ' ')) {
    const size_t colon = parameter.find(':');
    if (bare(parameter) == wanted && colon != std::string_view::npos) return split_words(parameter.substr(colon + 1));
  }
  return {};
}

bool Builtin::optional(std::string_view wanted) const {
  for (const std::string_view parameter : split_words(parameters, ' ')) {
    if (bare(parameter) == wanted) return parameter.substr(0, parameter.find(':')).ends_with('?');
  }
  return false;
}

const Builtin* find_builtin(std::string_view name) {
  const auto row = by_name().find(name);
  return row == by_name().end() ? nullptr : row->second;
}

bool is_builtin_value(std::string_view name) {
  return std::find(std::begin(kValues), std::end(kValues), name) != std::end(kValues) || parse_dtype(name);
}

std::optional<Value> builtin_value(std::string_view name, Evaluator& evaluator) {
  if (name == "none") return Value::of(ValueKind::none);
  if (name == "training") return Value::of_boolean(evaluator.emitter().has_context() && evaluator.emitter().context().training);
  if (name == "synchronous") return Value::of_text(ValueKind::update, "synchronous");
  // 0: the data is not open, or not there, which is told of elsewhere.
  if (name == "updates_per_epoch") {
    const int64_t updates = evaluator.program().updates_per_epoch;
    return updates > 0 ? Value::of_integer(updates) : Value();
  }
  // The dtype `bool` is read as an element type: `cast(x, bool)`.
  if (auto dtype = evaluator.dtype_named(std::string(name))) return Value::of_dtype(*dtype);
  return std::nullopt;
}

bool is_later(std::string_view name) { return std::find(std::begin(kLater), std::end(kLater), name) != std::end(kLater); }

std::vector<std::string> builtin_names() {
  std::vector<std::string> names;
  for (const auto& [name, row] : by_name()) names.emplace_back(name);
  for (const std::string_view name : kLater) names.emplace_back(name);
  for (const std::string_view name : kValues) names.emplace_back(name);
  for (const char* name : {"f64", "f32", "bf16", "f16", "i64", "i32", "i8", "u8"}) names.emplace_back(name);
  return names;
}

Value call_builtin(Evaluator& evaluator, const Builtin& builtin, const Args& args, Range range, Scope* scope) {
  const std::string name(builtin.name);
  BuiltinCall call{evaluator, builtin, {}, range, scope};
  if (builtin.parameters == "names...") {
    // Every argument is a named value of the caller's choice.
    for (const Arg& arg : args) {
      if (!arg.name) {
        evaluator.reporter().report(arg.range, diag::record_needs_names).help("write `name = value`");
        return {};
      }
    }
    std::vector<std::string> names;
    std::vector<Value> values;
    for (const Arg& arg : args) {
      names.push_back(arg.name->text);
      values.push_back(evaluator.evaluate(arg));
      if (values.back().is(ValueKind::tensor)) evaluator.emitter().name(values.back().tensor, names.back());
      values.back().origin = arg.range;
    }
    call.arguments.push_back(Operand{Value::of_record(std::move(names), std::move(values)), range});
    return builtin.run(call);
  }
  const std::vector<std::string> names = builtin.parameter_names();
  const auto slots = evaluator.bind(names, args, name, range, {});
  if (!slots) return {};
  bool good = true;
  for (size_t i = 0; i < names.size(); ++i) {
    const Arg* arg = (*slots)[i];
    if (!arg) {
      call.arguments.emplace_back();
      if (builtin.optional(names[i])) continue;
      evaluator.reporter().report(range, diag::missing_argument, name, names[i]).help("it takes " + enumerate(names));
      good = false;
      continue;
    }
    const std::vector<std::string_view> words = builtin.words_of(names[i]);
    Value value = arg->value      ? *arg->value
                  : words.empty() ? evaluator.evaluate(*arg->expr, arg->scope)
                                  : evaluator.evaluate_word(*arg->expr, arg->scope, words);
    if (value.ok() && !words.empty() && !value.is(ValueKind::word)) {
      std::vector<std::string> known(words.begin(), words.end());
      evaluator.reporter()
          .report(arg->range, diag::unknown_word, names[i], evaluator.shown(value))
          .help("it is one of " + enumerate(known, "or"));
      value = {};
    }
    good &= value.ok();
    call.arguments.push_back(Operand{std::move(value), arg->range});
  }
  return good ? builtin.run(call) : Value();
}

}  // namespace dtl::sema
