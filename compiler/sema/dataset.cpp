// Splits and their sources, settings of a dataset, and the per-example body.
#include "compiler/sema/dataset.h"

#include "compiler/sema/builtins.h"

namespace dtl::sema {

using source::Range;
using syntax::Decl;
using syntax::Expr;
using syntax::ExprKind;
using syntax::Item;
using syntax::ItemKind;

namespace {

constexpr std::string_view kSources[] = {"idx", "synthetic", "take", "skip"};

/// Reads `idx(…) |> take(n)` into a SourceSpec; all values are known at compile time.
class SourceReader {
 public:
  SourceReader(Evaluator& evaluator, Scope* scope) : evaluator_(evaluator), reporter_(evaluator.reporter()), scope_(scope) {}

  bool read(const Expr& expr, SourceSpec& spec) {
    if (expr.kind == ExprKind::group) return read(*expr.items[0], spec);
    if (expr.kind == ExprKind::pipe) {
      const bool source = read(*expr.items[0], spec);
      return stage(*expr.items[1], true, spec) && source;
    }
    return stage(expr, false, spec);
  }

 private:
  bool stage(const Expr& expr, bool piped, SourceSpec& spec) {
    if (expr.kind != ExprKind::call || expr.items[0]->kind != ExprKind::name) {
      reporter_.report(expr.range, diag::not_a_source, text_of(expr))
          .help("a source is `idx(…)` or `synthetic(…)`, piped through `take(n)` or `skip(n)`");
      return false;
    }
    const std::string& name = expr.items[0]->name;
    if (is_later(name)) {
      reporter_.report(expr.items[0]->range, diag::not_supported_yet, "the source `" + name + "`");
      return false;
    }
    if (std::find(std::begin(kSources), std::end(kSources), name) == std::end(kSources)) {
      auto reported = reporter_.report(expr.items[0]->range, diag::not_a_source, name);
      std::vector<std::string> known(std::begin(kSources), std::end(kSources));
      if (auto near = nearest(name, known)) {
        reported.meant(*near);
      } else {
        reported.help("known sources are " + enumerate(known));
      }
      return false;
    }
    const bool is_stage = name == "take" || name == "skip";
    if (is_stage != piped) {
      reporter_.report(expr.range, diag::misplaced, "`" + name + "`",
                       is_stage ? "first: pipe a source into it" : "after `|>`: it is a source of its own");
      return false;
    }
    SourceStage stage;
    stage.function = name;
    stage.range = expr.range;
    Args args;
    for (const syntax::Argument& argument : expr.arguments)
      args.push_back({argument.name, argument.value, std::nullopt, argument.value->range, scope_});
    bool good = true;
    if (is_stage) {
      const auto slots = evaluator_.bind({"n"}, args, name, expr.range, {});
      if (!slots || !given(*slots, 0, name, "n", expr.range)) return false;
      good = integer(*(*slots)[0], "count", 0, stage);
    } else if (name == "idx") {
      const auto slots = evaluator_.bind({"images", "labels"}, args, name, expr.range, {});
      if (!slots) return false;
      for (size_t i = 0; i < 2; ++i) {
        const char* key = i == 0 ? "images" : "labels";
        good &= given(*slots, i, name, key, expr.range) && text(*(*slots)[i], key, stage);
      }
    } else {
      const auto slots = evaluator_.bind({"examples", "fields", "seed"}, args, name, expr.range, {});
      if (!slots) return false;
      good &= given(*slots, 0, name, "examples", expr.range) && integer(*(*slots)[0], "examples", 0, stage);
      good &= given(*slots, 1, name, "fields", expr.range) && fields(*(*slots)[1]->expr, stage);
      stage.integers["seed"] = 0;
      if ((*slots)[2]) good &= integer(*(*slots)[2], "seed", std::numeric_limits<int64_t>::min(), stage);
    }
    if (good) spec.stages.push_back(std::move(stage));
    return good;
  }

  bool given(const std::vector<const Arg*>& slots, size_t i, const std::string& callee, const char* name, Range range) {
    if (slots[i]) return true;
    reporter_.report(range, diag::missing_argument, callee, name);
    return false;
  }

  bool integer(const Arg& arg, const char* key, int64_t least, SourceStage& stage) {
    const auto value = evaluator_.integer(evaluator_.evaluate(arg), arg.range, fmt::format("`{}` of `{}`", key, stage.function));
    if (!value) return false;
    if (*value < least) {
      reporter_.report(arg.range, diag::too_small, fmt::format("`{}` of `{}`", key, stage.function), least, *value);
      return false;
    }
    stage.integers[key] = *value;
    return true;
  }

