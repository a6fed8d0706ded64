// dslc explain: what a strategy makes of a program. Each collective of a step with its cause, the rows that each replica reads, memory.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <span>

#include "compiler/driver/options.h"
#include "compiler/driver/pipeline.h"
#include "compiler/ops/registry.h"
#include "compiler/transform/communication.h"

namespace dtl::driver {
namespace {

using Json = nlohmann::json;
using transform::Collective;
using transform::Moved;

constexpr const char* kStep = "train_step";

/// Bytes of one replica that had a memory of its own.
struct Memory {
  int64_t weights = 0, optimizer = 0, others = 0;  ///< kept from step to step
  int64_t work = 0;                                ///< activations, gradients, whatever a step makes
  int64_t batch = 0;
  int64_t whole_weights = 0, whole_optimizer = 0;  ///< of all replicas together, each part once
  int64_t all() const { return weights + optimizer + others + work + batch; }
};

/// What is known of a program under one strategy.
struct Explained {
  std::string strategy;
  std::vector<plan::MeshAxis> mesh;
  types::Placements batch;
  int64_t examples = 0, batch_size = 0;
  std::vector<Collective> collectives;
  Memory memory;

  int64_t replicas() const {
    return std::accumulate(mesh.begin(), mesh.end(), int64_t{1}, [](int64_t n, const plan::MeshAxis& axis) { return n * axis.size; });
  }
  double sent() const {
    double sum = 0;
    for (const Collective& collective : collectives) sum += collective.sent(mesh[collective.axis].size);
    return sum;
  }
};

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 || bytes >= 99.95 ? fmt::format("{:.0f} {}", bytes, kUnits[unit]) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string bytes_text(int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

Memory memory_of(const plan::Plan& plan) {
  Memory memory;
  for (const plan::StateEntry& state : plan.states) {
    const plan::Buffer& buffer = plan.buffers[static_cast<size_t>(state.buffer)];
    int64_t whole = size_of(buffer.dtype);
    for (const plan::Extent& dim : state.whole) whole *= dim.scale * (dim.slot < 0 ? 1 : plan.extents[static_cast<size_t>(dim.slot)].bound);
    if (state.role == plan::StateRole::weight) {
      memory.weights += buffer.bytes;
      memory.whole_weights += whole;
    } else if (state.role == plan::StateRole::optimizer) {
      memory.optimizer += buffer.bytes;
      memory.whole_optimizer += whole;
    } else {
      memory.others += buffer.bytes;
    }
  }
  memory.work = plan.arena_bytes + plan.shared_bytes;
  memory.batch = plan.input_bytes;
  return memory;
}

/// The program under the strategy of `options`; nothing after reports.
std::optional<Explained> explained(Compilation& compilation) {
  if (!compilation.parse() || !compilation.check()) return std::nullopt;
  const sema::Program& program = *compilation.program;
  Explained result;
  result.strategy = program.strategy.name;
  result.mesh = program.strategy.mesh.axes;
  result.batch = program.strategy.batch;
  result.batch_size = program.data.batch;
  for (const sema::DataSplit& split : program.data.splits) {
    if (split.name == "train") result.examples = split.info.examples;
  }
  const auto graph = compilation.graph();
  if (!graph) return std::nullopt;
  const auto plan = compilation.plan();
  if (!plan) return std::nullopt;
  result.collectives = transform::collectives(*graph, ops::table(), kStep);
  // Along an axis of one member nothing moves.
  std::erase_if(result.collectives, [&](const Collective& collective) { return result.mesh[collective.axis].size == 1; });
  result.memory = memory_of(*plan);
  return result;
}

/// The rows of a batch of `rows` that each replica takes, as `[begin, end)`, in order of the replicas.
std::vector<std::pair<int64_t, int64_t>> rows_of(const Explained& what, int64_t rows) {
  std::vector<std::pair<int64_t, int64_t>> parts = {{0, rows}};
  for (size_t axis = 0; axis < what.mesh.size(); ++axis) {
    const int64_t members = what.mesh[axis].size;
    const bool split = axis < what.batch.size() && what.batch[axis].kind == types::PlacementKind::split;
    std::vector<std::pair<int64_t, int64_t>> next;
    for (const auto& [begin, end] : parts) {
      const int64_t n = end - begin;
      for (int64_t m = 0; m < members; ++m) {
        const int64_t first = m * (n / members) + std::min(m, n % members), size = n / members + (m < n % members ? 1 : 0);
        next.emplace_back(split ? begin + first : begin, split ? begin + first + size : end);
      }
    }
    parts = std::move(next);
  }
  return parts;
}

std::string rows_text(const Explained& what, int64_t rows) {
  constexpr size_t kShown = 8;
  const auto parts = rows_of(what, rows);
  std::string text;
  for (size_t i = 0; i < std::min(parts.size(), kShown); ++i) {
    const auto& [begin, end] = parts[i];
    text += i ? ", " : "";
    text += end == begin ? "none" : end == begin + 1 ? fmt::format("{}", begin) : fmt::format("{} … {}", begin, end - 1);
  }
  return text + (parts.size() > kShown ? ", …" : "");
}

std::string place_text(const Compilation& compilation, source::Range range) {
  if (!range.known()) return "";
  const source::Position at = compilation.sources.position(range.file, range.begin);
  return fmt::format("{}:{}", compilation.sources.file(range.file).name, at.line);
}

std::string mesh_text(const Explained& what) {
  std::string text;
  for (const plan::MeshAxis& axis : what.mesh) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", axis.name, axis.size);
  return "{ " + text + " }";
}

/// Columns as wide as their widest cells; the last is not filled up.
class Table {
 public:
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void print(std::ostream& out, const std::vector<bool>& right) const {
    std::vector<size_t> widths(right.size(), 0);
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], length(row[i]));
    }
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string fill(widths[i] - length(row[i]), ' ');
        line += "  " + (right[i] ? fill + row[i] : row[i] + fill);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out << line << "\n";
    }
  }

 private:
  /// In characters.
  static size_t length(const std::string& text) {
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  }
  std::vector<std::vector<std::string>> rows_;
};

