// The loop nest of a kernel: outer loops, stages, lane loops, accumulators.
#include "compiler/codegen/emit_kernel.h"

#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "compiler/codegen/kernel_emitter.h"
#include "compiler/source/check.h"

namespace dtl::codegen {

using kernel::Reduction;
using kernel::Stage;
using llvm::BasicBlock;
using llvm::Value;

KernelEmitter::KernelEmitter(const kernel::Kernel& kernel, const Host& host, llvm::Function& function)
    : kernel_(kernel),
      analysis_(kernel),
      schedule_(make_schedule(kernel, analysis_, host.lanes(varies_in_f64(kernel, analysis_)))),
      function_(function),
      b_(function.getContext()),
      scalar_(b_, host, schedule_.lanes),
      long_body_(std::any_of(kernel.body.begin(), kernel.body.end(),
                             [](const kernel::Instruction& it) { return it.scalar == kernel::Scalar::uniform; })),
      results_(kernel.stages.size()) {}

void KernelEmitter::run() {
  llvm::LLVMContext& context = function_.getContext();
  BasicBlock* entry = BasicBlock::Create(context, "entry", &function_);
  BasicBlock* work = BasicBlock::Create(context, "work", &function_);
  BasicBlock* done = BasicBlock::Create(context, "done", &function_);
  b_.SetInsertPoint(entry);
  b_.CreateCondBr(b_.CreateICmpSLT(function_.getArg(2), function_.getArg(3)), work, done);
  b_.SetInsertPoint(work);
  choose_lanes(-1, false);
  open({});
  outer_loops(0);
  close();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  b_.CreateRetVoid();
}

/// Starts a level: a block for what does not change inside it, then the block where its body goes on.
void KernelEmitter::open(Level level) {
  llvm::LLVMContext& context = function_.getContext();
  BasicBlock* head = BasicBlock::Create(context, "level", &function_);
  BasicBlock* body = BasicBlock::Create(context, "body", &function_);
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  level.end = b_.CreateBr(body);
  b_.SetInsertPoint(body);
  levels_.push_back(std::move(level));
}

void KernelEmitter::loop(Value* begin, Value* end, int64_t step, Carried& carried, const Body& body) {
  const auto *first = llvm::dyn_cast<llvm::ConstantInt>(begin), *last = llvm::dyn_cast<llvm::ConstantInt>(end);
  if (first && last && first->getSExtValue() >= last->getSExtValue()) return;
  if (first && last && first->getSExtValue() + step >= last->getSExtValue()) return body(begin);  // exactly one trip
  llvm::LLVMContext& context = function_.getContext();
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* head = BasicBlock::Create(context, "loop", &function_);
  BasicBlock* after = BasicBlock::Create(context, "after", &function_);
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), head, after);
  b_.SetInsertPoint(head);
  llvm::PHINode* position = b_.CreatePHI(b_.getInt64Ty(), 2);
  position->addIncoming(begin, before);
  const Carried initial = carried;
  std::vector<llvm::PHINode*> inside;
  for (Value*& value : carried) {
    inside.push_back(b_.CreatePHI(value->getType(), 2));
    inside.back()->addIncoming(value, before);
    value = inside.back();
  }
  body(position);
  BasicBlock* latch = b_.GetInsertBlock();
  Value* next = b_.CreateNSWAdd(position, b_.getInt64(static_cast<uint64_t>(step)));
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), head, after);
  position->addIncoming(next, latch);
  b_.SetInsertPoint(after);
  for (size_t i = 0; i < carried.size(); ++i) {
    inside[i]->addIncoming(carried[i], latch);
    llvm::PHINode* result = b_.CreatePHI(carried[i]->getType(), 2);
    result->addIncoming(initial[i], before);
    result->addIncoming(carried[i], latch);
    carried[i] = result;
  }
}

void KernelEmitter::when(Value* condition, Carried& carried, const std::function<void()>& body) {
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    if (!known->isZero()) body();
    return;
  }
  llvm::LLVMContext& context = function_.getContext();
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* then = BasicBlock::Create(context, "then", &function_);
  BasicBlock* after = BasicBlock::Create(context, "after", &function_);
  b_.CreateCondBr(condition, then, after);
  b_.SetInsertPoint(then);
  const Carried initial = carried;
  body();
  BasicBlock* last = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  for (size_t i = 0; i < carried.size(); ++i) {
    llvm::PHINode* result = b_.CreatePHI(carried[i]->getType(), 2);
    result->addIncoming(initial[i], before);
    result->addIncoming(carried[i], last);
    carried[i] = result;
  }
}

