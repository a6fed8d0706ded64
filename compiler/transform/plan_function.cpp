// Planning of one function: where each value lives, the steps, offsets, barriers.
#include "compiler/transform/plan_function.h"

#include <algorithm>
#include <set>

#include "compiler/source/check.h"
#include "compiler/transform/arena.h"
#include "compiler/transform/barriers.h"
#include "compiler/transform/compose.h"
#include "compiler/transform/fusion.h"
#include "compiler/transform/pass.h"

namespace dtl::transform {
namespace {

using graph::NodeId;
using graph::Port;
using graph::ValueId;
using plan::Extent;
using plan::Space;
using plan::Step;
using plan::StepKind;

plan::StateRole state_role(graph::Role role) {
  switch (role) {
    case graph::Role::weight:
      return plan::StateRole::weight;
    case graph::Role::optimizer:
      return plan::StateRole::optimizer;
    case graph::Role::metric:
      return plan::StateRole::metric;
    case graph::Role::pending:
      return plan::StateRole::pending;
    case graph::Role::report:
      return plan::StateRole::report;
    case graph::Role::output:
      return plan::StateRole::output;
    case graph::Role::least:
      return plan::StateRole::least;
    case graph::Role::most:
      return plan::StateRole::most;
    case graph::Role::updates:
      return plan::StateRole::updates;
    case graph::Role::seed:
      return plan::StateRole::seed;
    case graph::Role::state:
    case graph::Role::none:
    case graph::Role::input:
      return plan::StateRole::state;
  }
  __builtin_unreachable();
}

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

class FunctionPlanner {
 public:
  FunctionPlanner(PlanDraft& draft, Locals& locals, graph::FunctionId function)
      : draft_(draft), plan_(draft.plan), locals_(locals), lowered_(draft.graph, draft.ops, function, locals), fused_(fuse(lowered_)) {
    entry_.name = lowered_.function.name;
  }

  void run() {
    for (const Port& port : lowered_.function.params) param(port);
    compose_groups();
    index_items();
    place_results();
    for (size_t at = 0; at < fused_.items.size(); ++at) emit(at);
    for (const Step& copy : copies_) steps_.push_back(copy);
    offsets();
    entry_.steps = with_barriers(plan_, draft_.kernels, std::move(steps_));
    plan_.entries.push_back(std::move(entry_));
  }

 private:
  // ---- buffers

  int32_t add_buffer(std::string name, DType dtype, std::vector<Extent> dims, Space space) {
    const int64_t bytes = locals_.bytes_bound(dims, dtype, name);
    plan_.buffers.push_back({std::move(name), dtype, std::move(dims), space, 0, bytes});
    return static_cast<int32_t>(plan_.buffers.size()) - 1;
  }

  int32_t add_local(ValueId value, Space space) {
    const graph::Value& at = lowered_[value];
    const int32_t buffer = add_buffer(entry_.name + "/" + at.name, at.type.dtype, locals_.dims(at), space);
    own_.push_back(buffer);
    return buffer;
  }

  /// Counters have no path: there is one of each. Ports of graphs written by hand go by their values' names.
  std::string path_of(const Port& port) const {
    if (!port.path.empty()) return port.path;
    return port.role == graph::Role::none ? lowered_[port.value].name : std::string(graph::name_of(port.role));
  }

  int32_t state(const Port& port) {
    const auto key = std::make_pair(state_role(port.role), path_of(port));
    const graph::Value& value = lowered_[port.value];
    const bool own = is_own(draft_.graph, port);
    const auto [at, added] = draft_.states.emplace(key, 0);
    if (added) {
      at->second = add_buffer(key.second, value.type.dtype, locals_.dims(value), own ? Space::own : Space::state);
      plan::Buffer& buffer = plan_.buffers.back();
      int64_t& bytes = own ? plan_.own_bytes : plan_.state_bytes;
      buffer.offset = bytes;
      bytes += aligned(buffer.bytes);
      std::vector<Extent> whole;
      for (const types::Dim& dim : value.type.dims) whole.push_back(locals_.extent(dim));
      plan_.states.push_back({key.second, key.first, at->second, port.identity, std::move(whole)});
    }
    const plan::Buffer& buffer = plan_.buffers[static_cast<size_t>(at->second)];
    if (buffer.dims != locals_.dims(value) || buffer.dtype != value.type.dtype)
      throw PlaceError{{}, fmt::format("`{}` has two types in functions that share it", key.second)};
    return at->second;
  }

