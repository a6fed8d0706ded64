// Scalar functions as LLVM instructions, on one value or on a vector of lanes.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>

#include "compiler/codegen/host.h"
#include "compiler/kernel/kernel.h"

namespace dtl::codegen {

/// Instructions go where the builder stands. A value is a scalar or a vector of `lanes` elements; the values of one
/// call are all of one kind. bool is i1 here, i8 in memory; bf16 and f16 are computed in f32 and rounded after each function,
/// i16 in memory. Functions (exp, …) give equal bits for a scalar and for
/// any lane: a scalar is computed as a vector's first lane.
class ScalarEmitter {
 public:
  ScalarEmitter(llvm::IRBuilder<>& builder, const Host& host, int lanes) : b_(builder), host_(host), lanes_(lanes) {}

  llvm::Type* element(DType dtype) const;
  llvm::Type* vector(DType dtype) const;
  llvm::Value* splat(llvm::Value* scalar) { return b_.CreateVectorSplat(static_cast<unsigned>(lanes_), scalar); }

  /// Every scalar function but constant, loop, size, begin, load and reduced. `from` is the first argument's type.
  llvm::Value* apply(const kernel::Instruction& instruction, DType from, std::span<llvm::Value* const> args);
  llvm::Value* constant(DType dtype, double number);

  /// How an element lies in memory, and the way between: an element for each lane.
  llvm::Type* stored_element(DType dtype) const;
  llvm::Value* loaded(DType dtype, llvm::Value* stored);
  llvm::Value* to_store(DType dtype, llvm::Value* x);
  /// What fills lanes that do not exist: 1, which no function finds hard. `type` is of stored elements.
  llvm::Value* idle(DType dtype, llvm::Type* type) const;

  bool fuses() const { return host_.fma; }
  /// a · b + c, rounded once.
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* c);

  llvm::Value* combine(ReduceOp op, DType dtype, llvm::Value* a, llvm::Value* b);
  /// A scalar.
  llvm::Value* identity(ReduceOp op, DType dtype);

 private:
  /// narrow_floats.cpp. `rounded` gives the nearest value of bf16 or f16, ties to even, as an f32.
  llvm::Value* rounded(DType dtype, llvm::Value* x);
  llvm::Value* round_bf16(llvm::Value* x);
  llvm::Value* round_f16(llvm::Value* x);
  llvm::Value* load_f16(llvm::Value* stored);
  llvm::Value* store_f16(llvm::Value* x);
  llvm::Value* as_bits(llvm::Value* x);
  llvm::Value* as_f32(llvm::Value* bits);

  llvm::Value* compute(const kernel::Instruction& instruction, DType from, std::span<llvm::Value* const> args);
  llvm::Value* unary(const kernel::Instruction& instruction, llvm::Value* x);
  llvm::Value* binary(const kernel::Instruction& instruction, DType from, llvm::Value* x, llvm::Value* y);
  llvm::Value* cast(DType from, DType to, llvm::Value* x);
  llvm::Value* larger(DType dtype, llvm::Value* a, llvm::Value* b, bool smaller);
  llvm::Value* whole_divide(DType dtype, llvm::Value* a, llvm::Value* b, bool rest);
  llvm::Value* uniform(const kernel::Instruction& instruction, std::span<llvm::Value* const> args);
  /// libmvec's vector function `name`, by its name for f64.
  llvm::Value* function(const char* name, std::span<llvm::Value* const> args);
  llvm::Value* call_vector(const char* name, bool wide, int width, std::span<llvm::Value* const> args);
  llvm::Value* number(double value, llvm::Value* like);
  llvm::Value* integer(int64_t value, llvm::Value* like);
  /// The type of `like`, lanes and all, with another element type.
  llvm::Type* type_like(llvm::Value* like, llvm::Type* element) const;

  llvm::IRBuilder<>& b_;
  const Host& host_;
  int lanes_;
};

}  // namespace dtl::codegen
