// The settings of a train block, and its two bodies: a training step, written out or made of `loss`, and an evaluation step.
#include "compiler/sema/train.h"

#include "compiler/sema/builtins.h"
#include "compiler/sema/dataset.h"
#include "compiler/sema/joined_batches.h"
#include "compiler/sema/loss_path.h"
#include "compiler/sema/nested_reduction.h"
#include "compiler/sema/prediction.h"
#include "compiler/sema/strategy.h"
#include "compiler/sema/train_advice.h"
#include "compiler/sema/train_settings.h"

namespace dtl::sema {

using source::Range;
using syntax::Decl;
using syntax::DeclKind;
using syntax::Expr;
using syntax::ExprKind;
using syntax::Item;
using syntax::ItemKind;

std::optional<types::Strategy> strategy_of(Evaluator& evaluator, const Expr& expr, Scope* scope) {
  Value value = evaluator.evaluate(expr, scope);
  if (value.is(ValueKind::declared) && value.closure->decl->kind == DeclKind::strategy)
    value = evaluator.call(value, {}, expr.range, scope);
  if (value.is(ValueKind::strategy)) return *value.strategy;
  if (!value.ok()) return std::nullopt;
  auto reported = evaluator.reporter().report(expr.range, diag::setting_type, "`strategy`", "a strategy", evaluator.shown(value));
  const auto near = value.is(ValueKind::text) ? declaration_called(evaluator, expr.range, DeclKind::strategy, value.text) : std::nullopt;
  if (near) reported.help("write `" + *near + "(…)`, without quotes");
  return std::nullopt;
}

namespace {

/// Where a block is pointed at: its name, else its first word.
Range head_of(const Decl& train) {
  if (train.name.range.known() && train.name.range.end > train.name.range.begin) return train.name.range;
  constexpr int32_t kWord = 5;  // `train`
  return {train.range.file, train.range.begin, std::min(train.range.end, train.range.begin + kWord)};
}

class TrainReader {
 public:
  TrainReader(Evaluator& evaluator, const Decl& train, const Settings& settings, const DataCatalogue& catalogue)
      : evaluator_(evaluator),
        emitter_(evaluator.emitter()),
        reporter_(evaluator.reporter()),
        program_(evaluator.program()),
        train_(train),
        settings_(settings),
        catalogue_(catalogue),
        scope_(evaluator.scopes().inside(evaluator.file_root)) {}

  void run() {
    program_.name = train_.name.text;
    // Element types depend on it, so it comes before all else.
    read_precision();
    check_entries();
    read_strategy();
    const Decl* data = declared("data", DeclKind::dataset, "a dataset", loss() || step_);
    const Decl* model = declared("model", DeclKind::model, "a model", loss() != nullptr);
    if (!loss() && !step_ && !misspelt_.contains("loss") && !misspelt_.contains("step")) {
      reporter_.report(head_of(train_), diag::nothing_to_minimize)
          .help("set `loss = …`, or write a `step (…) { … }` that calls `minimize`");
    }
    read_gradients(evaluator_, settings_, train_, scope_);
    read_evaluate_every(evaluator_, settings_, train_, scope_);
    const bool readable = data && read_dataset(evaluator_, *data, settings_, catalogue_);
    if (readable) count_updates();
    read_numbers();
    const Value optimizer = read_optimizer();
    if (readable && data) build(*data, model, optimizer);
    read_stop_early(evaluator_, settings_, train_, scope_);
    read_checkpoint(evaluator_, settings_, train_, scope_);
  }

 private:
  const Expr* field(const char* name) const { return settings_.find(train_, name); }
  const Expr* loss() const { return field("loss"); }
  const Expr* metrics() const { return field("metrics"); }

  // ---- settings

