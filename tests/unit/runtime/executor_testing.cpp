// The hand-made Plan of the executor's tests.
#include "executor_testing.h"

#include <cstring>

namespace dtl::train::testing {

using plan::Extent;
using plan::Space;

Rows::Rows(int64_t n, bool fractions) : n_(n), fractions_(fractions), fields_{{"x", DType::f32, {kFeatures}}, {"id", DType::i64, {}}} {}

float Rows::x(int64_t row, int64_t feature) const {
  const auto whole = static_cast<float>((row * 7 + feature * 3) % 5 - 2);
  return fractions_ ? whole * 0.01f + 1.0f / static_cast<float>(row + feature + 1) : whole;
}

void Rows::gather(size_t field, std::span<const int64_t> rows, std::byte* to) const {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (field == 1) {
      std::memcpy(to + i * sizeof(int64_t), &rows[i], sizeof(int64_t));
      continue;
    }
    for (int64_t feature = 0; feature < kFeatures; ++feature) {
      const float value = x(rows[i], feature);
      std::memcpy(to + (i * kFeatures + static_cast<size_t>(feature)) * sizeof value, &value, sizeof value);
    }
  }
}

namespace {

template <class T>
T* as(void* operand) {
  return static_cast<T*>(operand);
}

/// Operands y, r; extents rows. Over outputs.
void sum_rows(void* const* operands, const int64_t* extents, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < extents[0]; ++i) sum += as<float>(operands[0])[i * kOutputs + j];
    as<float>(operands[1])[j] = sum;
  }
}

/// Operands G, weights. Over elements.
void update(void* const* operands, const int64_t*, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) as<float>(operands[1])[i] += as<float>(operands[0])[i];
}

/// Operands R, sum, count; extents global rows. No outer loop.
void metrics(void* const* operands, const int64_t* extents, int64_t, int64_t) {
  for (int64_t j = 0; j < kOutputs; ++j) *as<double>(operands[1]) += static_cast<double>(as<float>(operands[0])[j]);
  *as<int64_t>(operands[2]) += extents[0];
}

/// Operands id, first_row; extents rows, begin. No outer loop.
void first_row(void* const* operands, const int64_t* extents, int64_t, int64_t) {
  if (extents[0] > 0) as<int64_t>(operands[1])[extents[1]] = as<int64_t>(operands[0])[0];
}

/// Operand weights. Over elements.
void reset_weights(void* const* operands, const int64_t*, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) as<float>(operands[0])[i] = static_cast<float>(i % 3);
}

/// Lays buffers out one after another.
int32_t add(plan::Plan& plan, std::string name, DType dtype, std::vector<Extent> dims, Space space) {
  int64_t elements = 1;
  for (const Extent& dim : dims) elements *= dim.scale * (dim.slot < 0 ? 1 : plan.extents[static_cast<size_t>(dim.slot)].bound);
  const int64_t bytes = elements * size_of(dtype);
  int64_t& end = space == Space::arena    ? plan.arena_bytes
                 : space == Space::shared ? plan.shared_bytes
                 : space == Space::state  ? plan.state_bytes
                                          : plan.input_bytes;
  plan.buffers.push_back({std::move(name), dtype, std::move(dims), space, end, bytes});
  end += (bytes + 63) / 64 * 64;
  return static_cast<int32_t>(plan.buffers.size()) - 1;
}

plan::Step kernel(int32_t index, std::vector<int32_t> buffers, std::vector<Extent> extents, Extent outer, plan::Partition partition,
                  int64_t grain) {
  plan::Step step{.kind = plan::StepKind::kernel, .partition = partition, .note = "kernel " + std::to_string(index)};
  step.kernel = {index, std::move(buffers), std::move(extents), outer, grain};
  return step;
}

plan::Step gemm(plan::GemmStep product) {
  plan::Step step{.kind = plan::StepKind::gemm};
  step.gemm = product;
  return step;
}

plan::Step barrier(plan::BarrierScope scope) {
  plan::Step step{.kind = plan::StepKind::barrier};
  step.barrier = scope;
  return step;
}

}  // namespace

