// The child: one compilation of everything the session holds, and the pipe home.
#include "compiler/driver/repl_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ostream>

#include "compiler/codegen/jit.h"
#include "compiler/driver/embedded.h"
#include "compiler/driver/fault_text.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/repl_show.h"
#include "compiler/driver/train.h"
#include "compiler/graph/print.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/registry.h"
#include "compiler/source/check.h"
#include "compiler/syntax/parse.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/plan/fault.h"
#include "runtime/train/executor.h"
#include "runtime/train/saver.h"

namespace dtl::driver {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<int64_t> shape_of(const types::TensorType& type) {
  std::vector<int64_t> shape;
  for (const types::Dim& dim : type.dims) shape.push_back(*dim.constant());
  return shape;
}

// ---- the pipe: one message, text and counts in binary

class Writer {
 public:
  void number(int64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    bytes_.append(value);
  }
  /// False where nobody reads.
  bool send(int to) const {
    for (size_t at = 0; at < bytes_.size();) {
      const ssize_t sent = write(to, bytes_.data() + at, bytes_.size() - at);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      at += static_cast<size_t>(sent);
    }
    return true;
  }

 private:
  std::string bytes_;
};

/// Reads what a Writer wrote; a message that was cut off is none.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  int64_t number() {
    int64_t value = 0;
    const std::string_view taken = take(sizeof value);
    if (good_) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(static_cast<size_t>(number()))); }
  bool good() const { return good_; }

 private:
  std::string_view take(size_t size) {
    if (size > bytes_.size()) good_ = false;
    if (!good_) return {};
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::string_view bytes_;
  bool good_ = true;
};

void write_output(Writer& writer, const ReplChildOutput& output) {
  writer.number(output.good);
  writer.number(static_cast<int64_t>(output.let_names.size()));
  for (const std::string& name : output.let_names) writer.text(name);
  writer.number(static_cast<int64_t>(output.tensors.size()));
  for (const auto& [name, tensor] : output.tensors) {
    writer.text(name);
    writer.number(static_cast<int64_t>(tensor.type.dtype));
    writer.number(static_cast<int64_t>(tensor.type.rank()));
    for (const int64_t size : shape_of(tensor.type)) writer.number(size);
    writer.text(tensor.bytes);
  }
  writer.number(static_cast<int64_t>(output.told.size()));
  for (const std::string& warning : output.told) writer.text(warning);
}

std::optional<ReplChildOutput> read_output(std::string_view bytes) {
  Reader reader(bytes);
  ReplChildOutput output;
  output.good = reader.number() != 0;
  for (int64_t left = reader.number(); left > 0 && reader.good(); --left) output.let_names.push_back(reader.text());
  for (int64_t left = reader.number(); left > 0 && reader.good(); --left) {
    const std::string name = reader.text();
    ReplTensor tensor;
    tensor.type.dtype = static_cast<DType>(reader.number());
    for (int64_t rank = reader.number(); rank > 0 && reader.good(); --rank) tensor.type.dims.emplace_back(reader.number());
    tensor.bytes = reader.text();
    output.tensors.emplace(name, std::move(tensor));
  }
  for (int64_t left = reader.number(); left > 0 && reader.good(); --left) output.told.insert(reader.text());
  if (!reader.good()) return std::nullopt;
  return output;
}

// ---- the work

class Work {
 public:
  Work(const ReplChildInput& input, std::ostream& out, std::ostream& err)
      : input_(input),
        out_(out),
        err_(err),
        compilation_(input.options, input.train_steps > 0 ? data::Decoding::at_once : data::Decoding::late) {}

  ReplChildOutput run() {
    compilation_.told = input_.told;
    output_.good = work();
    if (!told_ && (!output_.good || !input_.quiet)) compilation_.print_diagnostics(err_);
    output_.told = std::move(compilation_.told);
    return std::move(output_);
  }

 private:
  bool work() {
    if (!compilation_.parse(input_.declarations)) return false;
    if (!input_.checked.empty()) return compilation_.check(false);
    if (input_.train_steps > 0) return train();
    if (!input_.item) return of_train_block();
    if (!check_item()) return false;
    switch (input_.ask) {
      case Ask::type:
        if (!input_.quiet) out_ << result_.type << "\n";
        return true;
      case Ask::graph:
        out_ << graph::print(lower::lower(*compilation_.program, ops::table()), ops::table(), "eval_step");
        return true;
      case Ask::replicated: {
        const std::optional<graph::Graph> graph = compilation_.graph();
        if (graph) out_ << graph::print(*graph, ops::table(), "eval_step");
        return graph.has_value();
      }
      case Ask::value:
      case Ask::gradient:
      case Ask::time:
        return evaluate();
    }
    return false;
  }

