// The promises of a kernel, tested: order, scope, arity, element types.
#include <fmt/format.h>

#include <cmath>

#include "compiler/kernel/kernel.h"

namespace dtl::kernel {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  std::string run() {
    shapes();
    for (size_t i = 0; error_.empty() && i < kernel_.body.size(); ++i) instruction(i);
    for (size_t i = 0; error_.empty() && i < kernel_.stages.size(); ++i) stage(i);
    if (error_.empty() && kernel_.stages.empty()) fail("a kernel has at least one stage");
    return error_;
  }

 private:
  template <class... Args>
  void fail(fmt::format_string<Args...> text, Args&&... args) {
    if (error_.empty()) error_ = fmt::format(text, std::forward<Args>(args)...);
  }
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> text, Args&&... args) {
    if (!holds) fail(text, std::forward<Args>(args)...);
  }

  void size(const Size& size, const std::string& where) {
    require(size.scale >= 0, "{} has a negative size", where);
    require(size.slot >= -1, "{} has slot {}", where, size.slot);
  }

  void shapes() {
    for (size_t i = 0; i < kernel_.operands.size(); ++i) {
      for (const Size& dim : kernel_.operands[i].dims) size(dim, fmt::format("operand {}", i));
    }
    for (size_t i = 0; i < kernel_.loops.size(); ++i) size(kernel_.loops[i], fmt::format("loop {}", i));
    require(kernel_.outer >= 0 && kernel_.outer <= static_cast<int32_t>(kernel_.loops.size()), "{} outer loops of {} loops", kernel_.outer,
            kernel_.loops.size());
  }

  bool is_index(int32_t value) { return value >= 0 && value < static_cast<int32_t>(kernel_.body.size()); }
  DType dtype(int32_t value) { return kernel_.body[static_cast<size_t>(value)].dtype; }

  void same(size_t at, size_t first = 0) {
    const Instruction& instruction = kernel_.body[at];
    for (size_t k = first; k < instruction.args.size(); ++k) {
      require(dtype(instruction.args[k]) == dtype(instruction.args[first]), "%{}: element types of `{}` differ", at,
              name_of(instruction.scalar));
    }
  }
  void like_result(size_t at, size_t first = 0) {
    same(at, first);
    const Instruction& instruction = kernel_.body[at];
    require(instruction.args.size() <= first || dtype(instruction.args[first]) == instruction.dtype,
            "%{}: `{}` gives the type of its operands", at, name_of(instruction.scalar));
  }
  void arity(size_t at, size_t count) {
    const Instruction& instruction = kernel_.body[at];
    require(instruction.args.size() == count, "%{}: `{}` takes {} operands, not {}", at, name_of(instruction.scalar), count,
            instruction.args.size());
  }
  void indices(const std::vector<int32_t>& values, int32_t operand, const std::string& where) {
    if (operand < 0 || operand >= static_cast<int32_t>(kernel_.operands.size())) return fail("{}: there is no operand {}", where, operand);
    const size_t rank = kernel_.operands[static_cast<size_t>(operand)].dims.size();
    if (values.size() != rank) return fail("{}: {} indices for an operand of {} dimensions", where, values.size(), rank);
    for (const int32_t value : values) require(dtype(value) == DType::i64, "{}: an index is i64", where);
  }

  void instruction(size_t at) {
    const Instruction& it = kernel_.body[at];
    for (const int32_t arg : it.args) {
      if (arg < 0 || arg >= static_cast<int32_t>(at)) return fail("%{}: %{} does not come before it", at, arg);
    }
    const bool uses_index = it.scalar == Scalar::loop || it.scalar == Scalar::load || it.scalar == Scalar::reduced;
    const bool uses_number = it.scalar == Scalar::constant || it.scalar == Scalar::reduced;
    require((uses_index || it.index == 0) && (uses_number || it.number == 0) && (it.scalar == Scalar::size || it.size == Size{}),
            "%{}: a part that `{}` does not have is set", at, name_of(it.scalar));
    if (!error_.empty()) return;
    const std::string where = fmt::format("%{}", at);
    switch (it.scalar) {
      case Scalar::constant:
        arity(at, 0);
        require(is_float(it.dtype) || std::trunc(it.number) == it.number, "{}: {} is not a whole number", where, it.number);
        break;
      case Scalar::loop:
        arity(at, 0);
        require(it.index >= 0 && it.index < static_cast<int32_t>(kernel_.loops.size()), "{}: there is no loop {}", where, it.index);
        require(it.dtype == DType::i64, "{}: a loop's value is i64", where);
        break;
      case Scalar::size:
        arity(at, 0);
        require(it.dtype == DType::i64, "{}: a size is i64", where);
        require(it.size.slot >= -1, "{} has slot {}", where, it.size.slot);  // a begin may be scaled by anything
        break;
      case Scalar::begin:
        fail("{}: `begin` is for the rules of ops alone", where);
        break;
      case Scalar::load:
        indices(it.args, it.index, where);
        if (error_.empty())
          require(kernel_.operands[static_cast<size_t>(it.index)].dtype == it.dtype, "{}: a load gives its operand's element type", where);
        break;
      case Scalar::reduced:
        reduced(it, where);
        arity(at, 0);
        break;
      case Scalar::negate:
      case Scalar::abs:
      case Scalar::sign:
        arity(at, 1);
        like_result(at);
        require(it.dtype != DType::boolean, "{}: `{}` takes numbers", where, name_of(it.scalar));
        break;
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
        arity(at, 1);
        like_result(at);
        require(is_float(it.dtype), "{}: `{}` takes floats", where, name_of(it.scalar));
        break;
      case Scalar::logical_not:
        arity(at, 1);
        like_result(at);
        require(it.dtype == DType::boolean, "{}: `{}` takes booleans", where, name_of(it.scalar));
        break;
      case Scalar::is_nan:
        arity(at, 1);
        require(it.args.empty() || is_float(dtype(it.args[0])), "{}: `{}` takes floats", where, name_of(it.scalar));
        require(it.dtype == DType::boolean, "{}: `{}` gives a bool", where, name_of(it.scalar));
        break;
      case Scalar::add:
      case Scalar::subtract:
      case Scalar::multiply:
      case Scalar::maximum:
      case Scalar::minimum:
      case Scalar::mod:
      case Scalar::floor_div:
        arity(at, 2);
        like_result(at);
        require(it.dtype != DType::boolean, "{}: `{}` takes numbers", where, name_of(it.scalar));
        break;
      case Scalar::divide:
      case Scalar::power:
        arity(at, 2);
        like_result(at);
        require(is_float(it.dtype), "{}: `{}` takes floats", where, name_of(it.scalar));
        break;
      case Scalar::logical_and:
      case Scalar::logical_or:
        arity(at, 2);
        like_result(at);
        require(it.dtype == DType::boolean, "{}: `{}` takes booleans", where, name_of(it.scalar));
        break;
      case Scalar::equal:
      case Scalar::not_equal:
      case Scalar::less:
      case Scalar::less_equal:
        arity(at, 2);
        same(at);
        require(it.dtype == DType::boolean, "{}: `{}` gives a bool", where, name_of(it.scalar));
        break;
      case Scalar::select:
        arity(at, 3);
        if (!error_.empty()) break;
        require(dtype(it.args[0]) == DType::boolean, "{}: a condition is a bool", where);
        like_result(at, 1);
        break;
      case Scalar::cast:
        arity(at, 1);
        break;
      case Scalar::uniform:
        arity(at, 4);
        for (const int32_t arg : it.args) require(dtype(arg) == DType::i64, "{}: `uniform` takes i64", where);
        require(is_float(it.dtype), "{}: `uniform` gives floats", where);
        break;
    }
    depend(at);
  }

  void reduced(const Instruction& it, const std::string& where) {
    if (it.index < 0 || it.index >= static_cast<int32_t>(kernel_.stages.size())) return fail("{}: there is no stage {}", where, it.index);
    const auto& reductions = kernel_.stages[static_cast<size_t>(it.index)].reductions;
    if (it.number < 0 || it.number >= static_cast<double>(reductions.size()))
      return fail("{}: stage {} has no result {}", where, it.index, it.number);
    const int32_t value = reductions[static_cast<size_t>(it.number)].value;
    if (!is_index(value)) return fail("stage {}: there is no %{}", it.index, value);
    require(it.dtype == (is_narrow(dtype(value)) ? DType::f32 : dtype(value)), "{}: the type of result {} of stage {} is another", where, it.number,
            it.index);
  }

  /// What a value needs in scope: loops as a set, and the last stage whose result it uses.
  void depend(size_t at) {
    const Instruction& it = kernel_.body[at];
    std::vector<bool> loops(kernel_.loops.size());
    int32_t stage = -1;
    if (!error_.empty()) return;
    if (it.scalar == Scalar::loop) loops[static_cast<size_t>(it.index)] = true;
    if (it.scalar == Scalar::reduced) stage = it.index;
    for (const int32_t arg : it.args) {
      for (size_t l = 0; l < loops.size(); ++l) loops[l] = loops[l] || loops_[static_cast<size_t>(arg)][l];
      stage = std::max(stage, stages_[static_cast<size_t>(arg)]);
    }
    loops_.push_back(std::move(loops));
    stages_.push_back(stage);
  }

  void in_scope(int32_t value, size_t at) {
    if (!is_index(value)) return fail("stage {}: there is no %{}", at, value);
    const Stage& stage = kernel_.stages[at];
    const auto& loops = loops_[static_cast<size_t>(value)];
    for (size_t l = static_cast<size_t>(kernel_.outer); l < loops.size(); ++l) {
      const bool open = std::find(stage.loops.begin(), stage.loops.end(), static_cast<int32_t>(l)) != stage.loops.end();
      require(!loops[l] || open, "stage {}: %{} needs loop {}, which is not in scope", at, value, l);
    }
    require(stages_[static_cast<size_t>(value)] < static_cast<int32_t>(at), "stage {}: %{} needs the result of stage {}", at, value,
            stages_[static_cast<size_t>(value)]);
  }

  void stage(size_t at) {
    const Stage& stage = kernel_.stages[at];
    for (size_t i = 0; i < stage.loops.size(); ++i) {
      const int32_t loop = stage.loops[i];
      require(loop >= kernel_.outer && loop < static_cast<int32_t>(kernel_.loops.size()), "stage {}: {} is no inner loop", at, loop);
      require(std::find(stage.loops.begin(), stage.loops.begin() + static_cast<int64_t>(i), loop) ==
                  stage.loops.begin() + static_cast<int64_t>(i),
              "stage {}: loop {} twice", at, loop);
    }
    require(stage.reductions.empty() != stage.stores.empty(), "stage {}: a stage either reduces or stores", at);
    if (!error_.empty()) return;
    for (const Reduction& reduction : stage.reductions) {
      in_scope(reduction.value, at);
      if (error_.empty()) require(dtype(reduction.value) != DType::boolean, "stage {}: a bool is not reduced", at);
    }
    for (const Store& store : stage.stores) {
      in_scope(store.value, at);
      for (const int32_t value : store.indices) in_scope(value, at);
      if (!error_.empty()) return;
      const std::string where = fmt::format("stage {}", at);
      indices(store.indices, store.operand, where);
      if (!error_.empty()) return;
      const Operand& operand = kernel_.operands[static_cast<size_t>(store.operand)];
      require(operand.written, "{}: operand {} is not written", where, store.operand);
      require(operand.dtype == dtype(store.value), "{}: a {} is stored to an operand of {}", where, name_of(dtype(store.value)),
              name_of(operand.dtype));
    }
  }

  const Kernel& kernel_;
  std::string error_;
  std::vector<std::vector<bool>> loops_;  ///< for each instruction
  std::vector<int32_t> stages_;           ///< for each instruction: the last stage it uses, −1: none
};

}  // namespace

std::string verify(const Kernel& kernel) { return Verifier(kernel).run(); }

}  // namespace dtl::kernel
