// scan: a loop over one axis of tensors, whose number of turns is known at compile time. It is unrolled: each step is a call
// of the body on a slice, and what the steps make is put together again.
#include "compiler/sema/builtins.h"

namespace dtl::sema {
namespace {

using source::Range;
using types::Dims;

/// The tensors of a value that is a tensor, or a tuple, list or record of such values; in order.
bool collect(const Value& value, std::vector<Tensor>& tensors) {
  if (value.is(ValueKind::tensor)) {
    tensors.push_back(value.tensor);
    return true;
  }
  if (!value.is(ValueKind::tuple) && !value.is(ValueKind::list) && !value.is(ValueKind::record)) return false;
  return std::all_of(value.items->begin(), value.items->end(), [&](const Value& item) { return collect(item, tensors); });
}

/// `like` with other tensors in it, taken in order from `at`.
Value rebuilt(const Value& like, const std::vector<Tensor>& tensors, size_t& at) {
  if (like.is(ValueKind::tensor)) return Value::of_tensor(tensors[at++]);
  std::vector<Value> items;
  for (const Value& item : *like.items) items.push_back(rebuilt(item, tensors, at));
  return like.is(ValueKind::record) ? Value::of_record(*like.names, std::move(items)) : Value::of_items(like.kind, std::move(items));
}
Value rebuilt(const Value& like, const std::vector<Tensor>& tensors) {
  size_t at = 0;
  return rebuilt(like, tensors, at);
}

class Scan {
 public:
  explicit Scan(BuiltinCall& call) : call_(call), evaluator_(call.evaluator), emitter_(evaluator_.emitter()) {}

  Value run() {
    if (!emitter_.has_context()) {
      reporter().report(call_.range, diag::misplaced, "`scan`", "used here: no data flows through settings");
      return {};
    }
    const bool initial_read = read_initial(), over_read = read_over(), reverse_read = read_reverse();
    if (!evaluator_.is_callable(body().value)) {
      reporter().report(body().range, diag::not_callable, evaluator_.shown(body().value));
      return {};
    }
    if (!initial_read || !over_read || !reverse_read || !body().value.ok() || !evaluator_.take_turns(length_, call_.range)) return {};
    // One application of the body, length_ times: every step meets the layers, and so the weights, that the first one made.
    Instance* instance = evaluator_.instance();
    const auto before = instance ? instance->counters : std::map<std::string, int>();
    for (int64_t turn = 0; turn < length_; ++turn) {
      if (instance) instance->counters = before;
      if (!step(reverse_ ? length_ - 1 - turn : turn)) return {};
    }
    return joined();
  }

 private:
  Reporter& reporter() { return evaluator_.reporter(); }
  const Operand& initial() const { return *call_.arguments[0]; }
  const Operand& over() const { return *call_.arguments[1]; }
  const Operand& body() const { return *call_.arguments[2]; }

  bool read_initial() {
    std::vector<Tensor> tensors;
    if (!initial().value.ok()) return false;
    if (!collect(initial().value, tensors)) {
      reporter().report(initial().range, diag::setting_type, "the first state of `scan`", "a tensor, or a tuple or record of tensors",
                        evaluator_.shown(initial().value));
      return false;
    }
    for (Tensor& x : tensors) {
      x = emitter_.use(x, initial().range, "`scan`");
      if (!x.ok()) return false;
      state_types_.push_back(emitter_.type(x));
    }
    state_ = rebuilt(initial().value, tensors);
    return true;
  }

  bool read_over() {
    if (!over().value.ok()) return false;
    if (!collect(over().value, over_) || over_.empty()) {
      reporter().report(over().range, diag::setting_type, "what `scan` goes over", "a tensor, or a tuple or record of tensors",
                        evaluator_.shown(over().value));
      return false;
    }
    int64_t written = 1;
    if (call_.arguments[3]) {
      const auto given = evaluator_.integer(call_.arguments[3]->value, call_.arguments[3]->range, "`axis` of `scan`");
      if (!given) return false;
      written = *given;
    }
    std::optional<types::Dim> length;
    for (Tensor& x : over_) {
      x = emitter_.use(x, over().range, "`scan`");
      if (!x.ok()) return false;
      const types::TensorType type = emitter_.type(x);
      const auto axis = emitter_.axis(written, type.rank(), x, over().range);
      if (!axis) return false;
      const types::Dim dim = type.dims[static_cast<size_t>(*axis)];
      if (!dim.is_constant()) {
        reporter().report(over().range, diag::compile_time_needed,
                          fmt::format("the number of steps of `scan` (axis {} of `{}`)", *axis, type.str()), "`" + dim.str() + "`");
        return false;
      }
      if (length && *length != dim) {
        reporter().report(over().range, diag::scan_lengths_differ, length->str(), dim.str());
        return false;
      }
      length = dim;
      axes_.push_back(*axis);
    }
    length_ = *length->constant();
    if (length_ >= 1) return true;
    reporter().report(over().range, diag::too_small, "the number of steps of `scan`", int64_t{1}, length_);
    return false;
  }

