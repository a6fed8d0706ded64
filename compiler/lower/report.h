// Reported scalars as accumulators: which reductions over the batch a value is made of, and the function over them.
//
// A report accumulates exactly: each outermost reduction over the batch keeps an f64 accumulator over the steps of an epoch,
// combined by the reduction's own op, and what the program computes from reductions is computed once, from the accumulators.
// `mean` is divide(sum, size(batch)): two accumulators, added up, divided at the end. Whatever else a report reads (the
// learning rate, a weight's norm) is kept as its latest value.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::lower {

/// A step's batch is all of an update, or one of several: each but the last adds to what waits, the last one closes the sum.
enum class Batches : uint8_t { one, adds, closes };

struct Report {
  std::string name;  ///< `loss`
  graph::ValueId value;
  source::Range range;
};

struct ReportSet {
  std::string prefix;  ///< `train` or `eval`: paths are `train/loss`, accumulators `train/loss.0`
  std::vector<Report> reports;
  /// Values that a report does not look behind: new weights and states, whose history is not a reduction.
  std::set<graph::ValueId> opaque;
  /// With several batches, reductions wait in accumulators of each member's own until the last one: only then is there a
  /// collective, and only then do the accumulators proper, and what is kept as its latest value, change.
  Batches batches = Batches::one;
};

/// Adds the accumulators of `reports` to function `step`, whose nodes compute the reported values, and a function
/// `<prefix>_report` from accumulators to reports, in f64 and i64 (none for Batches::adds). Nothing if there are no reports.
void add_reports(graph::Graph& graph, const graph::OpTable& ops, graph::FunctionId step, const ReportSet& reports);

}  // namespace dtl::lower
