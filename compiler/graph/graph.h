// The tensor graph: SSA over tensors, one function per entry point, in flat stores named by typed indices.
//
// takes:    Program (lower), or its own text (parse.h)
// gives:    what every pass reads and rebuilds; node order is the schedule
// promises: operands are defined before use; types agree with each op's infer (verify.h)
// print it: `dslc emit --stage graph|gradients|optimized|replicated`
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/ids.h"
#include "compiler/source/source_file.h"
#include "compiler/types/attrs.h"
#include "compiler/types/placement.h"
#include "compiler/types/tensor_type.h"

namespace dtl::graph {

struct Value {
  types::TensorType type;
  types::Placements placements;  ///< empty before `place`
  std::string name;              ///< unique in its function, without `%`; from the source where it has a name
  FunctionId function;
  std::optional<NodeId> node;  ///< nothing: a parameter
  int32_t result = 0;          ///< which result of its node, or which parameter
};

struct Node {
  OpId op;
  std::vector<ValueId> operands;
  types::Attrs attrs;
  std::vector<ValueId> results;
  FunctionId function;
  source::Range range;  ///< the expression it came from
  std::string scope;    ///< instance path, `Classifier/dense.0`; empty outside any
};

/// What a parameter is to the program; a result with the same role and path is its next value.
enum class Role : uint8_t {
  input,  ///< a field of the batch; first dimension `batch`
  weight,
  state,
  optimizer,
  metric,   ///< an accumulator; `identity` is what it starts from
  pending,  ///< what each member has of a reduction to come, kept from step to step; the reduction is the one of `identity`
  updates,  ///< i64[]: count of optimizer updates made before this step
  seed,     ///< i64[]
  report,   ///< results only: a value for the training loop to read
  output,   ///< results only: a value of each example; first dimension `batch`
  least,    ///< results only: the smallest of a member's numbers that are used as indices; below 0 is a fault
  most,     ///< results only: the largest of them; `identity` or more is a fault
  none,     ///< graphs written by hand, sub-functions
};
std::string_view name_of(Role role);
std::optional<Role> parse_role(std::string_view name);

struct Port {
  ValueId value;
  Role role = Role::none;
  std::string path;     ///< weight path, field name, `train/loss.0`
  double identity = 0;  ///< metric, pending: what it starts from; least, most: how many things are indexed
};

/// Entry points: `init` (results only), `train_step`, `eval_step`, `train_report`, `eval_report`, `predict_step`. A function whose
/// name starts with `fused.` is the body of a fusion.
struct Function {
  std::string name;
  std::vector<Port> params, results;
  std::vector<NodeId> nodes;  ///< topological
};

class Graph {
 public:
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<Function> functions;
  types::Strategy strategy;  ///< what the placement pass reads
  /// Run-time dimensions and their largest value: `batch` → 128. Each must be at least 1 at run time but may be less.
  std::vector<std::pair<std::string, int64_t>> bounds;
  /// What products of f32 are computed in: f32, bf16 or f16 (transform/precision.h).
  DType products = DType::f32;

  const Value& operator[](ValueId id) const { return values[static_cast<size_t>(id.index)]; }
  Value& operator[](ValueId id) { return values[static_cast<size_t>(id.index)]; }
  const Node& operator[](NodeId id) const { return nodes[static_cast<size_t>(id.index)]; }
  Node& operator[](NodeId id) { return nodes[static_cast<size_t>(id.index)]; }
  const Function& operator[](FunctionId id) const { return functions[static_cast<size_t>(id.index)]; }
  Function& operator[](FunctionId id) { return functions[static_cast<size_t>(id.index)]; }
  std::optional<FunctionId> find_function(std::string_view name) const;
};

}  // namespace dtl::graph