  void check_entries() {
    std::map<std::string, Range> seen;
    for (const Item* item : train_.body->items) {
      if (item->kind == ItemKind::let || item->kind == ItemKind::require) {
        evaluator_.run_item(*item, scope_);
        continue;
      }
      if (item->kind != ItemKind::assign && item->kind != ItemKind::block) {
        reporter_.report(item->range, diag::misplaced, "this", "in a train block, which has settings and a `step`");
        continue;
      }
      const syntax::Ident& name = item->names[0];
      if (const auto [first, fresh] = seen.emplace(name.text, name.range); !fresh)
        reporter_.report(name.range, diag::set_twice, name.text).note(first->second, "it is set here already");
      const auto in = [&](const std::vector<std::string>& names) {
        return std::find(names.begin(), names.end(), name.text) != names.end();
      };
      if (item->kind == ItemKind::block && name.text == "step") {
        step_ = item;
        continue;
      }
      if (item->kind == ItemKind::assign && in(train_fields())) continue;
      if (in(later_train_fields())) {
        reporter_.report(name.range, diag::not_supported_yet, "`" + name.text + "`");
        continue;
      }
      auto reported = reporter_.report(name.range, diag::unknown_setting, name.text, "a train block");
      std::vector<std::string> known = train_fields();
      known.emplace_back("step");
      if (auto near = nearest(name.text, known)) {
        reported.meant(*near);
        misspelt_.insert(*near);
      } else if (const std::string inside = within_setting(evaluator_, settings_, train_, name.text); !inside.empty()) {
        reported.help("it stands in another setting: `" + inside + "`");
      } else {
        reported.help("it has " + enumerate(known));
      }
    }
  }

  void read_precision() {
    static constexpr std::string_view kWords[] = {"f32", "f64", "bf16", "f16"};
    const Expr* expr = field("precision");
    if (!expr) return;
    const Value value = evaluator_.evaluate_word(*expr, scope_, kWords);
    for (const Precision precision : {Precision::f32, Precision::f64, Precision::bf16, Precision::f16}) {
      if (value.is(ValueKind::word) && value.text == name_of(precision)) program_.precision = precision;
    }
    if (program_.precision == Precision::f64) emitter_.set_float(DType::f64);
    if (value.ok() && !value.is(ValueKind::word)) {
      reporter_.report(expr->range, diag::setting_type, "`precision`", "`f32`, `f64`, `bf16` or `f16`", evaluator_.shown(value));
    }
  }

  std::optional<int64_t> number(const char* name, int64_t least) {
    const Expr* expr = field(name);
    if (!expr) return std::nullopt;
    const std::string what = fmt::format("`{}`", name);
    const Value given = evaluator_.evaluate(*expr, scope_);
    if (given.is(ValueKind::quantity)) {
      auto reported = reporter_.report(expr->range, diag::setting_type, what, "an int", evaluator_.shown(given));
      advise_count(evaluator_, reported, given, expr->range);
      return std::nullopt;
    }
    const auto value = evaluator_.integer(given, expr->range, what);
    if (!value || *value >= least) return value;
    reporter_.report(expr->range, diag::too_small, what, least, *value);
    return std::nullopt;
  }

  void read_numbers() {
    program_.seed_given = settings_.find(train_, "seed") != nullptr;
    program_.seed = number("seed", std::numeric_limits<int64_t>::min()).value_or(0);
    const Expr *epochs = field("epochs"), *steps = field("steps");
    if (epochs && steps) {
      reporter_.report(steps->range, diag::epochs_and_steps)
          .note(epochs->range, "`epochs` is set here")
          .help("keep one: how long to train");
    } else if (!epochs && !steps && !misspelt_.contains("epochs") && !misspelt_.contains("steps")) {
      reporter_.report(head_of(train_), diag::missing_setting, "the train block", "`epochs` or `steps`")
          .help("how long to train: `epochs = 5`");
    }
    const auto epochs_given = epochs ? number("epochs", 1) : std::nullopt;
    const auto steps_given = steps ? number("steps", 1) : std::nullopt;
    program_.epochs = epochs_given.value_or(0);
    program_.steps = steps_given.value_or(0);
  }

  /// Batches of an epoch, a short last one included, and groups of `accumulate` of them, with a short last group.
  void count_updates() {
    const auto rounded_up = [](int64_t n, int64_t by) { return n / by + (n % by > 0 ? 1 : 0); };
    for (const DataSplit& split : program_.data.splits) {
      if (split.name == "train")
        program_.updates_per_epoch = rounded_up(rounded_up(split.info.examples, program_.data.batch), program_.gradients.accumulate);
    }
  }

  void read_strategy() {
    const Expr* chosen = field("strategy");
    if (chosen) {
      program_.strategy_range = chosen->range;
      if (auto strategy = strategy_of(evaluator_, *chosen, scope_)) program_.strategy = std::move(*strategy);
      return;
    }
    program_.strategy = default_strategy();
  }

