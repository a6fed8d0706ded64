// Lines of input: from a terminal with editing, history and completion (libedit), or from a stream.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace dtl::driver {

class LineReader {
 public:
  enum class Kind : uint8_t { line, interrupted, end };
  struct Line {
    Kind kind;
    std::string text;  ///< without its line end
  };

  virtual ~LineReader() = default;
  virtual Line read(const std::string& prompt) = 0;
  /// Adds an input to the history, which a terminal keeps in a file from session to session.
  virtual void remember(const std::string& input) = 0;
};

/// `words` are what TAB completes.
std::unique_ptr<LineReader> make_terminal_reader(std::function<std::vector<std::string>()> words);
std::unique_ptr<LineReader> make_plain_reader(std::istream& in);

}  // namespace dtl::driver
