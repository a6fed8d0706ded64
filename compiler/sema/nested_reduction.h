// A reduction over the batch that is nested in another: what cannot be accumulated over an epoch.
#pragma once

#include <cstdint>

#include "compiler/sema/program.h"

namespace dtl::sema {

/// The inner of two nested reductions on the way to `value`; −1: none. What a layer computes from the batch (a batch norm) belongs
/// to the step, and does not count.
int32_t nested_reduction(const Body& body, int32_t value);

}  // namespace dtl::sema
