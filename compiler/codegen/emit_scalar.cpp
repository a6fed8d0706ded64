// Scalar functions as LLVM instructions. No fast-math flags: what is fused or reordered is decided here, by hand, so
// that the same element gets the same bits in a vector's body, in its tail and alone.
#include "compiler/codegen/emit_scalar.h"

#include <llvm/IR/Module.h>

#include <array>
#include <cmath>
#include <limits>

#include "compiler/source/check.h"
#include "runtime/plan/half.h"
#include "runtime/plan/philox.h"

namespace dtl::codegen {

using kernel::Instruction;
using kernel::Scalar;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

llvm::Type* ScalarEmitter::element(DType dtype) const {
  switch (dtype) {
    case DType::f64:
      return b_.getDoubleTy();
    case DType::f32:
    case DType::bf16:
    case DType::f16:
      return b_.getFloatTy();
    case DType::i64:
      return b_.getInt64Ty();
    case DType::i32:
      return b_.getInt32Ty();
    case DType::i8:
    case DType::u8:
      return b_.getInt8Ty();
    case DType::boolean:
      return b_.getInt1Ty();
  }
  __builtin_unreachable();
}

llvm::Type* ScalarEmitter::vector(DType dtype) const { return llvm::FixedVectorType::get(element(dtype), static_cast<unsigned>(lanes_)); }

llvm::Type* ScalarEmitter::type_like(Value* like, llvm::Type* element) const {
  if (!like->getType()->isVectorTy()) return element;
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
}

Value* ScalarEmitter::number(double value, Value* like) { return llvm::ConstantFP::get(like->getType(), value); }
Value* ScalarEmitter::integer(int64_t value, Value* like) { return llvm::ConstantInt::getSigned(like->getType(), value); }

Value* ScalarEmitter::constant(DType dtype, double number) {
  if (is_float(dtype)) return llvm::ConstantFP::get(element(dtype), plan::narrowed(dtype, number));
  if (dtype == DType::boolean) return b_.getInt1(number != 0);
  return llvm::ConstantInt::get(element(dtype), static_cast<uint64_t>(static_cast<int64_t>(number)), true);
}

Value* ScalarEmitter::multiply_add(Value* a, Value* b, Value* c) { return b_.CreateIntrinsic(Intrinsic::fma, {a->getType()}, {a, b, c}); }

Value* ScalarEmitter::apply(const Instruction& it, DType from, std::span<Value* const> args) {
  Value* result = compute(it, from, args);
  return is_narrow(it.dtype) && it.scalar != Scalar::select ? rounded(it.dtype, result) : result;
}

Value* ScalarEmitter::compute(const Instruction& it, DType from, std::span<Value* const> args) {
  switch (it.scalar) {
    case Scalar::select:
      return b_.CreateSelect(args[0], args[1], args[2]);
    case Scalar::cast:
      return cast(from, it.dtype, args[0]);
    case Scalar::uniform:
      return uniform(it, args);
    case Scalar::constant:
    case Scalar::loop:
    case Scalar::size:
    case Scalar::begin:
    case Scalar::load:
    case Scalar::reduced:
      break;
    case Scalar::negate:
    case Scalar::abs:
    case Scalar::exp:
    case Scalar::log:
    case Scalar::log1p:
    case Scalar::sqrt:
    case Scalar::rsqrt:
    case Scalar::tanh:
    case Scalar::sigmoid:
    case Scalar::erf:
    case Scalar::sin:
    case Scalar::cos:
    case Scalar::floor:
    case Scalar::ceil:
    case Scalar::round:
    case Scalar::sign:
    case Scalar::logical_not:
    case Scalar::is_nan:
      return unary(it, args[0]);
    case Scalar::add:
    case Scalar::subtract:
    case Scalar::multiply:
    case Scalar::divide:
    case Scalar::power:
    case Scalar::maximum:
    case Scalar::minimum:
    case Scalar::mod:
    case Scalar::floor_div:
    case Scalar::logical_and:
    case Scalar::logical_or:
    case Scalar::equal:
    case Scalar::not_equal:
    case Scalar::less:
    case Scalar::less_equal:
      return binary(it, from, args[0], args[1]);
  }
  DTL_CHECK(false, "`{}` is not applied to values", name_of(it.scalar));
  __builtin_unreachable();
}

Value* ScalarEmitter::unary(const Instruction& it, Value* x) {
  const bool real = is_float(it.dtype);
  const auto call = [&](const char* name) {
    const std::array args = {x};
    return function(name, args);
  };
  const auto intrinsic = [&](llvm::Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, x); };
  switch (it.scalar) {
    case Scalar::negate:
      return real ? b_.CreateFNeg(x) : b_.CreateNeg(x);
    case Scalar::abs:
      if (real) return intrinsic(Intrinsic::fabs);
      if (it.dtype == DType::u8) return x;
      return b_.CreateBinaryIntrinsic(Intrinsic::abs, x, b_.getInt1(false));
    case Scalar::exp:
      return call("exp");
    case Scalar::log:
      return call("log");
    case Scalar::log1p:
      return call("log1p");
    case Scalar::sqrt:
      return intrinsic(Intrinsic::sqrt);
    case Scalar::rsqrt:
      return b_.CreateFDiv(number(1, x), intrinsic(Intrinsic::sqrt));
    case Scalar::tanh:
      return call("tanh");
    case Scalar::sigmoid: {
      // Right at both ends: exp(-x) is +inf far below zero, and 1 / inf is 0.
      const std::array args = {b_.CreateFNeg(x)};
      return b_.CreateFDiv(number(1, x), b_.CreateFAdd(number(1, x), function("exp", args)));
    }
    case Scalar::erf:
      return call("erf");
    case Scalar::sin:
      return call("sin");
    case Scalar::cos:
      return call("cos");
    case Scalar::floor:
      return intrinsic(Intrinsic::floor);
    case Scalar::ceil:
      return intrinsic(Intrinsic::ceil);
    case Scalar::round:
      return intrinsic(Intrinsic::roundeven);
    case Scalar::sign: {
      if (real) {
        Value* positive = b_.CreateSelect(b_.CreateFCmpOGT(x, number(0, x)), number(1, x), number(0, x));
        Value* signed_one = b_.CreateSelect(b_.CreateFCmpOLT(x, number(0, x)), number(-1, x), positive);
        return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, signed_one);
      }
      if (it.dtype == DType::u8) return b_.CreateZExt(b_.CreateICmpNE(x, integer(0, x)), x->getType());
      Value* positive = b_.CreateZExt(b_.CreateICmpSGT(x, integer(0, x)), x->getType());
      return b_.CreateSelect(b_.CreateICmpSLT(x, integer(0, x)), integer(-1, x), positive);
    }
    case Scalar::logical_not:
      return b_.CreateNot(x);
    case Scalar::is_nan:
      return b_.CreateFCmpUNO(x, x);
    case Scalar::constant:
    case Scalar::loop:
    case Scalar::size:
    case Scalar::begin:
    case Scalar::load:
    case Scalar::reduced:
    case Scalar::add:
    case Scalar::subtract:
    case Scalar::multiply:
    case Scalar::divide:
    case Scalar::power:
    case Scalar::maximum:
    case Scalar::minimum:
    case Scalar::mod:
    case Scalar::floor_div:
    case Scalar::logical_and:
    case Scalar::logical_or:
    case Scalar::equal:
    case Scalar::not_equal:
    case Scalar::less:
    case Scalar::less_equal:
    case Scalar::select:
    case Scalar::cast:
    case Scalar::uniform:
      break;
  }
  __builtin_unreachable();
}

