// Finding outermost batch reductions, making accumulators, and the report function.
#include "compiler/lower/report.h"

#include <algorithm>

#include "compiler/graph/builder.h"
#include "compiler/source/check.h"

namespace dtl::lower {
namespace {

using graph::Builder;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Role;
using graph::ValueId;

/// What a value is to a report.
enum class Part : uint8_t {
  constant,   ///< made of constants: made again in the report function
  latest,     ///< depends on the step, but on no reduction over the batch
  reduction,  ///< a reduction over the batch
  function,   ///< computed from reductions
};

bool has_symbols(const types::TensorType& type) {
  return std::any_of(type.dims.begin(), type.dims.end(), [](const types::Dim& dim) { return !dim.is_constant(); });
}

class Reports {
 public:
  Reports(Graph& graph, const graph::OpTable& ops, graph::FunctionId step, const ReportSet& set)
      : graph_(graph), ops_(ops), step_(step), set_(set), parts_(graph.values.size()) {}

  void run() {
    if (set_.batches == Batches::adds) {
      for (const Report& report : set_.reports) {
        visited_.clear();
        leaves_ = 0;
        visit(report, report.value);
      }
      return;
    }
    const graph::FunctionId function{static_cast<int32_t>(graph_.functions.size())};
    graph_.functions.push_back({set_.prefix + "_report", {}, {}, {}});
    Builder into(ops_, graph_, function);
    for (const Report& report : set_.reports) {
      made_.clear();
      leaves_ = 0;
      ValueId value = make(report, into, report.value);
      const types::TensorType type = into.type(value);
      DTL_CHECK(type.rank() == 0, "report `{}` is {}, not a scalar", report.name, type.str());
      if (type.dtype != DType::f64) value = into.add("cast", {value}, {{"to", DType::f64}}, report.name);
      into.result(value, Role::report, set_.prefix + "/" + report.name);
    }
  }

 private:
  /// How a reduction over the batch combines over time; nothing if the node is none.
  std::optional<ReduceOp> reduction(const Node& node) const {
    const std::string& op = ops_[node.op].name();
    if (op == "reduce_varying") return node.attrs.get<ReduceOp>("op");
    if (op == "size") return node.attrs.get<types::Dims>("dim")[0].is_constant() ? std::nullopt : std::optional(ReduceOp::sum);
    if (op != "reduce") return std::nullopt;
    const types::TensorType& type = graph_[node.operands[0]].type;
    for (const int64_t axis : node.attrs.get<types::Ints>("axes")) {
      if (!type.dims[static_cast<size_t>(axis)].is_constant()) return node.attrs.get<ReduceOp>("op");
    }
    return std::nullopt;
  }

  Part part(ValueId id) {
    if (const auto known = parts_[static_cast<size_t>(id.index)]) return *known;
    const Part found = find_part(id);
    parts_[static_cast<size_t>(id.index)] = found;
    return found;
  }

  Part find_part(ValueId id) {
    const graph::Value& value = graph_[id];
    if (!value.node || set_.opaque.contains(id)) return Part::latest;
    const Node& node = graph_[*value.node];
    // A gradient's history is the loss's; what is reported is its value.
    if (ops_[node.op].name() == "gradient") return Part::latest;
    if (reduction(node)) return Part::reduction;
    // A value with a row for each example cannot be kept: it is looked at from outside only.
    if (has_symbols(value.type)) return Part::latest;
    Part found = Part::constant;
    for (const ValueId operand : node.operands) {
      if (has_symbols(graph_[operand].type)) return Part::latest;
      switch (part(operand)) {
        case Part::constant:
          break;
        case Part::latest:
          found = found == Part::constant ? Part::latest : found;
          break;
        case Part::reduction:
        case Part::function:
          found = Part::function;
          break;
      }
    }
    return found;
  }

  /// What `make` accumulates, in the same order.
  void visit(const Report& report, ValueId value) {
    if (!visited_.insert(value).second) return;
    switch (part(value)) {
      case Part::latest:
        ++leaves_;
        break;
      case Part::reduction:
        gather(report, value, *reduction(graph_[*graph_[value].node]), fmt::format("{}/{}.{}", set_.prefix, report.name, leaves_++));
        break;
      case Part::constant:
      case Part::function: {
        const std::vector<ValueId> operands = graph_[*graph_[value].node].operands;  // a copy: building moves the stores
        for (const ValueId operand : operands) visit(report, operand);
        break;
      }
    }
  }

  /// `value` of the step, in the report function.
  ValueId make(const Report& report, Builder& into, ValueId value) {
    const auto known = made_.find(value);
    if (known != made_.end()) return known->second;
    ValueId made;
    switch (part(value)) {
      case Part::latest:
        made = accumulate(report, into, value, std::nullopt);
        break;
      case Part::reduction:
        made = accumulate(report, into, value, reduction(graph_[*graph_[value].node]));
        break;
      case Part::constant:
      case Part::function:
        made = make_again(report, into, value);
        break;
    }
    made_[value] = made;
    return made;
  }

