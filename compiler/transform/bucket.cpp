// List scheduling of all-reduces into buckets.
#include "compiler/transform/bucket.h"

#include <algorithm>
#include <map>

#include "compiler/graph/rewriter.h"
#include "compiler/source/check.h"
#include "compiler/transform/reshard.h"

namespace dtl::transform {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

class Bucketer {
 public:
  Bucketer(const Graph& old, const graph::OpTable& ops, graph::Rewriter& rewriter, graph::FunctionId function)
      : old_(old), ops_(ops), rewriter_(rewriter), function_(old[function]), round_(old.nodes.size()), readers_(old.values.size()) {}

  void run() {
    order_nodes();
    const int rounds = assign_rounds();
    std::vector<std::vector<NodeId>> by_round(static_cast<size_t>(rounds));
    for (const NodeId id : order_) by_round[static_cast<size_t>(round(id))].push_back(id);
    for (const std::vector<NodeId>& nodes : by_round) {
      for (const NodeId id : nodes) {
        if (is_single_all_reduce(id)) {
          join(id);
        } else {
          rewriter_.copy(id);
        }
      }
      for (auto& [kind, open] : open_) flush(kind, open);
    }
  }

 private:
  struct Kind {
    ReduceOp op;
    int64_t axis;
    auto operator<=>(const Kind&) const = default;
  };
  struct Open {
    std::vector<NodeId> nodes;
    int64_t bytes = 0;
    bool first = true;
  };

  bool is_single_all_reduce(NodeId id) const {
    const Node& node = old_[id];
    return ops_[node.op].name() == "all_reduce" && node.operands.size() == 1 && !node.attrs.find("bucket");
  }

  int& round(NodeId id) { return round_[static_cast<size_t>(id.index)]; }

  /// The old order, but each all-reduce right behind what it reduces.
  void order_nodes() {
    for (const NodeId id : function_.nodes) {
      for (const ValueId operand : old_[id].operands) readers_[static_cast<size_t>(operand.index)].push_back(id);
    }
    for (const graph::Port& port : function_.params) follow(port.value);
    for (const NodeId id : function_.nodes) {
      if (is_single_all_reduce(id)) continue;
      order_.push_back(id);
      for (const ValueId result : old_[id].results) follow(result);
    }
  }

  void follow(ValueId value) {
    for (const NodeId reader : readers_[static_cast<size_t>(value.index)]) {
      if (!is_single_all_reduce(reader)) continue;
      order_.push_back(reader);
      follow(old_[reader].results[0]);
    }
  }

  /// The number of rounds.
  int assign_rounds() {
    int rounds = 1;
    for (const NodeId id : order_) {
      for (const ValueId operand : old_[id].operands) {
        const auto made = old_[operand].node;
        if (made) round(id) = std::max(round(id), round(*made) + (is_single_all_reduce(*made) ? 1 : 0));
      }
      rounds = std::max(rounds, round(id) + 1);
    }
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      if (!is_cheap(*id)) continue;
      std::optional<int> wanted;
      for (const ValueId result : old_[*id].results) {
        for (const NodeId reader : readers_[static_cast<size_t>(result.index)])
          wanted = wanted ? std::min(*wanted, round(reader)) : round(reader);
      }
      if (wanted) round(*id) = *wanted;
    }
    return rounds;
  }

  /// Elementwise work and views: nothing that would be worth doing while an all-reduce is under way.
  bool is_cheap(NodeId id) const {
    const Node& node = old_[id];
    std::vector<types::TensorType> operands, results;
    for (const ValueId value : node.operands) operands.push_back(old_[value].type);
    for (const ValueId value : node.results) results.push_back(old_[value].type);
    const graph::Lowering lowering = (*ops_[node.op].lower)({operands, results, node.attrs});
    const auto* kernel = std::get_if<graph::KernelRule>(&lowering);
    return kernel ? !kernel->combine : std::holds_alternative<graph::ViewRule>(lowering);
  }

  void join(NodeId id) {
    const Node& node = old_[id];
    const Kind kind{node.attrs.get<ReduceOp>("op"), node.attrs.get<int64_t>("axis")};
    Open& open = open_[kind];
    open.nodes.push_back(id);
    open.bytes += member_bytes(old_, node.operands[0]);
    const types::Communication& limits = old_.strategy.communication;
    if (open.bytes >= (open.first ? limits.first_bucket : limits.bucket)) flush(kind, open);
  }

  void flush(const Kind& kind, Open& open) {
    if (open.nodes.empty()) return;
    std::vector<ValueId> operands;
    std::vector<std::string> names;
    for (const NodeId id : open.nodes) {
      operands.push_back(rewriter_.map(old_[id].operands[0]));
      names.push_back(old_[old_[id].results[0]].name);
    }
    // The bucket stands where its last member became ready.
    rewriter_.at(open.nodes.back());
    const auto results = rewriter_.builder().add_named("all_reduce", std::move(operands),
                                                       {{"op", kind.op}, {"axis", kind.axis}, {"bucket", next_++}}, names);
    for (size_t i = 0; i < results.size(); ++i) {
      const ValueId old_result = old_[open.nodes[i]].results[0];
      rewriter_.graph()[results[i]].placements = old_[old_result].placements;
      rewriter_.set(old_result, results[i]);
    }
    open.nodes.clear();
    open.bytes = 0;
    open.first = false;
  }

  const Graph& old_;
  const graph::OpTable& ops_;
  graph::Rewriter& rewriter_;
  const graph::Function& function_;
  std::vector<NodeId> order_;
  std::vector<int> round_;  ///< by node
  std::vector<std::vector<NodeId>> readers_;
  std::map<Kind, Open> open_;
  int64_t next_ = 0;
};

}  // namespace

Graph bucket(const Graph& graph, const graph::OpTable& ops) {
  graph::Rewriter rewriter(graph, ops);
  for (size_t f = 0; f < graph.functions.size(); ++f) {
    const graph::FunctionId function{static_cast<int32_t>(f)};
    rewriter.begin(function);
    Bucketer(graph, ops, rewriter, function).run();
    rewriter.finish();
  }
  return rewriter.take();
}

std::string bucket_broken(const Graph& graph, const graph::OpTable& ops) {
  for (const Node& node : graph.nodes) {
    if (ops[node.op].name() == "all_reduce" && !node.attrs.find("bucket"))
      return fmt::format("%{} is in no bucket", graph[node.results[0]].name);
  }
  return {};
}

}  // namespace dtl::transform