  bool read_reverse() {
    if (!call_.arguments[4]) return true;
    const Operand& given = *call_.arguments[4];
    if (given.value.is(ValueKind::boolean)) {
      reverse_ = given.value.boolean;
      return true;
    }
    if (given.value.ok())
      reporter().report(given.range, diag::setting_type, "`reverse` of `scan`", "a bool", evaluator_.shown(given.value));
    return false;
  }

  /// Entry `at` of x along its axis, without that axis.
  Tensor entry(Tensor x, int64_t axis, int64_t at) {
    Dims dims = emitter_.type(x).dims;
    std::vector<int64_t> starts(dims.size(), 0);
    starts[static_cast<size_t>(axis)] = at;
    dims[static_cast<size_t>(axis)] = 1;
    const Tensor part = emitter_.slice(x, starts, dims, over().range);
    dims.erase(dims.begin() + axis);
    return emitter_.reshape(part, dims, over().range);
  }

  bool step(int64_t at) {
    std::vector<Tensor> entries;
    for (size_t i = 0; i < over_.size(); ++i) entries.push_back(entry(over_[i], axes_[i], at));
    const auto argument = [&](Value value, Range range) {
      Arg arg;
      arg.value = std::move(value);
      arg.range = range;
      arg.scope = call_.scope;
      return arg;
    };
    const Value result =
        evaluator_.call(body().value, {argument(state_, initial().range), argument(rebuilt(over().value, entries), over().range)},
                        call_.range, call_.scope);
    if (!result.ok()) return false;
    if (!result.is(ValueKind::tuple) || result.items->size() != 2) {
      reporter().report(body().range, diag::scan_body, evaluator_.shown(result)).help("write `(state, x) => (next, y)`, or `(next, none)`");
      return false;
    }
    return take_state((*result.items)[0]) && take_made((*result.items)[1]);
  }

  bool take_state(const Value& next) {
    std::vector<Tensor> tensors;
    bool same = collect(next, tensors) && tensors.size() == state_types_.size() && next.kind == state_.kind;
    for (size_t i = 0; same && i < tensors.size(); ++i) same = tensors[i].ok() && emitter_.type(tensors[i]) == state_types_[i];
    if (!same) {
      reporter()
          .report(body().range, diag::scan_state_differs, listed(state_), listed(next))
          .note(initial().range, "the first state is this");
      return false;
    }
    state_ = rebuilt(state_, tensors);
    return true;
  }

  /// The types in it, for people.
  std::string listed(const Value& value) const {
    std::vector<Tensor> tensors;
    if (!collect(value, tensors)) return evaluator_.shown(value);
    std::string text;
    for (const Tensor& x : tensors) text += fmt::format("{}`{}`", text.empty() ? "" : ", ", emitter_.type(x).str());
    return text.empty() ? "nothing" : text;
  }

  bool take_made(const Value& made) {
    std::vector<Tensor> tensors;
    if (!made.is(ValueKind::none) && !collect(made, tensors)) {
      reporter().report(body().range, diag::setting_type, "what a step of `scan` makes",
                        "a tensor, a tuple or record of tensors, or `none`", evaluator_.shown(made));
      return false;
    }
    made_ = made;
    columns_.resize(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor x = tensors[i];
      const types::TensorType type = emitter_.type(x);
      if (!columns_[i].empty() && emitter_.type(columns_[i].back()).rank() != type.rank() + 1) {
        reporter().report(body().range, diag::shapes_differ, "scan", emitter_.type(columns_[i].back()).str(), type.str());
        return false;
      }
      const size_t at = std::min(static_cast<size_t>(axes_[0]), type.rank());
      Dims dims = type.dims;
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), 1);
      columns_[i].push_back(emitter_.reshape(x, dims, body().range));
    }
    return true;
  }

  /// The last state, and what the steps made in the order of the axis.
  Value joined() {
    if (made_.is(ValueKind::none)) return Value::of_items(ValueKind::tuple, {state_, made_});
    std::vector<Tensor> stacked;
    for (std::vector<Tensor>& column : columns_) {
      if (reverse_) std::reverse(column.begin(), column.end());
      std::vector<Operand> parts;
      for (const Tensor& x : column) parts.push_back({Value::of_tensor(x), body().range});
      const size_t rank = emitter_.type(column[0]).rank();
      stacked.push_back(emitter_.concat(parts, static_cast<int64_t>(std::min(static_cast<size_t>(axes_[0]), rank - 1)), body().range));
      if (!stacked.back().ok()) return {};
    }
    return Value::of_items(ValueKind::tuple, {state_, rebuilt(made_, stacked)});
  }

  BuiltinCall& call_;
  Evaluator& evaluator_;
  Emitter& emitter_;
  std::vector<Tensor> over_;
  std::vector<int64_t> axes_;  ///< of each tensor in over_
  int64_t length_ = 0;
  bool reverse_ = false;
  Value state_, made_ = Value::of(ValueKind::none);
  std::vector<types::TensorType> state_types_;
  std::vector<std::vector<Tensor>> columns_;  ///< what the steps made: for each tensor of it, its entries
};

}  // namespace

Value scan(BuiltinCall& call) { return Scan(call).run(); }

}  // namespace dtl::sema
