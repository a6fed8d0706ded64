// What a kernel costs: arithmetic by trip counts, traffic by what is touched at least once.
#include <algorithm>
#include <vector>

#include "compiler/kernel/kernel.h"
#include "compiler/source/check.h"

namespace dtl::kernel {
namespace {

double value_of(const Size& size, const std::vector<int64_t>& extents) {
  if (size.slot < 0) return static_cast<double>(size.scale);
  DTL_CHECK(size.slot < static_cast<int32_t>(extents.size()), "a kernel's cost needs slot {}, and {} are given", size.slot, extents.size());
  return static_cast<double>(size.scale) * static_cast<double>(extents[static_cast<size_t>(size.slot)]);
}

/// Operations of one evaluation; functions are counted by what they cost beside an addition.
double flops_of(const Instruction& it) {
  switch (it.scalar) {
    case Scalar::constant:
    case Scalar::loop:
    case Scalar::size:
    case Scalar::begin:
    case Scalar::load:
    case Scalar::reduced:
    case Scalar::cast:
    case Scalar::select:
    case Scalar::logical_not:
    case Scalar::logical_and:
    case Scalar::logical_or:
      return 0;
    case Scalar::negate:
    case Scalar::abs:
    case Scalar::floor:
    case Scalar::ceil:
    case Scalar::round:
    case Scalar::sign:
    case Scalar::is_nan:
    case Scalar::add:
    case Scalar::subtract:
    case Scalar::multiply:
    case Scalar::maximum:
    case Scalar::minimum:
    case Scalar::equal:
    case Scalar::not_equal:
    case Scalar::less:
    case Scalar::less_equal:
      return is_float(it.dtype) || it.dtype == DType::boolean ? 1 : 0;
    case Scalar::divide:
    case Scalar::mod:
    case Scalar::floor_div:
    case Scalar::sqrt:
    case Scalar::rsqrt:
      return 4;
    case Scalar::exp:
    case Scalar::log:
    case Scalar::log1p:
    case Scalar::tanh:
    case Scalar::sigmoid:
    case Scalar::erf:
    case Scalar::sin:
    case Scalar::cos:
    case Scalar::power:
    case Scalar::uniform:
      return 20;
  }
  __builtin_unreachable();
}

}  // namespace

Cost cost(const Kernel& kernel, const std::vector<int64_t>& extents) {
  Cost result{};
  std::vector<double> trips;
  for (const Size& loop : kernel.loops) trips.push_back(value_of(loop, extents));
  // An instruction runs once for each combination of the loops it depends on.
  std::vector<std::vector<bool>> loops(kernel.body.size(), std::vector<bool>(trips.size()));
  std::vector<bool> read(kernel.operands.size()), written(kernel.operands.size());
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    const Instruction& it = kernel.body[i];
    if (it.scalar == Scalar::loop) loops[i][static_cast<size_t>(it.index)] = true;
    if (it.scalar == Scalar::reduced) std::fill_n(loops[i].begin(), kernel.outer, true);
    if (it.scalar == Scalar::load) read[static_cast<size_t>(it.index)] = true;
    double count = 1;
    for (const int32_t arg : it.args) {
      for (size_t l = 0; l < trips.size(); ++l) loops[i][l] = loops[i][l] || loops[static_cast<size_t>(arg)][l];
    }
    for (size_t l = 0; l < trips.size(); ++l) count *= loops[i][l] ? trips[l] : 1;
    result.flops += count * flops_of(it);
  }
  double outer = 1;
  for (size_t l = 0; l < static_cast<size_t>(kernel.outer); ++l) outer *= trips[l];
  for (const Stage& stage : kernel.stages) {
    double count = outer;
    for (const int32_t loop : stage.loops) count *= trips[static_cast<size_t>(loop)];
    result.flops += count * static_cast<double>(stage.reductions.size());
    for (const Store& store : stage.stores) written[static_cast<size_t>(store.operand)] = true;
  }
  for (size_t i = 0; i < kernel.operands.size(); ++i) {
    double bytes = static_cast<double>(size_of(kernel.operands[i].dtype));
    for (const Size& dim : kernel.operands[i].dims) bytes *= value_of(dim, extents);
    if (read[i]) result.bytes_read += bytes;
    if (written[i]) result.bytes_written += bytes;
  }
  return result;
}

}  // namespace dtl::kernel
