// Emitter: makes the typed tensor statements of one body. Types of operands are brought together here (casts, broadcasts,
// weak numbers); what does not fit is reported here with the two facts.
//
// Shapes and axes are those the user sees: in `example` the batch dimension is unseen, and the Emitter adds it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/graph/op.h"
#include "compiler/sema/reporter.h"
#include "compiler/sema/value.h"

namespace dtl::sema {

/// A body while it is built.
struct BodyContext {
  Body* body = nullptr;
  bool training = false;
  bool per_example = false;             ///< `example`: values carry the batch dimension unseen
  bool initial = false;                 ///< an initial value: no data, step 0
  bool optimizer = false;               ///< an optimizer's rule: the count of updates is a value that stands for it
  std::string stream_path;              ///< of an initial value: what its random stream is keyed by
  std::optional<int32_t> region_start;  ///< inside per_replica: values below are global
  std::optional<int32_t> seed, updates, rows;
  std::unordered_map<int32_t, int32_t> shares;               ///< global value → each replica's share of it
  std::map<std::string, int> random_uses;                    ///< by instance path
  std::map<std::string, Tensor> derived;                     ///< inputs made of texts, by name
  std::unordered_map<int32_t, source::Range> probabilities;  ///< values that `as_probabilities` marked, and where
  std::vector<source::Range> ranges;                         ///< where each value comes from
  std::vector<char> named;                                   ///< has a name from the source
};

/// An operand as written: its value and place.
struct Operand {
  Value value;
  source::Range range;
};

class Emitter {
 public:
  Emitter(const graph::OpTable& ops, Reporter& reporter) : ops_(&ops), reporter_(&reporter) {}

  BodyContext& context() { return *context_; }
  bool has_context() const { return context_ != nullptr; }
  /// Statements go to this body until the return value is given back.
  BodyContext* enter(BodyContext* context) { return std::exchange(context_, context); }
  void set_float(DType dtype) { float_ = dtype; }
  DType float_dtype() const { return float_; }
  const graph::OpTable& ops() const { return *ops_; }

  /// Reports what is neither a tensor nor a number where one is needed; in the library, `user` is what the user called.
  void needs_tensor(const Value& value, source::Range range, std::string_view user);

  // ---- statements other than ops
  Tensor value(std::string name, types::TensorType type, source::Range range, bool lead = false);
  Statement& statement(StatementKind kind, source::Range range);
  Tensor read_seed(source::Range range);
  Tensor read_updates(source::Range range);
  Tensor read_rows(source::Range range);
  void name(Tensor tensor, const std::string& name);
  /// The same tensor, whose numbers are looked at in every step.
  Tensor check_index(Tensor x, int32_t site, source::Range range);

  // ---- types
  types::TensorType type(Tensor tensor) const;  ///< as the user sees it
  bool local(Tensor tensor) const { return context_->body->values[static_cast<size_t>(tensor.id)].local; }
  source::Range range(Tensor tensor) const { return context_->ranges[static_cast<size_t>(tensor.id)]; }
  /// A tensor of this body, fit for use where we are: a share of it inside per_replica. Reports misuse.
  Tensor use(Tensor tensor, source::Range range, std::string_view user);
  /// As a tensor: numbers become constants of `dtype`, of `dims`.
  Tensor materialise(const Operand& operand, DType dtype, const std::vector<types::Dim>& dims, std::string_view user);
  std::optional<DType> dtype_of(const Value& value) const;  ///< nothing for weak numbers

  // ---- ops
  Tensor constant(double value, DType dtype, std::vector<types::Dim> dims, source::Range range);
  Tensor size(const types::Dim& dim, DType dtype, source::Range range);
  Tensor cast(Tensor x, DType dtype, source::Range range);
  Tensor unary(std::string_view op, const Operand& x, source::Range range);
  /// Arithmetic, comparisons (`common` dtype) of any mixture of tensors and numbers.
  Tensor binary(std::string_view op, const Operand& a, const Operand& b, source::Range range, std::string_view shown);
  Tensor logical(std::string_view op, const std::vector<Operand>& operands, source::Range range, std::string_view shown);
  Tensor select(const Operand& condition, const Operand& a, const Operand& b, source::Range range);
  Tensor broadcast(Tensor x, const std::vector<types::Dim>& dims, source::Range range);
  Tensor reshape(Tensor x, const std::vector<types::Dim>& dims, source::Range range);
  Tensor transpose(Tensor x, const std::vector<int64_t>& permutation, source::Range range);
  Tensor slice(Tensor x, const std::vector<int64_t>& starts, const std::vector<types::Dim>& dims, source::Range range);
  Tensor pad(Tensor x, const std::vector<int64_t>& before, const std::vector<types::Dim>& dims, source::Range range);
  Tensor concat(const std::vector<Operand>& xs, int64_t axis, source::Range range);
  Tensor reduce(ReduceOp op, Tensor x, const std::vector<int64_t>& axes, bool keep, source::Range range);
  Tensor argmax(Tensor x, int64_t axis, source::Range range);
  Tensor matmul(const Operand& a, const Operand& b, bool transpose_a, bool transpose_b, source::Range range);
  Tensor iota(const std::vector<types::Dim>& dims, int64_t axis, DType dtype, source::Range range);
  Tensor gather(Tensor x, Tensor index, source::Range range);
  /// x and index stretch to each other on all axes but this one.
  Tensor gather_along(Tensor x, Tensor index, int64_t axis, source::Range range);
  /// `patches` and `overlap_add`, whose axes are counted from the last.
  Tensor windows(std::string_view op, Tensor x, types::Attrs attrs, source::Range range);
  Tensor stop_gradient(Tensor x, source::Range range);
  Tensor uniform(const std::vector<types::Dim>& dims, DType dtype, const std::string& instance, source::Range range);
  /// A local value to a global one.
  Tensor reduce_varying(ReduceOp op, Tensor x, source::Range range);
  /// A global value to each replica's own.
  Tensor share(Tensor x, source::Range range);
  /// The unseen batch dimension becomes seen: what leaves `example`.
  Tensor reveal_batch(Tensor x, source::Range range);
  /// One axis as written, from 0; reports what is out of range.
  std::optional<int64_t> axis(int64_t written, size_t rank, Tensor x, source::Range range);

 private:
  Tensor emit(std::string_view op, std::span<const Tensor> operands, types::Attrs attrs, source::Range range, bool lead,
              std::string_view user = {});
  std::vector<types::Dim> physical(const std::vector<types::Dim>& dims, bool lead) const;
  Tensor with_lead(Tensor x, source::Range range);
  /// Warns where shapes of different ranks, aligned from the right, make pairs of the parts of one dimension: `[batch, 1] - [batch]`.
  void warn_of_pairs(std::string_view shown, const types::TensorType& a, const types::TensorType& b, const types::Dims& joined,
                     source::Range range);
  std::optional<DType> common(std::string_view op, std::span<const Operand> operands, source::Range range, bool divides);
  /// Numbers and tensors to equal shape and dtype.
  std::optional<std::vector<Tensor>> together(std::span<const Operand> operands, DType dtype, source::Range range, std::string_view shown);
  void note_origin(source::Reported& reported, const Operand& operand, source::Range told);

  const graph::OpTable* ops_;
  Reporter* reporter_;
  BodyContext* context_ = nullptr;
  DType float_ = DType::f32;
};

/// 53 bits of FNV-1a: the same on every machine, exact as a double.
int64_t stream_of(std::string_view path);

}  // namespace dtl::sema
