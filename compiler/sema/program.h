// Program: names resolved, types solved, layers instantiated, hyperparameters evaluated. What lower turns into a Graph.
//
// takes:    Asts of the file and the library, overrides, a way to open data
// gives:    one typed body per entry point, the weights and states they use, data and strategy as plain values
// promises: every operation satisfies its op's infer; every name is resolved; only `batch` and `batch/share` are symbolic
// print it: `dslc emit --stage typed`
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/sema/data_catalogue.h"
#include "compiler/source/source_file.h"
#include "compiler/types/attrs.h"
#include "compiler/types/placement.h"
#include "compiler/types/tensor_type.h"

namespace dtl::sema {

/// A tensor in a body: index into Body::values.
struct TypedValue {
  std::string name;  ///< from a `let`, else the op's; need not be unique
  types::TensorType type;
  bool local = false;  ///< inside per_replica: each replica's own
};

struct MinimizeSite;

enum class StatementKind : uint8_t {
  op,            ///< results = op(operands) with attrs; `constant` among them
  input,         ///< results[0] = field `path` of the batch
  read_weight,   ///< results[0] = weight `index`
  read_state,    ///< results[0] = state `index`
  write_state,   ///< state `index` <- operands[0]
  read_updates,  ///< results[0] = i64[] count of updates made so far
  read_seed,     ///< results[0] = i64[]
  read_rows,     ///< results[0] = i64[] rows before this batch: of the update while training, else of the split
  minimize,      ///< loss operands[0], site `index`; operands[1], if any: what the batch counts among those of an update
  report,        ///< operands[0] is reported as `path`
  check_index,   ///< results[0] = operands[0], whose numbers are indices of site `index`: one out of range is a fault
  enter,         ///< a layer instance or per-replica region `path` opens (printing, node scopes)
  leave,
};

struct Statement {
  StatementKind kind;
  source::Range range;
  std::string op;  ///< name in the op table
  types::Attrs attrs;
  std::vector<int32_t> operands, results;  ///< indices into Body::values
  int32_t index = -1;
  std::string path;
};

struct Body {
  std::vector<TypedValue> values;
  std::vector<Statement> statements;
};

/// A weight or a state of a layer, or one that an optimizer keeps for a weight.
struct Variable {
  std::string path;  ///< `Classifier/dense.0/kernel`; optimizer's: `Classifier/dense.0/kernel:adam.m`
  types::TensorType type;
  source::Range range;
  std::string model;                           ///< the model it is under
  types::OwnPlacement placement = {};  ///< written with `@`; empty: none
  Body init;                                   ///< no inputs; may read the seed
  int32_t init_value = -1;
};

/// The optimizer's rule for one weight: reads the weight and gradient, writes weight and states.
struct Update {
  int32_t weight;  ///< index into Program::weights
  Body body;
  int32_t w = -1, g = -1, updates = -1;  ///< values of `body` that stand for the weight, its gradient, the count from 1
  std::vector<int32_t> state_values;     ///< values of `body` that stand for the states before
  std::vector<int32_t> states;           ///< indices into Program::optimizer_states
  int32_t new_w = -1;                    ///< the weight after
  std::vector<int32_t> new_states;       ///< the states after
};

/// What is done to the gradients of a site, reduced and all together, before its updates see them.
struct GradientRule {
  Body body;
  std::vector<int32_t> before, after;  ///< values of `body`, in the order of the site's updates
};

struct MinimizeSite {
  source::Range range;
  std::optional<GradientRule> clip;
  std::vector<Update> updates;  ///< one for each weight it is over
};

struct DataSplit {
  std::string name;  ///< `train`, `validation`, `test`
  SourceSpec source;
  SplitInfo info;
};

struct Dataset {
  std::string name;
  std::vector<DataSplit> splits;
  int64_t batch = 1;
  int64_t shuffle = 0;      ///< 0: none; −1: all; n: a window of n examples
  int64_t skip_limit = -1;  ///< `on_error`: so many faulty rows are left out; −1: the first one stops
  std::vector<VocabularySpec> vocabularies;
  std::vector<IndexCheck> checks;     ///< each field once, with the smallest size
  std::vector<DerivedField> derived;  ///< inputs of entry bodies that are made of texts
};

/// Where a program uses numbers that it computes as indices.
struct IndexSite {
  std::string path;  ///< `index.0`
  std::string user;  ///< the function or layer that uses them
  int64_t size;      ///< how many things are indexed
  source::Range range;
};

/// `gradients = { … }`. One update takes the gradients of `accumulate` batches, weighted by their examples; then they are
/// clipped, elements first.
struct GradientSettings {
  int64_t accumulate = 1;
  std::optional<double> clip_value, clip_norm;
};

/// `stop_early = { … }`.
struct StopEarly {
  std::string split, report;  ///< `validation`, `loss`
  int64_t patience = 1;       ///< looks in a row without improvement after which training stops
  double minimum_change = 0;  ///< what counts as an improvement is more than this
  bool maximize = false;
  bool restore_best = false;  ///< weights and states of the best look are put back at the end
};

/// `checkpoint = { … }`; exactly one `every` is not 0.
struct CheckpointSettings {
  std::string directory;
  source::Range directory_range;
  int64_t every_epochs = 1, every_steps = 0;
  double every_seconds = 0;
  int64_t keep = 3;
  std::string watch;      ///< `validation/loss`: by it the best is known and kept; empty: no best
  bool maximize = false;  ///< of `watch`
};

/// When splits are evaluated while training; exactly one is not 0.
struct EvaluateEvery {
  int64_t epochs = 1, steps = 0;
};

/// What f32 means to a program: itself; f64; or itself, with products in bf16 or f16 (f16 with dynamic loss scaling).
enum class Precision : uint8_t { f32, f64, bf16, f16 };
std::string_view name_of(Precision precision);

/// What `dslc predict` computes of each example: evaluation, and nothing but what the outputs need.
struct Prediction {
  Body body;
  std::vector<std::pair<std::string, int32_t>> outputs;  ///< names and values of `body`; the first dimension is the batch
};

struct Program {
  std::string name;  ///< of the train block, or empty
  Dataset data;
  types::Strategy strategy;
  source::Range strategy_range;  ///< where it was chosen; nowhere if it was not
  std::vector<Variable> weights, states, optimizer_states;
  std::vector<MinimizeSite> minimize_sites;
  std::vector<IndexSite> index_sites;
  /// The raw fields that entry bodies read, in the data's order.
  std::vector<FieldInfo> fields;
  Body train_step;
  std::optional<Body> eval_step;         ///< nothing: no loss or metrics to evaluate
  std::optional<Prediction> prediction;  ///< only where it was asked for
  int64_t epochs = 0, steps = 0;         ///< exactly one is not 0; steps are updates
  int64_t seed = 0;
  bool seed_given = false;
  /// Where `all` stands, and how many devices it is on this machine.
  std::vector<std::pair<source::Range, int64_t>> devices_of_all;
  GradientSettings gradients;
  std::optional<StopEarly> stop_early;
  std::optional<CheckpointSettings> checkpoint;
  EvaluateEvery evaluate_every;
  /// Steps of an epoch: batches, joined by `accumulate`. 0 before the data is open.
  int64_t updates_per_epoch = 0;
  Precision precision = Precision::f32;
};

std::string print(const Program& program);

}  // namespace dtl::sema
