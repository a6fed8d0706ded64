// Kernels made at random: loop nests, index maps, stages and types that nobody thought of. All numbers are small integers, so that
// every order of operations gives the same bits.
#include <catch2/catch.hpp>
#include <random>

#include "tests/unit/codegen/reference.h"

using namespace dtl;
using namespace dtl::codegen::test;
using kernel::Scalar;

namespace {

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  std::vector<int64_t> extents;

  kernel::Kernel make() {
    type_ = pick<DType>({DType::f32, DType::f32, DType::f64, DType::i64, DType::i32});
    k_.outer = static_cast<int32_t>(below(4));
    const int64_t inner = below(3);
    for (int64_t l = 0; l < k_.outer + inner; ++l) k_.loops.push_back(size(pick<int64_t>({0, 1, 2, 3, 5, 16, 17, 20, 33})));
    for (size_t l = 0; l < k_.loops.size(); ++l)
      push({.scalar = Scalar::loop, .dtype = DType::i64, .args = {}, .index = static_cast<int32_t>(l)});
    const int64_t reducing = inner > 0 ? below(3) : 0;
    for (int64_t s = 0; s < reducing; ++s) {
      const std::vector<int32_t> loops = some_inner(true);
      std::vector<kernel::Reduction> reductions;
      for (int64_t r = 0; r <= below(3); ++r) {
        reductions.push_back({pick<ReduceOp>({ReduceOp::sum, ReduceOp::sum, ReduceOp::max, ReduceOp::min}), bounded(expression(loops))});
      }
      const auto at = static_cast<int32_t>(k_.stages.size());
      for (size_t r = 0; r < reductions.size(); ++r) {
        // Bounded again: a sum of many must not grow in a later one.
        results_.push_back(
            bounded(push({.scalar = Scalar::reduced, .dtype = type_, .args = {}, .index = at, .number = static_cast<double>(r)})));
      }
      k_.stages.push_back({loops, std::move(reductions), {}});
    }
    for (int64_t s = 0; s <= below(2); ++s) {
      const std::vector<int32_t> loops = some_inner(false);
      kernel::Stage stage{loops, {}, {}};
      for (int64_t n = 0; n <= below(2); ++n) stage.stores.push_back(store(loops));
      k_.stages.push_back(std::move(stage));
    }
    return k_;
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  template <class T>
  T pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
  }
  int32_t push(kernel::Instruction it) {
    k_.body.push_back(std::move(it));
    return static_cast<int32_t>(k_.body.size()) - 1;
  }
  int32_t constant(double number, DType dtype) { return push({.scalar = Scalar::constant, .dtype = dtype, .args = {}, .number = number}); }
  int32_t apply(Scalar scalar, DType dtype, std::vector<int32_t> args) { return push({scalar, dtype, std::move(args)}); }

  kernel::Size size(int64_t value) {
    if (below(2) == 0) return {value, -1};
    extents.push_back(value);
    return {1, static_cast<int32_t>(extents.size()) - 1};
  }
  int64_t trips(int32_t loop) const {
    const kernel::Size& size = k_.loops[static_cast<size_t>(loop)];
    return size.slot < 0 ? size.scale : extents[static_cast<size_t>(size.slot)];
  }
  /// The same size, as often by its slot as by its number.
  kernel::Size like(int32_t loop) { return below(2) == 0 ? k_.loops[static_cast<size_t>(loop)] : kernel::Size{trips(loop), -1}; }

  std::vector<int32_t> some_inner(bool at_least_one) {
    std::vector<int32_t> loops;
    for (auto l = k_.outer; l < static_cast<int32_t>(k_.loops.size()); ++l) {
      if (below(3) > 0) loops.push_back(l);
    }
    if (loops.empty() && at_least_one) loops.push_back(k_.outer);
    if (below(2) == 0) std::reverse(loops.begin(), loops.end());
    return loops;
  }
  std::vector<int32_t> in_scope(const std::vector<int32_t>& inner) {
    std::vector<int32_t> loops = inner;
    for (int32_t l = 0; l < k_.outer; ++l) loops.push_back(l);
    std::shuffle(loops.begin(), loops.end(), random_);
    return loops;
  }

  /// A place along one dimension that moves with the loop, and the size of that dimension.
  std::pair<int32_t, kernel::Size> index(int32_t loop) {
    const int64_t n = trips(loop);
    switch (below(8)) {
      case 0:
        return {apply(Scalar::add, DType::i64, {loop, constant(3, DType::i64)}), {n + 3, -1}};
      case 1:
        return {apply(Scalar::multiply, DType::i64, {constant(2, DType::i64), loop}), {2 * n, -1}};
      case 2:
        return {apply(Scalar::subtract, DType::i64, {constant(static_cast<double>(n - 1), DType::i64), loop}), {n, -1}};
      case 3: {
        // Looked up in a table, and clamped.
        const auto table = static_cast<int32_t>(k_.operands.size());
        k_.operands.push_back({DType::i64, {like(loop)}});
        const int32_t found = push({.scalar = Scalar::load, .dtype = DType::i64, .args = {loop}, .index = table});
        const int32_t low = apply(Scalar::maximum, DType::i64, {found, constant(0, DType::i64)});
        return {apply(Scalar::minimum, DType::i64, {low, constant(4, DType::i64)}), {5, -1}};
      }
      case 4:
        return {apply(Scalar::mod, DType::i64, {loop, constant(3, DType::i64)}), {3, -1}};
      default:
        return {loop, like(loop)};
    }
  }