  bool text(const Arg& arg, const char* key, SourceStage& stage) {
    const Value value = evaluator_.evaluate(arg);
    if (value.is(ValueKind::text)) {
      stage.strings[key] = value.text;
      return true;
    }
    if (value.ok())
      reporter_.report(arg.range, diag::setting_type, fmt::format("`{}` of `{}`", key, stage.function), "a string",
                       evaluator_.shown(value));
    return false;
  }

  // `fields = { x = normal([32]), y = integers(0, 10, []) }`: generators are words of this place.
  bool fields(const Expr& expr, SourceStage& stage) {
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
      const auto slots = evaluator_.bind(bounds ? std::vector<std::string>{"low", "high", "shape"} : std::vector<std::string>{"shape"},
                                         args, name, call.range, {});
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

  Evaluator& evaluator_;
  Reporter& reporter_;
  Scope* scope_;
};

const Item* block_of(const Decl& decl, std::string_view name) {
  for (const Item* item : decl.body->items) {
    if (item->kind == ItemKind::block && item->names[0].text == name) return item;
  }
  return nullptr;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A split is a listed one, or a source of another name that is no near miss of a listed one.
bool is_split(const Item& item) {
  if (item.kind != ItemKind::assign) return false;
  const std::string& name = item.names[0].text;
  if (name == "batch" || name == "shuffle" || name == "example" || holds(later_dataset_fields(), name)) return false;
  if (holds(dataset_fields(), name)) return true;
  const Expr* value = item.value;
  while (value->kind == ExprKind::pipe || value->kind == ExprKind::group) value = value->items[0];
  return value->kind == ExprKind::call && is_source_name(value->items[0]->name) && !nearest(name, dataset_fields());
}

/// Every entry is a known setting, a split or something later.
void check_entries(Evaluator& evaluator, const Decl& decl) {
  Reporter& reporter = evaluator.reporter();
  std::set<std::string> seen;
  for (const Item* item : decl.body->items) {
    if (item->kind == ItemKind::require || item->kind == ItemKind::let) continue;
    if (item->kind != ItemKind::assign && item->kind != ItemKind::block) {
      reporter.report(item->range, diag::misplaced, "this", "in a dataset, which has settings, splits and `example`");
      continue;
    }
    const syntax::Ident& name = item->names[0];
    if (!seen.insert(name.text).second) reporter.report(name.range, diag::set_twice, name.text);
    if (holds(later_dataset_fields(), name.text)) {
      reporter.report(name.range, diag::not_supported_yet, "`" + name.text + "`");
      continue;
    }
    const bool is_example = name.text == "example";
    if (is_split(*item) || (holds(dataset_fields(), name.text) && (item->kind == ItemKind::block) == is_example)) continue;
    if (!reporter.first(diag::unknown_setting, name.range)) continue;
    auto reported = reporter.report(name.range, diag::unknown_setting, name.text, "a dataset");
    if (auto near = nearest(name.text, dataset_fields())) {
      reported.meant(*near);
    } else {
      reported.help("it has " + enumerate(dataset_fields()) + ", and splits of any other name that are sources");
    }
  }
}

/// Raw fields bind to the parameters of `example`: by name where the source names them, else by position.
bool bind_fields(Evaluator& evaluator, const Decl& decl, const Item* example, const SplitInfo& info, Range source) {
  Reporter& reporter = evaluator.reporter();
  Program& program = evaluator.program();
  const bool named = std::any_of(info.fields.begin(), info.fields.end(), [](const FieldInfo& f) { return !f.name.empty(); });
  if (!example) {
    if (!named) {
      reporter.report(decl.name.range, diag::example_needed, decl.name.text).help("write `example (image: u8[28, 28], label: u8) { … }`");
      return false;
    }
    program.fields = info.fields;
    return true;
  }
  std::vector<std::string> names;
  for (const FieldInfo& field : info.fields) names.push_back(field.name);
  bool good = true;
  std::vector<FieldInfo> bound = info.fields;
  std::vector<char> used(bound.size(), 0);
  for (size_t i = 0; i < example->parameters.size(); ++i) {
    const syntax::Parameter& parameter = example->parameters[i];
    if (!named) {
      if (i < bound.size()) {
        bound[i].name = parameter.name.text;
        used[i] = 1;
        continue;
      }
      reporter
          .report(parameter.name.range, diag::too_many_fields, static_cast<int64_t>(bound.size()),
                  static_cast<int64_t>(example->parameters.size()))
          .note(source, "the data comes from here");
      return false;
    }
    const auto at = std::find(names.begin(), names.end(), parameter.name.text);
    if (at == names.end()) {
      auto reported = reporter.report(parameter.name.range, diag::no_such_field, parameter.name.text);
      reported.note(source, "the data has the fields " + enumerate(names));
      if (auto near = nearest(parameter.name.text, names)) reported.help("did you mean `" + *near + "`?");
      good = false;
      continue;
    }
    used[static_cast<size_t>(at - names.begin())] = 1;
  }
  for (size_t i = 0; i < bound.size(); ++i) {
    if (used[i]) program.fields.push_back(bound[i]);
  }
  return good;
}

}  // namespace

bool is_source_name(std::string_view name) {
  return is_later(name) || std::find(std::begin(kSources), std::end(kSources), name) != std::end(kSources);
}

bool read_dataset(Evaluator& evaluator, const Decl& decl, const Settings& settings, const OpenSource& open) {
  Reporter& reporter = evaluator.reporter();
  Program& program = evaluator.program();
  const int errors = reporter.errors();
  evaluator.entered.insert(&decl);
  if (!decl.body) return false;  // a copy of nothing, which is told
  check_entries(evaluator, decl);
  program.data.name = decl.name.text;
  Scope* scope = evaluator.scopes().inside(evaluator.file_root);
  for (const Item* item : decl.body->items) {
    if (item->kind == ItemKind::let || item->kind == ItemKind::require) evaluator.run_item(*item, scope);
  }

  if (const Expr* batch = settings.find(decl, "batch")) {
    if (const auto size = evaluator.integer(evaluator.evaluate(*batch, scope), batch->range, "`batch`")) {
      if (*size < 1) {
        reporter.report(batch->range, diag::too_small, "`batch`", 1, *size);
      } else {
        program.data.batch = *size;
      }
    }
  } else {
    reporter.report(decl.name.range, diag::missing_setting, "the dataset `" + decl.name.text + "`", "`batch`")
        .help("how many examples a step takes: `batch = 32`");
  }
  if (const Expr* shuffle = settings.find(decl, "shuffle")) {
    static constexpr std::string_view kWords[] = {"all", "none"};
    const Value value = evaluator.evaluate_word(*shuffle, scope, kWords);
    if (value.is(ValueKind::word)) {
      program.data.shuffle = value.text == "all" ? -1 : 0;
    } else if (value.is(ValueKind::integer) && value.integer < 0) {
      reporter.report(shuffle->range, diag::too_small, "`shuffle`", 0, value.integer);
    } else if (value.is(ValueKind::integer)) {
      program.data.shuffle = value.integer;
    } else if (value.ok()) {
      reporter.report(shuffle->range, diag::setting_type, "`shuffle`", "`all`, `none` or a window of examples", evaluator.shown(value));
    }
  }

  // Each split is opened once; all must give the same fields.
  Range train_range;
  const SplitInfo* first = nullptr;
  Range first_range;
  std::vector<std::pair<DataSplit, Range>> splits;
  for (const Item* item : decl.body->items) {
    if (!is_split(*item)) continue;
    const Expr* source = settings.find(decl, item->names[0].text);
    DataSplit split;
    split.name = item->names[0].text;
    if (!SourceReader(evaluator, scope).read(*source, split.source)) continue;
    splits.emplace_back(std::move(split), source->range);
  }
  if (reporter.errors() == errors) {
    for (auto& [split, range] : splits) {
      const auto info = open(split.source, reporter.sink());
      if (!info) continue;
      split.info = *info;
      program.data.splits.push_back(split);
      if (split.name == "train") train_range = range;
    }
    for (size_t i = 0; i < program.data.splits.size(); ++i) {
      const DataSplit& split = program.data.splits[i];
      const Range range = split.source.stages[0].range;
      if (!first) {
        first = &split.info;
        first_range = range;
        continue;
      }
      const auto same = [](const FieldInfo& a, const FieldInfo& b) { return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape; };
      if (!std::equal(first->fields.begin(), first->fields.end(), split.info.fields.begin(), split.info.fields.end(), same)) {
        reporter.report(range, diag::splits_differ, split.name, program.data.splits[0].name)
            .note(first_range, "the other one comes from here");
      }
    }
  }
  const bool has_train = std::any_of(splits.begin(), splits.end(), [](const auto& s) { return s.first.name == "train"; });
  if (!has_train && reporter.errors() == errors)
    reporter.report(decl.name.range, diag::missing_setting, "the dataset `" + decl.name.text + "`", "the split `train`");
  if (reporter.errors() != errors || !first) return false;
  return bind_fields(evaluator, decl, block_of(decl, "example"), *first, train_range);
}

std::optional<ExampleFields> emit_example(Evaluator& evaluator, const Decl& decl) {
  Emitter& emitter = evaluator.emitter();
  Reporter& reporter = evaluator.reporter();
  Program& program = evaluator.program();
  const int errors = reporter.errors();
  const Item* example = block_of(decl, "example");
  emitter.context().per_example = true;
  Scope* scope = evaluator.scopes().inside(evaluator.file_root);
  CallTypes types;
  types.scope = scope;
  types.callee = "example";
  ExampleFields result;
  for (const FieldInfo& field : program.fields) {
    const syntax::Parameter* parameter = nullptr;
    if (example) {
      for (const syntax::Parameter& p : example->parameters) {
        if (p.name.text == field.name) parameter = &p;
      }
    }
    const Range range = parameter ? parameter->name.range : decl.name.range;
    types::TensorType type{field.dtype, {types::Dim::symbol("batch")}};
    for (const int64_t dim : field.shape) type.dims.emplace_back(dim);
    Tensor x = emitter.value(field.name, type, range, true);
    emitter.name(x, field.name);
    Statement& input = emitter.statement(StatementKind::input, range);
    input.results = {x.id};
    input.path = field.name;
    // Generated f32 data is f64 where the program says so.
    if (field.dtype == DType::f32 && emitter.float_dtype() == DType::f64) x = emitter.cast(x, DType::f64, range);
    Value value = Value::of_tensor(x).at(range);
    if (parameter && parameter->type) {
      const syntax::TypeExpr& declared = *parameter->type;
      bool fits = false;
      if (declared.name == "int" && !declared.has_dims) {
        fits = field.shape.empty() && field.dtype == DType::i64;  // data `int` means i64
      } else if (declared.name == "string") {
        reporter.report(declared.range, diag::not_supported_yet, "text in an example");
        value = {};
        fits = true;
      } else {
        fits = evaluator.accept(value, declared, types, "the field `" + field.name + "`", range, false);
        if (!fits) value = {};
        fits = true;
      }
      if (!fits) {
        reporter.report(range, diag::type_mismatch, "the field `" + field.name + "`", text_of(declared), evaluator.shown(value));
        value = {};
      }
    }
    scope->bind(field.name, value, range);
    if (!example) {
      result.names.push_back(field.name);
      result.values.push_back(value);
      result.ranges.push_back(range);
    }
  }
  if (example) {
    for (const Item* item : example->body->items) {
      if (item->kind != ItemKind::assign) {
        if (item->kind == ItemKind::let || item->kind == ItemKind::require || item->kind == ItemKind::for_each) {
          evaluator.run_item(*item, scope);
        } else {
          reporter.report(item->range, diag::misplaced, "this", "in `example`, which has `let` and outputs `name = value`");
        }
        continue;
      }
      const syntax::Ident& name = item->names[0];
      if (std::find(result.names.begin(), result.names.end(), name.text) != result.names.end())
        reporter.report(name.range, diag::set_twice, name.text);
      Value value = evaluator.evaluate(*item->value, scope);
      if (value.is_number() || value.is(ValueKind::boolean)) {
        const DType dtype = value.is(ValueKind::number)    ? emitter.float_dtype()
                            : value.is(ValueKind::boolean) ? DType::boolean
                                                           : DType::i32;
        value = Value::of_tensor(emitter.materialise({value, item->value->range}, dtype, {}, "an output of `example`"));
      } else if (value.ok() && !value.is(ValueKind::tensor)) {
        reporter.report(item->value->range, diag::setting_type, "an output of `example`", "a tensor", evaluator.shown(value));
        value = {};
      }
      result.names.push_back(name.text);
      result.values.push_back(value);
      result.ranges.push_back(name.range);
    }
    if (result.names.empty()) reporter.report(example->range, diag::example_without_outputs).help("write `image = cast(image, f32) / 255`");
  }
  emitter.context().per_example = false;
  for (size_t i = 0; i < result.values.size(); ++i) {
    Value& value = result.values[i];
    if (!value.is(ValueKind::tensor)) continue;
    value = Value::of_tensor(emitter.reveal_batch(value.tensor, result.ranges[i])).at(result.ranges[i]);
    // A raw field keeps its name; what is made of it takes the output's.
    if (value.ok()) emitter.name(value.tensor, result.names[i]);
  }
  if (reporter.errors() != errors && result.names.empty()) return std::nullopt;
  return result;
}

}  // namespace dtl::sema