  ValueId make_again(const Report& report, Builder& into, ValueId value) {
    const Node node = graph_[*graph_[value].node];  // a copy: building moves the stores
    std::vector<ValueId> operands;
    for (const ValueId operand : node.operands) operands.push_back(make(report, into, operand));
    std::vector<std::string> names;
    for (const ValueId result : node.results) names.push_back(graph_[result].name);
    into.at(node.range, node.scope);
    types::Attrs attrs = node.attrs;
    for (const char* name : {"dtype", "to"}) {
      if (attrs.find(name)) attrs.set(name, widened(attrs.get<DType>(name)));
    }
    const auto results = into.add_named(ops_[node.op].name(), std::move(operands), attrs, names);
    for (size_t i = 0; i < results.size(); ++i) made_[node.results[i]] = results[i];
    return made_[value];
  }

  /// An accumulator of `value` in the step, and what it holds in the report function. Without an op: the latest value.
  ValueId accumulate(const Report& report, Builder& into, ValueId value, std::optional<ReduceOp> op) {
    const std::string path = fmt::format("{}/{}.{}", set_.prefix, report.name, leaves_++);
    const types::TensorType type = graph_[value].type, wide{widest(type.dtype), type.dims};
    const double identity = op ? identity_of(*op) : 0;
    if (op) {
      gather(report, value, *op, path);
    } else {
      Builder step(ops_, graph_, step_);
      step.at(report.range, "");
      step.param(path, wide, Role::metric, path, identity);
      step.result(widened(step, value), Role::metric, path);
    }
    const ValueId held = into.param(path, wide, Role::metric, path, identity);
    into.at(report.range, "");
    const DType shown = widened(type.dtype);
    return wide.dtype == shown ? held : into.add("cast", {held}, {{"to", shown}}, report.name);
  }

  /// Reports are computed in wide types: an epoch's sum may go beyond those of one batch.
  static DType widened(DType dtype) {
    if (is_float(dtype)) return DType::f64;
    return dtype == DType::i32 ? DType::i64 : dtype;
  }
  /// Accumulators are f64, or i64: an integer is exact there as long as it is one.
  static DType widest(DType dtype) { return is_integer(dtype) ? DType::i64 : DType::f64; }
  ValueId widened(Builder& step, ValueId value) const {
    const DType dtype = graph_[value].type.dtype;
    return dtype == widest(dtype) ? value : step.add("cast", {value}, {{"to", widest(dtype)}});
  }

  /// Adds a batch's reduction to accumulator `path` of the step.
  void gather(const Report& report, ValueId value, ReduceOp op, const std::string& path) {
    const types::TensorType type = graph_[value].type, wide{widest(type.dtype), type.dims};
    const double identity = identity_of(op);
    Builder step(ops_, graph_, step_);
    step.at(report.range, "");
    // Every member knows the size of the batch: nothing waits.
    const bool waits = set_.batches != Batches::one && ops_[graph_[*graph_[value].node].op].name() != "size";
    if (waits) {
      const ValueId waiting = step.param(path, type, Role::pending, path, identity);
      value = step.add(combining(op), {waiting, value}, {}, path);
      if (set_.batches == Batches::adds) return step.result(value, Role::pending, path, identity);
      step.result(step.constant(start_of(op, type.dtype), type.dtype, type.dims), Role::pending, path, identity);
    }
    const ValueId before = step.param(path, wide, Role::metric, path, identity);
    step.result(step.add(combining(op), {before, widened(step, value)}, {}, path), Role::metric, path);
  }

  static std::string_view combining(ReduceOp op) {
    switch (op) {
      case ReduceOp::sum:
        return "add";
      case ReduceOp::max:
        return "maximum";
      case ReduceOp::min:
        return "minimum";
      case ReduceOp::product:
        return "multiply";
    }
    __builtin_unreachable();
  }

  Graph& graph_;
  const graph::OpTable& ops_;
  const graph::FunctionId step_;
  const ReportSet& set_;
  std::vector<std::optional<Part>> parts_;  ///< by value of the step
  std::set<ValueId> visited_;               ///< in one report
  std::map<ValueId, ValueId> made_;         ///< value of the step → of the report function, for one report
  int leaves_ = 0;
};

}  // namespace

void add_reports(Graph& graph, const graph::OpTable& ops, graph::FunctionId step, const ReportSet& reports) {
  if (!reports.reports.empty()) Reports(graph, ops, step, reports).run();
}

}  // namespace dtl::lower
