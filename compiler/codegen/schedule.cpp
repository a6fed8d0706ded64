// Dependences and the choice of lane loops, by an estimate of cycles.
#include "compiler/codegen/schedule.h"

#include <algorithm>
#include <limits>

#include "compiler/source/check.h"

namespace dtl::codegen {

using kernel::Instruction;
using kernel::Kernel;
using kernel::Scalar;
using kernel::Stage;

Analysis::Analysis(const Kernel& kernel) : kernel_(kernel), facts_(kernel.body.size()) {
  DTL_CHECK(kernel.loops.size() <= 64, "a kernel of {} loops", kernel.loops.size());
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    const Instruction& it = kernel.body[i];
    Facts& facts = facts_[i];
    if (it.scalar == Scalar::loop) facts.loops = uint64_t{1} << it.index;
    if (it.scalar == Scalar::reduced) facts.reduced = true;
    facts.found = it.scalar == Scalar::load || it.scalar == Scalar::reduced || it.scalar == Scalar::minimum || it.scalar == Scalar::maximum;
    for (const int32_t arg : it.args) {
      Facts& other = facts_[static_cast<size_t>(arg)];
      facts.loops |= other.loops;
      facts.reduced |= other.reduced;
      facts.pinned |= other.pinned;
      facts.found |= other.found;
      ++other.uses;
    }
    if (it.scalar != Scalar::load) continue;
    const kernel::Operand& operand = kernel.operands[static_cast<size_t>(it.index)];
    facts.pinned |= operand.written;
    // An empty operand is safe only inside the loop that has no trips for it.
    for (size_t d = 0; d < operand.dims.size(); ++d) {
      const kernel::Size& size = operand.dims[d];
      facts.pinned |= size.scale == 0 || (size.slot >= 0 && facts_[static_cast<size_t>(it.args[d])].loops == 0);
    }
  }
  for (const Stage& stage : kernel.stages) {
    for (const auto& reduction : stage.reductions) ++facts_[static_cast<size_t>(reduction.value)].uses;
    for (const auto& store : stage.stores) {
      ++facts_[static_cast<size_t>(store.value)].uses;
      for (const int32_t index : store.indices) ++facts_[static_cast<size_t>(index)].uses;
    }
  }
}

std::vector<bool> Analysis::varying(int32_t loop, bool results) const {
  std::vector<bool> result;
  for (const Facts& facts : facts_) result.push_back(loop >= 0 && ((facts.loops >> loop & 1) != 0 || (results && facts.reduced)));
  return result;
}

std::optional<int64_t> Analysis::coefficient(int32_t value, int32_t loop, const std::vector<bool>& varying) const {
  if (!varying[static_cast<size_t>(value)]) return 0;
  const Instruction& it = kernel_.body[static_cast<size_t>(value)];
  if (it.scalar == Scalar::loop) return 1;
  if (it.scalar == Scalar::negate) {
    const auto of = coefficient(it.args[0], loop, varying);
    return of ? std::optional(-*of) : std::nullopt;
  }
  if (it.scalar != Scalar::add && it.scalar != Scalar::subtract && it.scalar != Scalar::multiply) return std::nullopt;
  const auto a = coefficient(it.args[0], loop, varying), b = coefficient(it.args[1], loop, varying);
  if (!a || !b) return std::nullopt;
  if (it.scalar == Scalar::add) return *a + *b;
  if (it.scalar == Scalar::subtract) return *a - *b;
  // A product moves evenly if one side is a constant.
  for (const int k : {0, 1}) {
    const Instruction& factor = kernel_.body[static_cast<size_t>(it.args[static_cast<size_t>(k)])];
    if (factor.scalar == Scalar::constant) return static_cast<int64_t>(factor.number) * (k == 0 ? *b : *a);
  }
  return std::nullopt;
}