  const Decl* declared(const char* name, DeclKind kind, const char* expected, bool needed) {
    const Expr* expr = field(name);
    if (!expr) {
      if (needed && !misspelt_.contains(name))
        reporter_.report(head_of(train_), diag::missing_setting, "the train block", fmt::format("`{}`", name))
            .help(declaration_help(evaluator_, train_.range, kind));
      return nullptr;
    }
    if (is_undeclared(evaluator_, *expr, kind, scope_)) return nullptr;
    const Value value = evaluator_.evaluate(*expr, scope_);
    if (value.is(ValueKind::declared) && value.closure->decl->kind == kind) return value.closure->decl;
    if (value.ok()) reporter_.report(expr->range, diag::setting_type, fmt::format("`{}`", name), expected, evaluator_.shown(value));
    return nullptr;
  }

  Value read_optimizer() {
    const Expr* expr = field("optimizer");
    if (!expr) {
      if (loss() && !step_ && !misspelt_.contains("optimizer")) {
        reporter_.report(head_of(train_), diag::missing_setting, "the train block", "`optimizer`")
            .help("how weights follow their gradients");
      }
      return {};
    }
    Value value = evaluator_.evaluate(*expr, scope_);
    if (value.is(ValueKind::optimizer) || !value.ok()) return value;
    const bool bare = value.is(ValueKind::declared) && value.closure->decl->kind == DeclKind::optimizer;
    auto reported = reporter_.report(expr->range, diag::setting_type, "`optimizer`", "an optimizer",
                                     bare ? "`" + text_of(*expr) + "` without its arguments" : evaluator_.shown(value));
    if (bare) {
      reported.help("write `" + text_of(*expr) + "(…)`; `" + text_of(*expr) + "()` takes its defaults");
    } else if (const auto near = value.is(ValueKind::text) ? declaration_called(evaluator_, train_.range, DeclKind::optimizer, value.text)
                                                           : std::nullopt) {
      reported.help("write `" + *near + "(…)`, without quotes");
    }
    return {};
  }

  // ---- bodies

  void build(const Decl& data, const Decl* model, const Value& optimizer) {
    BodyContext context;
    context.body = &program_.train_step;
    context.training = true;
    BodyContext* outer = emitter_.enter(&context);
    StepFrame frame;
    evaluator_.step = &frame;
    if (const auto example = emit_example(evaluator_, data)) {
      if (step_) {
        run_step(*example, data);
      } else if (loss() && model) {
        run_loss(*example, data, *model, optimizer, false);
      }
    }
    emitter_.enter(outer);
    evaluator_.step = nullptr;
    warn_untrained_weights(frame);
    warn_of_joined_batches(reporter_, program_, emitter_.ops(), context.ranges);
    if (step_ && program_.minimize_sites.empty() && !reporter_.has_errors()) {
      reporter_.report(step_->names[0].range, diag::nothing_to_minimize).help("call `minimize(loss, over = …, using = …)` in the step");
    }
    if (reporter_.has_errors()) return;
    if (model && (loss() || metrics())) {
      BodyContext evaluation;
      evaluation.body = &program_.eval_step.emplace();
      outer = emitter_.enter(&evaluation);
      StepFrame eval_frame;
      evaluator_.step = &eval_frame;
      if (const auto example = emit_example(evaluator_, data)) run_loss(*example, data, *model, optimizer, true);
      evaluator_.step = nullptr;
      emitter_.enter(outer);
    }
    if (evaluator_.predict) predict(data, model);
  }

  void predict(const Decl& data, const Decl* model) {
    if (!model) {
      reporter_.report(head_of(train_), diag::missing_setting, "`predict`", "`model`").help("what it computes: `--set model=NAME`");
      return;
    }
    BodyContext context;
    context.body = &program_.prediction.emplace().body;
    BodyContext* outer = emitter_.enter(&context);
    LayerResults layers;
    evaluator_.layer_results = &layers;
    if (const auto example = emit_example(evaluator_, data)) {
      const Value result = call_model(*example, data, *model);
      if (!reporter_.has_errors()) choose_outputs(evaluator_, result, layers, *evaluator_.predict, field("model")->range);
    }
    evaluator_.layer_results = nullptr;
    emitter_.enter(outer);
  }

  /// The model, called with the fields that its parameters name.
  Value call_model(const ExampleFields& example, const Decl& data, const Decl& model) {
    Scope* scope = evaluator_.scopes().inside(scope_);
    const Range called = field("model")->range;
    Args args;
    bool good = true;
    for (const syntax::Parameter& parameter : model.parameters) {
      const Value* value = field_of(example, parameter.name.text, parameter.name.range, "the model `" + model.name.text + "`", data);
      good &= value && value->ok();
      if (value) args.push_back({parameter.name, nullptr, *value, called, scope});
    }
    return good ? evaluator_.call(evaluator_.declared(model), std::move(args), called, nullptr) : Value();
  }

