// Collectives between replicas of one address space: who reads which part of whose memory.
#include <cassert>

#include "runtime/train/rank.h"

namespace dtl::train {
namespace {

using plan::Slice;

int64_t product(const std::vector<int64_t>& sizes, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t i = begin; i < end; ++i) n *= sizes[i];
  return n;
}

/// Thread `thread`'s part of a block of `runs` runs of `length` each: whole runs where there are enough of them, else a part
/// of every run.
struct Work {
  Slice runs, inside;
};
Work work_of(int64_t runs, int64_t length, int thread, int threads, int64_t grain) {
  if (runs >= threads) return {plan::slice(runs, thread, threads, 1), {0, length}};
  return {{0, runs}, plan::slice(length, thread, threads, grain)};
}

}  // namespace

/// The replicas that differ from `replica` in their place along `axis` alone, in order of that place.
std::vector<int> Binder::group(int replica, int32_t axis) const {
  const std::vector<plan::MeshAxis>& mesh = executable_.plan.mesh;
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < mesh.size(); ++i) inner *= mesh[i].size;
  std::vector<int> members;
  const int64_t first = replica - coordinate(replica, axis) * inner;
  for (int64_t place = 0; place < mesh[static_cast<size_t>(axis)].size; ++place) members.push_back(static_cast<int>(first + place * inner));
  return members;
}

/// The part along `dim` that `member` has in a buffer which is split over `axis` there, within what the axes outside of it leave.
Slice Binder::part_of(int32_t buffer, size_t dim, int32_t axis, int member, const std::vector<int64_t>& extents) const {
  const plan::Extent extent = executable_.plan.buffers[static_cast<size_t>(buffer)].dims[dim];
  assert(extent.slot >= 0);
  const plan::ExtentEntry& entry = executable_.plan.extents[static_cast<size_t>(extent.slot)];
  assert(entry.kind == plan::ExtentKind::share && entry.axis == axis);
  const Slice share = share_of(entry, extents, member);
  return {share.begin * extent.scale, share.end * extent.scale};
}

void Binder::bind_reduce(const plan::ReduceStep& step, const Rank& rank, Prepared& to) {
  assert(step.from.size() == step.to.size());
  for (size_t pair = 0; pair < step.from.size(); ++pair) {
    const plan::Buffer& from = executable_.plan.buffers[static_cast<size_t>(step.from[pair])];
    const bool common = plan::is_common(executable_.plan.buffers[static_cast<size_t>(step.to[pair])].space);
    // What is common to the mesh is reduced once: the replicas at the first places of the other axes stand for all.
    const std::vector<int> members = group(common ? 0 : rank.replica, step.axis);
    auto sources = std::make_unique<const void*[]>(members.size());
    for (size_t m = 0; m < members.size(); ++m) sources[m] = storage_.address(step.from[pair], members[m]);
    ReduceAction action{step.op, from.dtype, sources.get(), members.size(), storage_.address(step.to[pair], rank.replica), 0, 0};
    if (step.dim >= 0) {
      // Rows before the dimension; in each, the part that is this replica's.
      const auto dim = static_cast<size_t>(step.dim);
      const std::vector<int64_t> sizes = rank.sizes(from);
      const Slice part = part_of(step.to[pair], dim, step.axis, rank.replica, rank.extents);
      const int64_t after = product(sizes, dim + 1, sizes.size()), rows = product(sizes, 0, dim);
      action.first = part.begin * after;
      action.row = sizes[dim] * after;
      action.to_row = part.count() * after;
      rank.each_thread(to, [&](int thread) -> std::optional<ReduceAction> {
        const Work mine = work_of(rows, action.to_row, thread, rank.topology.threads_per_replica, 16);
        if (mine.runs.count() == 0 || mine.inside.count() == 0) return std::nullopt;
        ReduceAction own = action;
        own.first_row = mine.runs.begin;
        own.rows = mine.runs.count();
        own.begin = action.first + mine.inside.begin;
        own.end = action.first + mine.inside.end;
        return own;
      });
    } else {
      const int64_t elements = rank.elements(from);
      const int threads = rank.topology.threads_per_replica;
      const auto place = static_cast<int>(coordinate(rank.replica, step.axis));
      if (!common && members.size() > 1) {
        auto others = std::make_unique<std::byte*[]>(members.size() - 1);
        for (const int member : members) {
          if (member != rank.replica) others[action.others_count++] = storage_.address(step.to[pair], member);
        }
        action.others = others.get();
        to.others.push_back(std::move(others));
      }
      rank.each_thread(to, [&](int thread) -> std::optional<ReduceAction> {
        const Slice mine = common ? plan::slice(elements, rank.worker(thread), rank.topology.workers())
                                  : plan::slice(elements, place * threads + thread, static_cast<int64_t>(members.size()) * threads);
        if (mine.count() == 0) return std::nullopt;
        ReduceAction own = action;
        own.begin = mine.begin;
        own.end = mine.end;
        return own;
      });
    }
    to.sources.push_back(std::move(sources));
  }
}