  bool of_train_block() {
    if (!compilation_.check()) return false;
    const char* stage = input_.ask == Ask::graph ? "none" : input_.ask == Ask::gradient ? "gradient" : "";
    const std::optional<graph::Graph> graph = compilation_.graph(stage);
    if (graph) out_ << graph::print(*graph, ops::table(), "train_step");
    return graph.has_value();
  }

  bool check_item() {
    const auto parse = [&](const LabelledText& text) {
      return syntax::parse_item(items_, compilation_.sources, compilation_.sources.add(text.first, text.second), compilation_.sink);
    };
    sema::ExpressionRequest request;
    for (const LabelledText& let : input_.lets) {
      const syntax::Item* item = parse(let);
      if (!item) return false;
      request.lets.push_back(item);
    }
    request.item = parse(*input_.item);
    if (!request.item) return false;
    if (request.item->kind == syntax::ItemKind::let) {
      for (const syntax::Ident& name : request.item->names) output_.let_names.push_back(name.text);
    }
    request.path = input_.item->first;
    for (const auto& [name, tensor] : input_.held) {
      if (is_mentioned(name)) request.held.push_back({name, tensor.type, input_.held_after.at(name)});
    }
    request.gradient = input_.ask == Ask::gradient;
    return compilation_.check_expression(request, result_);
  }

  /// Whether the name stands anywhere in what is evaluated: what does not need not be read.
  bool is_mentioned(const std::string& name) const {
    return mentions(input_.item->second, name) ||
           std::any_of(input_.lets.begin(), input_.lets.end(), [&](const LabelledText& let) { return mentions(let.second, name); });
  }

  bool evaluate() {
    if (result_.outputs.empty()) {
      if (output_.let_names.empty() && !result_.shown.empty()) out_ << result_.shown << "\n";
      return true;
    }
    std::optional<plan::Plan> plan = compilation_.plan();
    if (!plan) return false;
    codegen::Jit jit({.cache_directory = codegen::default_cache_directory(), .threads = compilation_.cores()});
    const train::Topology topology = train::topology_of(*plan, compilation_.cores());
    plan::Executable executable{std::move(*plan), {}};
    executable.kernels = jit.compile(executable.plan.kernels);
    train::Executor executor(executable, topology);
    executor.run(executor.find("init"));
    for (const auto& [name, tensor] : input_.held) set(executor, name, plan::StateRole::state, tensor);
    take_trained(executor, executable.plan);
    const int step = executor.find("eval_step");
    if (input_.ask == Ask::time) return measure(executor, step);
    executor.run(step);
    for (const sema::ExpressionOutput& made : result_.outputs) {
      const std::span<const std::byte> bytes = std::as_const(executor).state(executor.find_state(made.path, plan::StateRole::state));
      show(made, bytes);
      output_.tensors.emplace(made.name, ReplTensor{made.type, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
    }
    return true;
  }

  void show(const sema::ExpressionOutput& made, std::span<const std::byte> bytes) const {
    std::string head;
    if (input_.ask == Ask::gradient) {
      head = "d/d " + made.name + ": ";
    } else if (made.name != "it") {
      head = (made.name.starts_with("it.") ? made.name.substr(2) : made.name) + ": ";
    }
    const std::string text = show_tensor(made.type.dtype, shape_of(made.type), bytes);
    out_ << head << made.type.str() << (text.find('\n') == std::string::npos ? " " : "\n") << text << "\n";
  }

  /// Runs for half a second at least, three times at least; the median, and what is not in it.
  bool measure(train::Executor& executor, int step) const {
    std::vector<double> times;
    const Clock::time_point begin = Clock::now();
    const auto since = [](Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); };
    while (times.size() < 3 || (since(begin) < 0.5 && times.size() < 100'000)) {
      const Clock::time_point start = Clock::now();
      executor.run(step);
      times.push_back(since(start));
    }
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    const double median = times[times.size() / 2];
    const auto [scale, unit] = median < 1e-3 ? std::pair{1e6, "µs"} : median < 1 ? std::pair{1e3, "ms"} : std::pair{1.0, "s"};
    out_ << fmt::format("{:.3g} {} (median of {} runs, compilation not counted)\n", median * scale, unit, times.size());
    return true;
  }

  /// Weights and states of layers as training left them. One of another type than then: its model was declared anew, and it
  /// starts anew.
  void take_trained(train::Executor& executor, const plan::Plan& plan) const {
    if (input_.checkpoints.empty() || checkpoint::checkpoints_in(input_.checkpoints).empty()) return;
    const checkpoint::Checkpoint from(checkpoint::checkpoints_in(input_.checkpoints).back().path);
    for (size_t i = 0; i < plan.states.size(); ++i) {
      const std::optional<train::SavedState> saved = train::saved_state(plan, plan.states[i]);
      const checkpoint::TensorEntry* entry = saved && !saved->training ? from.find(saved->type.name) : nullptr;
      if (!entry || entry->type.str() != saved->type.str()) continue;
      std::vector<std::byte> whole(static_cast<size_t>(entry->type.bytes()));
      from.read(*entry, whole);
      executor.write(static_cast<int>(i), whole);
    }
  }

  /// So many steps more of the train block, from the session's checkpoint, into the session's checkpoint.
  bool train() {
    if (!compilation_.check() || !compilation_.leave_out_rows()) return false;
    sema::Program& program = *compilation_.program;
    const std::vector<checkpoint::Found> before = checkpoint::checkpoints_in(input_.checkpoints);
    program.steps = (before.empty() ? 0 : before.back().total_step) + input_.train_steps;
    program.epochs = 0;
    program.checkpoint.emplace();
    program.checkpoint->directory = input_.checkpoints;
    program.checkpoint->every_steps = program.steps;
    program.checkpoint->keep = 1;
    std::optional<checkpoint::Checkpoint> from;
    if (!before.empty()) from.emplace(before.back().path);
    std::optional<train::Interrupt> interrupt(std::in_place);
    told_ = true;
    Options named = input_.options;
    if (named.file.empty()) named.file = "session";
    named.run = "none";  // the session is no file that could be run again
    const int status = train_checked(compilation_, named, from ? &*from : nullptr, interrupt, Clock::now(), out_, err_);
    return status == 0 || status == 128 + SIGINT;
  }

  static void set(train::Executor& executor, const std::string& path, plan::StateRole role, const ReplTensor& tensor) {
    const int index = executor.find_state(path, role);
    if (index < 0) return;
    const std::span<std::byte> bytes = executor.state(index);
    std::memcpy(bytes.data(), tensor.bytes.data(), bytes.size());
  }

  const ReplChildInput& input_;
  std::ostream& out_;
  std::ostream& err_;
  Compilation compilation_;
  syntax::Ast items_;
  sema::ExpressionResult result_;
  ReplChildOutput output_;
  bool told_ = false;  ///< diagnostics are printed already
};

/// The status of a child whose answer could not be written.
constexpr int kOutputLost = 1;

/// Never returns.
[[noreturn]] void be_child(const ReplChildInput& input, std::ostream& out, std::ostream& err, int home) {
  ReplChildOutput output;
  try {
    output = Work(input, out, err).run();
  } catch (const Fault& fault) {
    err << fault_text(fault, false) << "\n";
    const bool unfit = fault.code() == 6106 || fault.code() == 6107 || fault.code() == 6108 || fault.code() == 6110;
    if (unfit && input.train_steps > 0) err << fmt::format("`:train anew {} steps` begins anew\n", input.train_steps);
  } catch (const std::bad_alloc&) {
    err << fault_text(Fault(6003, {}), false) << "\n";
  } catch (const std::length_error&) {
    err << fault_text(Fault(6003, {}), false) << "\n";
  }
  out.flush();
  err.flush();
  Writer writer;
  write_output(writer, output);
  writer.send(home);
  _exit(out && err ? 0 : kOutputLost);  // the parent's exit handlers are not the child's
}

}  // namespace

bool mentions(const std::string& text, const std::string& name) {
  const auto part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !part(text[at - 1])) && (end == text.size() || !part(text[end]))) return true;
  }
  return false;
}