  void warn_untrained_weights(const StepFrame& frame) {
    if (reporter_.has_errors()) return;
    std::set<int32_t> read;
    std::set<int32_t> operands;
    for (const Statement& statement : program_.train_step.statements) operands.insert(statement.operands.begin(), statement.operands.end());
    for (const Statement& statement : program_.train_step.statements) {
      if (statement.kind == StatementKind::read_weight && operands.contains(statement.results[0])) read.insert(statement.index);
    }
    std::vector<std::string> paths;
    for (const int32_t weight : frame.minimized) {
      // One that nothing reads at all is told of where it is declared.
      if (!frame.trained.contains(weight) && read.contains(weight)) paths.push_back(program_.weights[static_cast<size_t>(weight)].path);
    }
    if (paths.empty()) return;
    reporter_.report(head_of(train_), diag::untrained_weights, (paths.size() == 1 ? "the weight " : "the weights ") + enumerate(paths))
        .help("what is minimised does not depend on " + std::string(paths.size() == 1 ? "it" : "them"));
  }

  /// The value of one field of an example; null after a report.
  const Value* field_of(const ExampleFields& example, const std::string& name, Range range, const std::string& who, const Decl& data) {
    const auto at = std::find(example.names.begin(), example.names.end(), name);
    if (at != example.names.end()) return &example.values[static_cast<size_t>(at - example.names.begin())];
    if (!reporter_.first(diag::no_such_example_field, range)) return nullptr;
    auto reported = reporter_.report(range, diag::no_such_example_field, who, name, data.name.text);
    if (auto near = nearest(name, example.names)) {
      reported.help("did you mean `" + *near + "`?");
    } else {
      reported.help("an example has " + enumerate(example.names));
    }
    return nullptr;
  }

  void run_step(const ExampleFields& example, const Decl& data) {
    Scope* scope = evaluator_.scopes().inside(scope_);
    CallTypes types;
    types.callee = "step";
    types.scope = scope;
    for (const syntax::Parameter& parameter : step_->parameters) {
      const Value* found = field_of(example, parameter.name.text, parameter.name.range, "`step`", data);
      Value value = found ? *found : Value();
      if (value.ok() && parameter.type &&
          !evaluator_.accept(value, *parameter.type, types, "`" + parameter.name.text + "`", parameter.name.range, false))
        value = {};
      scope->bind(parameter.name.text, std::move(value), parameter.name.range);
    }
    evaluator_.run_items(*step_->body, scope, false);
  }

  /// The example through the model; then the loss, and in training its minimisation; then what is reported.
  void run_loss(const ExampleFields& example, const Decl& data, const Decl& model, const Value& optimizer, bool evaluation) {
    Scope* scope = evaluator_.scopes().inside(scope_);
    for (size_t i = 0; i < example.names.size(); ++i) scope->bind(example.names[i], example.values[i], example.ranges[i]);

    const Range called = field("model")->range;
    Value prediction = call_model(example, data, model);
    if (prediction.is(ValueKind::tensor)) emitter_.name(prediction.tensor, "prediction");
    scope->bind("prediction", prediction, called);
    scope->describe_example(example.names);

    if (const Expr* expr = loss()) {
      const Value value = evaluator_.evaluate(*expr, scope);
      const auto x = loss_tensor(evaluator_, value, expr->range, "`loss`");
      if (x) {
        emitter_.name(*x, "loss");
        if (!evaluation && optimizer.ok()) {
          minimize_over(evaluator_, *x, {model.name.text}, "the model `" + model.name.text + "`", optimizer, expr->range);
        }
        report_scalar(evaluator_, "loss", *x, expr->range);
      }
    }
    if (const Expr* expr = metrics()) report_metrics(*expr, scope);
  }

  void report_metrics(const Expr& expr, Scope* scope) {
    if (expr.kind != ExprKind::record) {
      const Value value = evaluator_.evaluate(expr, scope);
      if (value.ok())
        reporter_.report(expr.range, diag::setting_type, "`metrics`", "a record such as `{ accuracy = … }`", evaluator_.shown(value));
      return;
    }
    for (const syntax::Argument& argument : expr.arguments) {
      if (!argument.name) {
        reporter_.report(argument.value->range, diag::record_needs_names).help("write `name = value`");
        continue;
      }
      const Value value = evaluator_.evaluate(*argument.value, scope);
      report_value(evaluator_, argument.name->text, {value, argument.value->range}, argument.name->range);
    }
  }