  void param(const Port& port) {
    if (port.role != graph::Role::input) {
      location_[port.value] = state(port);
      return;
    }
    const graph::Value& value = lowered_[port.value];
    const std::string key = fmt::format("{} {}", path_of(port), value.type.str() + types::str(value.placements));
    const auto [at, added] = draft_.inputs.emplace(key, 0);
    if (added) {
      at->second = add_buffer(path_of(port), value.type.dtype, locals_.dims(value), Space::input);
      plan::Buffer& buffer = plan_.buffers.back();
      buffer.offset = plan_.input_bytes;
      plan_.input_bytes += aligned(buffer.bytes);
    }
    location_[port.value] = at->second;
    entry_.inputs.push_back({path_of(port), at->second});
  }

  /// The buffer of a value that has memory; makes it at first.
  int32_t location(ValueId value) {
    if (const auto at = location_.find(value); at != location_.end()) return at->second;
    if (const auto under = lowered_.viewed(value)) {
      const int32_t base = location(*under);
      const std::vector<Extent> dims = locals_.dims(lowered_[value]);
      if (plan_.buffers[static_cast<size_t>(base)].dims == dims) return location_[value] = base;
      const plan::Buffer whole = plan_.buffers[static_cast<size_t>(base)];
      const int32_t view = add_buffer(entry_.name + "/" + lowered_[value].name, whole.dtype, dims, whole.space);
      plan_.buffers.back().offset = whole.offset;
      views_[view] = base;
      return location_[value] = view;
    }
    // Collectives make what all replicas have in common once for all of them.
    const bool common = lowered_.kind(*lowered_.maker(value)) == NodeKind::collective && is_global(draft_.graph, value);
    return location_[value] = add_local(value, common || fused_.shared.contains(value) ? Space::shared : Space::arena);
  }

  // ---- groups and results

  void compose_groups() {
    composed_.resize(fused_.items.size());
    for (size_t at = 0; at < fused_.items.size(); ++at) {
      if (fused_.items[at].node) continue;
      composed_[at] = compose(lowered_, fused_.items[at].group, fused_.memory, fused_.stored);
      DTL_CHECK(composed_[at], "a group of `{}` does not compose", entry_.name);
    }
  }

  /// Which items read what is kept in which value, in their order, and which item makes a unit: looked up for each state.
  void index_items() {
    for (size_t item = 0; item < fused_.items.size(); ++item) {
      const auto read = [&](ValueId value) {
        std::vector<size_t>& items = readers_[lowered_.base(value)];
        if (items.empty() || items.back() != item) items.push_back(item);
      };
      if (const auto node = fused_.items[item].node) {
        item_of_.emplace(*node, item);
        for (const ValueId value : draft_.graph[*node].operands) read(value);
        continue;
      }
      for (const NodeId unit : fused_.items[item].group.units) item_of_.emplace(unit, item);
      const Composed& composed = *composed_[item];
      for (size_t k = 0; k < composed.operands.size(); ++k) {
        if (!composed.kernel.operands[k].written) read(composed.operands[k]);
      }
    }
    for (const Port& port : lowered_.function.results) given_.insert(lowered_.base(port.value));
  }

