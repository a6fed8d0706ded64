// Progress as lines of text for people.
#include "runtime/report/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <ostream>

#include "runtime/report/format.h"

namespace dtl::report {
namespace {

std::string plural(int64_t n, const char* noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

std::string start_text(const Start& start) {
  std::string splits;
  for (const auto& [name, examples] : start.splits) splits += fmt::format("{}{} {}", splits.empty() ? "" : ", ", name, examples);
  const std::string record = start.record.empty() ? "" : fmt::format("\nto repeat it: {}", start.record);
  return fmt::format("{}: strategy {}, {} × {}, precision {}, batch {}, {} ({} examples), {} from the cache and {} compiled in {}{}",
                     start.program, start.strategy, plural(start.replicas, "replica"), plural(start.threads_per_replica, "thread"),
                     start.precision, start.batch, start.epochs ? plural(start.epochs, "epoch") : plural(start.steps, "step"), splits,
                     plural(start.kernels_from_cache, "kernel"), start.kernels_compiled, duration_text(start.seconds), record);
}

std::string epoch_text(const Position& position) {
  return position.epochs ? fmt::format("epoch {}/{}", position.epoch, position.epochs) : fmt::format("epoch {}", position.epoch);
}

std::string step_text(const Position& position) {
  return position.epochs ? fmt::format("step {}/{}", position.step, position.steps)
                         : fmt::format("step {}/{}", position.total_step, position.total_steps);
}

/// The last values of each split on a line.
std::string lines_of(std::span<const Value> values) {
  std::string lines;
  for (size_t i = 0; i < values.size();) {
    const std::string split = values[i].first.substr(0, values[i].first.find('/') + 1);
    std::vector<Value> of_split;
    for (; i < values.size() && values[i].first.starts_with(split); ++i)
      of_split.emplace_back(values[i].first.substr(split.size()), values[i].second);
    lines += fmt::format("{}: {}\n", split.substr(0, split.size() - 1), values_text(of_split));
  }
  return lines;
}

class Plain : public Progress {
 public:
  explicit Plain(std::ostream& out) : out_(out) {}

  void start(const Start& start) override { line(start_text(start)); }
  bool due(double seconds) const override { return seconds >= next_; }
  void step(const Position& position, std::span<const Value> values) override {
    next_ = position.seconds + 5;
    line(fmt::format("  {}, {}: {}{}{} examples/s, {} left", epoch_text(position), step_text(position), values_text(values),
                     values.empty() ? "" : ", ", rate_text(position.examples_per_second), duration_text(position.seconds_left)));
  }
  void epoch(const Position& position, std::span<const Value> values) override {
    line(fmt::format("{}: {}{}{} examples/s", epoch_text(position), values_text(values), values.empty() ? "" : ", ",
                     rate_text(position.examples_per_second)));
  }
  void evaluation(const std::string& split, const Position&, std::span<const Value> values) override {
    line(fmt::format("  {}: {}", split, values_text(values)));
  }
  void saved(const Saved& saved) override { line(fmt::format("  saved {}{}", saved.path, saved.best ? ", the best so far" : "")); }
  void message(const std::string& text) override { line(text); }
  void end(const End& end) override {
    line(fmt::format("{} after {} ({}) in {}: {} examples/s", end.interrupted ? "interrupted" : "done", plural(end.epochs, "epoch"),
                     plural(end.steps, "step"), duration_text(end.seconds), rate_text(end.examples_per_second)));
  }

 protected:
  virtual void line(const std::string& text) { write(out_, text + "\n"); }

  std::ostream& out_;
  double next_ = 5;
};

class Live final : public Plain {
 public:
  Live(std::ostream& out, std::function<int()> width) : Plain(out), width_(std::move(width)) { next_ = 0; }

  void step(const Position& position, std::span<const Value> values) override {
    next_ = position.seconds + 0.1;
    // From the left: what matters most. What the terminal has no room for is left out.
    const int room = width_() - 1;
    std::string text;
    const auto add = [&](const std::string& part) {
      const size_t needed = text.size() + (text.empty() ? 0 : 2) + part.size();
      if (needed <= static_cast<size_t>(std::max(room, 0))) text += (text.empty() ? "" : "  ") + part;
    };
    add(epoch_text(position));
    add(step_text(position));
    for (const auto& [name, value] : values) add(name + " " + value_text(value));
    add(rate_text(position.examples_per_second) + " ex/s");
    add(duration_text(position.seconds_left) + " left");
    write(out_, "\r" + text + "\x1b[K");
    drawn_ = true;
  }

 private:
  void line(const std::string& text) override {
    if (drawn_) write(out_, "\r\x1b[K");
    drawn_ = false;
    Plain::line(text);
  }

  std::function<int()> width_;
  bool drawn_ = false;
};

class Quiet final : public Progress {
 public:
  explicit Quiet(std::ostream& out) : out_(out) {}

  void start(const Start&) override {}
  bool due(double) const override { return false; }
  void step(const Position&, std::span<const Value>) override {}
  void epoch(const Position&, std::span<const Value>) override {}
  void evaluation(const std::string&, const Position&, std::span<const Value>) override {}
  void saved(const Saved&) override {}
  void message(const std::string&) override {}
  void end(const End& end) override { write(out_, lines_of(end.values)); }

 private:
  std::ostream& out_;
};

}  // namespace

std::unique_ptr<Progress> make_plain(std::ostream& out) { return std::make_unique<Plain>(out); }
std::unique_ptr<Progress> make_live(std::ostream& out, std::function<int()> width) { return std::make_unique<Live>(out, std::move(width)); }
std::unique_ptr<Progress> make_quiet(std::ostream& out) { return std::make_unique<Quiet>(out); }

int terminal_width(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool is_terminal(int descriptor) {
  const char* kind = std::getenv("TERM");
  return isatty(descriptor) && kind && std::string_view(kind) != "dumb";
}

}  // namespace dtl::report
