// Lowering of a step.
#include "compiler/lower/step.h"

#include <algorithm>

#include "compiler/graph/builder.h"
#include "compiler/lower/body.h"
#include "compiler/lower/loss_scale.h"
#include "compiler/lower/report.h"
#include "compiler/source/check.h"

namespace dtl::lower {
namespace {

using graph::Builder;
using graph::Graph;
using graph::Role;
using graph::ValueId;
using sema::Statement;
using sema::StatementKind;

const types::TensorType kCounter{DType::i64, {}};

/// What a body touches, by index; minimize sites included.
struct Touched {
  std::vector<bool> weights, states, optimizer_states;
  std::vector<std::pair<std::string, types::TensorType>> inputs;  ///< in order of first use
  bool updates = false, minimizes = false, seed = false, rows = false;
  std::vector<size_t> sites;  ///< of `minimize`
};

/// Without `updates`, minimising adds to gradients, and touches no optimizer's states.
Touched touched_by(const sema::Program& program, const sema::Body& body, bool updates) {
  Touched touched{std::vector<bool>(program.weights.size()),
                  std::vector<bool>(program.states.size()),
                  std::vector<bool>(program.optimizer_states.size()),
                  {},
                  false,
                  false,
                  false,
                  false,
                  {}};
  const auto scan = [&](const sema::Body& inner, const auto& self) -> void {
    for (const Statement& statement : inner.statements) {
      const auto index = static_cast<size_t>(std::max(statement.index, 0));
      switch (statement.kind) {
        case StatementKind::input: {
          const auto same = [&](const auto& input) { return input.first == statement.path; };
          if (std::none_of(touched.inputs.begin(), touched.inputs.end(), same)) {
            touched.inputs.emplace_back(statement.path, inner.values[static_cast<size_t>(statement.results[0])].type);
          }
          break;
        }
        case StatementKind::read_weight:
          touched.weights[index] = true;
          break;
        case StatementKind::read_state:
        case StatementKind::write_state:
          touched.states[index] = true;
          break;
        case StatementKind::read_updates:
          touched.updates = true;
          break;
        case StatementKind::read_seed:
          touched.seed = true;
          break;
        case StatementKind::read_rows:
          touched.rows = true;
          break;
        case StatementKind::minimize:
          touched.minimizes = true;
          touched.sites.push_back(index);
          for (const sema::Update& update : program.minimize_sites[index].updates)
            touched.weights[static_cast<size_t>(update.weight)] = true;
          if (!updates) break;
          touched.updates = true;
          for (const sema::Update& update : program.minimize_sites[index].updates) {
            for (const int32_t state : update.states) touched.optimizer_states[static_cast<size_t>(state)] = true;
            self(update.body, self);
          }
          break;
        case StatementKind::op:
        case StatementKind::report:
        case StatementKind::check_index:
        case StatementKind::enter:
        case StatementKind::leave:
          break;
      }
    }
  };
  scan(body, scan);
  // Fields come in the data's order, whatever the order of use.
  const auto place = [&](const std::string& name) {
    return std::find_if(program.fields.begin(), program.fields.end(), [&](const sema::FieldInfo& field) { return field.name == name; });
  };
  std::stable_sort(touched.inputs.begin(), touched.inputs.end(),
                   [&](const auto& a, const auto& b) { return place(a.first) < place(b.first); });
  return touched;
}

class Step {
 public:
  Step(Graph& graph, const graph::OpTable& ops, const sema::Program& program, graph::FunctionId function, Batches batches)
      : graph_(graph), ops_(ops), program_(program), batches_(batches), builder_(ops, graph, function) {}

