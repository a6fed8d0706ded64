// Body: writes the instruction list of a KernelRule. For the lower parts only.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/graph/op.h"

namespace dtl::ops {

class Body {
 public:
  using Scalar = kernel::Scalar;

  /// The value of a loop, i64.
  int32_t loop(size_t index);
  /// Loops first … first + count − 1.
  std::vector<int32_t> loops(size_t first, size_t count);
  int32_t constant(double value, DType dtype = DType::i64);
  /// The global value of a dimension, i64: arithmetic over constants and symbols.
  int32_t size(const types::Dim& dim);
  /// A number that the kernel's text does not tell: nodes that differ in nothing else share their kernel.
  int32_t late(int64_t value);
  /// Global index of the element at hand along result dimension `dim`: loop + begin.
  int32_t global(size_t dim);
  int32_t load(int32_t operand, DType dtype, std::vector<int32_t> indices);
  int32_t apply(Scalar scalar, DType dtype, std::vector<int32_t> args);
  /// Nothing is emitted where the value has that type already.
  int32_t cast(int32_t value, DType dtype);
  /// An index kept inside [0, size).
  int32_t clamp(int32_t index, const types::Dim& size);
  /// The result of first[stage].
  int32_t reduced(int32_t stage, DType dtype);
  int32_t uniform(int64_t stream, DType dtype, std::vector<int32_t> args);

  /// `value` must be the last instruction.
  graph::KernelRule done(int32_t value) &&;
  graph::KernelRule done(int32_t value, std::vector<types::Dim> reduced, ReduceOp combine) &&;

 private:
  int32_t push(kernel::Instruction instruction);

  std::vector<kernel::Instruction> body_;
  std::vector<types::Dim> sizes_;
};

/// result[i…] = scalar(operand 0 [i…], operand 1 [i…], …): elementwise over operands of the result's shape.
graph::KernelRule elementwise_rule(const graph::LowerContext& context, kernel::Scalar scalar);

}  // namespace dtl::ops
