// `augment`: changes to an example that training makes, example by example, after `example` and before the model.
#include "compiler/sema/dataset.h"

namespace dtl::sema {

using syntax::Item;
using syntax::ItemKind;

namespace {

/// Which field of an example has that name; nothing after a report.
std::optional<size_t> field_of(Evaluator& evaluator, const ExampleFields& fields, const syntax::Ident& name, const syntax::Decl& decl) {
  const auto at = std::find(fields.names.begin(), fields.names.end(), name.text);
  if (at != fields.names.end()) return static_cast<size_t>(at - fields.names.begin());
  auto reported = evaluator.reporter().report(name.range, diag::no_such_example_field, "`augment`", name.text, decl.name.text);
  if (auto near = nearest(name.text, fields.names)) {
    reported.help("did you mean `" + *near + "`?");
  } else {
    reported.help("an example has " + enumerate(fields.names));
  }
  return std::nullopt;
}

}  // namespace

void emit_augment(Evaluator& evaluator, const syntax::Decl& decl, const Item& augment, ExampleFields& fields) {
  Emitter& emitter = evaluator.emitter();
  Reporter& reporter = evaluator.reporter();
  // Its random numbers have a stream of their own, whatever the step draws.
  const std::string stream = std::exchange(emitter.context().stream_path, decl.name.text + "/augment");
  Scope* scope = evaluator.scopes().inside(dataset_scope(evaluator, decl));
  CallTypes types;
  types.scope = scope;
  types.callee = "augment";
  for (const syntax::Parameter& parameter : augment.parameters) {
    const auto field = field_of(evaluator, fields, parameter.name, decl);
    Value value = field ? fields.values[*field] : Value();
    if (value.ok() && parameter.type &&
        !evaluator.accept(value, *parameter.type, types, "the field `" + parameter.name.text + "`", parameter.name.range, false))
      value = {};
    scope->bind(parameter.name.text, std::move(value), parameter.name.range);
  }
  // Right sides see the fields that came in, never what is set here.
  std::map<std::string, source::Range> set;
  for (const Item* item : augment.body->items) {
    if (item->kind == ItemKind::let || item->kind == ItemKind::require || item->kind == ItemKind::for_each) {
      evaluator.run_item(*item, scope);
      continue;
    }
    if (item->kind != ItemKind::assign) {
      reporter.report(item->range, diag::misplaced, "this", "in `augment`, which has `let` and outputs `name = value`");
      continue;
    }
    const syntax::Ident& name = item->names[0];
    if (const auto [first, fresh] = set.emplace(name.text, name.range); !fresh)
      reporter.report(name.range, diag::set_twice, name.text).note(first->second, "it is set here already");
    const auto field = field_of(evaluator, fields, name, decl);
    Value value = evaluator.evaluate(*item->value, scope);
    if (!field) continue;
    Value& old = fields.values[*field];
    if (value.is_number() && old.is(ValueKind::tensor)) {
      const DType dtype = *emitter.dtype_of(old);
      value = Value::of_tensor(emitter.materialise({value, item->value->range}, dtype, {}, "an output of `augment`"));
    } else if (value.ok() && !value.is(ValueKind::tensor)) {
      reporter.report(item->value->range, diag::setting_type, "an output of `augment`", "a tensor", evaluator.shown(value));
      value = {};
    }
    old = value;
    fields.ranges[*field] = name.range;
  }
  emitter.context().stream_path = stream;
}

}  // namespace dtl::sema