Value* ScalarEmitter::binary(const Instruction& it, DType from, Value* x, Value* y) {
  const bool real = is_float(from), natural = from == DType::u8 || from == DType::boolean;
  switch (it.scalar) {
    case Scalar::add:
      return real ? b_.CreateFAdd(x, y) : b_.CreateAdd(x, y);
    case Scalar::subtract:
      return real ? b_.CreateFSub(x, y) : b_.CreateSub(x, y);
    case Scalar::multiply:
      return real ? b_.CreateFMul(x, y) : b_.CreateMul(x, y);
    case Scalar::divide:
      return b_.CreateFDiv(x, y);
    case Scalar::power: {
      const std::array args = {x, y};
      return function("pow", args);
    }
    case Scalar::maximum:
      return larger(from, x, y, false);
    case Scalar::minimum:
      return larger(from, x, y, true);
    case Scalar::mod: {
      if (!real) return whole_divide(from, x, y, true);
      // fmod is exact; the rest takes the divisor's sign.
      Value* rest = b_.CreateFRem(x, y);
      Value* differs = b_.CreateXor(b_.CreateFCmpOLT(rest, number(0, x)), b_.CreateFCmpOLT(y, number(0, y)));
      return b_.CreateSelect(b_.CreateAnd(b_.CreateFCmpUNE(rest, number(0, x)), differs), b_.CreateFAdd(rest, y), rest);
    }
    case Scalar::floor_div:
      return real ? b_.CreateUnaryIntrinsic(Intrinsic::floor, b_.CreateFDiv(x, y)) : whole_divide(from, x, y, false);
    case Scalar::logical_and:
      return b_.CreateAnd(x, y);
    case Scalar::logical_or:
      return b_.CreateOr(x, y);
    case Scalar::equal:
      return real ? b_.CreateFCmpOEQ(x, y) : b_.CreateICmpEQ(x, y);
    case Scalar::not_equal:
      return real ? b_.CreateFCmpUNE(x, y) : b_.CreateICmpNE(x, y);
    case Scalar::less:
      return real ? b_.CreateFCmpOLT(x, y) : natural ? b_.CreateICmpULT(x, y) : b_.CreateICmpSLT(x, y);
    case Scalar::less_equal:
      return real ? b_.CreateFCmpOLE(x, y) : natural ? b_.CreateICmpULE(x, y) : b_.CreateICmpSLE(x, y);
    case Scalar::constant:
    case Scalar::loop:
    case Scalar::size:
    case Scalar::begin:
    case Scalar::load:
    case Scalar::reduced:
    case Scalar::negate:
    case Scalar::abs:
    case Scalar::exp:
    case Scalar::log:
    case Scalar::log1p:
    case Scalar::sqrt:
    case Scalar::rsqrt:
    case Scalar::tanh:
    case Scalar::sigmoid:
    case Scalar::erf:
    case Scalar::sin:
    case Scalar::cos:
    case Scalar::floor:
    case Scalar::ceil:
    case Scalar::round:
    case Scalar::sign:
    case Scalar::logical_not:
    case Scalar::is_nan:
    case Scalar::select:
    case Scalar::cast:
    case Scalar::uniform:
      break;
  }
  __builtin_unreachable();
}

