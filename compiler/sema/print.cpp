// Text of a Program: the `typed` stage. Data, strategy and variables first, then each body, one line a statement.
#include "compiler/sema/program.h"

namespace dtl::sema {
namespace {

std::string type_of(DType dtype, const std::vector<int64_t>& shape) {
  types::TensorType type{dtype, {}};
  for (const int64_t dim : shape) type.dims.emplace_back(dim);
  return type.str();
}

std::string stages_text(const SourceSpec& source);

std::string stage_text(const SourceStage& stage) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const auto& [name, value] : stage.strings) add(fmt::format("{} = \"{}\"", name, value));
  for (const auto& [name, value] : stage.integers) {
    if (name != "skip_limit" || value >= 0) add(name == "count" ? std::to_string(value) : fmt::format("{} = {}", name, value));
  }
  for (const auto& [name, value] : stage.numbers) add(fmt::format("{} = {}", name, value));
  for (const auto& [name, values] : stage.lists) add(fmt::format("{} = [{}]", name, fmt::join(values, ", ")));
  if (stage.vocabulary) add(stage.vocabulary->name);
  if (!stage.records.empty()) add(fmt::format("{} rows", stage.rows));
  for (const SourceSpec& source : stage.sources) add(stages_text(source));
  for (const SourceStage::Field& field : stage.fields) {
    const std::string bounds = field.generator == "integers" ? fmt::format("{}, {}, ", field.low, field.high) : std::string();
    add(fmt::format("{} = {}({}[{}])", field.name, field.generator, bounds, fmt::join(field.shape, ", ")));
  }
  return stage.function + "(" + text + ")";
}

std::string stages_text(const SourceSpec& source) {
  std::string text;
  for (const SourceStage& stage : source.stages) text += (text.empty() ? "" : " |> ") + stage_text(stage);
  return text;
}

bool is_constant(const Statement& statement) { return statement.kind == StatementKind::op && statement.op == "constant"; }

/// What the result's type does not say already.
std::string attrs_text(const types::Attrs& attrs) {
  types::Attrs told;
  for (const auto& [name, value] : attrs.values()) {
    const bool off = std::holds_alternative<bool>(value) && !std::get<bool>(value);
    if (!off && name != "shape" && name != "dtype" && name != "to") told.set(name, value);
  }
  return told.empty() ? std::string() : " " + told.str();
}

/// Writes one body. Values are `%name`, numbered where a name recurs.
class BodyPrinter {
 public:
  BodyPrinter(const Body& body, const Program& program) : body_(body), program_(program) {
    std::map<std::string, int> uses;
    for (const TypedValue& value : body.values) {
      const std::string name = value.name.empty() ? "value" : value.name;
      const int use = uses[name]++;
      names_.push_back(use == 0 ? "%" + name : fmt::format("%{}.{}", name, use));
    }
    // Constants stand where they are used.
    for (const Statement& statement : body.statements) {
      if (is_constant(statement))
        names_[static_cast<size_t>(statement.results[0])] = fmt::format("{}", statement.attrs.get<double>("value"));
    }
  }

  std::string print() {
    for (const Statement& statement : body_.statements) print(statement);
    return std::move(text_);
  }

  const std::string& name(int32_t value) const { return names_[static_cast<size_t>(value)]; }

 private:
  void line(const std::string& text) { text_ += std::string(static_cast<size_t>(indent_) * 2, ' ') + text + "\n"; }

  std::string result(const Statement& statement) const {
    std::string text;
    for (const int32_t id : statement.results) {
      const TypedValue& value = body_.values[static_cast<size_t>(id)];
      text += fmt::format("{}{}: {}{}", text.empty() ? "" : ", ", name(id), value.type.str(), value.local ? " local" : "");
    }
    return text;
  }

