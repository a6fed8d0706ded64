// The state of emitting one kernel: the nest of open loops, and the values computed at each of its levels.
#pragma once

#include <functional>
#include <map>
#include <tuple>

#include "compiler/codegen/emit_scalar.h"
#include "compiler/codegen/schedule.h"

namespace dtl::codegen {

/// A loop that is open, or the start of the function or of a stage. Every level begins with a block of its own into
/// which values are put that do not change inside: an instruction is evaluated at the outermost level that knows its loops.
struct Level {
  int32_t loop = -1;                   ///< −1: function or stage
  std::vector<llvm::Value*> position;  ///< the loop's value; of a lane loop that of lane 0, one for each unit
  llvm::Value* mask = nullptr;         ///< lane loop: the lanes that exist; null: all
  llvm::Instruction* end = nullptr;    ///< end of the level's block
  std::map<std::tuple<int32_t, int, int>, llvm::Value*> values = {};
};

class KernelEmitter {
 public:
  KernelEmitter(const kernel::Kernel& kernel, const Host& host, llvm::Function& function);

  void run();

 private:
  using Body = std::function<void(llvm::Value* position)>;
  using Carried = std::vector<llvm::Value*>;

  // emit_kernel.cpp
  void outer_loops(int32_t depth);
  void stages();
  void stage(size_t at);
  void stage_loops(const kernel::Stage& stage, size_t depth, Carried& carried);
  void stage_body(const kernel::Stage& stage, Carried& carried);
  std::vector<llvm::Value*> finish_reductions(const kernel::Stage& stage, const Carried& carried);
  /// `body` for position = begin, begin + step, … below end; `carried` passes from each to the next.
  void loop(llvm::Value* begin, llvm::Value* end, int64_t step, Carried& carried, const Body& body);
  void when(llvm::Value* condition, Carried& carried, const std::function<void()>& body);
  /// A lane loop in three parts: `units` vectors at a time, one at a time, and the rest under a mask. A long body is emitted
  /// once, all of it under a mask.
  void lane_loop(int32_t loop, llvm::Value* begin, llvm::Value* end, int units, Carried& carried, const std::function<void()>& body);
  void open(Level level);
  void close() { levels_.pop_back(); }

  // values.cpp
  /// The value of an instruction for a unit's lanes: a vector where it varies between lanes, else a scalar.
  llvm::Value* value(int32_t id, int unit);
  /// The same, always with lanes if `lanes`.
  llvm::Value* widened(int32_t id, int unit);
  /// The value in lane 0, of an index that moves evenly.
  llvm::Value* first(int32_t id, int unit);
  llvm::Value* compute(int32_t id, int unit);
  llvm::Value* fused(const kernel::Instruction& instruction, int unit);
  llvm::Value* load(const kernel::Instruction& instruction, int unit);
  void store(const kernel::Store& store, int unit, llvm::Value* value);
  llvm::Value* sum_of_product(int32_t id, int unit, llvm::Value* accumulator, bool lanes);
  llvm::Value* address(int32_t operand, const std::vector<int32_t>& indices, int unit);
  llvm::Value* addresses(int32_t operand, const std::vector<int32_t>& indices, int unit, const Motion& motion);
  llvm::Value* kept_inside(llvm::Value* offset, int32_t operand, const std::vector<int32_t>& indices);
  llvm::Value* stride(int32_t operand, size_t dim);
  llvm::Value* size(const kernel::Size& size);
  llvm::Value* base(int32_t operand);
  llvm::Value* lane_numbers();
  llvm::Value* mask() const { return lane_level_ < 0 ? nullptr : levels_[static_cast<size_t>(lane_level_)].mask; }
  Level& level_of(int32_t id);
  void choose_lanes(int32_t loop, bool results);
  const kernel::Instruction& instruction(int32_t id) const { return kernel_.body[static_cast<size_t>(id)]; }
  bool varies(int32_t id) const { return varying_[static_cast<size_t>(id)]; }
  /// Emits at the end of a level's first block, then goes back.
  template <class Emit>
  llvm::Value* at_level(Level& level, Emit emit) {
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(level.end);
    return emit();
  }

  const kernel::Kernel& kernel_;
  Analysis analysis_;
  Schedule schedule_;
  llvm::Function& function_;
  llvm::IRBuilder<> b_;
  ScalarEmitter scalar_;
  std::vector<Level> levels_;
  int lane_level_ = -1;     ///< the level whose loop fills the lanes
  int units_ = 1;           ///< vectors side by side in what is emitted now
  int32_t lane_loop_ = -1;  ///< lanes are iterations of this loop
  std::vector<bool> varying_;
  bool long_body_;  ///< has random numbers, whose instructions take LLVM longer than all others
  std::vector<std::vector<std::vector<llvm::Value*>>> results_;  ///< stage, reduction, unit
};

}  // namespace dtl::codegen
