// How a kernel's loops are run on vectors: what depends on what, how memory is met, which loop fills the lanes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace dtl::codegen {

/// What an instruction depends on and whether it may leave its loops.
struct Facts {
  uint64_t loops = 0;    ///< bit l: the value changes with loop l
  bool reduced = false;  ///< uses a stage's result
  bool pinned = false;   ///< evaluated where it is used: memory that the kernel writes, or that a loop without trips protects
  bool found = false;    ///< looked up in memory or clamped: where it points is known when it runs
  int uses = 0;          ///< by instructions, stores and reductions
};

/// How an access moves when the lane loop advances by one.
struct Motion {
  enum class Kind : uint8_t {
    fixed,    ///< not at all
    strided,  ///< by `stride` elements
    general,  ///< by something else
  } kind;
  int64_t stride = 0;
};

class Analysis {
 public:
  explicit Analysis(const kernel::Kernel& kernel);

  const Facts& operator[](int32_t value) const { return facts_[static_cast<size_t>(value)]; }
  /// For each instruction: does it differ between lanes of `loop` (−1: no lanes)? With `results`, stages' results do too.
  std::vector<bool> varying(int32_t loop, bool results) const;
  /// `varying` is for the same loop.
  Motion motion(int32_t operand, const std::vector<int32_t>& indices, int32_t loop, const std::vector<bool>& varying) const;

 private:
  std::optional<int64_t> coefficient(int32_t value, int32_t loop, const std::vector<bool>& varying) const;

  const kernel::Kernel& kernel_;
  std::vector<Facts> facts_;
};

/// The choice of lane loops. It depends on the kernel's text and the lanes alone, never on extents or threads.
struct Schedule {
  int lanes = 1;
  bool column = false;         ///< the lanes are iterations of the last outer loop, for all stages
  int column_units = 1;        ///< vectors side by side in column mode
  std::vector<int32_t> loops;  ///< else, for each stage: the loop that fills the lanes, or −1
  std::vector<int> units;      ///< for each stage: vectors side by side, each with its own accumulators
};
Schedule make_schedule(const kernel::Kernel& kernel, const Analysis& analysis, int lanes);

/// Does an f64 change with a loop? Then lanes are counted for f64; a scalar computed once in f64 is no reason to.
bool varies_in_f64(const kernel::Kernel& kernel, const Analysis& analysis);

}  // namespace dtl::codegen