  void run(const sema::Body& body, const std::string& prefix, std::span<const std::pair<std::string, int32_t>> outputs) {
    reports_.prefix = prefix;
    reports_.batches = batches_;
    const Touched touched = touched_by(program_, body, batches_ != Batches::adds);
    for (const auto& [name, type] : touched.inputs) inputs_[name] = builder_.param(name, type, Role::input, name);
    weights_ = add_params(program_.weights, touched.weights, Role::weight);
    states_ = add_params(program_.states, touched.states, Role::state);
    optimizer_states_ = add_params(program_.optimizer_states, touched.optimizer_states, Role::optimizer);
    if (touched.updates) updates_ = builder_.param("updates", kCounter, Role::updates);
    if (touched.seed) seed_ = builder_.param("seed", kCounter, Role::seed);
    // An update of one batch begins with it; the batches of a split follow each other.
    if (batches_ != Batches::one || (touched.rows && prefix == "eval")) count_rows(prefix);
    if (touched.minimizes && batches_ != Batches::adds) {
      const ValueId one = builder_.constant(1, DType::i64);
      next_updates_ = builder_.add("add", {*updates_, one}, {}, "updates");
    }

    if (program_.precision == sema::Precision::f16) add_loss_scales(touched.sites);

    Surroundings surroundings;
    surroundings.read = [this](const Statement& statement) { return read(statement); };
    surroundings.effect = [this](const Statement& statement, std::span<const ValueId> operands) { effect(statement, operands); };
    const auto values = lower_body(builder_, body, surroundings);
    for (const auto& [name, value] : outputs) builder_.result(*values[static_cast<size_t>(value)], Role::output, name);

    add_results(program_.weights, weights_, Role::weight);
    add_results(program_.states, states_, Role::state);
    add_results(program_.optimizer_states, optimizer_states_, Role::optimizer);
    add_loss_scale_results();
    if (updates_) builder_.result(updates_after(), Role::updates);

    add_reports(graph_, ops_, builder_.function(), reports_);
  }

 private:
  // ---- loss scales

  void add_loss_scales(const std::vector<size_t>& sites) {
    for (const size_t site : sites) {
      const std::string scale = loss_scale_path(site), good = good_updates_path(site);
      loss_scales_[site] = {builder_.param(scale, {DType::f32, {}}, Role::state, scale), builder_.param(good, kCounter, Role::state, good)};
    }
  }

  void add_loss_scale_results() {
    for (const auto& [site, scale] : loss_scales_) {
      builder_.result(scale.scale, Role::state, loss_scale_path(site));
      builder_.result(scale.good, Role::state, good_updates_path(site));
    }
  }

  /// A step that was skipped at every `minimize` counts for nothing.
  ValueId updates_after() {
    if (!next_updates_) return *updates_;
    if (!made_) return *next_updates_;
    return builder_.add("select", {*made_, *next_updates_, *updates_}, {}, "updates");
  }

  // ---- variables

  /// A variable's values so far, oldest first; empty if the step does not touch it.
  using Versions = std::vector<ValueId>;

  std::vector<Versions> add_params(const std::vector<sema::Variable>& variables, const std::vector<bool>& touched, Role role) {
    std::vector<Versions> versions(variables.size());
    for (size_t i = 0; i < variables.size(); ++i) {
      if (touched[i]) versions[i].push_back(builder_.param(variables[i].path, variables[i].type, role, variables[i].path));
    }
    return versions;
  }

  void add_results(const std::vector<sema::Variable>& variables, const std::vector<Versions>& versions, Role role) {
    for (size_t i = 0; i < variables.size(); ++i) {
      if (!versions[i].empty()) builder_.result(versions[i].back(), role, variables[i].path);
    }
  }

  /// The examples of the batches that make one update, or that were evaluated, those of this one included.
  void count_rows(const std::string& prefix) {
    const std::string path = prefix + "/rows";
    rows_before_ = builder_.param(path, kCounter, Role::metric, path);
    const ValueId here = builder_.add("size", {}, {{"dim", types::Dims{types::Dim::symbol("batch")}}, {"dtype", DType::i64}}, "rows");
    rows_ = builder_.add("add", {*rows_before_, here}, {}, "rows");
    builder_.result(batches_ == Batches::closes ? builder_.constant(0, DType::i64) : *rows_, Role::metric, path);
  }

  /// What the batch at hand counts in an update, and all of its batches so far.
  struct Counts {
    ValueId here, all;  ///< of the same type
  };

  /// Rows; or weights of the site's loss, where that is a weighted mean.
  Counts counts_of(size_t site, std::optional<ValueId> weight) {
    if (!weight) {
      const ValueId here = builder_.add("size", {}, {{"dim", types::Dims{types::Dim::symbol("batch")}}, {"dtype", DType::i64}}, "rows");
      return {here, *rows_};
    }
    const std::string path = fmt::format("{}/weight/{}", reports_.prefix, site);
    const ValueId here = builder_.add("cast", {*weight}, {{"to", DType::f64}}, "weight");
    const ValueId before = builder_.param(path, {DType::f64, {}}, Role::metric, path);
    const ValueId all = builder_.add("add", {before, here}, {}, path);
    builder_.result(batches_ == Batches::closes ? builder_.constant(0, DType::f64) : all, Role::metric, path);
    // Where nothing counted, the sum of gradients is 0, and so is their mean.
    const ValueId zero = builder_.constant(0, DType::f64), one = builder_.constant(1, DType::f64);
    return {here, builder_.add("select", {builder_.add("equal", {all, zero}, {}, "none"), one, all}, {}, path)};
  }