  /// May unit `value` be written over the parameter that holds the state before? Not if anything still reads that.
  bool in_place(ValueId value, std::optional<ValueId> before) const {
    if (!before) return true;
    if (given_.contains(*before)) return false;
    const auto made = item_of_.find(*lowered_.maker(value));
    const auto readers = readers_.find(*before);
    if (made == item_of_.end() || readers == readers_.end()) return true;
    for (const size_t item : readers->second) {
      if (item < made->second) continue;
      if (item > made->second || fused_.items[item].node) return false;
      // In its own kernel: read only where it is written, and by no stage but the one that writes.
      const Composed& composed = *composed_[item];
      int storing = 0;
      const std::vector<int32_t>* written = nullptr;
      for (const kernel::Stage& stage : composed.kernel.stages) {
        storing += stage.stores.empty() ? 0 : 1;
        for (const kernel::Store& store : stage.stores) {
          if (composed.operands[static_cast<size_t>(store.operand)] == value) written = &store.indices;
        }
      }
      if (storing != 1 || !written) return false;
      for (const kernel::Instruction& it : composed.kernel.body) {
        if (it.scalar != kernel::Scalar::load || lowered_.base(composed.operands[static_cast<size_t>(it.index)]) != *before) continue;
        if (it.args != *written) return false;
      }
    }
    return true;
  }

  /// Decides which results are computed in place; the others are copied at the end.
  void place_results() {
    std::vector<std::pair<ValueId, int32_t>> copied;
    std::set<ValueId> taken;
    std::map<int32_t, ValueId> held;  // by buffer
    for (const Port& param : lowered_.function.params) {
      if (param.role != graph::Role::input) held[location_.at(param.value)] = param.value;
    }
    for (const Port& port : lowered_.function.results) {
      const int32_t to = state(port);
      const auto holder = held.find(to);
      const std::optional<ValueId> before = holder == held.end() ? std::nullopt : std::optional(holder->second);
      if (before == port.value) continue;
      const std::set<ValueId>& computed = is_own(draft_.graph, port) ? fused_.own : fused_.shared;
      const auto maker = lowered_.maker(port.value);
      const bool made_here = computed.contains(port.value) || (maker && lowered_.kind(*maker) == NodeKind::collective);
      if (made_here && !taken.contains(port.value) && in_place(port.value, before)) {
        location_[port.value] = to;
        taken.insert(port.value);
      } else {
        copied.emplace_back(port.value, to);
      }
    }
    // A state that becomes another one is read before any is overwritten.
    std::vector<std::pair<int32_t, int32_t>> last;
    for (const auto& [value, to] : copied) {
      int32_t from = location(value);
      const Space space = plan_.buffers[static_cast<size_t>(from)].space;
      if ((space == Space::state || space == Space::own) && !lowered_.maker(lowered_.base(value))) {
        const int32_t waiting = add_local(value, space == Space::own ? Space::arena : Space::shared);
        copy(from, waiting, lowered_[value].name);
        from = waiting;
      }
      last.emplace_back(from, to);
    }
    for (const auto& [from, to] : last) copy(from, to, plan_.buffers[static_cast<size_t>(to)].name);
  }

  void copy(int32_t from, int32_t to, const std::string& note) {
    Step step{};
    step.kind = StepKind::copy;
    const Space space = plan_.buffers[static_cast<size_t>(to)].space;
    const bool own = !plan::is_common(space);
    step.partition = own ? plan::Partition::team : plan::Partition::sliced;
    step.note = note;
    step.copy = {from, to};
    copies_.push_back(std::move(step));
  }

  // ---- steps

  void emit(size_t at) {
    const Item& item = fused_.items[at];
    if (!item.node) return emit_kernel(item.group, *composed_[at]);
    const NodeId node = *item.node;
    const graph::Node& source = draft_.graph[node];
    Step step{};
    step.note = lowered_[source.results[0]].name;
    if (lowered_.kind(node) == NodeKind::product) {
      const graph::GemmRule& rule = lowered_.product(node);
      step.kind = StepKind::gemm;
      step.gemm = {lowered_[source.results[0]].type.dtype,
                   rule.transpose_a,
                   rule.transpose_b,
                   false,
                   locals_.extent(rule.batch),
                   locals_.extent(rule.m),
                   locals_.extent(rule.n),
                   locals_.extent(rule.k),
                   location(source.operands[0]),
                   location(source.operands[1]),
                   location(source.results[0])};
    } else if (lowered_.kind(node) == NodeKind::scatter) {
      const graph::ScatterRule& rule = lowered_.scatter(node);
      step.kind = StepKind::scatter;
      step.scatter = {lowered_[source.results[0]].type.dtype,
                      lowered_[source.operands[0]].type.dtype,
                      locals_.extent(rule.updates),
                      locals_.extent(rule.rows),
                      locals_.extent(rule.width),
                      location(source.operands[0]),
                      location(source.operands[1]),
                      location(source.results[0])};
    } else {
      collective(source, step);
    }
    steps_.push_back(std::move(step));
  }

