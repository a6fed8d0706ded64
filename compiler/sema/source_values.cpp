// Evaluating the arguments of sources.
#include "compiler/sema/source_values.h"

namespace dtl::sema {

using source::Range;
using syntax::Expr;
using syntax::ExprKind;

bool SourceValues::wrong(const Arg& arg, const std::string& what, const std::string& wanted, const Value& value) {
  if (value.ok()) reporter_.report(arg.range, diag::setting_type, what, wanted, evaluator_.shown(value));
  return false;
}

bool SourceValues::given(const std::vector<const Arg*>& slots, size_t i, const std::string& callee, const char* name, Range range) {
  if (slots[i]) return true;
  reporter_.report(range, diag::missing_argument, callee, name);
  return false;
}

bool SourceValues::integer(const Arg& arg, const char* key, int64_t least, SourceStage& stage) {
  const std::string what = fmt::format("`{}` of `{}`", key, stage.function);
  const auto value = evaluator_.integer(evaluator_.evaluate(arg), arg.range, what);
  if (!value) return false;
  if (*value < least) {
    reporter_.report(arg.range, diag::too_small, what, least, *value);
    return false;
  }
  stage.integers[key] = *value;
  return true;
}

bool SourceValues::boolean(const Arg& arg, const char* key, SourceStage& stage) {
  const Value value = evaluator_.evaluate(arg);
  if (!value.is(ValueKind::boolean)) return wrong(arg, fmt::format("`{}` of `{}`", key, stage.function), "`true` or `false`", value);
  stage.integers[key] = value.boolean;
  return true;
}

bool SourceValues::number(const Arg& arg, const char* key, SourceStage& stage) {
  const Value value = evaluator_.evaluate(arg);
  if (!value.is(ValueKind::integer) && !value.is(ValueKind::number))
    return wrong(arg, fmt::format("`{}` of `{}`", key, stage.function), "a number", value);
  stage.numbers[key] = value.as_number();
  return true;
}

bool SourceValues::fill(const Arg& arg, SourceStage& stage) {
  const Expr* expr = arg.expr;
  while (expr && expr->kind == ExprKind::group) expr = expr->items[0];
  if (!expr || expr->kind != ExprKind::record) return number(arg, "fill", stage);
  bool good = true;
  for (const syntax::Argument& argument : expr->arguments) {
    if (!argument.name) {
      reporter_.report(argument.value->range, diag::record_needs_names).help("write `column = number`");
      good = false;
      continue;
    }
    const std::string key = "fill." + argument.name->text;
    if (stage.numbers.contains(key)) {
      reporter_.report(argument.name->range, diag::set_twice, argument.name->text);
      good = false;
      continue;
    }
    Arg one = arg;
    one.expr = argument.value;
    one.range = argument.value->range;
    good &= number(one, key.c_str(), stage);
  }
  return good;
}

bool SourceValues::text(const Arg& arg, const char* key, SourceStage& stage) {
  const Value value = evaluator_.evaluate(arg);
  if (!value.is(ValueKind::text)) return wrong(arg, fmt::format("`{}` of `{}`", key, stage.function), "a string", value);
  stage.strings[key] = value.text;
  stage.written[key] = value.origin;
  return true;
}

bool SourceValues::delimiter(const Arg& arg, SourceStage& stage) {
  if (!text(arg, "delimiter", stage)) return false;
  const std::string& delimiter = stage.strings.at("delimiter");
  if (delimiter.size() == 1 && delimiter != "\"" && delimiter != "\n" && delimiter != "\r" && delimiter[0] != '\0' &&
      static_cast<unsigned char>(delimiter[0]) < 0x80)
    return true;
  reporter_.report(arg.range, diag::setting_type, "`delimiter` of `" + stage.function + "`",
                   "one ASCII character, such as \";\" or \"\\t\"", fmt::format("\"{}\"", delimiter));
  return false;
}

bool SourceValues::texts(const Arg& arg, const char* key, SourceStage& stage) {
  const Value value = evaluator_.evaluate(arg);
  const std::string what = fmt::format("`{}` of `{}`", key, stage.function);
  if (!value.is(ValueKind::list)) return wrong(arg, what, "a list of strings", value);
  std::vector<std::string>& list = stage.lists[key];
  for (const Value& item : *value.items) {
    if (!item.is(ValueKind::text)) return wrong(arg, what, "a list of strings", item);
    list.push_back(item.text);
  }
  return true;
}

bool SourceValues::count(const Arg& arg, SourceStage& stage) {
  const Value value = evaluator_.evaluate(arg);
  if (!value.is(ValueKind::quantity) || value.text != "percent") return integer(arg, "count", 0, stage);
  if (value.number < 0 || value.number > 1) return wrong(arg, fmt::format("`n` of `{}`", stage.function), "0% to 100%", value);
  stage.numbers["fraction"] = value.number;
  return true;
}

bool SourceValues::range(const Arg& arg, SourceStage& stage) {
  const auto refuse = [&] {
    reporter_.report(arg.range, diag::setting_type, "`range` of `text`", "a part in percent, such as `0%..90%`",
                     arg.expr ? text_of(*arg.expr) : "");
    return false;
  };
  const Expr* expr = arg.expr;
  while (expr && expr->kind == ExprKind::group) expr = expr->items[0];
  if (!expr || expr->kind != ExprKind::range || !expr->items[0] || !expr->items[1]) return refuse();
  std::array<double, 2> ends{};
  for (size_t i = 0; i < 2; ++i) {
    const Value end = evaluator_.evaluate(*expr->items[i], scope_);
    if (!end.ok()) return false;
    if (!end.is(ValueKind::quantity) || end.text != "percent" || end.number < 0 || end.number > 1) return refuse();
    ends[i] = end.number;
  }
  if (ends[0] >= ends[1]) return refuse();
  stage.numbers["begin"] = ends[0];
  stage.numbers["end"] = ends[1];
  return true;
}

bool SourceValues::generators(const Expr& expr, SourceStage& stage) {
  if (expr.kind != ExprKind::record) {
    reporter_.report(expr.range, diag::setting_type, "`fields`", "a record such as `{ x = normal([4]) }`", text_of(expr));
    return false;
  }
  bool good = true;
  for (const syntax::Argument& argument : expr.arguments) {
    if (!argument.name) {
      reporter_.report(argument.value->range, diag::record_needs_names).help("write `name = value`");
      good = false;
      continue;
    }
    const Expr& call = *argument.value;
    static const std::vector<std::string> generators = {"normal", "uniform", "integers"};
    const std::string name = call.kind == ExprKind::call ? call.items[0]->name : call.name;
    if (call.kind != ExprKind::call || std::find(generators.begin(), generators.end(), name) == generators.end()) {
      auto reported = reporter_.report(call.range, diag::not_a_generator, text_of(call));
      if (auto near = nearest(name, generators)) {
        reported.help("did you mean `" + *near + "`?");
      } else {
        reported.help("one of `normal(shape)`, `uniform(shape)` and `integers(low, high, shape)`");
      }
      good = false;
      continue;
    }
    SourceStage::Field field;
    field.name = argument.name->text;
    field.generator = name;
    Args args;
    for (const syntax::Argument& a : call.arguments) args.push_back({a.name, a.value, std::nullopt, a.value->range, scope_});
    const bool bounds = name == "integers";
    const auto slots = evaluator_.bind(bounds ? std::vector<std::string>{"low", "high", "shape"} : std::vector<std::string>{"shape"}, args,
                                       name, call.range, {});
    if (!slots) {
      good = false;
      continue;
    }
    if (bounds) {
      for (size_t i = 0; i < 2; ++i) {
        const auto bound = given(*slots, i, name, i == 0 ? "low" : "high", call.range)
                               ? evaluator_.integer(evaluator_.evaluate(*(*slots)[i]), (*slots)[i]->range, "a bound of `integers`")
                               : std::nullopt;
        good &= bound.has_value();
        if (bound) (i == 0 ? field.low : field.high) = static_cast<double>(*bound);
      }
      if (good && field.high <= field.low) {
        reporter_.report(call.range, diag::too_small, "`high` of `integers`", static_cast<int64_t>(field.low) + 1,
                         static_cast<int64_t>(field.high));
        good = false;
      }
    }
    const Arg* shape = slots->back();
    if (shape) {
      const Value value = evaluator_.evaluate(*shape);
      if (!value.is(ValueKind::list)) {
        if (value.ok()) reporter_.report(shape->range, diag::setting_type, "a shape", "a list of ints", evaluator_.shown(value));
        good = false;
        continue;
      }
      for (const Value& item : *value.items) {
        const auto dim = evaluator_.integer(item, shape->range, "a dimension");
        if (dim && *dim < 0) reporter_.report(shape->range, diag::too_small, "a dimension", 0, *dim);
        good &= dim.has_value() && *dim >= 0;
        field.shape.push_back(dim.value_or(1));
      }
    }
    stage.fields.push_back(std::move(field));
  }
  return good;
}

/// One number, or a list of lists of them, behind those of the rows before.
bool SourceValues::cell(const Value& value, Range range, RecordField& field, bool first, std::vector<int64_t>& shape, size_t depth) {
  const auto refuse = [&](const std::string& wanted) {
    reporter_.report(range, diag::setting_type, "`" + field.name + "` of `records`", wanted, evaluator_.shown(value));
    return false;
  };
  if (value.is(ValueKind::list)) {
    const auto size = static_cast<int64_t>(value.items->size());
    if (depth == shape.size() && first) shape.push_back(size);
    if (depth >= shape.size() || shape[depth] != size)
      return refuse(depth < shape.size() ? fmt::format("a list of {}, as in the first record", shape[depth])
                                         : "a number, as in the first record");
    if (!evaluator_.take_turns(size, range)) return false;
    bool begin = first;
    for (const Value& item : *value.items) {
      if (!cell(item, range, field, begin, shape, depth + 1)) return false;
      begin = false;
    }
    return true;
  }
  if (depth != shape.size()) return refuse(fmt::format("a list of {}, as in the first record", shape[depth]));
  const std::string type = value.is(ValueKind::integer)   ? "i64"
                           : value.is(ValueKind::number)  ? "f32"
                           : value.is(ValueKind::boolean) ? "bool"
                           : value.is(ValueKind::text)    ? "text"
                                                          : "";
  if (type.empty()) return refuse("a number, a bool, a string or lists of them");
  if (type == "text" && !shape.empty()) return refuse("a string, or lists of numbers");
  if (field.type.empty()) field.type = type;
  // An integer among numbers is one of them.
  if (field.type == "i64" && type == "f32") {
    field.type = "f32";
    for (const int64_t whole : field.integers) field.numbers.push_back(static_cast<double>(whole));
    field.integers.clear();
  } else if (field.type != type && !(field.type == "f32" && type == "i64")) {
    return refuse("`" + field.type + "`, as in the first record");
  }
  if (type == "text") {
    field.texts.push_back(value.text);
  } else if (field.type == "i64") {
    field.integers.push_back(value.integer);
  } else {
    field.numbers.push_back(value.is(ValueKind::boolean) ? static_cast<double>(value.boolean) : value.as_number());
  }
  return true;
}

bool SourceValues::records(const Arg& arg, SourceStage& stage) {
  const Value value = evaluator_.evaluate(arg);
  if (!value.is(ValueKind::list)) return wrong(arg, "`rows` of `records`", "a list of records", value);
  for (const Value& row : *value.items) {
    if (!row.is(ValueKind::record)) return wrong(arg, "a row of `records`", "a record such as `{ x = 1.0, y = 2 }`", row);
    const bool first = stage.rows == 0;
    if (first) {
      for (const std::string& name : *row.names) stage.records.push_back({name, {}, {}, {}, {}, {}});
    }
    const Range range = row.origin.known() ? row.origin : arg.range;
    if (row.names->size() != stage.records.size()) {
      reporter_.report(range, diag::setting_type, "a row of `records`", fmt::format("the {} fields of the first", stage.records.size()),
                       fmt::format("a record of {}", row.names->size()));
      return false;
    }
    for (RecordField& field : stage.records) {
      const Value* item = row.find(field.name);
      if (!item) {
        reporter_.report(range, diag::unknown_field, "this row", field.name).help("every row has the fields of the first");
        return false;
      }
      if (!cell(*item, item->origin.known() ? item->origin : range, field, first, field.shape, 0)) return false;
    }
    ++stage.rows;
  }
  return true;
}

}  // namespace dtl::sema
