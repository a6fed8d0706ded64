// A kernel as data: a loop nest over an instruction list. Printed, parsed, hashed, costed; codegen turns it into LLVM.
//
// takes:    what ops' `lower` say, composed by make_plan
// gives:    text that codegen parses back; equal text is one kernel
// promises: instructions come before their uses; every loop variable used is in scope
// print it: `dslc emit --stage plan`
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/dtype.h"

namespace dtl::kernel {

/// A size: `scale`, or `scale * extents[slot]` where slot ≥ 0; slots are the kernel's own, numbered from 0.
struct Size {
  int64_t scale = 1;
  int32_t slot = -1;
  bool operator==(const Size&) const = default;
};

/// Scalar functions. A closed set: every consumer switches exhaustively.
enum class Scalar : uint8_t {
  constant,  ///< `number`, of `dtype`
  loop,      ///< the value of loop `index`, i64
  size,      ///< the value of `size`, i64 (in an op's KernelRule: the global size `sizes[index]`)
  begin,     ///< an op's KernelRule only: global index of this member's first element along result dimension `index`;
             ///< make_plan replaces it by a size or 0
  load,      ///< operand `index` at `args`, one i64 index for each of its dimensions
  reduced,   ///< result `number` of stage `index`, which came before
  // unary
  negate,
  abs,
  exp,
  log,
  log1p,
  sqrt,
  rsqrt,
  tanh,
  sigmoid,
  erf,
  sin,
  cos,
  floor,
  ceil,
  round,
  sign,
  logical_not,
  is_nan,
  // binary
  add,
  subtract,
  multiply,
  divide,
  power,
  maximum,
  minimum,
  mod,
  floor_div,
  logical_and,
  logical_or,
  equal,
  not_equal,
  less,
  less_equal,
  // others
  select,   ///< args: condition, then, else
  cast,     ///< to `dtype`
  uniform,  ///< args: seed, step, index, stream, each i64: Philox, in [0, 1), 24 bits, see philox.h
};
std::string_view name_of(Scalar scalar);
std::optional<Scalar> parse_scalar(std::string_view name);

/// The value of one instruction of a list; args are indices into the same list.
struct Instruction {
  Scalar scalar;
  DType dtype;                ///< of the result
  std::vector<int32_t> args;  ///< indices of earlier instructions
  int32_t index = 0;          ///< loop: which; load: operand; reduced: stage
  double number = 0;          ///< constant's value; reduced: which result
  Size size{};                ///< size
  bool operator==(const Instruction&) const = default;
};

struct Operand {
  DType dtype;
  std::vector<Size> dims;  ///< row-major, contiguous
  bool written = false;
  bool operator==(const Operand&) const = default;
};

struct Store {
  int32_t operand;
  std::vector<int32_t> indices;  ///< instructions
  int32_t value;                 ///< instruction
  bool operator==(const Store&) const = default;
};

struct Reduction {
  ReduceOp op;
  int32_t value;  ///< instruction; accumulated in its dtype, but at least f32
  bool operator==(const Reduction&) const = default;
};

/// One pass over the inner loops `loops` (indices into Kernel::loops, outermost first; may be empty). A stage either
/// reduces over its loops or stores at each iteration, or, with no loops, stores once per outer iteration.
struct Stage {
  std::vector<int32_t> loops;
  std::vector<Reduction> reductions;
  std::vector<Store> stores;
  bool operator==(const Stage&) const = default;
};

/// for each iteration of the outer loops: each stage in order. Outer iterations are independent; the outermost loop
/// is divided among threads. Reductions have one fixed order, whatever the division.
struct Kernel {
  std::vector<Operand> operands;
  std::vector<Size> loops;  ///< trip counts; the first `outer` are the outer loops, the others belong to stages
  int32_t outer = 0;
  std::vector<Instruction> body;
  std::vector<Stage> stages;
  bool operator==(const Kernel&) const = default;
};

/// Stable text; `parse(print(k)) == k`.
std::string print(const Kernel& kernel);
/// Nothing, and the reason in `error`, if text is no kernel.
std::optional<Kernel> parse(std::string_view text, std::string* error = nullptr);
/// The first broken promise, or empty.
std::string verify(const Kernel& kernel);

struct Cost {
  double flops, bytes_read, bytes_written;  ///< with every slot at `extents`
};
Cost cost(const Kernel& kernel, const std::vector<int64_t>& extents);

}  // namespace dtl::kernel