void KernelEmitter::lane_loop(int32_t loop_index, Value* begin, Value* end, int units, Carried& carried,
                              const std::function<void()>& body) {
  const int64_t lanes = schedule_.lanes;
  const auto at = [&](Value* position, int count, Value* mask) {
    Level level{loop_index, {}, mask};
    for (int u = 0; u < count; ++u) level.position.push_back(b_.CreateNSWAdd(position, b_.getInt64(static_cast<uint64_t>(u * lanes))));
    lane_level_ = static_cast<int>(levels_.size());
    units_ = count;
    open(std::move(level));
    body();
    close();
    lane_level_ = -1;
    units_ = 1;
  };
  // The last position before which `step` elements fit, again and again.
  const auto whole = [&](Value* from, int64_t step) {
    Value* length = b_.CreateSub(end, from);
    return b_.CreateAdd(
        from, b_.CreateMul(b_.CreateSDiv(length, b_.getInt64(static_cast<uint64_t>(step))), b_.getInt64(static_cast<uint64_t>(step))));
  };
  // The lanes from `position` on that are before the end: 32 bits hold their count, and half the registers the comparison.
  const auto existing = [&](Value* position) {
    std::vector<llvm::Constant*> numbers;
    for (unsigned i = 0; i < static_cast<unsigned>(lanes); ++i) numbers.push_back(b_.getInt32(i));
    Value* left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(end, position), b_.getInt64(static_cast<uint64_t>(lanes)));
    return b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), scalar_.splat(b_.CreateTrunc(left, b_.getInt32Ty())));
  };
  if (long_body_) return loop(begin, end, lanes, carried, [&](Value* p) { at(p, 1, existing(p)); });
  Value* position = begin;
  if (units > 1) {
    Value* stop = whole(position, units * lanes);
    loop(position, stop, units * lanes, carried, [&](Value* p) { at(p, units, nullptr); });
    position = stop;
  }
  Value* stop = whole(position, lanes);
  loop(position, stop, lanes, carried, [&](Value* p) { at(p, 1, nullptr); });
  when(b_.CreateICmpSLT(stop, end), carried, [&] { at(stop, 1, existing(stop)); });
}

void KernelEmitter::outer_loops(int32_t depth) {
  if (depth == kernel_.outer) return stages();
  Carried none;
  Value* begin = depth == 0 ? static_cast<Value*>(function_.getArg(2)) : b_.getInt64(0);
  Value* end = depth == 0 ? static_cast<Value*>(function_.getArg(3)) : size(kernel_.loops[static_cast<size_t>(depth)]);
  if (schedule_.column && depth == kernel_.outer - 1) {
    choose_lanes(depth, true);
    return lane_loop(depth, begin, end, schedule_.column_units, none, [&] { stages(); });
  }
  loop(begin, end, 1, none, [&](Value* position) {
    open({depth, {position}});
    outer_loops(depth + 1);
    close();
  });
}

void KernelEmitter::stages() {
  for (size_t at = 0; at < kernel_.stages.size(); ++at) {
    if (!schedule_.column) choose_lanes(schedule_.loops[at], false);
    stage(at);
  }
}

void KernelEmitter::stage(size_t at) {
  const Stage& stage = kernel_.stages[at];
  open({});
  // One accumulator for each reduction and unit.
  Carried carried;
  const int units = schedule_.column ? units_ : schedule_.units[at];
  for (const Reduction& reduction : stage.reductions) {
    Value* identity = scalar_.identity(reduction.op, instruction(reduction.value).dtype);
    for (int u = 0; u < units; ++u) carried.push_back(lane_loop_ >= 0 ? scalar_.splat(identity) : identity);
  }
  stage_loops(stage, 0, carried);
  results_[at].clear();
  if (schedule_.column) {
    for (size_t r = 0; r < stage.reductions.size(); ++r) {
      const auto begin = carried.begin() + static_cast<int64_t>(r) * units;
      results_[at].emplace_back(begin, begin + units);
    }
  } else {
    for (Value* result : finish_reductions(stage, carried)) results_[at].push_back({result});
  }
  close();
}

void KernelEmitter::stage_loops(const Stage& stage, size_t depth, Carried& carried) {
  if (depth == stage.loops.size()) return stage_body(stage, carried);
  const int32_t index = stage.loops[depth];
  Value* end = size(kernel_.loops[static_cast<size_t>(index)]);
  if (index == lane_loop_) {
    const int units = stage.reductions.empty() ? schedule_.units[static_cast<size_t>(&stage - kernel_.stages.data())]
                                               : static_cast<int>(carried.size() / stage.reductions.size());
    return lane_loop(index, b_.getInt64(0), end, units, carried, [&] { stage_loops(stage, depth + 1, carried); });
  }
  loop(b_.getInt64(0), end, 1, carried, [&](Value* position) {
    open({index, {position}});
    stage_loops(stage, depth + 1, carried);
    close();
  });
}

