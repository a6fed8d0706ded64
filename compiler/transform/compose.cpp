// Composition: inlines rules into one instruction list, and puts reductions into stages.
#include "compiler/transform/compose.h"

#include <algorithm>
#include <map>

#include "compiler/source/check.h"

namespace dtl::transform {
namespace {

using graph::NodeId;
using graph::ValueId;
using kernel::Instruction;
using kernel::Scalar;
using plan::Extent;

struct NotComposable {};

class Composer {
 public:
  Composer(const Lowered& lowered, const Group& group, const std::set<ValueId>& memory)
      : lowered_(lowered), group_(group), memory_(memory) {
    members_.insert(group.units.begin(), group.units.end());
    for (size_t d = 0; d < group.outer.size(); ++d) {
      kernel_.loops.push_back(size(group.outer[d]));
      outer_.push_back(loop(d));
    }
    kernel_.outer = static_cast<int32_t>(group.outer.size());
  }

  Composed run(const std::set<ValueId>& stored) {
    for (const NodeId unit : group_.units) {
      const ValueId value = lowered_.graph[unit].results[0];
      if (lowered_.kind(unit) == NodeKind::reduction) reduction(unit);
      if (stored.contains(value)) store(unit, value);
    }
    arrange();
    drop_unused();
    Composed result{std::move(kernel_), std::move(operands_), std::move(slots_), group_.outer.empty() ? Extent{} : group_.outer[0], false};
    return result;
  }

 private:
  struct StageDraft {
    int level;
    kernel::Stage stage;
  };

  // ---- instructions

  int32_t push(Instruction instruction, int level) {
    for (size_t i = 0; i < kernel_.body.size(); ++i) {
      if (kernel_.body[i] == instruction) return static_cast<int32_t>(i);
    }
    for (const int32_t arg : instruction.args) level = std::max(level, levels_[static_cast<size_t>(arg)]);
    kernel_.body.push_back(std::move(instruction));
    levels_.push_back(level);
    return static_cast<int32_t>(kernel_.body.size()) - 1;
  }

  int32_t loop(size_t index) {
    Instruction instruction{Scalar::loop, DType::i64, {}};
    instruction.index = static_cast<int32_t>(index);
    return push(std::move(instruction), 0);
  }

  int32_t whole_number(int64_t number) {
    Instruction instruction{Scalar::constant, DType::i64, {}};
    instruction.number = static_cast<double>(number);
    return push(std::move(instruction), 0);
  }

  int32_t size_value(Extent extent) {
    if (extent.slot < 0) return whole_number(extent.scale);
    Instruction instruction{Scalar::size, DType::i64, {}};
    instruction.size = size(extent);
    return push(std::move(instruction), 0);
  }

  /// A number as a slot: kernels that differ in nothing else, as those of two streams of random numbers, are one.
  int32_t late_value(int64_t number) {
    Instruction instruction{Scalar::size, DType::i64, {}};
    instruction.size = {1, slot({number, -1})};
    return push(std::move(instruction), 0);
  }
  int32_t known_late(const Instruction& constant) {
    DTL_CHECK(constant.scalar == Scalar::constant, "a random stream is no constant");
    return late_value(static_cast<int64_t>(constant.number));
  }
  /// What a rule names among its sizes: a number there is one to be told late (Body::late).
  int32_t named_value(Extent extent) { return extent.slot < 0 ? late_value(extent.scale) : size_value(extent); }

  kernel::Size size(Extent extent) {
    if (extent.slot < 0) return {extent.scale, -1};
    return {extent.scale, slot({1, extent.slot})};
  }

  int32_t slot(Extent row) {
    const auto at = std::find(slots_.begin(), slots_.end(), row);
    const auto found = static_cast<int32_t>(at - slots_.begin());
    if (at == slots_.end()) slots_.push_back(row);
    return found;
  }

