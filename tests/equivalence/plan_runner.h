// Runs a function of a replicated graph as `dslc train` would: plan, JIT, executor; arrays in, arrays out.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"
#include "runtime/train/executor.h"

namespace dtl::test {

class PlanRunner {
 public:
  /// The graph after all passes.
  PlanRunner(const graph::Graph& graph, int threads_per_replica);

  /// As graph::interpret: global arrays for the function's parameters, in order; its results, in order.
  std::vector<graph::Array> run(const std::string& function, const std::vector<graph::Array>& params,
                                const std::map<std::string, int64_t>& dims);

  /// One run of an entry on these fields, all of as many rows; states stay as they are between runs.
  void run(const std::string& entry, const std::map<std::string, graph::Array>& fields);
  graph::Array state(plan::StateRole role, const std::string& path) const;
  /// Every state, reports among them, in the plan's order.
  std::vector<graph::Array> states() const;
  /// Counters to 0, accumulators to their identities; then `init`.
  void start(int64_t seed);
  void reset_metrics();

  train::Executor& executor() { return *executor_; }
  const plan::Plan& plan() const { return executable_.plan; }
  plan::KernelFunction function(int32_t kernel) const { return executable_.kernels[static_cast<size_t>(kernel)]; }

 private:
  int state_of(const graph::Port& port) const;
  graph::Array state(size_t index) const;

  graph::Graph graph_;
  codegen::Jit jit_;
  plan::Executable executable_;
  std::unique_ptr<train::Executor> executor_;
};

}  // namespace dtl::test
