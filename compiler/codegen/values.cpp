// Values inside a kernel's nest: each at the outermost level that knows its loops, as a scalar or for a unit's lanes.
#include "compiler/codegen/kernel_emitter.h"
#include "compiler/source/check.h"

namespace dtl::codegen {

using kernel::Instruction;
using kernel::Scalar;
using llvm::Value;

namespace {

/// What is remembered about an instruction.
enum Form : int { kValue, kSplat, kFirst, kSize, kBase, kStride };

}  // namespace

void KernelEmitter::choose_lanes(int32_t loop, bool results) {
  lane_loop_ = loop;
  varying_ = analysis_.varying(loop, results);
}

Level& KernelEmitter::level_of(int32_t id) {
  const Facts& facts = analysis_[id];
  if (facts.pinned) return levels_.back();
  size_t result = 0;
  for (size_t i = 0; i < levels_.size(); ++i) {
    const int32_t loop = levels_[i].loop;
    if (loop >= 0 ? (facts.loops >> loop & 1) != 0 : facts.reduced && i > 0) result = i;
  }
  return levels_[result];
}

Value* KernelEmitter::value(int32_t id, int unit) {
  if (!varies(id)) unit = 0;
  Level& level = level_of(id);
  if (const auto found = level.values.find({id, unit, kValue}); found != level.values.end()) return found->second;
  Value* result = compute(id, unit);
  level.values[{id, unit, kValue}] = result;
  return result;
}

Value* KernelEmitter::widened(int32_t id, int unit) {
  if (varies(id)) return value(id, unit);
  Value* scalar = value(id, 0);
  Level& level = level_of(id);
  Value*& result = level.values[{id, 0, kSplat}];
  if (!result) result = at_level(level, [&] { return scalar_.splat(scalar); });
  return result;
}

Value* KernelEmitter::first(int32_t id, int unit) {
  if (!varies(id)) return value(id, 0);
  Level& level = level_of(id);
  if (const auto found = level.values.find({id, unit, kFirst}); found != level.values.end()) return found->second;
  const Instruction& it = instruction(id);
  Value* result = nullptr;
  if (it.scalar == Scalar::loop) {
    result = level.position[static_cast<size_t>(unit)];
  } else {
    // motion() has found sums and products only.
    std::vector<Value*> args;
    for (const int32_t arg : it.args) args.push_back(first(arg, unit));
    result = at_level(level, [&] { return scalar_.apply(it, DType::i64, args); });
  }
  level.values[{id, unit, kFirst}] = result;
  return result;
}

Value* KernelEmitter::compute(int32_t id, int unit) {
  const Instruction& it = instruction(id);
  Level& level = level_of(id);
  switch (it.scalar) {
    case Scalar::constant:
      return scalar_.constant(it.dtype, it.number);
    case Scalar::size:
      return size(it.size);
    case Scalar::reduced: {
      const auto& units = results_[static_cast<size_t>(it.index)][static_cast<size_t>(it.number)];
      return units[std::min(units.size() - 1, static_cast<size_t>(unit))];
    }
    case Scalar::loop: {
      Value* position = level.position[varies(id) ? static_cast<size_t>(unit) : 0];
      if (!varies(id)) return position;
      return at_level(level, [&] { return b_.CreateAdd(scalar_.splat(position), lane_numbers()); });
    }
    case Scalar::load:
      return load(it, unit);
    case Scalar::begin:
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
  if (Value* result = fused(it, unit)) return result;
  std::vector<Value*> args;
  for (const int32_t arg : it.args) args.push_back(varies(id) ? widened(arg, unit) : value(arg, 0));
  const DType from = it.args.empty() ? it.dtype : instruction(it.args[0]).dtype;
  return at_level(level, [&] { return scalar_.apply(it, from, args); });
}

/// a · b + c, a · b − c and c − a · b round once where the product has no other use. Decided by the kernel's text alone.
Value* KernelEmitter::fused(const Instruction& it, int unit) {
  if (!scalar_.fuses() || !is_float(it.dtype) || is_narrow(it.dtype) || (it.scalar != Scalar::add && it.scalar != Scalar::subtract)) return nullptr;
  const auto id = static_cast<int32_t>(&it - kernel_.body.data());
  for (const size_t k : {size_t{0}, size_t{1}}) {
    const Instruction& product = instruction(it.args[k]);
    if (product.scalar != Scalar::multiply || analysis_[it.args[k]].uses != 1) continue;
    const auto operand = [&](int32_t arg) { return varies(id) ? widened(arg, unit) : value(arg, 0); };
    Value* a = operand(product.args[0]);
    Value* b = operand(product.args[1]);
    Value* c = operand(it.args[1 - k]);
    return at_level(level_of(id), [&] {
      if (it.scalar == Scalar::subtract && k == 0) return scalar_.multiply_add(a, b, b_.CreateFNeg(c));
      if (it.scalar == Scalar::subtract) return scalar_.multiply_add(b_.CreateFNeg(a), b, c);
      return scalar_.multiply_add(a, b, c);
    });
  }
  return nullptr;
}

/// accumulator + a · b, where that is what a sum adds and nobody else uses the product.
Value* KernelEmitter::sum_of_product(int32_t id, int unit, Value* accumulator, bool lanes) {
  const Instruction& it = instruction(id);
  if (!scalar_.fuses() || !is_float(it.dtype) || is_narrow(it.dtype) || it.scalar != Scalar::multiply || analysis_[id].uses != 1) return nullptr;
  const auto operand = [&](int32_t arg) { return lanes ? widened(arg, unit) : value(arg, unit); };
  Value* a = operand(it.args[0]);
  Value* b = operand(it.args[1]);
  return scalar_.multiply_add(a, b, accumulator);
}

Value* KernelEmitter::lane_numbers() {
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < schedule_.lanes; ++i) numbers.push_back(b_.getInt64(static_cast<uint64_t>(i)));
  return llvm::ConstantVector::get(numbers);
}

Value* KernelEmitter::size(const kernel::Size& size) {
  if (size.slot < 0) return b_.getInt64(static_cast<uint64_t>(size.scale));
  Level& level = levels_.front();
  Value*& extent = level.values[{size.slot, 0, kSize}];
  if (!extent) {
    extent = at_level(level, [&] {
      return b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), function_.getArg(1), static_cast<uint64_t>(size.slot)));
    });
  }
  if (size.scale == 1) return extent;
  return at_level(level, [&] { return b_.CreateMul(extent, b_.getInt64(static_cast<uint64_t>(size.scale))); });
}

