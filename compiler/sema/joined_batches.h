// What `accumulate` cannot join: values of a row that depend on the other rows of its batch.
#pragma once

#include "compiler/graph/op.h"
#include "compiler/sema/program.h"
#include "compiler/sema/reporter.h"

namespace dtl::sema {

/// The first value on the way to `loss` that has a row for each example and depends on a reduction over the batch, such as what a
/// batch norm makes: with several batches in an update it is not what one batch of all their rows would give. Its statement, or null.
const Statement* row_that_knows_others(const Body& body, const graph::OpTable& ops, int32_t loss);

/// Warns once for each such value of the training step, where an update has several batches. `ranges`: where each value of the
/// step's body comes from.
void warn_of_joined_batches(Reporter& reporter, const Program& program, const graph::OpTable& ops,
                            const std::vector<source::Range>& ranges);

}  // namespace dtl::sema
