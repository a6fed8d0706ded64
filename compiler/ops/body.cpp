// Instruction lists of kernel rules.
#include "compiler/ops/body.h"

#include <algorithm>

#include "compiler/source/check.h"

namespace dtl::ops {

int32_t Body::push(kernel::Instruction instruction) {
  body_.push_back(std::move(instruction));
  return static_cast<int32_t>(body_.size()) - 1;
}

int32_t Body::loop(size_t index) {
  kernel::Instruction instruction{Scalar::loop, DType::i64, {}};
  instruction.index = static_cast<int32_t>(index);
  return push(std::move(instruction));
}

std::vector<int32_t> Body::loops(size_t first, size_t count) {
  std::vector<int32_t> result;
  for (size_t i = 0; i < count; ++i) result.push_back(loop(first + i));
  return result;
}

int32_t Body::constant(double value, DType dtype) {
  kernel::Instruction instruction{Scalar::constant, dtype, {}};
  instruction.number = value;
  return push(std::move(instruction));
}

int32_t Body::size(const types::Dim& dim) {
  if (const auto constant_size = dim.constant()) return constant(static_cast<double>(*constant_size));
  std::optional<int32_t> sum;
  for (const auto& [symbols, coefficient] : dim.terms()) {
    std::optional<int32_t> term;
    if (coefficient != 1 || symbols.empty()) term = constant(static_cast<double>(coefficient));
    for (const std::string& symbol : symbols) {
      const types::Dim named = types::Dim::symbol(symbol);
      const auto at = std::find(sizes_.begin(), sizes_.end(), named);
      kernel::Instruction instruction{Scalar::size, DType::i64, {}};
      instruction.index = static_cast<int32_t>(at - sizes_.begin());
      if (at == sizes_.end()) sizes_.push_back(named);
      const int32_t value = push(std::move(instruction));
      term = term ? apply(Scalar::multiply, DType::i64, {*term, value}) : value;
    }
    sum = sum ? apply(Scalar::add, DType::i64, {*sum, *term}) : *term;
  }
  return *sum;
}

int32_t Body::late(int64_t value) {
  kernel::Instruction instruction{Scalar::size, DType::i64, {}};
  instruction.index = static_cast<int32_t>(sizes_.size());
  sizes_.emplace_back(value);
  return push(std::move(instruction));
}

int32_t Body::global(size_t dim) {
  kernel::Instruction begin{Scalar::begin, DType::i64, {}};
  begin.index = static_cast<int32_t>(dim);
  const int32_t first = push(std::move(begin));
  return apply(Scalar::add, DType::i64, {first, loop(dim)});
}

int32_t Body::load(int32_t operand, DType dtype, std::vector<int32_t> indices) {
  kernel::Instruction instruction{Scalar::load, dtype, std::move(indices)};
  instruction.index = operand;
  return push(std::move(instruction));
}

int32_t Body::apply(Scalar scalar, DType dtype, std::vector<int32_t> args) { return push({scalar, dtype, std::move(args)}); }

int32_t Body::cast(int32_t value, DType dtype) {
  if (body_[static_cast<size_t>(value)].dtype == dtype) return value;
  return apply(Scalar::cast, dtype, {value});
}

int32_t Body::clamp(int32_t index, const types::Dim& size_of_axis) {
  const int32_t low = apply(Scalar::maximum, DType::i64, {index, constant(0)});
  const int32_t last = size(size_of_axis - types::Dim(1));
  return apply(Scalar::minimum, DType::i64, {low, last});
}

int32_t Body::reduced(int32_t stage, DType dtype) {
  kernel::Instruction instruction{Scalar::reduced, dtype, {}};
  instruction.index = stage;
  return push(std::move(instruction));
}

int32_t Body::uniform(int64_t stream, DType dtype, std::vector<int32_t> args) {
  args.push_back(constant(static_cast<double>(stream)));
  return apply(Scalar::uniform, dtype, std::move(args));
}

graph::KernelRule Body::done(int32_t value) && {
  DTL_CHECK(value == static_cast<int32_t>(body_.size()) - 1, "the result is instruction {} of {}", value, body_.size());
  return {.reduced = {}, .sizes = std::move(sizes_), .combine = std::nullopt, .body = std::move(body_)};
}

graph::KernelRule Body::done(int32_t value, std::vector<types::Dim> reduced, ReduceOp combine) && {
  graph::KernelRule rule = std::move(*this).done(value);
  rule.reduced = std::move(reduced);
  rule.combine = combine;
  return rule;
}

graph::KernelRule elementwise_rule(const graph::LowerContext& context, kernel::Scalar scalar) {
  Body body;
  const std::vector<int32_t> index = body.loops(0, context.results[0].rank());
  std::vector<int32_t> args;
  for (size_t k = 0; k < context.operands.size(); ++k) args.push_back(body.load(static_cast<int32_t>(k), context.operands[k].dtype, index));
  const int32_t value = body.apply(scalar, context.results[0].dtype, args);
  return std::move(body).done(value);
}

}  // namespace dtl::ops
