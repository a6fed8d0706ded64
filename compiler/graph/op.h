// OpRecord: everything the passes ask of a primitive op, in one value, written in one place (compiler/ops/).
//
// No member has a default: a record that leaves out a part does not compile. Seven laws (tests/unit/ops) hold for
// every record: infer agrees with evaluate; symbols then numbers agree; gradient agrees with finite differences; each
// placement row on uneven and empty shards agrees with the whole; JIT of lower agrees with evaluate; print → parse →
// print; failing samples give exactly their message.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/kernel/kernel.h"
#include "compiler/types/expected.h"

namespace dtl::graph {

class Builder;

/// A member type that must be given: it has no default constructor.
template <class T>
struct Required {
  T value;
  Required(T v) : value(std::move(v)) {}  // NOLINT: implicit by design
  const T* operator->() const { return &value; }
  const T& operator*() const { return value; }
};

// ---- signature

enum class AttrKind : uint8_t { boolean, integer, number, text, ints, dtype, reduce_op, dims, placements };

struct AttrSpec {
  std::string name;
  AttrKind kind;
  bool optional = false;
};

struct Signature {
  std::string name;
  std::vector<std::string> operands;  ///< names; a last one ending in `...` stands for any number, in `?` for one or none
  std::vector<AttrSpec> attrs;
  int results = 1;  ///< −1: decided by infer
  std::string doc;  ///< one sentence
};

// ---- axes

/// An einsum-like rule over letters, one group an operand, then `->`, one group a result: `"m k, k n -> m n"`. `...`
/// stands for any leading dimensions, equal wherever it recurs. A letter with `!` needs its whole axis (never split).
/// Some ops have axes that depend on rank and attributes (reduce, transpose): they give a function. `none("reason")`
/// where no axis may be split.
struct AxesContext {
  std::span<const types::TensorType> operands;
  const types::Attrs& attrs;
};
struct Axes {
  std::function<std::string(const AxesContext&)> rule;  ///< empty: none
  std::string reason;
  /// How members' results combine along a letter that only operands have.
  std::function<ReduceOp(const types::Attrs&)> combine;
};

// ---- infer

/// Why operands do not fit: a sentence as in diagnostics, and which operand (−1: none in particular) it is about.
struct InferError {
  std::string text;
  int operand = -1;
};
using Infer = std::function<Expected<std::vector<types::TensorType>, InferError>(std::span<const types::TensorType>, const types::Attrs&)>;

// ---- evaluate: the meaning, in f64 over index loops. Shares no code with lower.

struct Array {
  DType dtype = DType::f64;  ///< what the values stand for: integers are exact integers in f64, bool is 0 or 1
  std::vector<int64_t> shape;
  std::vector<double> data;  ///< row-major
};

struct EvaluateContext {
  std::span<const types::TensorType> result_types;      ///< as in the graph, symbols and all
  std::span<const std::vector<int64_t>> result_shapes;  ///< this member's part, concrete
  /// Global index of the first element of this member's part, for each result dimension: 0 unless split.
  std::span<const std::vector<int64_t>> result_offsets;
  /// Values of run-time dimensions: `batch` is global, `batch/share` is this member's.
  const std::map<std::string, int64_t>& dims;
};

/// Most ops: one member's operands to its results.
using EvaluateLocal = std::function<std::vector<Array>(const EvaluateContext&, std::span<const Array>)>;
/// Collectives: all members of the mesh axis at once; operand and result per member.
struct CollectiveContext {
  std::span<const std::vector<int64_t>> result_shapes;   ///< per member
  std::span<const std::vector<int64_t>> result_offsets;  ///< per member
};
using EvaluateCollective = std::function<std::vector<Array>(const CollectiveContext&, const types::Attrs&, std::span<const Array>)>;
/// The attrs come bound: `make(attrs)` gives the function for one node.
struct Evaluate {
  std::function<std::vector<Array>(const EvaluateContext&, const types::Attrs&, std::span<const Array>)> local;
  /// Exactly one of the two is set; neither for ops that a pass replaces (`gradient`, `fused`). A variadic collective is
  /// called once for each operand.
  EvaluateCollective collective;
};

// ---- gradient

struct GradientContext {
  Builder& builder;
  const types::Attrs& attrs;
  std::span<const ValueId> operands, results;
  std::span<const std::optional<ValueId>> cotangents;  ///< one for each result; nothing: zero
};
/// One cotangent for each operand; nothing: zero. The builder sums contributions, not the op.
using GradientRule = std::function<std::vector<std::optional<ValueId>>(GradientContext&)>;
struct Zero {};  ///< no operand ever gets a cotangent (comparisons, integers)
struct NotDifferentiable {
  std::string reason;
};  ///< an error if a cotangent reaches it
using Gradient = std::variant<GradientRule, Zero, NotDifferentiable>;

// ---- placements

enum class Linear : uint8_t {
  none,
  joint,  ///< additive in all operands together: add, sum, reshape
  each,   ///< additive in each operand alone: multiply, matmul
};

/// One way to place an op along one mesh axis.
struct PlacementRow {
  std::vector<types::Placement> operands, results;
};
struct PlacementContext {
  std::span<const types::TensorType> operands, results;
  const types::Attrs& attrs;
  int mesh_axis = -1;  ///< the mesh axis asked about; a collective answers for its own, along others it changes nothing
};
struct PlacementRule {
  Linear linear;
  /// Rows beyond those that axes and linearity give; may be empty.
  std::function<std::vector<PlacementRow>(const PlacementContext&)> extra;
};

// ---- lower: data only, never LLVM

struct LowerContext {
  std::span<const types::TensorType> operands, results;
  const types::Attrs& attrs;
};

/// The op as a loop nest: loops 0 … rank−1 are the result's dimensions, the ones after run over `reduced`. `body` is an
/// instruction list (see kernel.h) in which `load` k reads operand k. With `combine`, the last instruction is reduced
/// over the trailing loops; without it, it is the result's element.
struct KernelRule {
  std::vector<types::Dim> reduced;
  std::vector<types::Dim> sizes = {};  ///< what Scalar::size instructions of the body name; global sizes, or numbers that are told late
  std::optional<ReduceOp> combine;
  std::vector<kernel::Instruction> body;
  /// Reductions over the same trailing loops that are complete before `combine` begins, one stage each, in order: the
  /// result of first[k] is the instruction `reduced` with index k, number 0 (argmax: the maximum, then the first place
  /// that holds it). Mostly empty.
  std::vector<kernel::Reduction> first = {};
};
/// A product of matrices, batched: see plan::GemmStep.
struct GemmRule {
  types::Dim batch, m, n, k;
  bool transpose_a = false, transpose_b = false;
};
/// Rows added to a table of zeros: operand 0 holds the indices, operand 1 an update of `width` elements for each.
struct ScatterRule {
  types::Dim updates, rows, width;
};
/// The result is operand `operand`'s memory with another shape (row-major order unchanged).
struct ViewRule {
  int operand = 0;
};
/// A change of placement: make_plan decides how, from the address spaces.
struct CollectiveRule {};
/// Never reaches make_plan: a pass has replaced it by then (`gradient`), or it only marks (`pin`).
struct ExpandedRule {
  std::string by;
};
using Lowering = std::variant<KernelRule, GemmRule, ScatterRule, ViewRule, CollectiveRule, ExpandedRule>;
using Lower = std::function<Lowering(const LowerContext&)>;

// ---- samples

struct Sample {
  std::vector<types::TensorType> operands;  ///< small; may name symbols, bound for evaluation in `dims`
  types::Attrs attrs;
  std::string fails;  ///< empty, or exactly the InferError's text
  std::map<std::string, int64_t> dims = {};
  double low = -2, high = 2;  ///< operand values are drawn from here
};

struct OpRecord {
  Required<Signature> signature;
  Required<Axes> axes;
  Required<Infer> infer;
  Required<Evaluate> evaluate;
  Required<Gradient> gradient;
  Required<PlacementRule> placements;
  Required<Lower> lower;
  Required<std::vector<Sample>> samples;

  const std::string& name() const { return signature->name; }
};

class OpTable {
 public:
  explicit OpTable(std::vector<OpRecord> records);
  std::optional<OpId> find(std::string_view name) const;
  const OpRecord& operator[](OpId id) const { return records_[static_cast<size_t>(id.index)]; }
  const std::vector<OpRecord>& records() const { return records_; }

 private:
  std::vector<OpRecord> records_;
  std::map<std::string, OpId, std::less<>> by_name_;
};

}  // namespace dtl::graph