plan::Executable training(int64_t replicas) {
  plan::Executable made;
  plan::Plan& plan = made.plan;
  plan.mesh = {{"data", replicas}};
  plan.extents = {{"batch", plan::ExtentKind::global, kBound},
                  {"batch/data", plan::ExtentKind::share, (kBound + replicas - 1) / replicas, 0, 0},
                  {"batch/data.begin", plan::ExtentKind::begin, kBound, 0, 0}};
  const Extent batch{1, 0}, rows{1, 1}, begin{1, 2};
  const int32_t x = add(plan, "x", DType::f32, {rows, {kFeatures}}, Space::input);
  const int32_t id = add(plan, "id", DType::i64, {rows}, Space::input);
  const int32_t weights = add(plan, "weights", DType::f32, {{kFeatures}, {kOutputs}}, Space::state);
  const int32_t sum = add(plan, "sum", DType::f64, {}, Space::state);
  const int32_t count = add(plan, "count", DType::i64, {}, Space::state);
  const int32_t firsts = add(plan, "first_row", DType::i64, {{kBound}}, Space::state);
  const int32_t y = add(plan, "y", DType::f32, {rows, {kOutputs}}, Space::arena);
  const int32_t g = add(plan, "g", DType::f32, {{kFeatures}, {kOutputs}}, Space::arena);
  const int32_t r = add(plan, "r", DType::f32, {{kOutputs}}, Space::arena);
  const int32_t total_g = add(plan, "G", DType::f32, {{kFeatures}, {kOutputs}}, Space::shared);
  const int32_t total_r = add(plan, "R", DType::f32, {{kOutputs}}, Space::shared);
  plan.states = {{"model/weights", plan::StateRole::weight, weights},
                 {"train/sum", plan::StateRole::metric, sum},
                 {"train/count", plan::StateRole::metric, count},
                 {"first_row", plan::StateRole::state, firsts}};
  plan.kernels = {{"sum_rows", ""}, {"update", ""}, {"metrics", ""}, {"first_row", ""}, {"reset", ""}};
  made.kernels = {sum_rows, update, metrics, first_row, reset_weights};

  plan::Entry train{.name = "train_step", .inputs = {{"id", id}, {"x", x}}};
  train.steps.push_back(gemm({.dtype = DType::f32, .m = rows, .n = {kOutputs}, .k = {kFeatures}, .a = x, .b = weights, .c = y}));
  train.steps.push_back(barrier(plan::BarrierScope::team));
  train.steps.push_back(
      gemm({.dtype = DType::f32, .transpose_a = true, .m = {kFeatures}, .n = {kOutputs}, .k = rows, .a = x, .b = y, .c = g}));
  train.steps.push_back(kernel(0, {y, r}, {rows}, {kOutputs}, plan::Partition::team, 1));
  train.steps.push_back(kernel(3, {id, firsts}, {rows, begin}, {1}, plan::Partition::team, 1));
  train.steps.push_back(barrier(plan::BarrierScope::all));
  plan::Step reduce{.kind = plan::StepKind::reduce, .partition = plan::Partition::sliced, .note = "bucket 0"};
  reduce.reduce = {.op = ReduceOp::sum, .bucket = 0, .axis = 0, .from = {g, r}, .to = {total_g, total_r}};
  train.steps.push_back(reduce);
  train.steps.push_back(barrier(plan::BarrierScope::all));
  train.steps.push_back(kernel(1, {total_g, weights}, {}, {kFeatures * kOutputs}, plan::Partition::sliced, 16));
  train.steps.push_back(kernel(2, {total_r, sum, count}, {batch}, {1}, plan::Partition::sliced, 16));

  plan::Entry reset{.name = "reset"};
  reset.steps.push_back(kernel(4, {weights}, {}, {kFeatures * kOutputs}, plan::Partition::sliced, 16));
  plan.entries = {train, reset};
  return made;
}

void Expected::reset() {
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i % 3);
}

void Expected::step(const Rows& source, const std::vector<int64_t>& rows) {
  const std::vector<double> old = weights;
  for (const int64_t row : rows) {
    for (int64_t j = 0; j < kOutputs; ++j) {
      double y = 0;
      for (int64_t i = 0; i < kFeatures; ++i) y += static_cast<double>(source.x(row, i)) * old[static_cast<size_t>(i * kOutputs + j)];
      sum += y;
      for (int64_t i = 0; i < kFeatures; ++i) weights[static_cast<size_t>(i * kOutputs + j)] += static_cast<double>(source.x(row, i)) * y;
    }
  }
}

}  // namespace dtl::train::testing