/// The larger (or smaller); a NaN on either side stays. Without NaN this is one machine instruction, the NaN test two more.
Value* ScalarEmitter::larger(DType dtype, Value* a, Value* b, bool smaller) {
  if (!is_float(dtype)) {
    const bool natural = dtype == DType::u8;
    return b_.CreateBinaryIntrinsic(smaller ? (natural ? Intrinsic::umin : Intrinsic::smin) : (natural ? Intrinsic::umax : Intrinsic::smax),
                                    a, b);
  }
  Value* wins = smaller ? b_.CreateFCmpOLT(a, b) : b_.CreateFCmpOGT(a, b);
  return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, b_.CreateSelect(wins, a, b));
}

/// Floor division, or its rest. By zero: 0. By −1 the hardware would trap on the lowest number, so that is a negation.
Value* ScalarEmitter::whole_divide(DType dtype, Value* a, Value* b, bool rest) {
  Value* zero = integer(0, a);
  const auto* splatted = llvm::dyn_cast<llvm::Constant>(b);
  if (splatted && splatted->getType()->isVectorTy()) splatted = splatted->getSplatValue();
  const auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(splatted);
  const bool safe = known && !known->isZero() && !known->isMinusOne();
  if (dtype == DType::u8) {
    Value* is_zero = b_.CreateICmpEQ(b, zero);
    Value* by = known && !known->isZero() ? b : b_.CreateSelect(is_zero, integer(1, b), b);
    return b_.CreateSelect(is_zero, zero, rest ? b_.CreateURem(a, by) : b_.CreateUDiv(a, by));
  }
  Value* is_zero = b_.CreateICmpEQ(b, zero);
  Value* is_minus = b_.CreateICmpEQ(b, integer(-1, b));
  Value* by = safe ? b : b_.CreateSelect(b_.CreateOr(is_zero, is_minus), integer(1, b), b);
  Value* quotient = b_.CreateSDiv(a, by);
  Value* remainder = b_.CreateSub(a, b_.CreateMul(quotient, by));
  Value* below =
      b_.CreateAnd(b_.CreateICmpNE(remainder, zero), b_.CreateXor(b_.CreateICmpSLT(remainder, zero), b_.CreateICmpSLT(by, zero)));
  Value* result =
      rest ? b_.CreateSelect(below, b_.CreateAdd(remainder, by), remainder) : b_.CreateAdd(quotient, b_.CreateSExt(below, a->getType()));
  if (safe) return result;
  result = b_.CreateSelect(is_minus, rest ? zero : b_.CreateNeg(a), result);
  return b_.CreateSelect(is_zero, zero, result);
}

