// Performing an action.
#include <cassert>
#include <cstring>

#include "runtime/train/actions.h"

namespace dtl::train {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

void perform(const ReduceAction& reduce, const collective::Collective& collective) {
  const int64_t size = size_of(reduce.dtype);
  for (int64_t row = reduce.first_row; row < reduce.first_row + reduce.rows; ++row) {
    const int64_t begin = row * reduce.row + reduce.begin, count = reduce.end - reduce.begin;
    // Where the row of `to` begins, in elements of the sources.
    const int64_t first = row * (reduce.row - reduce.to_row) + reduce.first;
    collective.reduce({reduce.op, reduce.dtype, {reduce.sources, reduce.count}, reduce.to, begin, begin + count, first});
    for (size_t i = 0; i < reduce.others_count; ++i)
      std::memcpy(reduce.others[i] + begin * size, reduce.to + begin * size, static_cast<size_t>(count * size));
  }
}

void perform(const MoveAction& move) {
  for (int64_t run = move.begin; run < move.end; ++run) {
    const int64_t index[3] = {run / (move.count[1] * move.count[2]), run / move.count[2] % move.count[1], run % move.count[2]};
    const std::byte* from = move.from;
    std::byte* to = move.to;
    for (int loop = 0; loop < 3; ++loop) {
      from += index[loop] * move.from_stride[loop];
      to += index[loop] * move.to_stride[loop];
    }
    std::memcpy(to, from, move.bytes);
  }
}

}  // namespace

void perform(const Action& action, const collective::Collective& collective, std::byte* scratch) {
  std::visit(
      Overloaded{
          [](const KernelAction& kernel) { kernel.function(kernel.operands, kernel.extents, kernel.begin, kernel.end); },
          [&](const GemmAction& product) { product.gemm->run(product.a, product.b, product.c, product.part, product.parts, scratch); },
          [](const ScatterAction& scatter) {
            device::scatter_add(scatter.shape, scatter.index, scatter.update, scatter.table, scatter.part, scatter.parts);
          },
          [&](const ReduceAction& reduce) { perform(reduce, collective); },
          [](const MoveAction& move) { perform(move); },
          [](const CopyAction& copy) { std::memcpy(copy.to, copy.from, copy.bytes); },
          [](const BarrierAction&) { assert(false && "whoever performs actions waits at barriers"); },
      },
      action.what);
}

}  // namespace dtl::train