  /// Where the strategy wants a weight's gradient, or the weight itself does.
  static types::Attrs gradient_pin(const sema::Variable& weight) {
    types::Attrs attrs = {{"role", std::string("gradients")}};
    if (!weight.placement.empty()) attrs.set("of", weight.path);
    return attrs;
  }

  /// A gradient of this batch joined with what waits of the batches before it, each weighted by what it counts. The mean over all of
  /// them at the last one; before that nothing.
  std::optional<ValueId> joined(ValueId gradient, const Counts& counts, const types::Attrs& pin, const std::string& path) {
    const types::TensorType type = builder_.type(gradient);
    const auto spread = [&](ValueId scalar) {
      if (builder_.type(scalar).dtype != type.dtype) scalar = builder_.add("cast", {scalar}, {{"to", type.dtype}});
      return type.rank() == 0 ? scalar : builder_.add("broadcast", {scalar}, {{"dims", types::Ints{}}, {"shape", type.dims}});
    };
    const ValueId waiting = builder_.param(path, type, Role::pending, path);
    const ValueId weighted = builder_.add("multiply", {gradient, spread(counts.here)}, {}, path);
    const ValueId sum = builder_.add("add", {waiting, weighted}, {}, path);
    if (batches_ == Batches::adds) {
      builder_.result(sum, Role::pending, path);
      return std::nullopt;
    }
    builder_.result(builder_.constant(0, type.dtype, type.dims), Role::pending, path);
    const ValueId reduced = builder_.add("pin", {sum}, pin, path);
    return builder_.add("divide", {reduced, spread(counts.all)}, {}, path);
  }

  void set(Versions& versions, ValueId value, const sema::Variable& variable) {
    DTL_CHECK(builder_.type(value) == variable.type, "`{}` is {}, its next value {}", variable.path, variable.type.str(),
              builder_.type(value).str());
    versions.push_back(value);
    // A report of the new value is of it, not of the reductions that went into it. A value that was there before (a constant,
    // a weight left as it is) hides nothing either way.
    reports_.opaque.insert(value);
  }

  /// What a model reads of a weight now. After an update it is a variable anew: a gradient ends there, and does not go into
  /// how it was updated.
  ValueId current(Versions& versions) {
    const auto node = graph_[versions.back()].node;
    if (versions.size() > 1 && (!node || ops_[graph_[*node].op].name() != "stop_gradient")) {
      const ValueId fresh = builder_.add("stop_gradient", {versions.back()}, {}, graph_[versions.front()].name);
      versions.push_back(fresh);
      reports_.opaque.insert(fresh);
    }
    return versions.back();
  }

  ValueId read(const Statement& statement) {
    const auto index = static_cast<size_t>(std::max(statement.index, 0));
    switch (statement.kind) {
      case StatementKind::input:
        return inputs_.at(statement.path);
      case StatementKind::read_weight:
        return current(weights_[index]);
      case StatementKind::read_state:
        return states_[index].back();
      case StatementKind::read_updates:
        return *updates_;
      case StatementKind::read_seed:
        return *seed_;
      case StatementKind::read_rows:
        return rows_before_ ? *rows_before_ : builder_.constant(0, DType::i64);
      case StatementKind::op:
      case StatementKind::write_state:
      case StatementKind::minimize:
      case StatementKind::report:
      case StatementKind::check_index:
      case StatementKind::enter:
      case StatementKind::leave:
        break;
    }
    DTL_CHECK(false, "a statement reads nothing");
  }

  /// The executor looks at both after each run.
  void check_index(const sema::IndexSite& site, ValueId value) {
    types::Ints axes;
    for (size_t axis = 0; axis < builder_.type(value).rank(); ++axis) axes.push_back(static_cast<int64_t>(axis));
    const auto reduced = [&](ReduceOp op, const char* name) {
      return axes.empty() ? value : builder_.add("reduce", {value}, {{"axes", axes}, {"op", op}}, name);
    };
    const auto size = static_cast<double>(site.size);
    builder_.result(reduced(ReduceOp::min, "least"), Role::least, site.path, size);
    builder_.result(reduced(ReduceOp::max, "most"), Role::most, site.path, size);
  }