Motion Analysis::motion(int32_t operand, const std::vector<int32_t>& indices, int32_t loop, const std::vector<bool>& varying) const {
  if (std::none_of(indices.begin(), indices.end(), [&](int32_t index) { return varying[static_cast<size_t>(index)]; }))
    return {Motion::Kind::fixed};
  const auto& dims = kernel_.operands[static_cast<size_t>(operand)].dims;
  int64_t stride = 0, unit = 1;
  bool known = true;
  for (size_t d = dims.size(); d-- > 0;) {
    const auto by = coefficient(indices[d], loop, varying);
    if (!by || (*by != 0 && !known)) return {Motion::Kind::general};
    if (*by != 0) stride += *by * unit;
    unit *= dims[d].scale;
    known = known && dims[d].slot < 0;
  }
  return {Motion::Kind::strided, stride};
}

bool varies_in_f64(const Kernel& kernel, const Analysis& analysis) {
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    const Facts& facts = analysis[static_cast<int32_t>(i)];
    if (kernel.body[i].dtype == DType::f64 && (facts.loops != 0 || facts.reduced)) return true;
  }
  return false;
}

namespace {

/// Cycles of one evaluation on a vector.
double cycles_of(const Instruction& it) {
  switch (it.scalar) {
    case Scalar::constant:
    case Scalar::loop:
    case Scalar::size:
    case Scalar::begin:
    case Scalar::reduced:
      return 0;
    case Scalar::load:
      return 1;
    case Scalar::negate:
    case Scalar::abs:
    case Scalar::floor:
    case Scalar::ceil:
    case Scalar::round:
    case Scalar::logical_not:
    case Scalar::is_nan:
    case Scalar::add:
    case Scalar::subtract:
    case Scalar::multiply:
    case Scalar::logical_and:
    case Scalar::logical_or:
    case Scalar::equal:
    case Scalar::not_equal:
    case Scalar::less:
    case Scalar::less_equal:
    case Scalar::select:
    case Scalar::cast:
    case Scalar::sign:
    case Scalar::maximum:
    case Scalar::minimum:
      return it.dtype == DType::i64 ? 0.2 : 1;  // indices, mostly
    case Scalar::divide:
    case Scalar::sqrt:
    case Scalar::rsqrt:
      return 10;
    case Scalar::exp:
    case Scalar::log:
    case Scalar::log1p:
    case Scalar::tanh:
    case Scalar::sigmoid:
    case Scalar::erf:
    case Scalar::sin:
    case Scalar::cos:
    case Scalar::power:
      return 20;
    case Scalar::mod:
    case Scalar::floor_div:
      return 40;
    case Scalar::uniform:
      return 100;
  }
  __builtin_unreachable();
}

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kGuessedExtent = 64;  ///< of a loop whose trips are known at run time

class Chooser {
 public:
  Chooser(const Kernel& kernel, const Analysis& analysis, int lanes) : kernel_(kernel), analysis_(analysis), lanes_(lanes) {
    for (const auto& size : kernel.loops) trips_.push_back(static_cast<double>(size.scale) * (size.slot < 0 ? 1 : kGuessedExtent));
  }

  /// Cycles of a stage with these lanes over all outer iterations; kNever if they do not fit.
  double cost(size_t at, int32_t loop, bool column) const {
    const Stage& stage = kernel_.stages[at];
    const auto varying = analysis_.varying(loop, column);
    double result = 0;
    std::vector<bool> seen(kernel_.body.size());
    std::vector<int32_t> todo;
    for (const auto& reduction : stage.reductions) todo.push_back(reduction.value);
    for (const auto& store : stage.stores) {
      const Motion motion = analysis_.motion(store.operand, store.indices, loop, varying);
      if (loop >= 0 && motion.kind == Motion::Kind::fixed) return kNever;  // the lanes would write one place
      result += every(stage, loop) * (motion.kind == Motion::Kind::strided && motion.stride == 1 ? 1.0 : lanes_ * 1.2);
      todo.push_back(store.value);
      todo.insert(todo.end(), store.indices.begin(), store.indices.end());
    }
    while (!todo.empty()) {
      const int32_t value = todo.back();
      todo.pop_back();
      if (seen[static_cast<size_t>(value)]) continue;
      seen[static_cast<size_t>(value)] = true;
      const Instruction& it = kernel_.body[static_cast<size_t>(value)];
      todo.insert(todo.end(), it.args.begin(), it.args.end());
      double cycles = cycles_of(it);
      if (it.scalar == Scalar::load) {
        const Motion motion = analysis_.motion(it.index, it.args, loop, varying);
        const bool easy =
            motion.kind == Motion::Kind::fixed || (motion.kind == Motion::Kind::strided && (motion.stride == 1 || motion.stride == 0));
        if (!easy) cycles = 2 + lanes_ * 0.7;
      }
      result += cycles * count(analysis_[value].loops | (analysis_[value].reduced ? outer_loops() : 0), loop);
    }
    for (const auto& reduction : stage.reductions) {
      (void)reduction;
      result += every(stage, loop);
      if (loop >= 0 && !column) result += kTreeCycles * count(outer_loops(), -1);
    }
    return result;
  }