Value* KernelEmitter::base(int32_t operand) {
  Level& level = levels_.front();
  Value*& result = level.values[{operand, 0, kBase}];
  if (!result)
    result = at_level(level, [&] {
      return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstGEP1_64(b_.getPtrTy(), function_.getArg(0), static_cast<uint64_t>(operand)));
    });
  return result;
}

Value* KernelEmitter::stride(int32_t operand, size_t dim) {
  const auto& dims = kernel_.operands[static_cast<size_t>(operand)].dims;
  Value* result = b_.getInt64(1);
  for (size_t d = dim + 1; d < dims.size(); ++d) {
    Value* factor = size(dims[d]);
    result = at_level(levels_.front(), [&] { return b_.CreateMul(result, factor); });
  }
  return result;
}

/// An index that is looked up or clamped may point before an operand that is empty in this run: such an operand has
/// room for one element, for its bound is not zero.
Value* KernelEmitter::kept_inside(Value* offset, int32_t operand, const std::vector<int32_t>& indices) {
  const auto& dims = kernel_.operands[static_cast<size_t>(operand)].dims;
  const bool may_be_empty = std::any_of(dims.begin(), dims.end(), [](const kernel::Size& size) { return size.slot >= 0; });
  const bool found = std::any_of(indices.begin(), indices.end(), [&](int32_t index) { return analysis_[index].found; });
  if (!may_be_empty || !found) return offset;
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, offset, llvm::ConstantInt::get(offset->getType(), 0));
}