  void collective(const graph::Node& source, Step& step) {
    const std::string& op = draft_.ops[source.op].name();
    const auto dim_of = [&](const char* name) { return static_cast<int32_t>(source.attrs.get<int64_t>(name)); };
    const auto axis = static_cast<int32_t>(source.attrs.get<int64_t>("axis"));
    if (op == "all_reduce" || op == "reduce_scatter") {
      const bool scattered = op == "reduce_scatter";
      step.kind = StepKind::reduce;
      step.partition = scattered ? plan::Partition::team : plan::Partition::sliced;
      step.note = scattered ? "reduce-scatter of " + step.note : fmt::format("all-reduce of {}", source.operands.size());
      step.reduce = {source.attrs.get<ReduceOp>("op"),
                     static_cast<int32_t>(source.attrs.get_or<int64_t>("bucket", 0)),
                     axis,
                     scattered ? dim_of("dim") : -1,
                     {},
                     {}};
      for (const ValueId value : source.operands) step.reduce.from.push_back(replica_memory(value));
      for (const ValueId value : source.results) step.reduce.to.push_back(location(value));
      return;
    }
    const bool gathers = op == "all_gather";
    DTL_CHECK(gathers || op == "all_to_all", "`{}` has no step", op);
    step.kind = StepKind::exchange;
    step.note = (gathers ? "all-gather of " : "all-to-all of ") + step.note;
    step.exchange = {axis, dim_of(gathers ? "dim" : "from"), gathers ? -1 : dim_of("to"), replica_memory(source.operands[0]),
                     location(source.results[0])};
  }

  /// What a replica contributes to a collective must be its own: a value that replicas share is copied first.
  int32_t replica_memory(ValueId value) {
    const int32_t buffer = location(value);
    const Space space = plan_.buffers[static_cast<size_t>(buffer)].space;
    if (!plan::is_common(space)) return buffer;
    const int32_t own = add_local(value, Space::arena);
    Step step{};
    step.kind = StepKind::copy;
    step.partition = plan::Partition::team;
    step.note = lowered_[value].name;
    step.copy = {buffer, own};
    steps_.push_back(std::move(step));
    return own;
  }

  void emit_kernel(const Group& group, const Composed& composed) {
    const bool writes = std::any_of(composed.kernel.operands.begin(), composed.kernel.operands.end(),
                                    [](const kernel::Operand& operand) { return operand.written; });
    if (!writes) return;  // all its results are read by nothing
    Step step{};
    step.kind = StepKind::kernel;
    step.partition = group.shared ? plan::Partition::sliced : plan::Partition::team;
    std::string name;
    int named = 0;
    for (const NodeId unit : group.units) {
      const ValueId value = draft_.graph[unit].results[0];
      if (!fused_.stored.contains(value)) continue;
      if (++named <= 3) {
        step.note += (step.note.empty() ? "" : ", ") + lowered_[value].name;
        name += (name.empty() ? "" : "_") + lowered_.op(unit);
      } else if (named == 4) {
        step.note += ", …";
      }
    }
    const std::string text = kernel::print(composed.kernel);
    const auto [at, added] = draft_.kernel_of_text.emplace(text, static_cast<int32_t>(draft_.kernels.size()));
    if (added) {
      const std::string broken = kernel::verify(composed.kernel);
      DTL_CHECK(broken.empty(), "the kernel of {} breaks a promise: {}\n{}", step.note, broken, text);
      draft_.kernels.push_back(composed.kernel);
      plan_.kernels.push_back({name, text});
    }
    step.kernel.kernel = at->second;
    for (const ValueId value : composed.operands) step.kernel.buffers.push_back(location(value));
    step.kernel.extents = composed.slots;
    step.kernel.outer = composed.outer;
    // One loop of elements is cut at whole vectors; rows of more loops anywhere.
    step.kernel.grain = group.shared || (composed.kernel.outer == 1 && locals_.bound(composed.outer) >= 64) ? 16 : 1;
    steps_.push_back(std::move(step));
  }

