// Fusion: decides which values get memory, then lets units join groups in the order of the schedule.
#include "compiler/transform/fusion.h"

#include <algorithm>

#include "compiler/source/check.h"
#include "compiler/transform/compose.h"

namespace dtl::transform {
namespace {

using graph::NodeId;
using graph::ValueId;
using kernel::Scalar;
using plan::Extent;

/// Vector operations for one element, roughly; what is hoisted or folded away is free.
double cost_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::constant:
    case Scalar::loop:
    case Scalar::size:
    case Scalar::begin:
    case Scalar::reduced:
      return 0;
    case Scalar::load:
      return 0.5;
    case Scalar::negate:
    case Scalar::abs:
    case Scalar::floor:
    case Scalar::ceil:
    case Scalar::round:
    case Scalar::sign:
    case Scalar::logical_not:
    case Scalar::is_nan:
    case Scalar::add:
    case Scalar::subtract:
    case Scalar::multiply:
    case Scalar::maximum:
    case Scalar::minimum:
    case Scalar::logical_and:
    case Scalar::logical_or:
    case Scalar::equal:
    case Scalar::not_equal:
    case Scalar::less:
    case Scalar::less_equal:
    case Scalar::select:
    case Scalar::cast:
      return 1;
    case Scalar::divide:
    case Scalar::sqrt:
    case Scalar::rsqrt:
      return 8;
    case Scalar::exp:
    case Scalar::log:
    case Scalar::log1p:
    case Scalar::tanh:
    case Scalar::sigmoid:
    case Scalar::erf:
    case Scalar::sin:
    case Scalar::cos:
    case Scalar::power:
    case Scalar::mod:
    case Scalar::floor_div:
      return 20;
    case Scalar::uniform:
      return 80;
  }
  __builtin_unreachable();
}

constexpr double kDear = 4;           ///< from here on, computing an element again costs more than to write and read it
constexpr double kMostInlined = 200;  ///< an expression beyond this is cut: kernels stay of a size that compiles fast
constexpr size_t kMostUnits = 12;     ///< of one kernel

class Fuser {
 public:
  explicit Fuser(const Lowered& lowered) : lowered_(lowered), graph_(lowered.graph) {}

  Fused run() {
    count_uses();
    choose_memory();
    for (const NodeId id : lowered_.function.nodes) {
      if (is_step(lowered_.kind(id))) {
        for (const ValueId value : graph_[id].results) item_of_[value] = fused_.items.size();
        fused_.items.push_back({{}, id});
      } else if (units_.contains(id)) {
        place_unit(id);
      }
    }
    order();
    find_stored();
    return std::move(fused_);
  }

 private:
  /// A step of its own, between memory and memory.
  static bool is_step(NodeKind kind) { return kind == NodeKind::product || kind == NodeKind::scatter || kind == NodeKind::collective; }

  // ---- memory

  void count_uses() {
    for (const NodeId id : lowered_.function.nodes) {
      for (const ValueId value : graph_[id].operands) readers_[value].push_back(id);
    }
    for (const graph::Port& port : lowered_.function.results) {
      results_.insert(port.value);
      (is_own(graph_, port) ? own_results_ : shared_results_).insert(port.value);
    }
  }

  bool needs_memory(ValueId value) const {
    if (results_.contains(value)) return true;
    for (const NodeId reader : readers(value)) {
      switch (lowered_.kind(reader)) {
        case NodeKind::product:
        case NodeKind::scatter:
        case NodeKind::collective:
          return true;
        case NodeKind::map:
        case NodeKind::reduction:
          break;
        case NodeKind::view:
          for (const ValueId view : views(reader, value)) {
            if (needs_memory(view) || !lowered_.squeezed(view)) return true;
          }
          break;
      }
    }
    return false;
  }

  const std::vector<NodeId>& readers(ValueId value) const {
    static const std::vector<NodeId> none;
    const auto at = readers_.find(value);
    return at == readers_.end() ? none : at->second;
  }

  /// The results of a view that show `value`.
  std::vector<ValueId> views(NodeId view, ValueId value) const {
    std::vector<ValueId> result;
    for (size_t k = 0; k < graph_[view].operands.size(); ++k) {
      if (graph_[view].operands[k] == value) result.push_back(graph_[view].results[k]);
    }
    return result;
  }

  /// Readers that are kernels, those through views included.
  size_t kernel_readers(ValueId value) const {
    size_t count = 0;
    for (const NodeId reader : readers(value)) {
      if (lowered_.kind(reader) != NodeKind::view) {
        ++count;
        continue;
      }
      for (const ValueId view : views(reader, value)) count += kernel_readers(view);
    }
    return count;
  }

  /// Does some reader use an element in more than one place of its own: a broadcast to new leading dimensions, a gather?
  bool spread_over_rows(ValueId value) const {
    for (const NodeId reader : readers(value)) {
      if (lowered_.kind(reader) == NodeKind::view) {
        for (const ValueId view : views(reader, value)) {
          if (spread_over_rows(view)) return true;
        }
      } else if (lowered_.kind(reader) == NodeKind::map && spreads(reader, value)) {
        return true;
      }
    }
    return false;
  }