const char* meaning(const std::string& kind) {
  if (kind == "all_reduce") return "what the replicas have of a value is combined, and each gets the result";
  if (kind == "reduce_scatter") return "what the replicas have of a value is combined, and each gets its part of the result";
  if (kind == "all_gather") return "the parts that the replicas hold are put together, and each gets the whole";
  return "each replica sends its part of another dimension's parts: a split moves from one dimension to another";
}

void print_collectives(const Compilation& compilation, const Explained& what, std::ostream& out) {
  if (what.collectives.empty()) {
    out << "\na training step communicates nothing\n";
    return;
  }
  out << fmt::format("\na training step: {} collective{}; each replica sends {}\n", what.collectives.size(),
                     what.collectives.size() == 1 ? "" : "s", bytes_text(what.sent()));
  Table table;
  table.row({"", "collective", "over", "of", "from → to", "bytes", "sent", "line"});
  std::vector<std::string> kinds;
  for (size_t i = 0; i < what.collectives.size(); ++i) {
    const Collective& collective = what.collectives[i];
    const plan::MeshAxis& axis = what.mesh[collective.axis];
    if (std::find(kinds.begin(), kinds.end(), collective.kind) == kinds.end()) kinds.push_back(collective.kind);
    const std::string kind = collective.kind + (collective.op ? fmt::format("({})", name_of(*collective.op)) : "");
    bool first = true;
    const auto change = [&](const Moved& moved) { return moved.from[collective.axis].str() + " → " + moved.to[collective.axis].str(); };
    if (collective.values.size() > 1) {
      table.row({fmt::format("{}", i), kind, axis.name, fmt::format("{} values together", collective.values.size()), "",
                 bytes_text(collective.bytes()), bytes_text(collective.sent(axis.size)), ""});
      first = false;
    }
    for (const Moved& moved : collective.values) {
      // What an op made is called by it, which says little without the layer.
      const bool of_layer = !moved.scope.empty() && moved.what.find('/') == std::string::npos;
      std::string name = fmt::format("{}{}: {}", moved.what, of_layer ? " in " + moved.scope : "", moved.type);
      table.row({first ? fmt::format("{}", i) : "", first ? kind : "", first ? axis.name : "", name, change(moved), bytes_text(moved.bytes),
                 first ? bytes_text(collective.sent(axis.size)) : "", place_text(compilation, moved.range)});
    }
  }
  table.print(out, {true, false, false, false, false, true, true, false});
  out << "\n";
  for (const std::string& kind : kinds) out << "  " << kind << ": " << meaning(kind) << "\n";
}

void print_memory(const Explained& what, std::ostream& out) {
  const Memory& memory = what.memory;
  Table table;
  const auto part = [](int64_t own, int64_t whole) { return own < whole ? fmt::format("of {}", bytes_text(whole)) : std::string(); };
  table.row({"weights", bytes_text(memory.weights), part(memory.weights, memory.whole_weights)});
  table.row({"state of the optimizer", bytes_text(memory.optimizer), part(memory.optimizer, memory.whole_optimizer)});
  table.row({"other state: metrics, counters, sums that wait", bytes_text(memory.others), ""});
  table.row({"activations and gradients", bytes_text(memory.work), ""});
  table.row({"its rows of a batch", bytes_text(memory.batch), ""});
  table.row({"together", bytes_text(memory.all()), ""});
  out << "\nmemory of a replica; those of one process hold what all have in common only once\n";
  table.print(out, {false, true, false});
}

