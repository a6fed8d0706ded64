// bf16 and f16: between two bytes in memory and an f32 in a register, rounded to nearest even. bf16 is integer arithmetic, not
// the processor's instruction, which flushes subnormals; f16 likewise where the processor cannot convert it.
#include "compiler/codegen/emit_scalar.h"

namespace dtl::codegen {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

llvm::Type* ScalarEmitter::stored_element(DType dtype) const {
  if (dtype == DType::boolean) return b_.getInt8Ty();
  return is_narrow(dtype) ? b_.getInt16Ty() : element(dtype);
}

Value* ScalarEmitter::loaded(DType dtype, Value* stored) {
  if (dtype == DType::boolean) return b_.CreateICmpNE(stored, integer(0, stored));
  if (dtype == DType::f16) return load_f16(stored);
  if (dtype != DType::bf16) return stored;
  return as_f32(b_.CreateShl(b_.CreateZExt(stored, type_like(stored, b_.getInt32Ty())), 16));
}

Value* ScalarEmitter::to_store(DType dtype, Value* x) {
  if (dtype == DType::boolean) return b_.CreateZExt(x, type_like(x, b_.getInt8Ty()));
  if (dtype == DType::f16) return store_f16(x);
  if (dtype != DType::bf16) return x;
  return b_.CreateTrunc(b_.CreateLShr(as_bits(x), 16), type_like(x, b_.getInt16Ty()));
}

Value* ScalarEmitter::idle(DType dtype, llvm::Type* type) const {
  constexpr uint64_t kOneBf16 = 0x3f80, kOneF16 = 0x3c00;
  if (is_narrow(dtype)) return llvm::ConstantInt::get(type, dtype == DType::bf16 ? kOneBf16 : kOneF16);
  return is_float(dtype) ? llvm::ConstantFP::get(type, 1) : llvm::Constant::getNullValue(type);
}

Value* ScalarEmitter::as_bits(Value* x) { return b_.CreateBitCast(x, type_like(x, b_.getInt32Ty())); }
Value* ScalarEmitter::as_f32(Value* bits) { return b_.CreateBitCast(bits, type_like(bits, b_.getFloatTy())); }

Value* ScalarEmitter::rounded(DType dtype, Value* x) { return dtype == DType::bf16 ? round_bf16(x) : round_f16(x); }

Value* ScalarEmitter::round_bf16(Value* x) {
  Value* bits = as_bits(x);
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 16), 1);
  Value* nearest = b_.CreateAdd(bits, b_.CreateAdd(odd, integer(0x7fff, bits)));
  // A NaN that lives in the lower half alone must not round to infinity.
  Value* quiet = b_.CreateOr(bits, 0x400000);
  return as_f32(b_.CreateAnd(b_.CreateSelect(b_.CreateFCmpUNO(x, x), quiet, nearest), integer(static_cast<int32_t>(0xffff0000), bits)));
}

Value* ScalarEmitter::round_f16(Value* x) {
  if (host_.f16c) return b_.CreateFPExt(b_.CreateFPTrunc(x, type_like(x, b_.getHalfTy())), x->getType());
  constexpr int32_t kKept = static_cast<int32_t>(0xffffe000), kInfinity = 0x7f800000;
  constexpr int32_t kOverflow = 0x477ff000;  // 65520, half-way from the largest f16 to what would come next
  constexpr int32_t kNormal = 0x38800000;    // 2⁻¹⁴
  Value* bits = as_bits(x);
  Value* sign = b_.CreateAnd(bits, integer(static_cast<int32_t>(0x80000000), bits));
  Value* size = b_.CreateAnd(bits, integer(0x7fffffff, bits));
  Value* odd = b_.CreateAnd(b_.CreateLShr(size, 13), 1);
  Value* normal = b_.CreateAnd(b_.CreateAdd(size, b_.CreateAdd(odd, integer(0xfff, bits))), integer(kKept, bits));
  // The last place of an f32 from 0.5 to 1 is that of a subnormal f16: adding 0.5 rounds.
  Value* half = number(0.5, x);
  Value* subnormal = as_bits(b_.CreateFSub(b_.CreateFAdd(as_f32(size), half), half));
  Value* result = b_.CreateSelect(b_.CreateICmpULT(size, integer(kNormal, bits)), subnormal, normal);
  result = b_.CreateSelect(b_.CreateICmpUGE(size, integer(kOverflow, bits)), integer(kInfinity, bits), result);
  Value* quiet = b_.CreateAnd(b_.CreateOr(size, 0x400000), integer(kKept, bits));
  result = b_.CreateSelect(b_.CreateICmpUGT(size, integer(kInfinity, bits)), quiet, result);
  return as_f32(b_.CreateOr(result, sign));
}

Value* ScalarEmitter::load_f16(Value* stored) {
  llvm::Type* real = type_like(stored, b_.getFloatTy());
  if (host_.f16c) return b_.CreateFPExt(b_.CreateBitCast(stored, type_like(stored, b_.getHalfTy())), real);
  Value* bits = b_.CreateZExt(stored, type_like(stored, b_.getInt32Ty()));
  Value* size = b_.CreateShl(b_.CreateAnd(bits, 0x7fff), 13);
  // The exponents differ by 112. A subnormal f16 is a subnormal f32 before the product, and normal after it.
  Value* scaled = as_f32(size);
  scaled = as_bits(b_.CreateFMul(scaled, number(0x1p112, scaled)));
  Value* unbounded = b_.CreateOr(size, 0x7f800000);
  Value* result = b_.CreateSelect(b_.CreateICmpUGE(size, integer(0x0f800000, size)), unbounded, scaled);
  return as_f32(b_.CreateOr(result, b_.CreateShl(b_.CreateAnd(bits, 0x8000), 16)));
}

/// `x` is a value of f16.
Value* ScalarEmitter::store_f16(Value* x) {
  llvm::Type* type = type_like(x, b_.getInt16Ty());
  if (host_.f16c) return b_.CreateBitCast(b_.CreateFPTrunc(x, type_like(x, b_.getHalfTy())), type);
  Value* bits = as_bits(x);
  Value* size = b_.CreateAnd(bits, integer(0x7fffffff, bits));
  Value* normal = b_.CreateLShr(b_.CreateSub(size, integer(0x38000000, bits)), 13);
  Value* small = b_.CreateFMul(as_f32(size), number(0x1p24, x));
  Value* subnormal = b_.CreateIntrinsic(Intrinsic::fptoui_sat, {bits->getType(), x->getType()}, {small});
  Value* unbounded = b_.CreateOr(b_.CreateAnd(b_.CreateLShr(size, 13), 0x3ff), 0x7c00);
  Value* result = b_.CreateSelect(b_.CreateICmpULT(size, integer(0x38800000, bits)), subnormal, normal);
  result = b_.CreateSelect(b_.CreateICmpUGE(size, integer(0x7f800000, bits)), unbounded, result);
  return b_.CreateTrunc(b_.CreateOr(result, b_.CreateAnd(b_.CreateLShr(bits, 16), 0x8000)), type);
}

}  // namespace dtl::codegen