  void effect(const Statement& statement, std::span<const ValueId> operands) {
    const auto index = static_cast<size_t>(std::max(statement.index, 0));
    if (statement.kind == StatementKind::write_state) {
      set(states_[index], operands[0], program_.states[index]);
    } else if (statement.kind == StatementKind::report) {
      reports_.reports.push_back({statement.path, operands[0], statement.range});
    } else if (statement.kind == StatementKind::check_index) {
      check_index(program_.index_sites[index], operands[0]);
    } else {
      minimize(index, operands[0], operands.size() > 1 ? std::optional(operands[1]) : std::nullopt, statement.range);
    }
  }

  /// The version of each weight that `loss` was computed from: the newest that it depends on; the current one if it depends on none.
  std::vector<ValueId> differentiated(const sema::MinimizeSite& site, ValueId loss) const {
    std::vector<bool> reached(graph_.values.size());
    std::vector<ValueId> open{loss};
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      if (reached[static_cast<size_t>(value.index)]) continue;
      reached[static_cast<size_t>(value.index)] = true;
      if (const auto node = graph_[value].node) open.insert(open.end(), graph_[*node].operands.begin(), graph_[*node].operands.end());
    }
    std::vector<ValueId> values;
    for (const sema::Update& update : site.updates) {
      const Versions& versions = weights_[static_cast<size_t>(update.weight)];
      const auto newest =
          std::find_if(versions.rbegin(), versions.rend(), [&](ValueId value) { return reached[static_cast<size_t>(value.index)]; });
      values.push_back(newest == versions.rend() ? versions.back() : *newest);
    }
    return values;
  }

  void minimize(size_t index, ValueId loss, std::optional<ValueId> weight, source::Range range) {
    const sema::MinimizeSite& site = program_.minimize_sites[index];
    if (site.updates.empty()) return;
    std::vector<ValueId> operands = differentiated(site, loss);
    std::vector<std::string> names;
    for (const sema::Update& update : site.updates)
      names.push_back(program_.weights[static_cast<size_t>(update.weight)].path + "/gradient");
    const auto scaling = loss_scales_.find(index);
    const bool scaled = scaling != loss_scales_.end();
    operands.insert(operands.begin(), scaled ? scaled_loss(builder_, scaling->second, loss) : loss);
    std::vector<ValueId> gradients = builder_.add_named("gradient", std::move(operands), {}, names);
    const Counts counts = batches_ == Batches::one ? Counts{} : counts_of(index, weight);
    for (size_t i = 0; i < gradients.size(); ++i) {
      const types::Attrs pin = gradient_pin(program_.weights[static_cast<size_t>(site.updates[i].weight)]);
      if (batches_ == Batches::one) {
        gradients[i] = builder_.add("pin", {gradients[i]}, pin, names[i]);
        continue;
      }
      // Each site has its own: they may share weights.
      const auto mean = joined(gradients[i], counts, pin, index == 0 ? names[i] : fmt::format("{}.{}", names[i], index));
      if (mean) gradients[i] = *mean;
    }
    if (batches_ == Batches::adds) return builder_.at(range, "");
    std::optional<ValueId> finite;
    if (scaled) {
      gradients = unscaled(builder_, scaling->second, gradients);
      finite = all_finite(builder_, gradients);
      scaling->second = next_loss_scale(builder_, scaling->second, *finite);
      made_ = made_ ? builder_.add("logical_or", {*made_, *finite}) : *finite;
    }
    if (site.clip) gradients = clipped(*site.clip, gradients);
    const auto kept = [&](ValueId after, ValueId before) { return finite ? made_if(builder_, *finite, after, before) : after; };
    // Each update sees the weights and states of before the site, so their order does not matter.
    std::vector<std::vector<std::optional<ValueId>>> after;
    for (size_t i = 0; i < site.updates.size(); ++i) after.push_back(update(site.updates[i], gradients[i]));
    for (size_t i = 0; i < site.updates.size(); ++i) {
      const sema::Update& update = site.updates[i];
      const auto value = [&](int32_t index) { return *after[i][static_cast<size_t>(index)]; };
      Versions& weight = weights_[static_cast<size_t>(update.weight)];
      set(weight, kept(value(update.new_w), weight.back()), program_.weights[static_cast<size_t>(update.weight)]);
      for (size_t s = 0; s < update.states.size(); ++s) {
        const auto state = static_cast<size_t>(update.states[s]);
        Versions& versions = optimizer_states_[state];
        set(versions, kept(value(update.new_states[s]), versions.back()), program_.optimizer_states[state]);
      }
    }
    builder_.at(range, "");
  }