Json json_of(const Compilation& compilation, const Explained& what) {
  Json mesh = Json::object(), collectives = Json::array(), rows = Json::array();
  for (const plan::MeshAxis& axis : what.mesh) mesh[axis.name] = axis.size;
  for (const auto& [begin, end] : rows_of(what, what.batch_size)) rows.push_back({begin, end});
  for (const Collective& collective : what.collectives) {
    Json values = Json::array();
    for (const Moved& moved : collective.values) {
      values.push_back({{"of", moved.what},
                        {"type", moved.type},
                        {"from", types::str(moved.from)},
                        {"to", types::str(moved.to)},
                        {"bytes", moved.bytes},
                        {"place", place_text(compilation, moved.range)},
                        {"scope", moved.scope}});
    }
    const plan::MeshAxis& axis = what.mesh[collective.axis];
    Json one = {{"kind", collective.kind},
                {"axis", axis.name},
                {"members", axis.size},
                {"bytes", collective.bytes()},
                {"sent", collective.sent(axis.size)},
                {"values", std::move(values)}};
    if (collective.op) one["op"] = name_of(*collective.op);
    if (collective.bucket) one["bucket"] = *collective.bucket;
    collectives.push_back(std::move(one));
  }
  const Memory& memory = what.memory;
  return {{"event", "explained"},
          {"strategy", what.strategy},
          {"mesh", std::move(mesh)},
          {"batch", what.batch_size},
          {"rows", std::move(rows)},
          {"sent", what.sent()},
          {"collectives", std::move(collectives)},
          {"memory",
           {{"weights", memory.weights},
            {"optimizer", memory.optimizer},
            {"others", memory.others},
            {"work", memory.work},
            {"batch", memory.batch},
            {"together", memory.all()}}}};
}

/// `a(x, y),b` at the commas outside of brackets and texts.
std::vector<std::string> parted(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    quoted ^= c == '"';
    depth += !quoted && (c == '(' || c == '[' || c == '{');
    depth -= !quoted && (c == ')' || c == ']' || c == '}');
    if (c == ',' && depth <= 0 && !quoted) {
      parts.emplace_back();
    } else if (c != ' ' || !parts.back().empty()) {
      parts.back() += c;
    }
  }
  return parts;
}

int compare(const Options& options, std::ostream& out, std::ostream& err) {
  std::vector<std::string> strategies = parted(options.compare);
  Table table;
  table.row({"strategy", "replicas", "collectives", "sent by each", "weights", "optimizer", "work", "memory of each"});
  Json all = Json::array();
  for (size_t i = 0; i <= strategies.size(); ++i) {
    Options one = options;
    if (i > 0) one.strategy = strategies[i - 1];
    Compilation compilation(one);
    const auto what = explained(compilation);
    if (i == 0 || !what) compilation.print_diagnostics(err);
    if (!what) return compilation.failure_status();
    const Memory& memory = what->memory;
    table.row({one.strategy.value_or(what->strategy), fmt::format("{}", what->replicas()), fmt::format("{}", what->collectives.size()),
               bytes_text(what->sent()), bytes_text(memory.weights), bytes_text(memory.optimizer), bytes_text(memory.work),
               bytes_text(memory.all())});
    all.push_back(json_of(compilation, *what));
  }
  if (options.json) {
    for (const Json& what : all) out << what.dump() << "\n";
  } else {
    table.print(out, {false, true, true, true, true, true, true, true});
  }
  return 0;
}

}  // namespace

int explain(const Options& options, std::ostream& out, std::ostream& err) {
  if (!options.compare.empty()) return compare(options, out, err);
  Compilation compilation(options);
  const auto what = explained(compilation);
  compilation.print_diagnostics(err);
  if (!what) return compilation.failure_status();
  if (options.dot) {
    out << transform::dot(*compilation.graph(), ops::table(), kStep);
    return 0;
  }
  if (options.json) {
    out << json_of(compilation, *what).dump() << "\n";
    return 0;
  }
  const int64_t replicas = what->replicas();
  out << fmt::format("strategy {} on mesh {}: {} replica{}\n", what->strategy, mesh_text(*what), replicas, replicas == 1 ? "" : "s");
  out << fmt::format("a batch of {}: each replica takes the rows {}\n", what->batch_size, rows_text(*what, what->batch_size));
  if (const int64_t last = what->batch_size > 0 ? what->examples % what->batch_size : 0; last > 0)
    out << fmt::format("the last of an epoch has {}: the rows {}\n", last, rows_text(*what, last));
  print_collectives(compilation, *what, out);
  print_memory(*what, out);
  return 0;
}

}  // namespace dtl::driver