  void print(const Statement& statement) {
    switch (statement.kind) {
      case StatementKind::op: {
        if (is_constant(statement)) return;
        std::string operands;
        for (const int32_t operand : statement.operands) operands += (operands.empty() ? "" : ", ") + name(operand);
        line(fmt::format("{} = {}({}){}", result(statement), statement.op, operands, attrs_text(statement.attrs)));
        return;
      }
      case StatementKind::input:
        line(result(statement) + " = input " + statement.path);
        return;
      case StatementKind::read_weight:
        line(result(statement) + " = weight " + program_.weights[static_cast<size_t>(statement.index)].path);
        return;
      case StatementKind::read_state:
        line(result(statement) + " = state " + program_.states[static_cast<size_t>(statement.index)].path);
        return;
      case StatementKind::write_state:
        line(fmt::format("state {} <- {}", program_.states[static_cast<size_t>(statement.index)].path, name(statement.operands[0])));
        return;
      case StatementKind::read_updates:
        line(result(statement) + " = updates");
        return;
      case StatementKind::read_seed:
        line(result(statement) + " = seed");
        return;
      case StatementKind::read_rows:
        line(result(statement) + " = rows");
        return;
      case StatementKind::minimize:
        line(fmt::format("minimize {} at site {}", name(statement.operands[0]), statement.index));
        return;
      case StatementKind::report:
        line(fmt::format("report {} = {}", statement.path, name(statement.operands[0])));
        return;
      case StatementKind::check_index:
        line(fmt::format("{} = check_index({}) below {}", result(statement), name(statement.operands[0]),
                         program_.index_sites[static_cast<size_t>(statement.index)].size));
        return;
      case StatementKind::enter:
        line(statement.path + " {");
        ++indent_;
        return;
      case StatementKind::leave:
        --indent_;
        line("}");
        return;
    }
  }

  const Body& body_;
  const Program& program_;
  std::vector<std::string> names_;
  std::string text_;
  int indent_ = 1;
};

/// An initial value as one expression; casts and broadcasts are left out.
std::string init_text(const Body& body, int32_t value, const Program& program) {
  for (const Statement& statement : body.statements) {
    if (statement.results.empty() || statement.results[0] != value) continue;
    if (statement.kind == StatementKind::read_seed) return "seed";
    if (statement.kind == StatementKind::read_weight) return program.weights[static_cast<size_t>(statement.index)].path;
    if (is_constant(statement)) return fmt::format("{}", statement.attrs.get<double>("value"));
    if (statement.op == "broadcast" || statement.op == "cast") return init_text(body, statement.operands[0], program);
    if (statement.op == "uniform") return "uniform()";  // keyed by the seed and the path
    std::string operands;
    for (const int32_t operand : statement.operands) operands += (operands.empty() ? "" : ", ") + init_text(body, operand, program);
    return statement.op + "(" + operands + ")";
  }
  return "?";
}

std::string variables_text(std::string_view title, const std::vector<Variable>& variables, const Program& program) {
  if (variables.empty()) return {};
  std::string text = fmt::format("\n{}\n", title);
  for (const Variable& variable : variables) {
    std::string placed;
    for (size_t axis = 0; axis < variable.placement.size(); ++axis) {
      if (!variable.placement[axis]) continue;
      placed +=
          fmt::format("{} {} over {}", placed.empty() ? " @" : ",", variable.placement[axis]->str(), program.strategy.mesh.axes[axis].name);
    }
    text += fmt::format("  {}: {}{} = {}\n", variable.path, variable.type.str(), placed,
                        init_text(variable.init, variable.init_value, program));
  }
  return text;
}

/// Equal rules, whatever the shapes of their weights.
bool alike(const Body& a, const Body& b) {
  return std::equal(a.statements.begin(), a.statements.end(), b.statements.begin(), b.statements.end(),
                    [](const Statement& x, const Statement& y) {
                      return x.kind == y.kind && x.op == y.op && x.operands == y.operands && x.results == y.results;
                    });
}

/// Updates with the same rule are written once, for the first weight.
std::string site_text(const MinimizeSite& site, size_t index, const Program& program) {
  std::string text = fmt::format("\nsite {}: {} weight{}\n", index, site.updates.size(), site.updates.size() == 1 ? "" : "s");
  if (site.clip) {
    BodyPrinter printer(site.clip->body, program);
    text += "gradients, all together\n" + printer.print();
    for (size_t i = 0; i < site.updates.size(); ++i)
      text += fmt::format("  {} <- {}\n", printer.name(site.clip->before[i]), printer.name(site.clip->after[i]));
  }
  std::vector<char> told(site.updates.size(), 0);
  for (size_t i = 0; i < site.updates.size(); ++i) {
    if (told[i]) continue;
    const Update& update = site.updates[i];
    std::string paths;
    for (size_t j = i; j < site.updates.size(); ++j) {
      if (told[j] || !alike(update.body, site.updates[j].body)) continue;
      told[j] = 1;
      paths += (paths.empty() ? "" : ", ") + program.weights[static_cast<size_t>(site.updates[j].weight)].path;
    }
    BodyPrinter printer(update.body, program);
    text += fmt::format("update of {}\n{}", paths, printer.print());
    text += fmt::format("  {} <- {}\n", printer.name(update.w), printer.name(update.new_w));
    for (size_t s = 0; s < update.states.size(); ++s)
      text += fmt::format("  {} <- {}\n", printer.name(update.state_values[s]), printer.name(update.new_states[s]));
  }
  return text;
}

