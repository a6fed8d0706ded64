// Barriers: where two steps on different threads touch one place and one of them writes, a barrier stands between them.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/kernel.h"
#include "runtime/plan/plan.h"

namespace dtl::transform {

/// The steps with the barriers they need, as late as possible; buffers have their offsets. Threads of a team wait for one
/// another where memory of their replica is at stake, all threads where shared memory is, or another replica's. The end of
/// an entry is a barrier of all.
std::vector<plan::Step> with_barriers(const plan::Plan& plan, const std::vector<kernel::Kernel>& kernels, std::vector<plan::Step> steps);

}  // namespace dtl::transform