std::optional<ReplChildOutput> run_in_child(const ReplChildInput& input, std::ostream& out, std::ostream& err) {
  out.flush();
  err.flush();
  int ends[2];
  if (pipe(ends) != 0) throw Fault(6003, {});
  struct sigaction ignore{}, before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, &before);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    std::signal(SIGINT, SIG_DFL);
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_UNBLOCK, &interrupt, nullptr);
    be_child(input, out, err, ends[1]);
  }
  close(ends[1]);
  std::string bytes;
  char chunk[1 << 16];
  for (ssize_t got = 0; child > 0 && (got = read(ends[0], chunk, sizeof chunk)) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) bytes.append(chunk, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  sigaction(SIGINT, &before, nullptr);
  if (child < 0) throw Fault(6003, {});
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == SIGINT) {
      err << "\nstopped\n";
      if (!isatty(STDIN_FILENO)) std::raise(SIGINT);  // a script ends with what it runs
    } else if (WTERMSIG(status) == SIGKILL) {
      err << "the computation was killed, probably for want of memory; the session goes on as it was\n";
    } else {
      err << "this is a fault of the compiler, not of the input; the session goes on as it was\n";
    }
    return std::nullopt;
  }
  if (WEXITSTATUS(status) == kOutputLost) out.setstate(std::ios::badbit);  // it is the session's stream, too
  return read_output(bytes);
}

std::vector<std::string> library_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : stdlib_files()) {
    source::SourceSet sources;
    source::Sink sink;
    const auto ast = syntax::parse(sources, sources.add(std::string(file.name), std::string(file.text)), sink);
    for (const syntax::Decl* decl : ast->decls) names.push_back(decl->name.text);
  }
  return names;
}

}  // namespace dtl::driver
