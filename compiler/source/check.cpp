// A failed DTL_CHECK: a message that helps to report it, then the end of the process.
#include "compiler/source/check.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace dtl {
namespace {

constexpr int kInternalError = 70;

std::vector<std::string>& notes() {
  thread_local std::vector<std::string> stack;
  return stack;
}

}  // namespace

ContextNote::ContextNote(std::string what) { notes().push_back(std::move(what)); }
ContextNote::~ContextNote() { notes().pop_back(); }

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fflush(stdout);
  std::string text = fmt::format("dslc: internal error: {}\n  at {}:{}: `{}` does not hold\n", message, file, line, condition);
  for (auto note = notes().rbegin(); note != notes().rend(); ++note) text += fmt::format("  while {}\n", *note);
  text += "  This is a mistake of the compiler, not of the program. Please report it with the program that shows it.\n";
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  // No destructors: other threads may still be running.
  std::_Exit(kInternalError);
}

}  // namespace dtl
