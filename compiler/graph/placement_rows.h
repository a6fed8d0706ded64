// The ways in which one op may be placed along one mesh axis, derived from its record.
#pragma once

#include <vector>

#include "compiler/graph/op.h"

namespace dtl::graph {

/// In order of preference:
/// 1. for each letter of the op's axes that may be split: split wherever it occurs, broadcast operands that lack it; where no
///    result has it, each result is partial(combine);
/// 2. linearity: joint: all operands partial(sum) → partial(sum); each: one partial(sum), the others broadcast → partial(sum);
/// 3. the record's extra rows (earlier rows give way to an extra row over the same operands);
/// 4. all broadcast → broadcast;
/// 5. some operands varying, the others broadcast → varying.
/// A result whose type names a replica's share can only be varying: rows 3 and 5, and broadcast operands if there are no extra
/// rows. A collective has its extra rows only, along the mesh
/// axis it works on; along every other axis it leaves placements as they are.
std::vector<PlacementRow> placement_rows(const OpRecord& op, const PlacementContext& context);

/// Does a type name a replica's share of a dimension (`batch/share`)?
bool names_share(const types::TensorType& type);

}  // namespace dtl::graph