  int32_t operand(ValueId value, bool written) {
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i] == value && kernel_.operands[i].written == written) return static_cast<int32_t>(i);
    }
    kernel::Operand operand{lowered_[value].type.dtype, {}, written};
    for (const Extent& dim : lowered_.locals.dims(lowered_[value])) operand.dims.push_back(size(dim));
    kernel_.operands.push_back(std::move(operand));
    operands_.push_back(value);
    return static_cast<int32_t>(operands_.size()) - 1;
  }

  // ---- values

  /// The instruction for one element of a value.
  int32_t element(ValueId value, const std::vector<int32_t>& index) {
    const auto key = std::make_pair(value, index);
    if (const auto at = elements_.find(key); at != elements_.end()) return at->second;
    const int32_t result = element_anew(value, index);
    elements_.emplace(key, result);
    return result;
  }

  int32_t element_anew(ValueId value, const std::vector<int32_t>& index) {
    const std::optional<NodeId> maker = lowered_.maker(value);
    if (!maker) return load(value, index);
    if (lowered_.kind(*maker) == NodeKind::view && (!memory_.contains(value) || shows_member(value))) {
      const auto squeezed = lowered_.squeezed(value);
      if (!squeezed) throw NotComposable{};
      std::vector<int32_t> inner;
      for (const int32_t from : *squeezed) inner.push_back(from < 0 ? whole_number(0) : index[static_cast<size_t>(from)]);
      return element(*lowered_.viewed(value), inner);
    }
    if (members_.contains(*maker)) {
      // Only what belongs to the same outer iteration is at hand.
      if (index.size() < outer_.size() || !std::equal(outer_.begin(), outer_.end(), index.begin())) throw NotComposable{};
      if (lowered_.kind(*maker) == NodeKind::map) return instantiate(*maker, index);
      if (index != outer_) throw NotComposable{};
      return reduction(*maker);
    }
    if (memory_.contains(value)) return load(value, index);
    return instantiate(*maker, index);
  }

  /// Does a view show the result of one of this group's own units?
  bool shows_member(ValueId view) const {
    const std::optional<NodeId> maker = lowered_.maker(lowered_.base(view));
    return maker && members_.contains(*maker);
  }

  int32_t load(ValueId value, const std::vector<int32_t>& index) {
    Instruction instruction{Scalar::load, lowered_[value].type.dtype, index};
    instruction.index = operand(value, false);
    return push(std::move(instruction), 0);
  }

  int32_t instantiate(NodeId node, const std::vector<int32_t>& index) { return rule_body(node, index, nullptr); }

  /// The rule's instructions with loop k at index[k]; `trailing`: the loops that a reduction runs over.
  int32_t rule_body(NodeId node, const std::vector<int32_t>& index, const std::vector<int32_t>* trailing) {
    const graph::KernelRule& rule = lowered_.rule(node);
    const graph::Node& at = lowered_.graph[node];
    std::vector<int32_t> values;
    for (const Instruction& it : rule.body) {
      const auto mapped = [&] {
        std::vector<int32_t> args;
        for (const int32_t arg : it.args) args.push_back(values[static_cast<size_t>(arg)]);
        return args;
      };
      switch (it.scalar) {
        case Scalar::loop:
          values.push_back(index[static_cast<size_t>(it.index)]);
          break;
        case Scalar::size:
          values.push_back(named_value(lowered_.locals.extent(rule.sizes[static_cast<size_t>(it.index)])));
          break;
        case Scalar::begin: {
          const auto begin = lowered_.begin(node, static_cast<size_t>(it.index));
          values.push_back(begin ? size_value(*begin) : whole_number(0));
          break;
        }
        case Scalar::load:
          values.push_back(element(at.operands[static_cast<size_t>(it.index)], mapped()));
          break;
        case Scalar::reduced: {
          DTL_CHECK(trailing, "`{}` has a stage, but is not reduced", lowered_.op(node));
          const kernel::Reduction& first = rule.first[static_cast<size_t>(it.index)];
          values.push_back(reduce(first.op, values[static_cast<size_t>(first.value)], *trailing));
          break;
        }
        case Scalar::constant:
        case Scalar::uniform:
        case Scalar::negate:
        case Scalar::abs:
        case Scalar::exp:
        case Scalar::log:
        case Scalar::log1p:
        case Scalar::sqrt:
        case Scalar::rsqrt:
        case Scalar::tanh:
        case Scalar::sigmoid:
        case Scalar::erf:
        case Scalar::sin:
        case Scalar::cos:
        case Scalar::floor:
        case Scalar::ceil:
        case Scalar::round:
        case Scalar::sign:
        case Scalar::logical_not:
        case Scalar::is_nan:
        case Scalar::add:
        case Scalar::subtract:
        case Scalar::multiply:
        case Scalar::divide:
        case Scalar::power:
        case Scalar::maximum:
        case Scalar::minimum:
        case Scalar::mod:
        case Scalar::floor_div:
        case Scalar::logical_and:
        case Scalar::logical_or:
        case Scalar::equal:
        case Scalar::not_equal:
        case Scalar::less:
        case Scalar::less_equal:
        case Scalar::select:
        case Scalar::cast: {
          Instruction copy = it;
          copy.args = mapped();
          if (it.scalar == Scalar::uniform) copy.args[3] = known_late(rule.body[static_cast<size_t>(it.args[3])]);
          values.push_back(push(std::move(copy), 0));
          break;
        }
      }
    }
    return values.back();
  }

  // ---- stages

  std::vector<int32_t> inner_loops(const std::vector<Extent>& dims) {
    const auto [at, added] = inner_.emplace(key_of(dims), std::vector<int32_t>{});
    if (added) {
      for (const Extent& dim : dims) {
        at->second.push_back(static_cast<int32_t>(kernel_.loops.size()));
        kernel_.loops.push_back(size(dim));
      }
    }
    return at->second;
  }
  static std::vector<std::pair<int64_t, int32_t>> key_of(const std::vector<Extent>& dims) {
    std::vector<std::pair<int64_t, int32_t>> key;
    for (const Extent& dim : dims) key.emplace_back(dim.scale, dim.slot);
    return key;
  }

  /// The instruction that stands for the reduction of `value` over `loops`.
  int32_t reduce(ReduceOp op, int32_t value, const std::vector<int32_t>& loops) {
    const int level = levels_[static_cast<size_t>(value)];
    size_t draft = 0;
    while (draft < drafts_.size() && !(drafts_[draft].level == level && drafts_[draft].stage.loops == loops)) ++draft;
    if (draft == drafts_.size()) drafts_.push_back({level, {loops, {}, {}}});
    auto& reductions = drafts_[draft].stage.reductions;
    const kernel::Reduction reduction{op, value};
    auto at = std::find(reductions.begin(), reductions.end(), reduction);
    if (at == reductions.end()) at = reductions.insert(at, reduction);
    const DType dtype = kernel_.body[static_cast<size_t>(value)].dtype;
    Instruction result{Scalar::reduced, is_narrow(dtype) ? DType::f32 : dtype, {}};
    result.index = static_cast<int32_t>(draft);
    result.number = static_cast<double>(at - reductions.begin());
    const int32_t whole = push(std::move(result), level + 1);
    return is_narrow(dtype) ? push({Scalar::cast, dtype, {whole}}, level + 1) : whole;
  }

  int32_t reduction(NodeId node) {
    const graph::KernelRule& rule = lowered_.rule(node);
    std::vector<Extent> dims;
    for (const types::Dim& dim : rule.reduced) dims.push_back(lowered_.locals.extent(dim));
    const std::vector<int32_t> loops = inner_loops(dims);
    std::vector<int32_t> index = outer_;
    for (const int32_t l : loops) index.push_back(loop(static_cast<size_t>(l)));
    return reduce(*rule.combine, rule_body(node, index, &loops), loops);
  }

  void store(NodeId unit, ValueId value) {
    const std::vector<Extent> dims = lowered_.locals.dims(lowered_[value]);
    const std::vector<int32_t> loops = inner_loops({dims.begin() + static_cast<std::ptrdiff_t>(outer_.size()), dims.end()});
    std::vector<int32_t> index = outer_;
    for (const int32_t l : loops) index.push_back(loop(static_cast<size_t>(l)));
    const int32_t element = lowered_.kind(unit) == NodeKind::map ? instantiate(unit, index) : reduction(unit);
    for (kernel::Stage& stage : stores_) {
      if (stage.loops != loops) continue;
      stage.stores.push_back({operand(value, true), index, element});
      return;
    }
    stores_.push_back({loops, {}, {{operand(value, true), index, element}}});
  }

  /// Stages by level, stores last; `reduced` instructions learn their stage's final number.
  void arrange() {
    std::vector<size_t> order(drafts_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return drafts_[a].level < drafts_[b].level; });
    std::vector<int32_t> number(drafts_.size());
    for (size_t i = 0; i < order.size(); ++i) {
      number[order[i]] = static_cast<int32_t>(i);
      kernel_.stages.push_back(drafts_[order[i]].stage);
    }
    for (Instruction& instruction : kernel_.body) {
      if (instruction.scalar == Scalar::reduced) instruction.index = number[static_cast<size_t>(instruction.index)];
    }
    for (kernel::Stage& stage : stores_) kernel_.stages.push_back(std::move(stage));
  }

  /// Leaves out instructions that no stage needs: equal work is to be equal text.
  void drop_unused() {
    std::vector<bool> used(kernel_.body.size());
    const auto use = [&](int32_t value) { used[static_cast<size_t>(value)] = true; };
    for (const kernel::Stage& stage : kernel_.stages) {
      for (const kernel::Reduction& reduction : stage.reductions) use(reduction.value);
      for (const kernel::Store& store : stage.stores) {
        use(store.value);
        for (const int32_t index : store.indices) use(index);
      }
    }
    for (size_t i = used.size(); i-- > 0;) {
      if (!used[i]) continue;
      for (const int32_t arg : kernel_.body[i].args) use(arg);
    }
    std::vector<int32_t> renamed(kernel_.body.size());
    std::vector<Instruction> body;
    const auto rename = [&](int32_t& value) { value = renamed[static_cast<size_t>(value)]; };
    for (size_t i = 0; i < used.size(); ++i) {
      renamed[i] = static_cast<int32_t>(body.size());
      if (!used[i]) continue;
      for (int32_t& arg : kernel_.body[i].args) rename(arg);
      body.push_back(std::move(kernel_.body[i]));
    }
    kernel_.body = std::move(body);
    for (kernel::Stage& stage : kernel_.stages) {
      for (kernel::Reduction& reduction : stage.reductions) rename(reduction.value);
      for (kernel::Store& store : stage.stores) {
        rename(store.value);
        for (int32_t& index : store.indices) rename(index);
      }
    }
  }

  const Lowered& lowered_;
  const Group& group_;
  const std::set<ValueId>& memory_;
  std::set<NodeId> members_;
  kernel::Kernel kernel_;
  std::vector<int> levels_;  ///< of each instruction: how many stages must be complete before it
  std::vector<int32_t> outer_;
  std::vector<ValueId> operands_;
  std::vector<Extent> slots_;
  std::map<std::pair<ValueId, std::vector<int32_t>>, int32_t> elements_;
  std::map<std::vector<std::pair<int64_t, int32_t>>, std::vector<int32_t>> inner_;
  std::vector<StageDraft> drafts_;
  std::vector<kernel::Stage> stores_;
};