  bool spreads(NodeId reader, ValueId value) const {
    const graph::KernelRule& rule = lowered_.rule(reader);
    for (const kernel::Instruction& it : rule.body) {
      if (it.scalar != Scalar::load || graph_[reader].operands[static_cast<size_t>(it.index)] != value) continue;
      for (size_t d = 0; d < it.args.size(); ++d) {
        const kernel::Instruction& index = rule.body[static_cast<size_t>(it.args[d])];
        if (index.scalar != Scalar::loop || index.index != static_cast<int32_t>(d)) return true;
      }
    }
    return false;
  }

  void choose_memory() {
    std::map<ValueId, double> costs;
    const auto cost = [&](ValueId value) { return costs.contains(value) ? costs[value] : 0; };
    for (const graph::Port& port : lowered_.function.params) fused_.memory.insert(port.value);
    for (const NodeId id : lowered_.function.nodes) {
      const graph::Node& node = graph_[id];
      switch (lowered_.kind(id)) {
        case NodeKind::product:
        case NodeKind::scatter:
        case NodeKind::collective:
          fused_.memory.insert(node.results.begin(), node.results.end());
          break;
        case NodeKind::reduction:
          add_unit(id);
          break;
        case NodeKind::map: {
          const ValueId value = node.results[0];
          double sum = 0;
          for (const kernel::Instruction& it : lowered_.rule(id).body) {
            if (it.scalar == Scalar::load) sum += cost(node.operands[static_cast<size_t>(it.index)]);
            if (it.dtype != DType::i64 || !is_index_work(it.scalar)) sum += cost_of(it.scalar);
          }
          const bool scalar = lowered_.locals.elements_bound(lowered_.locals.dims(graph_[value])) == 1;
          const bool dear = sum > kMostInlined || (!scalar && sum >= kDear && (kernel_readers(value) > 1 || spread_over_rows(value)));
          if (needs_memory(value) || dear) {
            add_unit(id);
          } else {
            costs[value] = sum;
          }
          break;
        }
        case NodeKind::view: {
          // Each result shows one operand's memory.
          for (size_t k = 0; k < node.results.size(); ++k) {
            costs[node.results[k]] = cost(node.operands[k]);
            if (fused_.memory.contains(node.operands[k])) fused_.memory.insert(node.results[k]);
          }
          break;
        }
      }
    }
  }

  /// Integer sums and products are what indices are made of.
  static bool is_index_work(Scalar scalar) {
    return scalar == Scalar::add || scalar == Scalar::subtract || scalar == Scalar::multiply || scalar == Scalar::maximum ||
           scalar == Scalar::minimum;
  }

  void add_unit(NodeId id) {
    units_.insert(id);
    fused_.memory.insert(graph_[id].results[0]);
  }

  // ---- groups

  /// Where what is in memory under `value` is made: an index into items, or nothing for parameters.
  std::optional<size_t> made_at(ValueId value) const {
    const auto item = item_of_.find(lowered_.base(value));
    return item == item_of_.end() ? std::nullopt : std::optional(item->second);
  }

  void place_unit(NodeId id) {
    const ValueId value = graph_[id].results[0];
    std::vector<Extent> outer = lowered_.locals.dims(graph_[value]);
    Group alone{{id}, outer, shared_results_.contains(value)};
    if (alone.shared) fused_.shared.insert(value);
    if (!alone.shared && own_results_.contains(value)) fused_.own.insert(value);
    const auto own = compose(lowered_, alone, fused_.memory, {value});
    DTL_CHECK(own, "`{}` cannot be a kernel of its own", lowered_.op(id));

    // What it loads, and where that is made.
    std::set<ValueId>& loaded = loads_[id];
    std::optional<size_t> latest;
    for (size_t k = 0; k < own->operands.size(); ++k) {
      if (own->kernel.operands[k].written) continue;
      loaded.insert(own->operands[k]);
      const auto made = made_at(own->operands[k]);
      if (made) latest = std::max(latest.value_or(0), *made);
    }
    for (size_t at = fused_.items.size(); at-- > latest.value_or(0);) {
      if (try_join(fused_.items[at], at, alone, loaded)) {
        item_of_[value] = at;
        return;
      }
    }
    item_of_[value] = fused_.items.size();
    fused_.items.push_back({alone, std::nullopt});
  }