 public:
  // ---- what `minimize` and `report` do

  /// A scalar of a float type, one for all replicas; nothing after a report.
  static std::optional<Tensor> loss_tensor(Evaluator& evaluator, const Value& value, Range range, const std::string& what) {
    Emitter& emitter = evaluator.emitter();
    if (!value.ok()) return std::nullopt;
    if (!value.is(ValueKind::tensor)) {
      auto reported =
          evaluator.reporter().report(range, diag::setting_type, what, "a float scalar computed from weights", evaluator.shown(value));
      advise_loss(evaluator, reported, value, range);
      return std::nullopt;
    }
    const Tensor x = emitter.use(value.tensor, range, what);
    if (!x.ok()) return std::nullopt;
    const types::TensorType type = emitter.type(x);
    if (type.rank() > 0) {
      evaluator.reporter()
          .report(range, diag::not_a_scalar, what, type.str())
          .help("`mean(…)` or `sum(…)` reduces it over the global batch");
      return std::nullopt;
    }
    if (is_float(type.dtype)) return x;
    evaluator.reporter().report(range, diag::setting_type, what, "a float scalar computed from weights", evaluator.shown(value));
    return std::nullopt;
  }

  static void minimize_over(Evaluator& evaluator, Tensor loss, const std::vector<std::string>& models, const std::string& who,
                            const Value& optimizer, Range range) {
    Program& program = evaluator.program();
    MinimizeSite site;
    site.range = range;
    std::vector<int32_t> weights;
    for (size_t i = 0; i < program.weights.size(); ++i) {
      if (std::find(models.begin(), models.end(), program.weights[i].model) != models.end()) weights.push_back(static_cast<int32_t>(i));
    }
    Emitter& emitter = evaluator.emitter();
    const LossPath path = loss_path(*emitter.context().body, emitter.ops(), loss.id, weights);
    if (const auto shared = path.region) {
      auto reported = evaluator.reporter().report(range, diag::loss_through_replicas);
      const Range made = emitter.context().ranges[static_cast<size_t>(*shared)];
      if (!evaluator.reporter().in_library(made)) reported.note(made, "this enters a `per_replica` region on its way to the loss");
      reported.help("reduce the global value, `mean(…)`: it is the same under every strategy; `stop_gradient(…)` makes a constant of it");
      return;
    }
    for (const int32_t weight : weights) evaluator.instantiate_optimizer(optimizer, weight, site, range);
    if (evaluator.stands_in) return;  // what a model promises has no weights
    if (site.updates.empty()) {
      evaluator.reporter()
          .report(range, diag::no_weights, who)
          .help("a model gets its weights by being called, before `minimize`, and by the layers it calls");
      return;
    }
    if (!path.reaches_weights) {
      evaluator.reporter()
          .report(range, diag::loss_without_weights, who)
          .help("`stop_gradient`, comparisons and casts to integers end a gradient");
      return;
    }
    evaluator.step->minimized.insert(weights.begin(), weights.end());
    evaluator.step->trained.insert(path.reached.begin(), path.reached.end());
    add_clipping(evaluator, site, range);
    Statement& statement = evaluator.emitter().statement(StatementKind::minimize, range);
    statement.operands = {loss.id};
    if (program.gradients.accumulate > 1) {
      if (const auto weight = weight_of_batch(*emitter.context().body, loss.id)) statement.operands.push_back(*weight);
    }
    statement.index = static_cast<int32_t>(program.minimize_sites.size());
    program.minimize_sites.push_back(std::move(site));
  }

  static void report_value(Evaluator& evaluator, const std::string& name, const Operand& operand, Range name_range) {
    Emitter& emitter = evaluator.emitter();
    const std::string what = "the report `" + name + "`";
    if (!operand.value.ok()) return;
    Tensor x;
    if (operand.value.is_number() || operand.value.is(ValueKind::boolean)) {
      x = emitter.materialise(operand, emitter.float_dtype(), {}, "report");
    } else if (operand.value.is(ValueKind::tensor)) {
      x = emitter.use(operand.value.tensor, operand.range, what);
    } else {
      evaluator.reporter().report(operand.range, diag::setting_type, what, "a scalar", evaluator.shown(operand.value));
    }
    if (!x.ok()) return;
    if (emitter.type(x).rank() > 0) {
      evaluator.reporter()
          .report(operand.range, diag::not_a_scalar, what, emitter.type(x).str())
          .help("`mean(…)`, `sum(…)` or `max(…)` reduces it");
      return;
    }
    report_scalar(evaluator, name, x, name_range);
  }

