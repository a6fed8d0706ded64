// What a child process of `dslc repl` does with one input: check, compile, run, print, and send back what it made.
#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/driver/repl_session.h"

namespace dtl::driver {

/// A text and what diagnostics call it.
using LabelledText = std::pair<std::string, std::string>;

struct ReplChildInput {
  Options options;
  std::vector<LabelledText> declarations, lets;
  std::map<std::string, ReplTensor> held;
  std::map<std::string, size_t> held_after;  ///< how many of the lets came before it
  std::string checkpoints;                   ///< where the session keeps what it trained; empty: nothing yet
  std::optional<LabelledText> item;
  Ask ask = Ask::value;
  std::string checked;         ///< not empty: nothing is evaluated, the declarations are checked; the text with this label is new
  int64_t train_steps = 0;     ///< not 0: trains the train block for so many steps more
  bool quiet = false;          ///< prints diagnostics alone
  std::set<std::string> told;  ///< warnings that are not told again
};

struct ReplChildOutput {
  bool good = false;
  std::vector<std::string> let_names;
  std::map<std::string, ReplTensor> tensors;
  std::set<std::string> told;  ///< warnings
};

/// Whether a name stands in a text as a word.
bool mentions(const std::string& text, const std::string& name);

/// Runs in a child and waits for it; Ctrl-C meanwhile is the child's. Nothing where the child was stopped or died, of which
/// the user is told.
std::optional<ReplChildOutput> run_in_child(const ReplChildInput& input, std::ostream& out, std::ostream& err);

/// The declarations of the standard library.
std::vector<std::string> library_names();

}  // namespace dtl::driver