  bool try_join(Item& item, size_t at, const Group& unit, const std::set<ValueId>& loaded) {
    Group& group = item.group;
    if (item.node || group.shared != unit.shared || group.units.size() >= kMostUnits) return false;
    if (!related(group, at, loaded) && !(scalar_map(group) && scalar_map(unit))) return false;
    const std::vector<Extent>&a = group.outer, &b = unit.outer;
    const std::vector<Extent>& shorter = a.size() < b.size() ? a : b;
    if (!std::equal(shorter.begin(), shorter.end(), (a.size() < b.size() ? b : a).begin())) return false;
    // A slice of a state is cut from all its elements; and one row is no work to share out.
    if (a.size() != b.size() && (group.shared || shorter.empty())) return false;
    Group joined = group;
    joined.units.push_back(unit.units[0]);
    joined.outer = shorter;
    std::set<ValueId> stored;
    for (const NodeId member : joined.units) stored.insert(graph_[member].results[0]);
    // A reduction's result has exactly the outer dimensions; a longer one is a reduction of other loops.
    for (const NodeId member : joined.units) {
      if (lowered_.kind(member) == NodeKind::reduction && lowered_.locals.dims(graph_[graph_[member].results[0]]) != joined.outer)
        return false;
    }
    if (!compose(lowered_, joined, fused_.memory, stored)) return false;
    group = std::move(joined);
    return true;
  }

  bool scalar_map(const Group& group) const {
    return group.outer.empty() &&
           std::all_of(group.units.begin(), group.units.end(), [&](NodeId unit) { return lowered_.kind(unit) == NodeKind::map; });
  }

  /// Do they read the same memory, or one what the other makes? Scalars do not count: everything reads them.
  bool related(const Group& group, size_t at, const std::set<ValueId>& loaded) {
    for (const ValueId value : loaded) {
      if (made_at(value) == at) return true;
    }
    return std::any_of(group.units.begin(), group.units.end(), [&](NodeId member) {
      return std::any_of(loaded.begin(), loaded.end(), [&](ValueId value) {
        return loads_.at(member).contains(value) && lowered_.locals.elements_bound(lowered_.locals.dims(graph_[value])) > 1;
      });
    });
  }

  // ---- order

  /// The values that an item reads from memory.
  std::vector<ValueId> reads(const Item& item) const {
    std::vector<ValueId> values;
    if (item.node) {
      values = graph_[*item.node].operands;
    } else {
      for (const NodeId unit : item.group.units) values.insert(values.end(), loads_.at(unit).begin(), loads_.at(unit).end());
    }
    return values;
  }

  /// States are written last, the counters that everything reads last of all: nothing then waits for readers of the state before.
  void order() {
    const auto rank = [&](const Item& item) {
      if (item.node) return 0;
      // So are a replica's own, where they start over and nothing has to be read for that.
      const auto starts_over = [&](NodeId unit) { return fused_.own.contains(graph_[unit].results[0]) && loads_.at(unit).empty(); };
      if (!item.group.shared) return std::all_of(item.group.units.begin(), item.group.units.end(), starts_over) ? 1 : 0;
      return item.group.outer.empty() ? 2 : 1;
    };
    std::vector<std::set<size_t>> before(fused_.items.size());
    for (size_t at = 0; at < fused_.items.size(); ++at) {
      for (const ValueId value : reads(fused_.items[at])) {
        const auto made = made_at(value);
        if (made && *made != at) before[at].insert(*made);
      }
    }
    std::vector<Item> ordered;
    std::vector<bool> done(fused_.items.size());
    while (ordered.size() < fused_.items.size()) {
      std::optional<size_t> next;
      for (size_t at = 0; at < fused_.items.size(); ++at) {
        if (done[at] || !std::all_of(before[at].begin(), before[at].end(), [&](size_t made) { return done[made]; })) continue;
        if (!next || rank(fused_.items[at]) < rank(fused_.items[*next])) next = at;
      }
      done[*next] = true;
      ordered.push_back(std::move(fused_.items[*next]));
    }
    fused_.items = std::move(ordered);
  }

  // ---- what is stored

  void find_stored() {
    for (const ValueId value : results_) read(value);
    for (const Item& item : fused_.items) {
      if (item.node) {
        for (const ValueId value : graph_[*item.node].operands) read(value);
        continue;
      }
      std::set<ValueId> all;
      for (const NodeId unit : item.group.units) all.insert(graph_[unit].results[0]);
      const auto with_stores = compose(lowered_, item.group, fused_.memory, all);
      for (size_t k = 0; k < with_stores->operands.size(); ++k) {
        if (!with_stores->kernel.operands[k].written) read(with_stores->operands[k]);
      }
    }
  }

  void read(ValueId value) {
    fused_.stored.insert(value);
    fused_.stored.insert(lowered_.base(value));
  }

  const Lowered& lowered_;
  const graph::Graph& graph_;
  std::map<ValueId, std::vector<NodeId>> readers_;
  std::set<ValueId> results_, shared_results_, own_results_;  ///< all; those that go to shared states; to replicas' own
  std::set<NodeId> units_;
  std::map<ValueId, size_t> item_of_;
  std::map<NodeId, std::set<ValueId>> loads_;  ///< of each unit alone
  Fused fused_;
};

}  // namespace

Fused fuse(const Lowered& lowered) { return Fuser(lowered).run(); }

}  // namespace dtl::transform