/// Integers wrap; floats truncate towards zero and saturate, NaN gives 0; a bool is x ≠ 0. What becomes bf16 or f16 is an f32
/// first: `apply` rounds it.
Value* ScalarEmitter::cast(DType from, DType to, Value* x) {
  if (from == to) return x;
  llvm::Type* type = type_like(x, element(to));
  const bool natural = from == DType::u8 || from == DType::boolean;
  if (is_float(from)) {
    if (to == DType::boolean) return b_.CreateFCmpUNE(x, number(0, x));
    if (is_float(to)) return b_.CreateFPCast(x, type);
    return b_.CreateIntrinsic(to == DType::u8 ? Intrinsic::fptoui_sat : Intrinsic::fptosi_sat, {type, x->getType()}, {x});
  }
  if (to == DType::boolean) return b_.CreateICmpNE(x, integer(0, x));
  if (is_float(to)) return natural ? b_.CreateUIToFP(x, type) : b_.CreateSIToFP(x, type);
  return natural ? b_.CreateZExtOrTrunc(x, type) : b_.CreateSExtOrTrunc(x, type);
}

/// Philox 4×32-10 as in runtime/plan/philox.h, all lanes at once. Each 32-bit word is the lower half of an i64 whose upper
/// half may hold anything: a product of lower halves is one instruction, and nothing is packed between rounds.
Value* ScalarEmitter::uniform(const Instruction& it, std::span<Value* const> args) {
  const auto word = [&](uint64_t value) { return llvm::ConstantInt::get(args[2]->getType(), value); };
  const auto low = [&](Value* x) { return b_.CreateAnd(x, word(0xFFFFFFFF)); };
  const auto high = [&](Value* x) { return b_.CreateLShr(x, word(32)); };
  std::array<Value*, 4> counter = {args[2], high(args[2]), args[1], high(args[3])};
  std::array<Value*, 2> key = {b_.CreateXor(args[0], args[3]), high(args[0])};
  for (int round = 0; round < 10; ++round) {
    Value* a = b_.CreateMul(low(counter[0]), word(0xD2511F53));
    Value* b = b_.CreateMul(low(counter[2]), word(0xCD9E8D57));
    counter = {b_.CreateXor(b_.CreateXor(high(b), counter[1]), key[0]), b, b_.CreateXor(b_.CreateXor(high(a), counter[3]), key[1]), a};
    key = {b_.CreateAdd(key[0], word(0x9E3779B9)), b_.CreateAdd(key[1], word(0xBB67AE85))};
  }
  const int kept = uniform_bits(it.dtype);
  Value* bits = b_.CreateTrunc(b_.CreateLShr(low(counter[0]), word(static_cast<uint64_t>(32 - kept))), type_like(args[2], b_.getInt32Ty()));
  Value* real = b_.CreateSIToFP(bits, type_like(bits, element(it.dtype)));  // at most 24 bits: never negative, and exact
  return b_.CreateFMul(real, number(std::ldexp(1.0, -kept), real));
}

