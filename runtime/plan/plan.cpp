// A Plan as text, and its hash.
#include "runtime/plan/plan.h"

#include <fmt/format.h>

namespace dtl::plan {
namespace {

std::string_view name_of(Space space) {
  switch (space) {
    case Space::arena:
      return "arena";
    case Space::shared:
      return "shared";
    case Space::state:
      return "state";
    case Space::own:
      return "own";
    case Space::input:
      return "input";
  }
  __builtin_unreachable();
}

std::string_view name_of(Partition partition) {
  switch (partition) {
    case Partition::team:
      return "team";
    case Partition::sliced:
      return "sliced";
  }
  __builtin_unreachable();
}

std::string_view name_of(StateRole role) {
  switch (role) {
    case StateRole::weight:
      return "weight";
    case StateRole::state:
      return "state";
    case StateRole::optimizer:
      return "optimizer";
    case StateRole::metric:
      return "metric";
    case StateRole::pending:
      return "pending";
    case StateRole::report:
      return "report";
    case StateRole::output:
      return "output";
    case StateRole::least:
      return "least";
    case StateRole::most:
      return "most";
    case StateRole::updates:
      return "updates";
    case StateRole::seed:
      return "seed";
  }
  __builtin_unreachable();
}

class Printer {
 public:
  Printer(const Plan& plan, std::string_view only) : plan_(plan), only_(only) {}

  std::string run() {
    std::vector<bool> buffers(plan_.buffers.size(), only_.empty()), kernels(plan_.kernels.size(), only_.empty());
    if (!only_.empty()) mark_used(buffers, kernels);
    for (const MeshAxis& axis : plan_.mesh) line("mesh {} = {}", axis.name, axis.size);
    for (size_t i = 0; i < plan_.extents.size(); ++i) extent_entry(i);
    line("bytes arena {}, input {}, shared {}, state {}{}", plan_.arena_bytes, plan_.input_bytes, plan_.shared_bytes, plan_.state_bytes,
         plan_.own_bytes > 0 ? fmt::format(", own {}", plan_.own_bytes) : "");
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      if (!buffers[i]) continue;
      const Buffer& buffer = plan_.buffers[i];
      line("buffer {} {} {}[{}] {} {}+{}", i, buffer.name, dtl::name_of(buffer.dtype), extents(buffer.dims), name_of(buffer.space),
           buffer.offset, buffer.bytes);
    }
    for (const StateEntry& state : plan_.states) {
      if (!buffers[static_cast<size_t>(state.buffer)]) continue;
      const bool resets = state.role == StateRole::metric || state.role == StateRole::pending;
      const bool checks = state.role == StateRole::least || state.role == StateRole::most;
      const bool split = state.whole != plan_.buffers[static_cast<size_t>(state.buffer)].dims;
      line("{} {} in {}{}{}", name_of(state.role), state.path, state.buffer, split ? fmt::format(" of [{}]", extents(state.whole)) : "",
           resets   ? fmt::format(" from {}", state.identity)
           : checks ? fmt::format(" of {}", state.identity)
                    : "");
    }
    for (size_t i = 0; i < plan_.kernels.size(); ++i) {
      if (!kernels[i]) continue;
      line("kernel {} {}", i, plan_.kernels[i].name);
      indented(plan_.kernels[i].text);
    }
    for (const Entry& entry : plan_.entries) {
      if (only_.empty() || entry.name == only_) print(entry);
    }
    return std::move(text_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void mark_used(std::vector<bool>& buffers, std::vector<bool>& kernels) const {
    for (const Entry& entry : plan_.entries) {
      if (entry.name != only_) continue;
      const auto use = [&](int32_t buffer) { buffers[static_cast<size_t>(buffer)] = true; };
      for (const InputField& input : entry.inputs) use(input.buffer);
      for (const Step& step : entry.steps) {
        switch (step.kind) {
          case StepKind::kernel:
            kernels[static_cast<size_t>(step.kernel.kernel)] = true;
            for (const int32_t buffer : step.kernel.buffers) use(buffer);
            break;
          case StepKind::gemm:
            use(step.gemm.a), use(step.gemm.b), use(step.gemm.c);
            break;
          case StepKind::scatter:
            use(step.scatter.index), use(step.scatter.update), use(step.scatter.table);
            break;
          case StepKind::reduce:
            for (const int32_t buffer : step.reduce.from) use(buffer);
            for (const int32_t buffer : step.reduce.to) use(buffer);
            break;
          case StepKind::exchange:
            use(step.exchange.from), use(step.exchange.to);
            break;
          case StepKind::copy:
            use(step.copy.from), use(step.copy.to);
            break;
          case StepKind::barrier:
            break;
        }
      }
    }
  }

  std::string extent(const Extent& extent) const {
    if (extent.slot < 0) return fmt::format("{}", extent.scale);
    const std::string& name = plan_.extents[static_cast<size_t>(extent.slot)].name;
    return extent.scale == 1 ? name : fmt::format("{}*{}", extent.scale, name);
  }
  std::string extents(const std::vector<Extent>& list) const {
    std::string text;
    for (const Extent& one : list) text += (text.empty() ? "" : ", ") + extent(one);
    return text;
  }

  void extent_entry(size_t i) {
    const ExtentEntry& entry = plan_.extents[i];
    switch (entry.kind) {
      case ExtentKind::global:
        line("extent {} global, at most {}", entry.name, entry.bound);
        break;
      case ExtentKind::fixed:
        line("extent {} fixed", entry.name);
        break;
      case ExtentKind::share:
      case ExtentKind::begin:
        line("extent {} {} of {} over {}, at most {}", entry.name, entry.kind == ExtentKind::share ? "share" : "begin",
             plan_.extents[static_cast<size_t>(entry.of)].name, plan_.mesh[static_cast<size_t>(entry.axis)].name, entry.bound);
        break;
      case ExtentKind::product:
      case ExtentKind::sum:
        line("extent {} {}, at most {}", entry.name, entry.kind == ExtentKind::product ? "product" : "sum", entry.bound);
        break;
    }
  }

  void indented(std::string_view text) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      line("  {}", text.substr(0, end));
      if (end == std::string_view::npos) break;
      text.remove_prefix(end + 1);
    }
  }

