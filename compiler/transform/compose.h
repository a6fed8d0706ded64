// Composition: the kernel rules of a group's nodes become one kernel.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "compiler/kernel/kernel.h"
#include "compiler/transform/fusion.h"

namespace dtl::transform {

struct Composed {
  kernel::Kernel kernel;
  std::vector<graph::ValueId> operands;  ///< the value behind each operand
  std::vector<plan::Extent> slots;       ///< what each of the kernel's slots is
  plan::Extent outer;                    ///< trip count of the outermost loop
  bool flat = false;                     ///< one loop over all elements; its size is slot 0
};

/// Nothing if a unit reads another's reduction at an index that is not its own outer one, or through a view that reshapes.
/// Elements of `stored` are written; `memory` is what may be loaded, as far as it is not the group's own.
std::optional<Composed> compose(const Lowered& lowered, const Group& group, const std::set<graph::ValueId>& memory,
                                const std::set<graph::ValueId>& stored);

}  // namespace dtl::transform
