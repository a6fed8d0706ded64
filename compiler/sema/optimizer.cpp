// Optimizers: the rule of a declaration, instantiated for one weight as straight-line code over w, g and states.
#include "compiler/sema/evaluate.h"

namespace dtl::sema {

using source::Range;
using syntax::Item;
using types::TensorType;

void Evaluator::instantiate_optimizer(const Value& optimizer, int32_t weight_index, MinimizeSite& site, Range range) {
  const syntax::Decl& decl = *optimizer.closure->decl;
  Update update;
  update.weight = weight_index;
  const Variable weight = program_.weights[static_cast<size_t>(weight_index)];
  BodyContext context;
  context.body = &update.body;
  context.training = true;
  context.optimizer = true;
  BodyContext* outer_context = emitter_.enter(&context);
  Instance* outer_instance = std::exchange(instance_, nullptr);
  Reporter::Call call(reporter_, decl.name.text, range);

  OptimizerFrame frame{&update, fmt::format("{}:{}", weight.path, decl.name.text), weight.type, nullptr, {}, false};
  OptimizerFrame* outer_frame = std::exchange(optimizer_, &frame);
  Activation activation;
  activation.decl = &decl;
  activation.types.callee = decl.name.text;
  activation.types.scope = scopes_.inside(optimizer.closure->scope);
  activation.types.real = weight.type.dtype;
  activation.types.dots = weight.type.dims;
  Activation* outer_activation = std::exchange(activation_, &activation);
  Scope* scope = activation.types.scope;

  const auto argument = [&](const std::string& name, TensorType type, Range at) {
    const Tensor x = emitter_.value(name, std::move(type), at);
    emitter_.name(x, name);
    return x;
  };
  if (decl.parameters.size() == 2) {
    const Tensor w = argument(decl.parameters[0].name.text, weight.type, decl.parameters[0].name.range);
    const Tensor g = argument(decl.parameters[1].name.text, weight.type, decl.parameters[1].name.range);
    const Tensor updates = argument("updates", {DType::i64, {}}, decl.name.range);
    update.w = w.id;
    update.g = g.id;
    update.updates = updates.id;
    context.updates = updates.id;
    frame.weight = &scope->bind(decl.parameters[0].name.text, Value::of_tensor(w), decl.parameters[0].name.range);
    scope->bind(decl.parameters[1].name.text, Value::of_tensor(g), decl.parameters[1].name.range);
    scope->bind("updates", Value::of_tensor(updates), decl.name.range);
    const int errors = reporter_.errors();
    const Value ran = run_items(*decl.body, scope, false);
    if (!frame.updated && ran.ok()) {
      reporter_.report(decl.name.range, diag::optimizer_without_update, decl.name.text, decl.parameters[0].name.text)
          .help(fmt::format("write `{} <- …`", decl.parameters[0].name.text));
    }
    update.new_w = frame.weight->value.ok() ? frame.weight->value.tensor.id : -1;
    for (Binding* state : frame.states) {
      const size_t place = update.new_states.size();
      update.new_states.push_back(state->value.ok() ? state->value.tensor.id : -1);
      const bool same = reporter_.errors() == errors && update.new_states[place] == update.state_values[place];
      if (same && reporter_.first(diag::state_without_update, state->range)) {
        reporter_.report(state->range, diag::state_without_update, state->name, decl.name.text)
            .help(fmt::format("write `{} <- …`: `let` only names a value until the end of the rule", state->name));
      }
    }
  } else {
    reporter_.report(decl.name.range, diag::optimizer_parameters, decl.name.text).help("`optimizer name (hyperparameters) (w, g) { … }`");
  }
  activation_ = outer_activation;
  optimizer_ = outer_frame;
  instance_ = outer_instance;
  emitter_.enter(outer_context);
  site.updates.push_back(std::move(update));
}

Value Evaluator::optimizer_state(const Item& item, Scope* scope) {
  const syntax::Ident& name = item.names[0];
  OptimizerFrame& frame = *optimizer_;
  TensorType type = frame.type;
  if (item.type) {
    const auto declared = tensor_type(*item.type, activation_->types);
    if (!declared) {
      scope->bind(name.text, {}, name.range).kind = Binding::Kind::state;
      return Value::unit_value();
    }
    type = *declared;
  }
  std::string path = frame.prefix + "." + name.text;
  for (int use = 1; optimizer_index_.contains(path); ++use) path = fmt::format("{}.{}.{}", frame.prefix, use, name.text);
  const auto index = static_cast<int32_t>(program_.optimizer_states.size());
  optimizer_index_.emplace(path, index);
  Variable variable;
  variable.path = path;
  variable.type = type;
  variable.range = item.range;
  variable.model = program_.weights[static_cast<size_t>(frame.update->weight)].model;
  OptimizerFrame* outer = std::exchange(optimizer_, nullptr);
  init_body(variable, item.value, scope, item.range);
  optimizer_ = outer;
  program_.optimizer_states.push_back(std::move(variable));
  const Tensor x = emitter_.value(name.text, type, item.range);
  emitter_.name(x, name.text);
  frame.update->states.push_back(index);
  frame.update->state_values.push_back(x.id);
  Binding& binding = scope->bind(name.text, Value::of_tensor(x), name.range);
  binding.kind = Binding::Kind::state;
  binding.type = type;
  frame.states.push_back(&binding);
  return Value::unit_value();
}

}  // namespace dtl::sema