  int32_t load(const std::vector<int32_t>& inner) {
    std::vector<int32_t> loops = in_scope(inner);
    loops.resize(static_cast<size_t>(below(static_cast<int64_t>(loops.size()) + 1)));
    const DType stored = below(4) == 0 ? pick<DType>({DType::u8, DType::boolean, DType::i8, DType::f32}) : type_;
    kernel::Operand operand{stored, {}};
    std::vector<int32_t> places;
    for (const int32_t loop : loops) {
      const auto [place, size] = index(loop);
      places.push_back(place);
      operand.dims.push_back(size);
    }
    const auto at = static_cast<int32_t>(k_.operands.size());
    k_.operands.push_back(std::move(operand));
    const int32_t value = push({.scalar = Scalar::load, .dtype = stored, .args = places, .index = at});
    return stored == type_ ? value : apply(Scalar::cast, type_, {value});
  }

  /// A value within [−8, 8].
  int32_t bounded(int32_t value) {
    return apply(Scalar::minimum, type_, {apply(Scalar::maximum, type_, {value, constant(-8, type_)}), constant(8, type_)});
  }

  int32_t expression(const std::vector<int32_t>& inner) {
    std::vector<int32_t> pool = {constant(static_cast<double>(below(5)) - 2, type_)};
    for (int64_t i = 0; i <= below(3); ++i) pool.push_back(load(inner));
    for (const int32_t result : results_) pool.push_back(result);
    if (below(3) == 0 && !in_scope(inner).empty()) pool.push_back(apply(Scalar::cast, type_, {in_scope(inner)[0]}));
    for (int64_t i = 0; i < 2 + below(5); ++i) {
      const int32_t a = pick(pool), b = pick(pool);
      switch (below(9)) {
        case 0:
          pool.push_back(bounded(apply(Scalar::multiply, type_, {a, b})));
          break;
        case 1:
          pool.push_back(apply(Scalar::maximum, type_, {a, b}));
          break;
        case 2:
          pool.push_back(apply(Scalar::minimum, type_, {a, b}));
          break;
        case 3:
          pool.push_back(apply(Scalar::select, type_,
                               {apply(pick<Scalar>({Scalar::less, Scalar::equal, Scalar::less_equal}), DType::boolean, {a, b}), b, a}));
          break;
        case 4:
          pool.push_back(bounded(apply(Scalar::add, type_, {apply(Scalar::multiply, type_, {bounded(a), bounded(b)}), pick(pool)})));
          break;
        case 5:
          pool.push_back(bounded(apply(Scalar::subtract, type_, {pick(pool), apply(Scalar::multiply, type_, {bounded(a), bounded(b)})})));
          break;
        case 6:
          pool.push_back(apply(Scalar::negate, type_, {a}));
          break;
        case 7:
          pool.push_back(apply(Scalar::abs, type_, {a}));
          break;
        default:
          pool.push_back(bounded(apply(Scalar::add, type_, {a, b})));
          break;
      }
    }
    return pool.back();
  }

  kernel::Store store(const std::vector<int32_t>& inner) {
    kernel::Operand operand{below(4) == 0 ? DType::f64 : type_, {}, true};
    std::vector<int32_t> loops = in_scope(inner);
    if (below(2) == 0) std::sort(loops.begin(), loops.end());
    for (const int32_t loop : loops) operand.dims.push_back(like(loop));
    const auto at = static_cast<int32_t>(k_.operands.size());
    const DType stored = operand.dtype;
    k_.operands.push_back(std::move(operand));
    int32_t value = expression(inner);
    // Sometimes what is there is updated.
    if (stored == type_ && below(3) == 0)
      value = apply(Scalar::add, type_, {value, push({.scalar = Scalar::load, .dtype = stored, .args = loops, .index = at})});
    if (stored != type_) value = apply(Scalar::cast, stored, {value});
    return {at, loops, value};
  }

  std::mt19937_64 random_;
  kernel::Kernel k_;
  DType type_ = DType::f32;
  std::vector<int32_t> results_;
};

}  // namespace

TEST_CASE("kernels made at random agree with the interpreter, whole and in parts") {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Maker maker(seed);
    const kernel::Kernel kernel = maker.make();
    const std::string broken = kernel::verify(kernel);
    INFO("seed " << seed);
    if (!broken.empty()) FAIL(broken << "\n" << kernel::print(kernel));
    check_kernel(kernel::print(kernel), maker.extents, {0, 1e-300},
                 [](size_t k, int64_t i) { return static_cast<double>((i * 2654435761 + static_cast<int64_t>(k) * 97) % 1009 % 5) - 2; });
  }
}
