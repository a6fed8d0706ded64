// libFuzzer's entry: the target is named by DTL_FUZZ_TARGET. Anything thrown, and a broken invariant, is a find.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "compiler/source/check.h"
#include "tests/fuzz/entries.h"

// In place of compiler/source/check.cpp's, which ends the process where libFuzzer does not see it.
namespace dtl {
ContextNote::ContextNote(std::string) {}
ContextNote::~ContextNote() = default;
void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "%s:%d: `%s` does not hold: %s\n", file, line, condition, message.c_str());
  std::abort();
}
}  // namespace dtl

namespace {

const dtl::fuzz::Entry& target() {
  const char* name = std::getenv("DTL_FUZZ_TARGET");
  for (const dtl::fuzz::Entry& entry : dtl::fuzz::entries()) {
    if (name && entry.name == name) return entry;
  }
  std::fputs("DTL_FUZZ_TARGET is one of:", stderr);
  for (const dtl::fuzz::Entry& entry : dtl::fuzz::entries()) std::fprintf(stderr, " %s", entry.name.c_str());
  std::fputs("\n", stderr);
  std::exit(1);
}

}  // namespace

// Containers of ANTLR's and LLVM's libraries, which are built without the sanitizers, are not annotated.
extern "C" const char* __asan_default_options() { return "detect_container_overflow=0:allocator_may_return_null=0"; }

/// What is made once, such as the parsed library, counts for no input.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  target().run({});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const dtl::fuzz::Entry& entry = target();
  try {
    entry.run({reinterpret_cast<const char*>(data), size});
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "thrown: %s\n", thrown.what());
    std::abort();
  }
  return 0;
}