Value* ScalarEmitter::function(const char* name, std::span<Value* const> args) {
  const bool alone = !args[0]->getType()->isVectorTy();
  const bool wide = args[0]->getType()->getScalarType()->isDoubleTy();
  // The kernel's lanes, but no fewer than libmvec's narrowest function takes and no more than a vector holds: a scalar f64
  // may stand beside lanes of f32.
  const int narrowest = wide ? 2 : 4;
  const int width = std::min(std::max(lanes_, narrowest), host_.lanes(wide));
  std::vector<Value*> vectors;
  for (Value* arg : args) {
    if (alone) {
      vectors.push_back(b_.CreateVectorSplat(static_cast<unsigned>(width), arg));
    } else if (width > lanes_) {
      std::vector<int> picks;
      for (int i = 0; i < width; ++i) picks.push_back(i % lanes_);
      vectors.push_back(b_.CreateShuffleVector(arg, picks));
    } else {
      vectors.push_back(arg);
    }
  }
  Value* result = call_vector(name, wide, width, vectors);
  if (alone) return b_.CreateExtractElement(result, uint64_t{0});
  if (width == lanes_) return result;
  std::vector<int> picks;
  for (int i = 0; i < lanes_; ++i) picks.push_back(i);
  return b_.CreateShuffleVector(result, picks);
}

Value* ScalarEmitter::call_vector(const char* name, bool wide, int width, std::span<Value* const> args) {
  const int bits = width * (wide ? 64 : 32);
  DTL_CHECK(bits == 128 || bits == 256 || bits == 512, "no vector function {} of {} lanes", name, width);
  const std::string symbol = fmt::format("_ZGV{}N{}{}_{}{}",
                                         bits == 512   ? 'e'
                                         : bits == 256 ? 'd'
                                                       : 'b',
                                         width, std::string(args.size(), 'v'), name, wide ? "" : "f");
  llvm::Type* type = args[0]->getType();
  llvm::Module& module = *b_.GetInsertBlock()->getModule();
  auto callee = module.getOrInsertFunction(symbol, llvm::FunctionType::get(type, std::vector<llvm::Type*>(args.size(), type), false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->addFnAttr(llvm::Attribute::WillReturn);
  return b_.CreateCall(callee, llvm::ArrayRef(args.data(), args.size()));
}

Value* ScalarEmitter::combine(ReduceOp op, DType dtype, Value* a, Value* b) {
  switch (op) {
    case ReduceOp::sum:
      return is_float(dtype) ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
    case ReduceOp::product:
      return is_float(dtype) ? b_.CreateFMul(a, b) : b_.CreateMul(a, b);
    case ReduceOp::max:
      return larger(dtype, a, b, false);
    case ReduceOp::min:
      return larger(dtype, a, b, true);
  }
  __builtin_unreachable();
}

Value* ScalarEmitter::identity(ReduceOp op, DType dtype) {
  if (is_float(dtype)) return constant(dtype, identity_of(op));
  llvm::Type* type = element(dtype);
  const unsigned bits = type->getIntegerBitWidth();
  switch (op) {
    case ReduceOp::sum:
      return llvm::ConstantInt::get(type, 0);
    case ReduceOp::product:
      return llvm::ConstantInt::get(type, 1);
    case ReduceOp::max:
      return llvm::ConstantInt::get(type, dtype == DType::u8 ? llvm::APInt::getMinValue(bits) : llvm::APInt::getSignedMinValue(bits));
    case ReduceOp::min:
      return llvm::ConstantInt::get(type, dtype == DType::u8 ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getSignedMaxValue(bits));
  }
  __builtin_unreachable();
}

}  // namespace dtl::codegen