  /// Is a function called in the stage?
  bool heavy(const Stage& stage) const {
    std::vector<int32_t> todo;
    for (const auto& reduction : stage.reductions) todo.push_back(reduction.value);
    std::vector<bool> seen(kernel_.body.size());
    while (!todo.empty()) {
      const int32_t value = todo.back();
      todo.pop_back();
      if (seen[static_cast<size_t>(value)]) continue;
      seen[static_cast<size_t>(value)] = true;
      const Instruction& it = kernel_.body[static_cast<size_t>(value)];
      if (cycles_of(it) > 10) return true;
      todo.insert(todo.end(), it.args.begin(), it.args.end());
    }
    return false;
  }

 private:
  static constexpr double kTreeCycles = 12;

  uint64_t outer_loops() const { return (uint64_t{1} << kernel_.outer) - 1; }
  double every(const Stage& stage, int32_t loop) const {
    uint64_t loops = outer_loops();
    for (const int32_t l : stage.loops) loops |= uint64_t{1} << l;
    return count(loops, loop);
  }
  double count(uint64_t loops, int32_t lane) const {
    double result = 1;
    for (size_t l = 0; l < trips_.size(); ++l) {
      if (loops >> l & 1) result *= static_cast<int32_t>(l) == lane ? std::ceil(trips_[l] / lanes_) : trips_[l];
    }
    return result;
  }

  const Kernel& kernel_;
  const Analysis& analysis_;
  int lanes_;
  std::vector<double> trips_;
};

/// Independent sums hide an addition's latency; more of them than registers hide nothing.
int units_for(size_t reductions, bool heavy) { return reductions == 0 || heavy ? 1 : reductions <= 2 ? 4 : reductions <= 4 ? 2 : 1; }

}  // namespace

Schedule make_schedule(const Kernel& kernel, const Analysis& analysis, int lanes) {
  const Chooser chooser(kernel, analysis, lanes);
  Schedule result;
  result.lanes = lanes;
  double rows = 0, columns = kernel.outer > 0 ? 0 : kNever;
  for (size_t at = 0; at < kernel.stages.size(); ++at) {
    const Stage& stage = kernel.stages[at];
    const double plain = chooser.cost(at, -1, false);
    const double inner = stage.loops.empty() ? kNever : chooser.cost(at, stage.loops.back(), false);
    const bool use_inner = inner < plain;
    result.loops.push_back(use_inner ? stage.loops.back() : -1);
    result.units.push_back(use_inner ? units_for(stage.reductions.size(), chooser.heavy(stage)) : 1);
    rows += std::min(inner, plain);
    if (columns < kNever) columns += chooser.cost(at, kernel.outer - 1, true);
  }
  result.column = columns < rows;
  if (result.column) {
    size_t reductions = 0;
    bool heavy = false;
    for (const Stage& stage : kernel.stages) {
      if (stage.loops.empty()) continue;
      reductions = std::max(reductions, stage.reductions.size());
      heavy |= chooser.heavy(stage);
    }
    result.column_units = units_for(reductions, heavy);
    result.loops.assign(kernel.stages.size(), -1);
    result.units.assign(kernel.stages.size(), 1);
  }
  return result;
}

}  // namespace dtl::codegen