  // ---- memory

  void offsets() {
    std::map<int32_t, Block> blocks;
    const auto use = [&](int32_t buffer, int32_t step) {
      while (views_.contains(buffer)) buffer = views_.at(buffer);
      const auto [at, added] = blocks.emplace(buffer, Block{plan_.buffers[static_cast<size_t>(buffer)].bytes, step, step, 0});
      if (!added) at->second.last = step;
    };
    for (size_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      const auto index = static_cast<int32_t>(s);
      switch (step.kind) {
        case StepKind::kernel:
          for (const int32_t buffer : step.kernel.buffers) use(buffer, index);
          break;
        case StepKind::gemm:
          for (const int32_t buffer : {step.gemm.a, step.gemm.b, step.gemm.c}) use(buffer, index);
          break;
        case StepKind::scatter:
          for (const int32_t buffer : {step.scatter.index, step.scatter.update, step.scatter.table}) use(buffer, index);
          break;
        case StepKind::reduce:
          for (const int32_t buffer : step.reduce.from) use(buffer, index);
          for (const int32_t buffer : step.reduce.to) use(buffer, index);
          break;
        case StepKind::exchange:
          use(step.exchange.from, index);
          use(step.exchange.to, index);
          break;
        case StepKind::copy:
          use(step.copy.from, index);
          use(step.copy.to, index);
          break;
        case StepKind::barrier:
          break;
      }
    }
    plan_.arena_bytes = std::max(plan_.arena_bytes, lay_out_space(Space::arena, blocks));
    plan_.shared_bytes = std::max(plan_.shared_bytes, lay_out_space(Space::shared, blocks));
    for (const auto& [view, base] : views_)
      plan_.buffers[static_cast<size_t>(view)].offset = plan_.buffers[static_cast<size_t>(root(base))].offset;
  }

  int32_t root(int32_t buffer) const {
    while (views_.contains(buffer)) buffer = views_.at(buffer);
    return buffer;
  }

  int64_t lay_out_space(Space space, const std::map<int32_t, Block>& all) {
    std::vector<Block> blocks;
    std::vector<int32_t> buffers;
    for (const int32_t buffer : own_) {
      if (plan_.buffers[static_cast<size_t>(buffer)].space != space || !all.contains(buffer)) continue;
      blocks.push_back(all.at(buffer));
      buffers.push_back(buffer);
    }
    const int64_t bytes = lay_out(blocks);
    for (size_t i = 0; i < blocks.size(); ++i) {
      plan_.buffers[static_cast<size_t>(buffers[i])].offset = blocks[i].offset;
      for (size_t j = 0; j < i; ++j) {
        const Block &a = blocks[i], &b = blocks[j];
        const bool apart = a.last < b.first || b.last < a.first || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
        DTL_CHECK(apart, "`{}` and `{}` are live at once in one place", plan_.buffers[static_cast<size_t>(buffers[i])].name,
                  plan_.buffers[static_cast<size_t>(buffers[j])].name);
      }
    }
    return bytes;
  }

  PlanDraft& draft_;
  plan::Plan& plan_;
  Locals& locals_;
  Lowered lowered_;
  Fused fused_;
  plan::Entry entry_;
  std::map<ValueId, int32_t> location_;
  std::map<int32_t, int32_t> views_;  ///< buffers that show another one's memory
  std::vector<int32_t> own_;          ///< buffers that this function lays out
  std::vector<std::optional<Composed>> composed_;
  std::map<ValueId, std::vector<size_t>> readers_;  ///< by base
  std::map<NodeId, size_t> item_of_;
  std::set<ValueId> given_;  ///< bases of results
  std::vector<Step> steps_, copies_;
};

}  // namespace

void plan_function(PlanDraft& draft, Locals& locals, graph::FunctionId function) { FunctionPlanner(draft, locals, function).run(); }

}  // namespace dtl::transform
