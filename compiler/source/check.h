// DTL_CHECK: an internal invariant, tested in every build. A failure is our fault, never the user's.
#pragma once

#include <fmt/format.h>

#include <string>

namespace dtl {
/// While it lives, a failed check of this thread prints what was being done, the innermost first.
class ContextNote {
 public:
  explicit ContextNote(std::string what);
  ~ContextNote();
  ContextNote(const ContextNote&) = delete;
  ContextNote& operator=(const ContextNote&) = delete;
};

/// Prints the message and what was being done (see ContextNote), then exits the process with status 70.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);
}  // namespace dtl

#define DTL_CHECK(condition, ...)                                                                    \
  do {                                                                                               \
    if (!(condition)) ::dtl::check_failed(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)); \
  } while (false)
