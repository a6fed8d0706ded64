// Progress: what a run of training tells people and programs while it goes on.
//
// takes:    events of the training loop, with times in seconds since its start
// gives:    lines on a stream: rewritten in place, plain, results only, or a JSON object each
// promises: `step` prints at most as often as `due` says; nothing here reads a clock
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dtl::report {

/// What a run is made of, known before its first step.
struct Start {
  std::string program;  ///< file name
  std::string record;   ///< the file that repeats this run; may be empty
  std::string strategy, precision;
  int replicas = 1, threads_per_replica = 1;
  int64_t batch = 1;
  std::vector<std::pair<std::string, int64_t>> splits;  ///< name and number of examples
  int64_t epochs = 0, steps = 0;                        ///< one of them is 0
  int kernels_compiled = 0, kernels_from_cache = 0;
  double seconds = 0;  ///< from the command's start until here
};

/// Where training is, after a step.
struct Position {
  int64_t epoch = 0, epochs = 0;            ///< from 1; of how many, 0 where steps are limited
  int64_t step = 0, steps = 0;              ///< from 1, in the epoch; of how many
  int64_t total_step = 0, total_steps = 0;  ///< since the start; until the end
  double seconds = 0;                       ///< since the start
  double examples_per_second = 0;           ///< lately, evaluations left out
  double seconds_left = 0;                  ///< of training, at this speed
};

using Value = std::pair<std::string, double>;  ///< a report's name and value

/// A checkpoint that was written.
struct Saved {
  std::string path;
  int64_t total_step = 0;
  bool best = false;  ///< by the report that the run watches
};

struct End {
  bool interrupted = false;
  int64_t epochs = 0, steps = 0;  ///< done; an epoch begun is not counted
  double seconds = 0;
  double examples_per_second = 0;  ///< of the whole training
  std::vector<Value> values;       ///< the last of each, by path: `train/loss`, `test/accuracy`
};

/// Output that cannot be written (a full disk, a reader that went away) is a fault at the first line, not after hours.
class Progress {
 public:
  virtual ~Progress() = default;

  virtual void start(const Start& start) = 0;
  /// Whether `step` at this time would print: what it shows is computed only then.
  virtual bool due(double seconds) const = 0;
  virtual void step(const Position& position, std::span<const Value> values) = 0;
  virtual void epoch(const Position& position, std::span<const Value> values) = 0;
  virtual void evaluation(const std::string& split, const Position& position, std::span<const Value> values) = 0;
  virtual void saved(const Saved& saved) = 0;
  /// Something that people should know: a line of its own.
  virtual void message(const std::string& text) = 0;
  virtual void end(const End& end) = 0;
};

/// A line an epoch and an evaluation, and one every 5 seconds.
std::unique_ptr<Progress> make_plain(std::ostream& out);
/// The same lines, and below them one that is rewritten, at most 10 times a second, no wider than `width()` columns.
std::unique_ptr<Progress> make_live(std::ostream& out, std::function<int()> width);
/// The last values only.
std::unique_ptr<Progress> make_quiet(std::ostream& out);
/// One object a line, with `event`: start, step (once a second), epoch, evaluation, saved, message, end. A value that is not
/// finite is null.
std::unique_ptr<Progress> make_json(std::ostream& out);

/// Columns of the terminal behind a file descriptor; 80 where it does not say.
int terminal_width(int descriptor);
/// Whether lines can be rewritten there.
bool is_terminal(int descriptor);

}  // namespace dtl::report
