// How `accumulate` joins batches: what each counts, and what it cannot join: values of a row that depend on other rows of its batch.
#pragma once

#include <optional>
#include <vector>

#include "compiler/graph/op.h"
#include "compiler/sema/program.h"
#include "compiler/sema/reporter.h"

namespace dtl::sema {

/// What a batch counts where `loss` is a weighted mean over the batch (plus what does not depend on the data): the sum of its
/// weights, a scalar of the body, by which the loss divides. Σ wᵢ·gᵢ / Σ wᵢ over the batches of an update is then the gradient of the
/// weighted mean over all their rows. Nothing where a batch counts its rows: a mean, a sum, anything else.
std::optional<int32_t> weight_of_batch(const Body& body, int32_t loss);

/// The first value on the way to `loss` that has a row for each example and depends on a reduction over the batch, such as what a
/// batch norm makes: with several batches in an update it is not what one batch of all their rows would give. Its statement, or null.
const Statement* row_that_knows_others(const Body& body, const graph::OpTable& ops, int32_t loss);

/// Warns once for each such value of the training step, where an update has several batches. `ranges`: where each value of the
/// step's body comes from.
void warn_of_joined_batches(Reporter& reporter, const Program& program, const graph::OpTable& ops,
                            const std::vector<source::Range>& ranges);

}  // namespace dtl::sema