  static void report_scalar(Evaluator& evaluator, const std::string& name, Tensor x, Range range);

 private:
  Evaluator& evaluator_;
  Emitter& emitter_;
  Reporter& reporter_;
  Program& program_;
  const Decl& train_;
  const Settings& settings_;
  const DataCatalogue& catalogue_;
  Scope* scope_;
  std::set<std::string> misspelt_;  ///< settings that a mistaken name stands for: told there, not as missing too
  const Item* step_ = nullptr;
};

void TrainReader::report_scalar(Evaluator& evaluator, const std::string& name, Tensor x, Range range) {
  Emitter& emitter = evaluator.emitter();
  StepFrame& frame = *evaluator.step;
  for (const auto& [earlier, where] : frame.reported) {
    if (earlier != name) continue;
    evaluator.reporter().report(range, diag::set_twice, name).note(where, "it is reported here already");
    return;
  }
  frame.reported.emplace_back(name, range);
  if (const int32_t inner = nested_reduction(*emitter.context().body, x.id); inner >= 0) {
    auto reported = evaluator.reporter().report(range, diag::nested_reduction, name);
    const Range made = emitter.context().ranges[static_cast<size_t>(inner)];
    if (!evaluator.reporter().in_library(made)) reported.note(made, "this reduction is the inner one");
    reported.help("report the sums it is made of, or reduce each example's value once");
    return;
  }
  Statement& statement = emitter.statement(StatementKind::report, range);
  statement.operands = {x.id};
  statement.path = name;
}

/// Whether a call that acts on the step stands in one, and not in a layer, model or per-replica region.
bool stands_in_step(BuiltinCall& call) {
  Evaluator& evaluator = call.evaluator;
  const bool in_step = evaluator.step && evaluator.emitter().has_context() && !evaluator.instance();
  const BodyContext* context = in_step ? &evaluator.emitter().context() : nullptr;
  if (context && !context->region_start && !context->per_example && !context->initial && !context->optimizer) return true;
  const bool region = context && context->region_start;
  evaluator.reporter().report(
      call.range, diag::misplaced, "`" + std::string(call.builtin.name) + "`",
      region ? "inside `per_replica`: it takes one value for all replicas" : "here: it stands in the `step` of a train block");
  return false;
}

}  // namespace

Value minimize(BuiltinCall& call) {
  Evaluator& evaluator = call.evaluator;
  if (!stands_in_step(call)) return {};
  const Operand &loss = *call.arguments[0], &over = *call.arguments[1], &optimizer = *call.arguments[2];
  const auto x = TrainReader::loss_tensor(evaluator, loss.value, loss.range, "the loss of `minimize`");
  std::vector<std::string> models;
  bool good = x.has_value();
  const auto add = [&](const Value& value) {
    if (value.is(ValueKind::declared) && value.closure->decl->kind == DeclKind::model) {
      models.push_back(value.closure->decl->name.text);
    } else {
      evaluator.reporter().report(over.range, diag::setting_type, "`over` of `minimize`", "a model or a list of models",
                                  evaluator.shown(value));
      good = false;
    }
  };
  if (over.value.is(ValueKind::list)) {
    for (const Value& value : *over.value.items) add(value);
  } else {
    add(over.value);
  }
  if (!optimizer.value.is(ValueKind::optimizer)) {
    evaluator.reporter().report(optimizer.range, diag::setting_type, "`using` of `minimize`", "an optimizer with its hyperparameters",
                                evaluator.shown(optimizer.value));
    good = false;
  }
  if (!good) return {};
  std::string who = "what `over` names";
  if (models.size() == 1) who = "the model `" + models[0] + "`";
  TrainReader::minimize_over(evaluator, *x, models, who, optimizer.value, call.range);
  return Value::unit_value();
}

Value report(BuiltinCall& call) {
  if (!stands_in_step(call)) return {};
  const Value& record = call.arguments[0]->value;
  for (size_t i = 0; i < record.items->size(); ++i) {
    const Value& value = (*record.items)[i];
    TrainReader::report_value(call.evaluator, (*record.names)[i], {value, value.origin}, value.origin);
  }
  return Value::unit_value();
}

void check_train(Evaluator& evaluator, const Decl& train, const Settings& settings, const DataCatalogue& catalogue) {
  TrainReader(evaluator, train, settings, catalogue).run();
}

}  // namespace dtl::sema
