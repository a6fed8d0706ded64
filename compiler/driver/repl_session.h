// The session of `dslc repl`: declarations, `let`s and tensors that were made so far, and what a new input does to them.
//
// Every input runs in a child process: whatever happens to it (Ctrl-C, no memory, a fault of ours), the session goes on as it
// was before. What it makes comes back through a pipe.
#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/driver/options.h"
#include "compiler/types/tensor_type.h"

namespace dtl::driver {

struct ReplChildOutput;

struct ReplTensor {
  types::TensorType type;
  std::string bytes;  ///< row-major
};

/// What is wanted of an expression.
enum class Ask : uint8_t { value, type, graph, gradient, replicated, time };

class ReplSession {
 public:
  /// `options.file`: where data files are looked up first; `options.strategy`: what `:replicated` places by.
  ReplSession(const Options& options, std::ostream& out, std::ostream& err);
  ~ReplSession();
  ReplSession(const ReplSession&) = delete;
  ReplSession& operator=(const ReplSession&) = delete;

  /// An expression, a `let` or a declaration. False after a mistake, of which the user was told.
  bool input(const std::string& text);
  /// An expression or `let` for something else than its value. Empty text, for `graph`, `gradient` and `replicated`: the
  /// training step of the session's train block.
  bool ask(Ask what, const std::string& text);
  /// Declares what a file declares.
  bool load(const std::string& path);
  bool set_strategy(const std::string& expression);
  std::string strategy() const { return options_.strategy.value_or(std::string()); }
  /// Trains the session's train block for so many steps from where it stands, or `anew`. Expressions see its weights.
  bool train(int64_t steps, bool anew);

  /// Whether the text could be the whole of an input: no bracket is open, and it does not end in the middle of an expression.
  static bool complete(const std::string& text);
  /// Everything that can be named now, for completion.
  std::vector<std::string> names() const;
  /// A line for each declaration and `let`.
  void list() const;

 private:
  struct Text {
    std::vector<std::string> names;
    std::string label;  ///< `<input 3>`, a file's name
    std::string text;
  };
  struct Child;

  bool declare(const std::string& label, const std::string& text);
  /// Names that get another meaning lose their last one, but where a `let` that stays, or the new text `by`, speaks of it.
  void forget_hidden(const std::vector<std::string>& hidden, const std::string& by);
  std::optional<ReplChildOutput> run(const Child& child);

  Options options_;
  std::ostream& out_;
  std::ostream& err_;
  std::vector<Text> declarations_, lets_;
  std::map<std::string, ReplTensor> held_;    ///< by the name of a `let`
  std::map<std::string, size_t> held_after_;  ///< how many of `lets_` came before it
  std::string checkpoints_;                   ///< a folder of the session's own; empty: nothing is trained yet
  std::set<std::string> told_;                ///< warnings, each told once
  int inputs_ = 0;
};

}  // namespace dtl::driver