void Binder::bind_exchange(const plan::ExchangeStep& step, const Rank& rank, Prepared& to) {
  const plan::Buffer &from = executable_.plan.buffers[static_cast<size_t>(step.from)],
                     &whole = executable_.plan.buffers[static_cast<size_t>(step.to)];
  const auto dim = static_cast<size_t>(step.dim);
  const int64_t width = size_of(from.dtype);
  const std::vector<int> members = group(rank.replica, step.axis);
  // A block of both buffers: which indices of each dimension, in the memory of each.
  struct Block {
    std::vector<int64_t> count, from_size, to_size, from_begin, to_begin;
  };
  const auto move = [&](const Block& block, const std::byte* source, std::byte* target) {
    // Everything behind the last dimension that is cut is one run.
    const size_t rank_of = block.count.size();
    const auto cut = [&](size_t d) { return block.count[d] != block.from_size[d] || block.count[d] != block.to_size[d]; };
    size_t last = rank_of - 1;
    while (last > 0 && !cut(last)) --last;
    size_t first = 0;
    while (first < last && !cut(first)) ++first;
    const auto from_step = [&](size_t d) { return product(block.from_size, d + 1, rank_of) * width; };
    const auto to_step = [&](size_t d) { return product(block.to_size, d + 1, rank_of) * width; };
    MoveAction action{};
    action.from = source + block.from_begin[last] * from_step(last);
    action.to = target + block.to_begin[last] * to_step(last);
    const int64_t run = block.count[last] * product(block.count, last + 1, rank_of) * width;
    // Loops before it: what lies before the first cut dimension, that dimension, and what lies between the two.
    const bool two = first < last;
    if (two) {
      action.from += block.from_begin[first] * from_step(first);
      action.to += block.to_begin[first] * to_step(first);
    }
    const int64_t counts[3] = {product(block.count, 0, first), two ? block.count[first] : 1,
                               two ? product(block.count, first + 1, last) : 1};
    const auto strides = [&](int64_t* strides, auto step_of, const std::vector<int64_t>& sizes) {
      strides[2] = block.count.empty() ? 0 : step_of(last) * sizes[last];
      strides[1] = two ? step_of(first) : 0;
      strides[0] = step_of(first) * sizes[first];
    };
    strides(action.from_stride, from_step, block.from_size);
    strides(action.to_stride, to_step, block.to_size);
    std::copy(std::begin(counts), std::end(counts), action.count);
    rank.each_thread(to, [&](int thread) -> std::optional<MoveAction> {
      const Work mine = work_of(counts[0] * counts[1] * counts[2], run, thread, rank.topology.threads_per_replica, 64);
      if (mine.runs.count() == 0 || mine.inside.count() == 0) return std::nullopt;
      MoveAction own = action;
      own.from += mine.inside.begin;
      own.to += mine.inside.begin;
      own.bytes = static_cast<size_t>(mine.inside.count());
      own.begin = mine.runs.begin;
      own.end = mine.runs.end;
      return own;
    });
  };
  const auto block_of = [&](int member) {
    const Slice part = part_of(step.from, dim, step.axis, member, rank.extents);
    Block block;
    block.from_size = rank.sizes(from);
    block.to_size = rank.sizes(whole);
    block.from_size[dim] = part.count();
    block.count = block.from_size;
    block.from_begin.assign(block.count.size(), 0);
    block.to_begin.assign(block.count.size(), 0);
    block.to_begin[dim] = part.begin;
    if (step.cut >= 0) {
      const auto along = static_cast<size_t>(step.cut);
      const Slice mine = part_of(step.to, along, step.axis, rank.replica, rank.extents);
      block.count[along] = mine.count();
      block.from_begin[along] = mine.begin;
    }
    return block;
  };
  if (plan::is_common(whole.space)) {
    const std::vector<int> first = group(0, step.axis);
    if (std::find(first.begin(), first.end(), rank.replica) == first.end()) return;
    move(block_of(rank.replica), storage_.address(step.from, rank.replica), storage_.address(step.to, rank.replica));
    return;
  }
  for (const int member : members) move(block_of(member), storage_.address(step.from, member), storage_.address(step.to, rank.replica));
}

}  // namespace dtl::train