void KernelEmitter::stage_body(const Stage& stage, Carried& carried) {
  const bool lanes = lane_loop_ >= 0;
  if (!stage.reductions.empty()) {
    const size_t units = carried.size() / stage.reductions.size();  // accumulators; a narrower part uses the first ones
    for (size_t r = 0; r < stage.reductions.size(); ++r) {
      const Reduction& reduction = stage.reductions[r];
      const DType dtype = instruction(reduction.value).dtype;
      for (int u = 0; u < units_; ++u) {
        Value*& accumulator = carried[r * units + static_cast<size_t>(u)];
        Value* next = reduction.op == ReduceOp::sum ? sum_of_product(reduction.value, u, accumulator, lanes) : nullptr;
        if (!next)
          next = scalar_.combine(reduction.op, dtype, accumulator, lanes ? widened(reduction.value, u) : value(reduction.value, u));
        // Column mode needs no mask: each lane has a sum of its own, and those beyond the end are not stored.
        if (mask() && !schedule_.column) next = b_.CreateSelect(mask(), next, accumulator);
        accumulator = next;
      }
    }
  }
  // All values before the first store: an operand may be written where another is read.
  std::vector<Value*> values;
  for (int u = 0; u < units_; ++u) {
    for (const auto& store : stage.stores) values.push_back(lanes ? widened(store.value, u) : value(store.value, u));
  }
  size_t next = 0;
  for (int u = 0; u < units_; ++u) {
    for (const auto& one : stage.stores) store(one, u, values[next++]);
  }
}

/// Units, then lanes, combined as a tree: one fixed order.
std::vector<Value*> KernelEmitter::finish_reductions(const Stage& stage, const Carried& carried) {
  std::vector<Value*> results;
  if (stage.reductions.empty()) return results;
  const size_t units = carried.size() / stage.reductions.size();
  for (size_t r = 0; r < stage.reductions.size(); ++r) {
    const Reduction& reduction = stage.reductions[r];
    const DType dtype = instruction(reduction.value).dtype;
    std::vector<Value*> parts(carried.begin() + static_cast<int64_t>(r * units), carried.begin() + static_cast<int64_t>((r + 1) * units));
    while (parts.size() > 1) {
      std::vector<Value*> half;
      for (size_t i = 0; i < parts.size(); i += 2) half.push_back(scalar_.combine(reduction.op, dtype, parts[i], parts[i + 1]));
      parts = std::move(half);
    }
    Value* result = parts[0];
    if (lane_loop_ >= 0) {
      for (int width = schedule_.lanes / 2; width >= 1; width /= 2) {
        std::vector<int> low, high;
        for (int i = 0; i < width; ++i) low.push_back(i), high.push_back(i + width);
        result = scalar_.combine(reduction.op, dtype, b_.CreateShuffleVector(result, low), b_.CreateShuffleVector(result, high));
      }
      result = b_.CreateExtractElement(result, uint64_t{0});
    }
    results.push_back(result);
  }
  return results;
}

std::unique_ptr<llvm::Module> emit_kernel(const kernel::Kernel& kernel, const std::string& name, const Host& host,
                                          llvm::LLVMContext& context) {
  const std::string broken = kernel::verify(kernel);
  DTL_CHECK(broken.empty(), "a kernel breaks its promises: {}\n{}", broken, kernel::print(kernel));
  auto module = std::make_unique<llvm::Module>(name, context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* number = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, number, number}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module.get());
  const char* names[] = {"operands", "extents", "begin", "end"};
  for (unsigned i = 0; i < 4; ++i) function->getArg(i)->setName(names[i]);
  for (unsigned i = 0; i < 2; ++i) function->addParamAttr(i, llvm::Attribute::NoAlias);
  function->setDoesNotThrow();
  function->addFnAttr("target-cpu", host.cpu);
  function->addFnAttr("target-features", host.features);
  function->addFnAttr("prefer-vector-width", std::to_string(host.vector_bits));
  function->addFnAttr("min-legal-vector-width", std::to_string(host.vector_bits));
  KernelEmitter(kernel, host, *function).run();
  std::string error;
  llvm::raw_string_ostream stream(error);
  DTL_CHECK(!llvm::verifyModule(*module, &stream), "LLVM refuses a kernel's code: {}\n{}", error, kernel::print(kernel));
  return module;
}

}  // namespace dtl::codegen
