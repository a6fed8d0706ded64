// The per-example body: fields to tensors, and what the data's side makes of texts.
#include "compiler/sema/builtins.h"
#include "compiler/sema/dataset.h"

namespace dtl::sema {

using source::Range;
using syntax::Decl;
using syntax::Item;
using syntax::ItemKind;

namespace {

/// A field of texts enters `example` as itself, for `encode` and comparisons.
Value text_field(Evaluator& evaluator, const FieldInfo& field, const syntax::Parameter* parameter, Range range) {
  if (!parameter || !parameter->type || (parameter->type->name == "string" && !parameter->type->has_dims))
    return Value::of_text(ValueKind::row_text, field.name).at(range);
  auto reported =
      evaluator.reporter().report(range, diag::type_mismatch, "the field `" + field.name + "`", text_of(*parameter->type), "text");
  if (!field.why.empty()) reported.note({}, field.why);
  reported.help("write `" + field.name + ": string`");
  return {};
}

}  // namespace

/// A tensor that the data's side makes of a text: one input of the body, however often it is asked for.
Tensor derived_input(Evaluator& evaluator, DerivedField derived, Range range) {
  Emitter& emitter = evaluator.emitter();
  BodyContext& context = emitter.context();
  const std::string name = derived.field.name;
  if (const auto known = context.derived.find(name); known != context.derived.end()) return known->second;
  types::TensorType type{derived.field.dtype, {types::Dim::symbol("batch")}};
  for (const int64_t dim : derived.field.shape) type.dims.emplace_back(dim);
  const Tensor x = emitter.value(derived.of, type, range, true);
  Statement& input = emitter.statement(StatementKind::input, range);
  input.results = {x.id};
  input.path = name;
  context.derived.emplace(name, x);
  std::vector<DerivedField>& all = evaluator.program().data.derived;
  const bool fresh = std::none_of(all.begin(), all.end(), [&](const DerivedField& d) { return d.field.name == name; });
  if (fresh) all.push_back(std::move(derived));
  return x;
}

Tensor text_equals(Evaluator& evaluator, const std::string& field, const std::string& text, Range range) {
  DerivedField derived;
  derived.field = {fmt::format("{} == {:?}", field, text), DType::boolean, {}};
  derived.of = field;
  derived.equals = text;
  derived.range = evaluator.reporter().place(range);
  return derived_input(evaluator, std::move(derived), range);
}

Value encode(BuiltinCall& call) {
  Reporter& reporter = call.evaluator.reporter();
  const Operand &text = *call.arguments[0], &vocabulary = *call.arguments[1];
  if (!vocabulary.value.is(ValueKind::vocabulary)) {
    reporter
        .report(vocabulary.range, diag::setting_type, "`vocabulary` of `encode`", "a vocabulary", call.evaluator.shown(vocabulary.value))
        .help("an entry of the dataset makes it: `vocabulary = words(of = \"messages.csv\", column = \"text\")`");
    return {};
  }
  if (!text.value.is(ValueKind::row_text)) {
    reporter.report(text.range, diag::setting_type, "`text` of `encode`", "a field of texts in `example`",
                    call.evaluator.shown(text.value));
    return {};
  }
  DerivedField derived;
  derived.of = text.value.text;
  derived.vocabulary = *vocabulary.value.vocabulary;
  if (derived.vocabulary->of_categories()) {
    if (call.arguments[2]) {
      reporter.report(call.arguments[2]->range, diag::misplaced, "`length`", "given with categories: a text is one number")
          .help("leave it out");
      return {};
    }
    derived.field = {fmt::format("encode({}, {})", derived.of, vocabulary.value.text), DType::i32, {}};
    const std::string name = derived.field.name;
    // What has no number is told before the first step, as a label that is none.
    std::vector<IndexCheck>& checks = call.evaluator.program().data.checks;
    const bool known = std::any_of(checks.begin(), checks.end(), [&](const IndexCheck& check) { return check.field == name; });
    if (!known) checks.push_back({name, vocabulary.value.integer, call.range, false, derived.of, vocabulary.value.text});
    return Value::of_tensor(derived_input(call.evaluator, std::move(derived), call.range));
  }
  if (!call.arguments[2]) {
    reporter.report(call.range, diag::missing_argument, "encode", "length")
        .help("how many numbers an example has, shorter texts padded with 0: `length = 64`");
    return {};
  }
  const auto length = call.evaluator.integer(call.arguments[2]->value, call.arguments[2]->range, "`length` of `encode`");
  if (!length) return {};
  if (*length < 1) {
    reporter.report(call.arguments[2]->range, diag::too_small, "`length` of `encode`", 1, *length);
    return {};
  }
  derived.field = {fmt::format("encode({}, {}, length = {})", text.value.text, vocabulary.value.text, *length), DType::i32, {*length}};
  return Value::of_tensor(derived_input(call.evaluator, std::move(derived), call.range));
}

std::optional<ExampleFields> emit_example(Evaluator& evaluator, const Decl& decl) {
  Emitter& emitter = evaluator.emitter();
  Reporter& reporter = evaluator.reporter();
  Program& program = evaluator.program();
  const int errors = reporter.errors();
  const Item* example = block_of(decl, "example");
  emitter.context().per_example = true;
  Scope* scope = evaluator.scopes().inside(dataset_scope(evaluator, decl));
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
    if (field.text) {
      const Value value = text_field(evaluator, field, parameter, range);
      scope->bind(field.name, value, range);
      if (!example) {
        reporter.report(range, diag::text_leaves_example, field.name)
            .help("write an `example` that takes the fields it needs, and `encode(" + field.name + ", vocabulary, length = 64)`");
      }
      continue;
    }
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
        fits = false;
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
      if (const auto first = std::find(result.names.begin(), result.names.end(), name.text); first != result.names.end())
        reporter.report(name.range, diag::set_twice, name.text)
            .note(result.ranges[static_cast<size_t>(first - result.names.begin())], "it is set here already");
      Value value = evaluator.evaluate(*item->value, scope);
      if (value.is_number() || value.is(ValueKind::boolean)) {
        const DType dtype = value.is(ValueKind::number)    ? emitter.float_dtype()
                            : value.is(ValueKind::boolean) ? DType::boolean
                                                           : DType::i32;
        value = Value::of_tensor(emitter.materialise({value, item->value->range}, dtype, {}, "an output of `example`"));
      } else if (value.is(ValueKind::row_text)) {
        reporter.report(item->value->range, diag::text_leaves_example, value.text)
            .help("`encode(" + value.text + ", vocabulary, length = 64)` makes numbers of it, `" + value.text + " == \"…\"` a bool");
        value = {};
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
  const Item* augment = block_of(decl, "augment");
  if (augment && emitter.context().training) emit_augment(evaluator, decl, *augment, result);
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