/// Of lane 0.
Value* KernelEmitter::address(int32_t operand, const std::vector<int32_t>& indices, int unit) {
  Value* offset = b_.getInt64(0);
  for (size_t d = 0; d < indices.size(); ++d) offset = b_.CreateAdd(offset, b_.CreateMul(first(indices[d], unit), stride(operand, d)));
  const DType dtype = kernel_.operands[static_cast<size_t>(operand)].dtype;
  return b_.CreateGEP(scalar_.stored_element(dtype), base(operand), kept_inside(offset, operand, indices));
}

/// Of every lane.
Value* KernelEmitter::addresses(int32_t operand, const std::vector<int32_t>& indices, int unit, const Motion& motion) {
  const DType dtype = kernel_.operands[static_cast<size_t>(operand)].dtype;
  llvm::Type* type = scalar_.stored_element(dtype);
  if (motion.kind == Motion::Kind::strided) {
    Value* steps = b_.CreateMul(lane_numbers(), scalar_.splat(b_.getInt64(static_cast<uint64_t>(motion.stride))));
    return b_.CreateGEP(type, address(operand, indices, unit), steps);
  }
  Value* offset = scalar_.splat(b_.getInt64(0));
  for (size_t d = 0; d < indices.size(); ++d) {
    Value* index = widened(indices[d], unit);
    Value* by = stride(operand, d);
    offset = b_.CreateAdd(offset, b_.CreateMul(index, scalar_.splat(by)));
  }
  return b_.CreateGEP(type, base(operand), kept_inside(offset, operand, indices));
}

Value* KernelEmitter::load(const Instruction& it, int unit) {
  const auto id = static_cast<int32_t>(&it - kernel_.body.data());
  llvm::Type* element = scalar_.stored_element(it.dtype);
  const llvm::Align align(static_cast<uint64_t>(size_of(it.dtype)));
  return at_level(level_of(id), [&]() -> Value* {
    Value* result = nullptr;
    const Motion motion = analysis_.motion(it.index, it.args, lane_loop_, varying_);
    if (!varies(id)) {
      result = b_.CreateAlignedLoad(element, address(it.index, it.args, unit), align);
    } else {
      auto* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(schedule_.lanes));
      Value* idle = scalar_.idle(it.dtype, type);
      if (motion.kind == Motion::Kind::strided && motion.stride == 1) {
        Value* pointer = address(it.index, it.args, unit);
        result = mask() ? static_cast<Value*>(b_.CreateMaskedLoad(type, pointer, align, mask(), idle))
                        : b_.CreateAlignedLoad(type, pointer, align);
      } else if (motion.kind == Motion::Kind::strided && motion.stride == 0) {
        result = scalar_.splat(b_.CreateAlignedLoad(element, address(it.index, it.args, unit), align));
      } else {
        result = b_.CreateMaskedGather(type, addresses(it.index, it.args, unit, motion), align, mask(), idle);
      }
    }
    return scalar_.loaded(it.dtype, result);
  });
}

void KernelEmitter::store(const kernel::Store& store, int unit, Value* value) {
  const DType dtype = kernel_.operands[static_cast<size_t>(store.operand)].dtype;
  const llvm::Align align(static_cast<uint64_t>(size_of(dtype)));
  value = scalar_.to_store(dtype, value);
  const Motion motion = analysis_.motion(store.operand, store.indices, lane_loop_, varying_);
  if (lane_loop_ < 0) {
    b_.CreateAlignedStore(value, address(store.operand, store.indices, unit), align);
  } else if (motion.kind == Motion::Kind::strided && motion.stride == 1) {
    Value* pointer = address(store.operand, store.indices, unit);
    if (mask()) {
      b_.CreateMaskedStore(value, pointer, align, mask());
    } else {
      b_.CreateAlignedStore(value, pointer, align);
    }
  } else {
    DTL_CHECK(motion.kind != Motion::Kind::fixed, "lanes write one place");
    b_.CreateMaskedScatter(value, addresses(store.operand, store.indices, unit, motion), align, mask());
  }
}

}  // namespace dtl::codegen