/// What differs from the defaults.
std::string settings_text(const Program& program) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (program.gradients.accumulate > 1) add(fmt::format("accumulate {}", program.gradients.accumulate));
  if (program.gradients.clip_value) add(fmt::format("clip value {}", *program.gradients.clip_value));
  if (program.gradients.clip_norm) add(fmt::format("clip norm {}", *program.gradients.clip_norm));
  if (!text.empty()) text = "gradients: " + text + "\n";
  const EvaluateEvery& every = program.evaluate_every;
  if (every.steps > 0) text += fmt::format("evaluated every {} steps\n", every.steps);
  if (every.epochs > 1) text += fmt::format("evaluated every {} epochs\n", every.epochs);
  if (const auto& stop = program.stop_early) {
    text += fmt::format("stops early: {}.{} no {} by {} for {} looks{}\n", stop->split, stop->report, stop->maximize ? "greater" : "less",
                        stop->minimum_change, stop->patience, stop->restore_best ? ", best restored" : "");
  }
  if (const auto& saved = program.checkpoint) {
    const std::string every = saved->every_seconds > 0 ? fmt::format("{} s", saved->every_seconds)
                              : saved->every_steps > 0 ? fmt::format("{} steps", saved->every_steps)
                                                       : fmt::format("{} epochs", saved->every_epochs);
    text += fmt::format("saved in {:?} every {}, {} kept", saved->directory, every, saved->keep);
    if (!saved->watch.empty()) text += fmt::format(" and the {} {}", saved->maximize ? "greatest" : "least", saved->watch);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::f32:
      return "f32";
    case Precision::f64:
      return "f64";
    case Precision::bf16:
      return "bf16";
    case Precision::f16:
      return "f16";
  }
  __builtin_unreachable();
}

std::string print(const Program& program) {
  std::string text = fmt::format("train{}{}: ", program.name.empty() ? "" : " ", program.name);
  text += program.epochs ? fmt::format("{} epochs", program.epochs) : fmt::format("{} steps", program.steps);
  text += fmt::format(", seed {}, precision {}\n", program.seed, name_of(program.precision));

  text += settings_text(program);

  const Dataset& data = program.data;
  const std::string shuffle = data.shuffle < 0 ? "all" : data.shuffle == 0 ? "none" : std::to_string(data.shuffle);
  text += fmt::format("\ndata {}: batch {}, shuffle {}\n", data.name, data.batch, shuffle);
  for (const DataSplit& split : data.splits) {
    text += fmt::format("  {}: {} examples = {}\n", split.name, split.info.examples, stages_text(split.source));
  }
  for (const FieldInfo& field : program.fields)
    text += fmt::format("  field {}: {}\n", field.name, field.text ? "text" : type_of(field.dtype, field.shape));
  for (const DerivedField& derived : data.derived)
    text += fmt::format("  field {}: {}\n", derived.field.name, type_of(derived.field.dtype, derived.field.shape));

  const types::Strategy& strategy = program.strategy;
  std::string axes;
  for (const plan::MeshAxis& axis : strategy.mesh.axes) axes += fmt::format("{}{} = {}", axes.empty() ? "" : ", ", axis.name, axis.size);
  text += fmt::format("\nstrategy {}: mesh {{ {} }}\n", strategy.name, axes);
  text += fmt::format("  batch {}, weights {}, gradients {}, optimizer {}\n", types::str(strategy.batch), types::str(strategy.weights),
                      types::str(strategy.gradients), types::str(strategy.optimizer));
  for (const std::string& part : strategy.later) text += "  not placed yet: " + part + "\n";

  text += variables_text("weights", program.weights, program);
  text += variables_text("states", program.states, program);
  text += variables_text("optimizer states", program.optimizer_states, program);
  text += "\ntrain_step\n" + BodyPrinter(program.train_step, program).print();
  for (size_t i = 0; i < program.minimize_sites.size(); ++i) text += site_text(program.minimize_sites[i], i, program);
  if (program.eval_step) text += "\neval_step\n" + BodyPrinter(*program.eval_step, program).print();
  return text;
}

}  // namespace dtl::sema
