// Kernels as text: operands, loops, one instruction a line, stages.
#include <fmt/format.h>

#include "compiler/kernel/kernel.h"
#include "compiler/types/scan.h"

namespace dtl::kernel {
namespace {

std::string size_text(const Size& size) {
  if (size.slot < 0) return fmt::format("{}", size.scale);
  if (size.scale == 1) return fmt::format("${}", size.slot);
  return fmt::format("{}*${}", size.scale, size.slot);
}

std::string values_text(const std::vector<int32_t>& values) {
  std::string text;
  for (const int32_t value : values) text += fmt::format("{}%{}", text.empty() ? "" : ", ", value);
  return text;
}

std::string instruction_text(const Instruction& instruction) {
  std::string text = fmt::format("{} {}", name_of(instruction.scalar), name_of(instruction.dtype));
  switch (instruction.scalar) {
    case Scalar::constant:
      return text + " " + types::number_text(instruction.number);
    case Scalar::loop:
    case Scalar::begin:
      return text + fmt::format(" {}", instruction.index);
    case Scalar::size:
      return text + " " + size_text(instruction.size);
    case Scalar::load:
      return text + fmt::format(" {}[{}]", instruction.index, values_text(instruction.args));
    case Scalar::reduced:
      return text + fmt::format(" {}.{}", instruction.index, static_cast<int64_t>(instruction.number));
    case Scalar::uniform:
    case Scalar::negate:
    case Scalar::abs:
    case Scalar::exp:
    case Scalar::log:
    case Scalar::log1p:
    case Scalar::sqrt:
    case Scalar::rsqrt:
    case Scalar::tanh:
    case Scalar::sigmoid:
    case Scalar::erf:
    case Scalar::sin:
    case Scalar::cos:
    case Scalar::floor:
    case Scalar::ceil:
    case Scalar::round:
    case Scalar::sign:
    case Scalar::logical_not:
    case Scalar::is_nan:
    case Scalar::add:
    case Scalar::subtract:
    case Scalar::multiply:
    case Scalar::divide:
    case Scalar::power:
    case Scalar::maximum:
    case Scalar::minimum:
    case Scalar::mod:
    case Scalar::floor_div:
    case Scalar::logical_and:
    case Scalar::logical_or:
    case Scalar::equal:
    case Scalar::not_equal:
    case Scalar::less:
    case Scalar::less_equal:
    case Scalar::select:
    case Scalar::cast:
      return text + " " + values_text(instruction.args);
  }
  __builtin_unreachable();
}

std::string stage_text(const Stage& stage) {
  std::string text = "stage [";
  for (size_t i = 0; i < stage.loops.size(); ++i) text += fmt::format("{}{}", i ? ", " : "", stage.loops[i]);
  text += "]\n";
  for (const Reduction& reduction : stage.reductions) text += fmt::format("  reduce {} %{}\n", name_of(reduction.op), reduction.value);
  for (const Store& store : stage.stores)
    text += fmt::format("  store {}[{}] %{}\n", store.operand, values_text(store.indices), store.value);
  return text;
}

}  // namespace

std::string print(const Kernel& kernel) {
  std::string text;
  for (size_t i = 0; i < kernel.operands.size(); ++i) {
    const Operand& operand = kernel.operands[i];
    std::string dims;
    for (const Size& size : operand.dims) dims += (dims.empty() ? "" : ", ") + size_text(size);
    text += fmt::format("operand {} {}[{}]{}\n", i, name_of(operand.dtype), dims, operand.written ? " written" : "");
  }
  for (size_t i = 0; i < kernel.loops.size(); ++i) {
    text += fmt::format("{} {} {}\n", static_cast<int32_t>(i) < kernel.outer ? "outer" : "inner", i, size_text(kernel.loops[i]));
  }
  for (size_t i = 0; i < kernel.body.size(); ++i) text += fmt::format("%{} = {}\n", i, instruction_text(kernel.body[i]));
  for (const Stage& stage : kernel.stages) text += stage_text(stage);
  return text;
}

}  // namespace dtl::kernel