  /// The gradients of a site, reduced, by its rule for all of them.
  std::vector<ValueId> clipped(const sema::GradientRule& rule, const std::vector<ValueId>& gradients) {
    Surroundings surroundings;
    surroundings.scope = "gradients";
    for (size_t i = 0; i < gradients.size(); ++i) surroundings.given[rule.before[i]] = gradients[i];
    surroundings.read = [](const Statement&) -> ValueId { DTL_CHECK(false, "a rule for gradients reads a variable"); };
    surroundings.effect = [](const Statement&, std::span<const ValueId>) { DTL_CHECK(false, "a rule for gradients has effects"); };
    const auto values = lower_body(builder_, rule.body, surroundings);
    std::vector<ValueId> after;
    for (const int32_t index : rule.after) after.push_back(*values[static_cast<size_t>(index)]);
    return after;
  }

  std::vector<std::optional<ValueId>> update(const sema::Update& update, ValueId gradient) {
    Surroundings surroundings;
    surroundings.scope = program_.weights[static_cast<size_t>(update.weight)].path;
    const auto give = [&](int32_t index, ValueId value) {
      if (index >= 0) surroundings.given[index] = value;
    };
    give(update.w, weights_[static_cast<size_t>(update.weight)].back());
    give(update.g, gradient);
    give(update.updates, *next_updates_);
    for (size_t s = 0; s < update.states.size(); ++s)
      give(update.state_values[s], optimizer_states_[static_cast<size_t>(update.states[s])].back());
    surroundings.read = [this](const Statement& statement) {
      // Inside an optimizer the count includes the update being made.
      return statement.kind == StatementKind::read_updates ? *next_updates_ : read(statement);
    };
    surroundings.effect = [](const Statement&, std::span<const ValueId>) {
      DTL_CHECK(false, "an optimizer's update has effects of its own");
    };
    return lower_body(builder_, update.body, surroundings);
  }

  Graph& graph_;
  const graph::OpTable& ops_;
  const sema::Program& program_;
  const Batches batches_;
  Builder builder_;
  std::map<std::string, ValueId> inputs_;
  std::vector<Versions> weights_, states_, optimizer_states_;
  std::optional<ValueId> updates_, next_updates_, seed_, rows_before_, rows_;
  std::map<size_t, LossScale> loss_scales_;  ///< by site of `minimize`; only with precision f16
  std::optional<ValueId> made_;              ///< bool: whether some `minimize` so far was not skipped; only with precision f16
  ReportSet reports_;
};

int place_of(Role role) {
  switch (role) {
    case Role::input:
      return 0;
    case Role::weight:
      return 1;
    case Role::state:
      return 2;
    case Role::optimizer:
      return 3;
    case Role::metric:
      return 4;
    case Role::pending:
      return 5;
    case Role::updates:
      return 6;
    case Role::seed:
      return 7;
    case Role::report:
      return 8;
    case Role::output:
      return 9;
    case Role::least:
      return 10;
    case Role::most:
      return 11;
    case Role::none:
      return 12;
  }
  __builtin_unreachable();
}

/// Accumulators are found last, yet stand before the counters.
void sort_ports(Graph& graph, graph::Function& function) {
  const auto before = [](const graph::Port& a, const graph::Port& b) { return place_of(a.role) < place_of(b.role); };
  std::stable_sort(function.params.begin(), function.params.end(), before);
  std::stable_sort(function.results.begin(), function.results.end(), before);
  for (size_t i = 0; i < function.params.size(); ++i) graph[function.params[i].value].result = static_cast<int32_t>(i);
}

}  // namespace

void add_step(Graph& graph, const graph::OpTable& ops, const sema::Program& program, const sema::Body& body, const std::string& prefix,
              Batches batches, std::span<const std::pair<std::string, int32_t>> outputs) {
  const graph::FunctionId function{static_cast<int32_t>(graph.functions.size())};
  graph.functions.push_back({prefix + (batches == Batches::adds ? "_accumulate" : "_step"), {}, {}, {}});
  Step(graph, ops, program, function, batches).run(body, prefix, outputs);
  sort_ports(graph, graph[function]);
}

}  // namespace dtl::lower
