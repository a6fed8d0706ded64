// Evaluation and prediction.
#include "runtime/train/infer.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "runtime/data/order.h"
#include "runtime/plan/fault.h"
#include "runtime/train/interrupt.h"

namespace dtl::train {

Evaluation evaluate(Executor& executor, const std::vector<Split>& splits, const Batches& batches, const report::Position& position,
                    report::Progress& progress) {
  const Interrupt interrupt;
  Phase phase(executor, "eval");
  assert(phase.exists());
  Evaluation result;
  for (const Split& split : splits) {
    split.source->finish();
    if (split.source->examples() == 0) throw Fault(5108, {split.name});
    const auto values = evaluate_split(phase, split, batches.fields, batches.batch, interrupt);
    if (!values) break;
    progress.evaluation(split.name, position, *values);
    for (const auto& [name, value] : *values) result.reports.emplace_back(split.name + "/" + name, value);
  }
  result.signal = interrupt.signal();
  return result;
}

std::vector<Output> outputs_of(const plan::Plan& plan) {
  std::vector<Output> outputs;
  for (size_t i = 0; i < plan.states.size(); ++i) {
    if (plan.states[i].role != plan::StateRole::output) continue;
    const plan::Buffer& buffer = plan.buffers[static_cast<size_t>(plan.states[i].buffer)];
    data::Field row{plan.states[i].path, buffer.dtype, {}};
    for (size_t dim = 1; dim < buffer.dims.size(); ++dim) row.shape.push_back(buffer.dims[dim].scale);
    outputs.push_back({plan.states[i].path, std::move(row), static_cast<int>(i)});
  }
  return outputs;
}

int predict(Executor& executor, const data::Source& source, const Batches& batches, const TakeRows& take) {
  const Interrupt interrupt;
  const int entry = executor.find("predict_step");
  assert(entry >= 0);
  const std::vector<int> fields = fields_of(executor.plan(), entry, source, batches.fields);
  const std::vector<Output> outputs = outputs_of(executor.plan());
  std::vector<std::vector<std::byte>> memory;
  for (const Output& output : outputs) memory.emplace_back(static_cast<size_t>(output.row.bytes() * batches.batch));
  std::vector<std::span<const std::byte>> given(outputs.size());
  data::Order order(source.examples(), 0, 0);
  const std::span<const int64_t> rows = order.epoch(0);
  for (int64_t i = 0; i < data::batches_of(source.examples(), batches.batch) && !interrupt.asked(); ++i) {
    const std::span<const int64_t> batch = data::batch_of(rows, batches.batch, i);
    executor.run(entry, {&source, batch}, fields);
    for (size_t k = 0; k < outputs.size(); ++k) {
      const int64_t bytes = outputs[k].row.bytes();
      // Each replica has its own rows; on an axis that does not divide the batch, replicas have the same ones.
      for (int replica = 0; replica < executor.topology().replicas; ++replica) {
        const Executor::Rows part = executor.rows_of(outputs[k].state, static_cast<int64_t>(batch.size()), replica);
        if (part.count > 0)
          std::memcpy(&memory[k][static_cast<size_t>(part.begin * bytes)], part.elements, static_cast<size_t>(part.count * bytes));
      }
      given[k] = std::span(memory[k]).first(batch.size() * static_cast<size_t>(bytes));
    }
    take(static_cast<int64_t>(batch.size()), given);
  }
  return interrupt.signal();
}

}  // namespace dtl::train