/// Is every element read and written at one index, the loops in order, and nothing else computed from the loops?
bool is_flat(const kernel::Kernel& kernel) {
  const auto rank = static_cast<size_t>(kernel.outer);
  if (rank == 0 || kernel.loops.size() != rank) return false;
  const auto identity = [&](const std::vector<int32_t>& index, int32_t operand) {
    if (index.size() != rank || kernel.operands[static_cast<size_t>(operand)].dims != kernel.loops) return false;
    for (size_t d = 0; d < rank; ++d) {
      const Instruction& it = kernel.body[static_cast<size_t>(index[d])];
      if (it.scalar != Scalar::loop || it.index != static_cast<int32_t>(d)) return false;
    }
    return true;
  };
  for (const Instruction& it : kernel.body) {
    if (it.scalar == Scalar::load) {
      if (!it.args.empty() && !identity(it.args, it.index)) return false;
      continue;
    }
    for (const int32_t arg : it.args) {
      if (kernel.body[static_cast<size_t>(arg)].scalar == Scalar::loop) return false;
    }
  }
  for (const kernel::Stage& stage : kernel.stages) {
    if (!stage.loops.empty() || !stage.reductions.empty()) return false;
    for (const kernel::Store& store : stage.stores) {
      if (!identity(store.indices, store.operand) || kernel.body[static_cast<size_t>(store.value)].scalar == Scalar::loop) return false;
    }
  }
  return true;
}

