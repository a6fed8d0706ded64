// Gradients, evaluation and early stopping.
#include "compiler/sema/train_settings.h"

#include <algorithm>
#include <cmath>

#include "compiler/sema/record_setting.h"
#include "compiler/source/check.h"

namespace dtl::sema {

using source::Range;
using syntax::Decl;
using syntax::Expr;
using syntax::ExprKind;

namespace {

std::optional<double> positive(Evaluator& evaluator, RecordSetting& record, std::string_view name) {
  const auto value = record.number(name);
  if (!value || *value > 0) return value;
  evaluator.reporter().report(record.find(name)->range, diag::setting_type, "`" + std::string(name) + "`", "a number above 0",
                              fmt::format("{}", *value));
  return std::nullopt;
}

/// What a step or an evaluation reports, by name.
std::vector<std::string> reports_of(const Body& body) {
  std::vector<std::string> names;
  for (const Statement& statement : body.statements) {
    if (statement.kind == StatementKind::report) names.push_back(statement.path);
  }
  return names;
}

/// Every `split.report` that there is to watch while training.
std::vector<std::string> watchable(const Program& program) {
  std::vector<std::string> paths;
  const std::vector<std::string> train = reports_of(program.train_step);
  const std::vector<std::string> others = program.eval_step ? reports_of(*program.eval_step) : std::vector<std::string>{};
  for (const DataSplit& split : program.data.splits) {
    for (const std::string& report : split.name == "train" ? train : others) paths.push_back(split.name + "." + report);
  }
  return paths;
}

/// Whether more is better, by the name of a report; nothing where the name does not say.
std::optional<bool> maximized(const std::string& report) {
  if (report.ends_with("loss") || report.ends_with("error") || report == "perplexity") return false;
  if (report.ends_with("accuracy") || report == "precision" || report == "recall") return true;
  return std::nullopt;
}

}  // namespace

void read_gradients(Evaluator& evaluator, const Settings& settings, const Decl& train, Scope* scope) {
  RecordSetting record(evaluator, settings, train, "gradients", scope);
  GradientSettings& gradients = evaluator.program().gradients;
  gradients.accumulate = record.integer("accumulate", 1).value_or(1);
  gradients.clip_norm = positive(evaluator, record, "clip_norm");
  gradients.clip_value = positive(evaluator, record, "clip_value");
}

void read_evaluate_every(Evaluator& evaluator, const Settings& settings, const Decl& train, Scope* scope) {
  const Expr* expr = settings.find(train, "evaluate_every");
  if (!expr) return;
  const Value value = evaluator.evaluate(*expr, scope);
  if (!value.ok()) return;
  if (!value.is(ValueKind::quantity) || value.text != "count") {
    evaluator.reporter().report(expr->range, diag::setting_type, "`evaluate_every`", "a count such as `2 epochs` or `500 steps`",
                                evaluator.shown(value));
    return;
  }
  constexpr double kMost = 0x1p53;
  if (std::floor(value.number) != value.number || value.number < 1 || value.number > kMost) {
    evaluator.reporter().report(expr->range, diag::setting_type, "`evaluate_every`", "a whole number from 1 on",
                                fmt::format("{}", value.number));
    return;
  }
  const auto count = static_cast<int64_t>(value.number);
  evaluator.program().evaluate_every = value.unit.starts_with("epoch") ? EvaluateEvery{count, 0} : EvaluateEvery{0, count};
}

void read_stop_early(Evaluator& evaluator, const Settings& settings, const Decl& train, Scope* scope) {
  RecordSetting record(evaluator, settings, train, "stop_early", scope);
  if (!record.given()) return;
  Reporter& reporter = evaluator.reporter();
  const int errors = reporter.errors();
  StopEarly stop;
  const auto patience = record.integer("patience", 1);
  stop.patience = patience.value_or(1);
  stop.minimum_change = record.number("minimum_change").value_or(0);
  if (stop.minimum_change < 0) {
    reporter.report(record.find("minimum_change")->range, diag::setting_type, "`minimum_change`", "a number from 0 on",
                    fmt::format("{}", stop.minimum_change));
  }
  stop.restore_best = record.boolean("restore_best").value_or(false);
  if (!record.find("watch"))
    reporter.report(record.range(), diag::missing_setting, "`stop_early`", "`watch`").help("what to look at: `watch = validation.loss`");
  if (!record.find("patience")) {
    reporter.report(record.range(), diag::missing_setting, "`stop_early`", "`patience`")
        .help("how often in a row `watch` may be no better: `patience = 3`");
  }
  auto watch = read_watch(evaluator, record, "`stop_early`");
  if (!watch || reporter.errors() != errors) return;
  stop.split = std::move(watch->split);
  stop.report = std::move(watch->report);
  stop.maximize = watch->maximize;
  evaluator.program().stop_early = std::move(stop);
}

std::optional<Watch> read_watch(Evaluator& evaluator, RecordSetting& record, const std::string& setting) {
  static constexpr std::string_view kModes[] = {"min", "max"};
  Reporter& reporter = evaluator.reporter();
  const int errors = reporter.errors();
  const auto mode = record.word("mode", kModes);
  const RecordSetting::Entry* watch = record.find("watch");
  if (!watch) return std::nullopt;
  const Expr* path = watch->expr;
  if (!path || path->kind != ExprKind::field || path->items[0]->kind != ExprKind::name) {
    reporter.report(watch->range, diag::setting_type, "`watch`", "a split and what is reported of it, such as `validation.loss`",
                    path ? "`" + text_of(*path) + "`" : evaluator.shown(watch->value));
    return std::nullopt;
  }
  Watch found{path->items[0]->name, path->name};
  const Program& program = evaluator.program();
  const std::vector<std::string> known = watchable(program);
  const std::string wanted = found.split + "." + found.report;
  // What is missing because of another mistake is not said again.
  const bool complete = !reporter.has_errors() && !program.data.splits.empty();
  if (complete && std::find(known.begin(), known.end(), wanted) == known.end()) {
    auto reported = reporter.report(path->range, diag::unknown_watch, wanted);
    if (auto near = nearest(wanted, known)) {
      reported.help("did you mean `" + *near + "`?");
    } else if (!known.empty()) {
      reported.help("there is " + enumerate(known));
    }
  } else if (mode) {
    found.maximize = *mode == "max";
  } else if (const auto known_mode = maximized(found.report)) {
    found.maximize = *known_mode;
  } else if (!record.find("mode")) {
    reporter.report(record.range(), diag::missing_setting, setting, "`mode`")
        .help("whether less or more of `" + wanted + "` is better: `mode = min` or `mode = max`");
  }
  if (reporter.errors() != errors) return std::nullopt;
  return found;
}

void add_clipping(Evaluator& evaluator, MinimizeSite& site, Range range) {
  const GradientSettings& settings = evaluator.program().gradients;
  if (!settings.clip_norm && !settings.clip_value) return;
  Emitter& emitter = evaluator.emitter();
  GradientRule rule;
  BodyContext context;
  context.body = &rule.body;
  context.training = true;
  context.optimizer = true;
  BodyContext* outer = emitter.enter(&context);
  Instance* outer_instance = evaluator.enter_instance(nullptr);

  std::vector<Value> gradients;
  for (const Update& update : site.updates) {
    const Variable& weight = evaluator.program().weights[static_cast<size_t>(update.weight)];
    const Tensor x = emitter.value("gradient", weight.type, range);
    rule.before.push_back(x.id);
    gradients.push_back(Value::of_tensor(x));
  }
  Value all = Value::of_items(ValueKind::list, std::move(gradients)).at(range);
  const auto apply = [&](const char* function, double limit) {
    Args args;
    args.push_back({std::nullopt, nullptr, all, range, evaluator.library_root});
    args.push_back({std::nullopt, nullptr, Value::of_number(limit), range, evaluator.library_root});
    all = evaluator.call(evaluator.lookup(function, range, evaluator.library_root), std::move(args), range, evaluator.library_root);
  };
  if (settings.clip_value) apply("clip_values", *settings.clip_value);
  if (settings.clip_norm) apply("clip_by_norm", *settings.clip_norm);

  evaluator.enter_instance(outer_instance);
  emitter.enter(outer);
  if (!all.ok()) return;
  DTL_CHECK(all.is(ValueKind::list) && all.items->size() == site.updates.size(), "clipping gives another number of gradients");
  for (const Value& value : *all.items) rule.after.push_back(value.tensor.id);
  site.clip = std::move(rule);
}

}  // namespace dtl::sema
