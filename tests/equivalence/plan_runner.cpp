// Graphs as plans.
#include "plan_runner.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "compiler/ops/registry.h"
#include "compiler/transform/make_plan.h"

namespace dtl::test {
namespace {

template <class Visit>
void with_type(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::f64:
      return visit(double{});
    case DType::f32:
      return visit(float{});
    case DType::i64:
      return visit(int64_t{});
    case DType::i32:
      return visit(int32_t{});
    case DType::i8:
      return visit(int8_t{});
    case DType::u8:
    case DType::boolean:
      return visit(uint8_t{});
    case DType::bf16:
    case DType::f16:
      FAIL("no plan holds " << name_of(dtype));
  }
}

std::vector<std::byte> to_bytes(const graph::Array& array) {
  std::vector<std::byte> bytes(array.data.size() * static_cast<size_t>(size_of(array.dtype)));
  with_type(array.dtype, [&](auto zero) {
    for (size_t i = 0; i < array.data.size(); ++i) {
      const auto value = static_cast<decltype(zero)>(array.data[i]);
      std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
  });
  return bytes;
}

graph::Array from_bytes(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes) {
  graph::Array array{dtype, std::move(shape), {}};
  with_type(dtype, [&](auto zero) {
    for (size_t i = 0; i < bytes.size() / sizeof zero; ++i) {
      auto value = zero;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      array.data.push_back(static_cast<double>(value));
    }
  });
  return array;
}

/// Whole arrays as a source: their rows.
class ArraySource : public data::Source {
 public:
  void add(const graph::Array& array) {
    fields_.push_back({"", array.dtype, {array.shape.begin() + 1, array.shape.end()}});
    bytes_.push_back(to_bytes(array));
    rows_ = array.shape[0];
  }
  int64_t examples() const override { return rows_; }
  const std::vector<data::Field>& fields() const override { return fields_; }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    const auto bytes = static_cast<size_t>(fields_[field].bytes());
    for (const int64_t row : rows) to = std::copy_n(bytes_[field].begin() + row * static_cast<int64_t>(bytes), bytes, to);
  }

 private:
  std::vector<data::Field> fields_;
  std::vector<std::vector<std::byte>> bytes_;
  int64_t rows_ = 0;
};

}  // namespace

PlanRunner::PlanRunner(const graph::Graph& graph, int threads_per_replica) : graph_(graph), jit_({}) {
  auto plan = transform::make_plan(graph, ops::table());
  if (!plan) FAIL(plan.error().text);
  executable_.plan = std::move(*plan);
  executable_.kernels = jit_.compile(executable_.plan.kernels);
  int replicas = 1;
  for (const plan::MeshAxis& axis : executable_.plan.mesh) replicas *= static_cast<int>(axis.size);
  executor_ = std::make_unique<train::Executor>(executable_, train::Topology{replicas, threads_per_replica});
}

int PlanRunner::state_of(const graph::Port& port) const {
  for (size_t i = 0; i < executable_.plan.states.size(); ++i) {
    const plan::StateEntry& state = executable_.plan.states[i];
    const std::string& path =
        port.path.empty() ? (port.role == graph::Role::none ? graph_[port.value].name : std::string(graph::name_of(port.role))) : port.path;
    if (state.path == path) return static_cast<int>(i);
  }
  FAIL("no state for `" << port.path << "`");
  return -1;
}

std::vector<graph::Array> PlanRunner::run(const std::string& name, const std::vector<graph::Array>& params,
                                          const std::map<std::string, int64_t>& dims) {
  const graph::Function& function = graph_[*graph_.find_function(name)];
  ArraySource source;
  std::vector<int> fields;
  for (size_t i = 0; i < function.params.size(); ++i) {
    const graph::Port& port = function.params[i];
    if (port.role == graph::Role::input) {
      fields.push_back(static_cast<int>(fields.size()));
      source.add(params[i]);
    } else {
      const auto bytes = to_bytes(params[i]);
      REQUIRE(executor_->whole_bytes(state_of(port)) == static_cast<int64_t>(bytes.size()));
      executor_->write(state_of(port), bytes);
    }
  }
  std::vector<int64_t> rows;
  if (dims.contains("batch")) {
    for (int64_t row = 0; row < dims.at("batch"); ++row) rows.push_back(row);
  }
  executor_->run(executor_->find(name), {&source, rows}, fields);
  std::vector<graph::Array> results;
  for (const graph::Port& port : function.results) {
    const types::TensorType& type = graph_[port.value].type;
    std::vector<int64_t> shape;
    for (const types::Dim& dim : type.dims) shape.push_back(dim.evaluate(dims));
    std::vector<std::byte> whole(static_cast<size_t>(executor_->whole_bytes(state_of(port))));
    executor_->read(state_of(port), whole);
    results.push_back(from_bytes(type.dtype, std::move(shape), whole));
  }
  return results;
}

void PlanRunner::run(const std::string& entry, const std::map<std::string, graph::Array>& fields) {
  const int index = executor_->find(entry);
  REQUIRE(index >= 0);
  ArraySource source;
  std::vector<int> order;
  std::vector<int64_t> rows;
  for (const plan::InputField& input : plan().entries[static_cast<size_t>(index)].inputs) {
    REQUIRE(fields.contains(input.name));
    order.push_back(static_cast<int>(order.size()));
    source.add(fields.at(input.name));
  }
  for (int64_t row = 0; row < source.examples(); ++row) rows.push_back(row);
  executor_->run(index, {&source, rows}, order);
}

graph::Array PlanRunner::state(size_t index) const {
  const plan::StateEntry& state = plan().states[index];
  std::vector<int64_t> shape;
  for (const plan::Extent& dim : state.whole) shape.push_back(dim.scale);
  std::vector<std::byte> whole(static_cast<size_t>(executor_->whole_bytes(static_cast<int>(index))));
  executor_->read(static_cast<int>(index), whole);
  return from_bytes(plan().buffers[static_cast<size_t>(state.buffer)].dtype, std::move(shape), whole);
}

graph::Array PlanRunner::state(plan::StateRole role, const std::string& path) const {
  const int index = executor_->find_state(path, role);
  INFO("no state `" << path << "`");
  REQUIRE(index >= 0);
  return state(static_cast<size_t>(index));
}

std::vector<graph::Array> PlanRunner::states() const {
  std::vector<graph::Array> result;
  for (size_t i = 0; i < plan().states.size(); ++i) result.push_back(state(i));
  return result;
}

void PlanRunner::start(int64_t seed) {
  for (size_t i = 0; i < plan().states.size(); ++i) {
    const auto memory = executor_->state(static_cast<int>(i));
    std::fill(memory.begin(), memory.end(), std::byte{0});
    if (plan().states[i].role == plan::StateRole::seed) executor_->set_scalar(static_cast<int>(i), static_cast<double>(seed));
  }
  reset_metrics();
  executor_->run(executor_->find("init"));
}

void PlanRunner::reset_metrics() {
  for (size_t i = 0; i < plan().states.size(); ++i) {
    const plan::StateRole role = plan().states[i].role;
    if (role == plan::StateRole::metric || role == plan::StateRole::pending) executor_->reset(static_cast<int>(i));
  }
}

}  // namespace dtl::test