/// One loop of a size that only the step knows: tensors of any shape share the kernel.
Composed flattened(Composed composed, Locals& locals, const std::vector<Extent>& outer) {
  const Extent n = locals.product(outer);
  const std::vector<Extent> old_slots = composed.slots;
  composed.slots = {n};
  composed.outer = n;
  composed.flat = true;
  kernel::Kernel& kernel = composed.kernel;
  kernel.outer = 1;
  kernel.loops = {{1, 0}};
  for (kernel::Operand& operand : kernel.operands) {
    if (!operand.dims.empty()) operand.dims = {{1, 0}};
  }
  // The first loop stays; the others are read by nothing any more.
  std::vector<int32_t> renamed(kernel.body.size(), -1);
  std::vector<Instruction> body;
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    Instruction it = kernel.body[i];
    if (it.scalar == Scalar::loop && it.index > 0) continue;
    if (it.scalar == Scalar::load && it.args.size() > 1) it.args.resize(1);
    for (int32_t& arg : it.args) arg = renamed[static_cast<size_t>(arg)];
    if (it.scalar == Scalar::size && it.size.slot >= 0) {
      const Extent row = old_slots[static_cast<size_t>(it.size.slot)];
      const auto at = std::find(composed.slots.begin() + 1, composed.slots.end(), row);
      it.size.slot = static_cast<int32_t>(at - composed.slots.begin());
      if (at == composed.slots.end()) composed.slots.push_back(row);
    }
    renamed[i] = static_cast<int32_t>(body.size());
    body.push_back(std::move(it));
  }
  kernel.body = std::move(body);
  for (kernel::Stage& stage : kernel.stages) {
    for (kernel::Store& store : stage.stores) {
      store.indices.resize(1);
      store.indices[0] = renamed[static_cast<size_t>(store.indices[0])];
      store.value = renamed[static_cast<size_t>(store.value)];
    }
  }
  return composed;
}

}  // namespace

std::optional<Composed> compose(const Lowered& lowered, const Group& group, const std::set<ValueId>& memory,
                                const std::set<ValueId>& stored) {
  try {
    Composed composed = Composer(lowered, group, memory).run(stored);
    if (is_flat(composed.kernel)) return flattened(std::move(composed), lowered.locals, group.outer);
    return composed;
  } catch (NotComposable) {
    return std::nullopt;
  }
}

}  // namespace dtl::transform