  static std::string numbers(const std::vector<int32_t>& list) { return fmt::format("{}", fmt::join(list, " ")); }

  void print(const Entry& entry) {
    line("entry {}", entry.name);
    for (const InputField& input : entry.inputs) line("  input {} in {}", input.name, input.buffer);
    for (const Step& step : entry.steps) {
      const std::string note = step.note.empty() ? "" : "  // " + step.note;
      switch (step.kind) {
        case StepKind::kernel: {
          const std::string slots = step.kernel.extents.empty() ? "" : fmt::format(" [{}]", extents(step.kernel.extents));
          line("  {} kernel {}({}){} outer {} by {}{}", name_of(step.partition), step.kernel.kernel, numbers(step.kernel.buffers), slots,
               extent(step.kernel.outer), step.kernel.grain, note);
          break;
        }
        case StepKind::gemm: {
          const GemmStep& gemm = step.gemm;
          line("  {} gemm {} {} {}= {}{} {}{}, m {} n {} k {}{}{}", name_of(step.partition), dtl::name_of(gemm.dtype), gemm.c,
               gemm.accumulate ? "+" : "", gemm.a, gemm.transpose_a ? "'" : "", gemm.b, gemm.transpose_b ? "'" : "", extent(gemm.m),
               extent(gemm.n), extent(gemm.k), gemm.batch == Extent{} ? "" : " batch " + extent(gemm.batch), note);
          break;
        }
        case StepKind::scatter:
          line("  {} scatter {} {}[{}] += {}, updates {} rows {} width {}{}", name_of(step.partition), dtl::name_of(step.scatter.dtype),
               step.scatter.table, step.scatter.index, step.scatter.update, extent(step.scatter.updates), extent(step.scatter.rows),
               extent(step.scatter.width), note);
          break;
        case StepKind::reduce:
          line("  {} reduce {} over {}{}, bucket {}: {} -> {}{}", name_of(step.partition), dtl::name_of(step.reduce.op),
               plan_.mesh[static_cast<size_t>(step.reduce.axis)].name,
               step.reduce.dim < 0 ? "" : fmt::format(" in parts along dimension {}", step.reduce.dim), step.reduce.bucket,
               numbers(step.reduce.from), numbers(step.reduce.to), note);
          break;
        case StepKind::exchange:
          line("  {} exchange over {}, parts along dimension {}{}: {} -> {}{}", name_of(step.partition),
               plan_.mesh[static_cast<size_t>(step.exchange.axis)].name, step.exchange.dim,
               step.exchange.cut < 0 ? "" : fmt::format(" to parts along {}", step.exchange.cut), step.exchange.from, step.exchange.to,
               note);
          break;
        case StepKind::copy:
          line("  {} copy {} -> {}{}", name_of(step.partition), step.copy.from, step.copy.to, note);
          break;
        case StepKind::barrier:
          line("  barrier {}", step.barrier == BarrierScope::all ? "all" : "team");
          break;
      }
    }
  }

  const Plan& plan_;
  std::string_view only_;
  std::string text_;
};

}  // namespace

std::string print(const Plan& plan, std::string_view only) { return Printer(plan, only).run(); }

uint64_t hash(const Plan& plan) {
  uint64_t value = 0xcbf29ce484222325;
  for (const char c : print(plan)) value = (value ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return value;
}

}  // namespace dtl::plan
