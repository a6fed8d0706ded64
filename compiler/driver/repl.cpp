// dslc repl: reads inputs and commands, from a terminal with editing, history and completion, else line by line.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iostream>

#include "compiler/driver/options.h"
#include "compiler/driver/repl_line.h"
#include "compiler/driver/repl_session.h"
#include "runtime/plan/fault.h"

namespace dtl::driver {
namespace {

constexpr std::string_view kHelp =
    R"(An expression is evaluated at once; its last tensor is `it`. `let x = …` keeps a value; a declaration (fn, layer, model,
dataset, train, …) is kept and may be given anew. An input goes on while a bracket is open or an operator ends the line; an
empty line ends it. Ctrl-C stops a computation or drops a line, Ctrl-D leaves.

  :type EXPR            its type, nothing computed
  :graph [EXPR]         the tensor graph; without EXPR, of the training step
  :gradient [EXPR]      derivatives of a scalar by what it reads; without EXPR, the training step after differentiation
  :replicated [EXPR]    the graph as the strategy places it, collectives and all
  :strategy [EXPR]      shows or sets the strategy: `:strategy mirrored(replicas = 2)`
  :load FILE            declares what a file declares
  :train [anew] N steps
                        trains the session's train block from where it stands, or anew; expressions see its weights
  :time EXPR            how long it takes
  :list                 what the session holds
  :help, :quit
)";

const std::vector<std::string>& commands() {
  static const std::vector<std::string> names = {":type",  ":graph", ":gradient", ":replicated", ":strategy", ":load",
                                                 ":train", ":time",  ":list",     ":help",       ":quit"};
  return names;
}

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

class Repl {
 public:
  Repl(const Options& options, std::ostream& out, std::ostream& err) : session_(options, out, err), out_(out), err_(err) {}

  int run(const Options& options) {
    if (!options.file.empty() && !session_.load(options.file)) failed_ = true;
    const bool terminal = &out_ == &std::cout && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    const std::unique_ptr<LineReader> reader = terminal ? make_terminal_reader([this] { return words(); }) : make_plain_reader(std::cin);
    if (terminal) out_ << "dslc: :help explains, Ctrl-D leaves\n" << std::flush;
    std::string text;
    while (!quit_) {
      out_.flush();
      if (!out_ || !err_) throw Fault(6004, {std::strerror(EIO)});  // in this process or a child; nobody sees an answer any more
      const LineReader::Line line = reader->read(text.empty() ? "dtl> " : "...> ");
      if (line.kind == LineReader::Kind::interrupted) {
        text.clear();
        continue;
      }
      if (line.kind == LineReader::Kind::end) {
        if (!trimmed(text).empty()) input(text);
        break;
      }
      const bool blank = trimmed(line.text).empty();
      if (text.empty() && blank) continue;
      if (text.empty() && trimmed(line.text).front() == ':') {
        reader->remember(line.text);
        command(trimmed(line.text));
        continue;
      }
      text += (text.empty() ? "" : "\n") + line.text;
      if (!blank && !ReplSession::complete(text)) continue;
      reader->remember(text);
      input(text);
      text.clear();
    }
    // A script with a mistake has failed; a person at a terminal knows.
    return failed_ && !terminal ? 1 : 0;
  }

 private:
  void input(const std::string& text) {
    const std::string word = trimmed(text).substr(0, trimmed(text).find_first_of("()"));
    const std::vector<std::string> names = session_.names();
    const bool known = std::find(names.begin(), names.end(), word) != names.end();
    if (!known && (word == "help" || word == "exit" || word == "quit")) {
      err_ << fmt::format("commands begin with a colon: `:{}`\n", word == "help" ? word : "quit");
      failed_ = true;
      return;
    }
    if (session_.input(text)) return;
    failed_ = true;
    if (const std::string name = assigned(text); !name.empty()) err_ << fmt::format("a value is kept by `let {}`\n", trimmed(text));
  }

  /// The name in `x = 3`, as other languages keep a value.
  static std::string assigned(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || text.compare(equals, 2, "==") == 0 || text.compare(equals, 2, "=>") == 0) return {};
    const std::string name = trimmed(text.substr(0, equals));
    const auto part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
    return !name.empty() && std::all_of(name.begin(), name.end(), part) ? name : std::string();
  }

  std::vector<std::string> words() const {
    std::vector<std::string> all = session_.names();
    all.insert(all.end(), commands().begin(), commands().end());
    return all;
  }

  void command(const std::string& line) {
    const size_t blank = std::min(line.find_first_of(" \t"), line.size());
    const std::string name = line.substr(0, blank), rest = trimmed(line.substr(blank));
    if (!run_command(name, rest)) failed_ = true;
  }

  bool run_command(const std::string& name, const std::string& rest) {
    const auto ask = [&](Ask what, bool needs) {
      if (!needs || !rest.empty()) return session_.ask(what, rest);
      err_ << name << " takes an expression\n";
      return false;
    };
    if (name == ":type") return ask(Ask::type, true);
    if (name == ":graph") return ask(Ask::graph, false);
    if (name == ":gradient") return ask(Ask::gradient, false);
    if (name == ":replicated") return ask(Ask::replicated, false);
    if (name == ":time") return ask(Ask::time, true);
    if (name == ":strategy") {
      if (!rest.empty()) return session_.set_strategy(rest);
      out_ << (session_.strategy().empty() ? "none is set: everything in one place, or as the train block says" : session_.strategy())
           << "\n";
      return true;
    }
    if (name == ":load") {
      if (!rest.empty()) return session_.load(rest);
      err_ << ":load takes a file\n";
      return false;
    }
    if (name == ":train") return train(rest);
    if (name == ":list") {
      session_.list();
      return true;
    }
    if (name == ":help") {
      out_ << kHelp;
      return true;
    }
    if (name == ":quit") {
      quit_ = true;
      return true;
    }
    err_ << "there is no command `" << name << "`; :help lists them\n";
    return false;
  }

  bool train(std::string rest) {
    const bool anew = rest.starts_with("anew") && rest.size() > 4 && rest[4] == ' ';
    if (anew) rest = trimmed(rest.substr(4));
    int64_t steps = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), steps);
    const std::string unit = trimmed(std::string_view(end, static_cast<size_t>(rest.data() + rest.size() - end)));
    if (error != std::errc() || steps < 1 || (unit != "steps" && unit != "step" && !unit.empty())) {
      err_ << ":train takes a number of steps: `:train 100 steps`\n";
      return false;
    }
    return session_.train(steps, anew);
  }

  ReplSession session_;
  std::ostream& out_;
  std::ostream& err_;
  bool quit_ = false, failed_ = false;
};

}  // namespace

int repl(const Options& options, std::ostream& out, std::ostream& err) { return Repl(options, out, err).run(options); }

}  // namespace dtl::driver
