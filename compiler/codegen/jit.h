// Jit: kernels as text to functions of this process.
//
// takes:    kernel text, as make_plan prints it
// gives:    plan::KernelFunction, alive as long as the Jit
// promises: equal text is compiled once; an element's bits do not depend on the part [begin, end) it was computed in
// print it: `dslc emit --stage llvm` and `--stage asm`
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace dtl::codegen {

struct JitOptions {
  std::string cache_directory;  ///< empty: no disk cache
  int threads = 1;              ///< made for a call of `compile` that has something to compile, and only for it
  int opt_level = 3;
  int vector_bits = 0;  ///< 0: what the processor has; tests ask for less
};

class Jit {
 public:
  explicit Jit(JitOptions options);
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  /// One function for each entry, in order. Kernels are well formed: another text is a mistake of the compiler.
  std::vector<plan::KernelFunction> compile(const std::vector<plan::KernelEntry>& entries);

  std::string llvm_text(const plan::KernelEntry& entry);
  std::string asm_text(const plan::KernelEntry& entry);

  struct Stats {
    int compiled = 0, from_cache = 0;
    double seconds = 0;  ///< in `compile`
  };
  Stats stats() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// `$DTL_CACHE`, else `$XDG_CACHE_HOME/dslc` if that is absolute, else `~/.cache/dslc`; empty if none of these is set.
std::string default_cache_directory();
/// Of the LLVM that this program is built with: `19.1.7`.
std::string_view llvm_version();

}  // namespace dtl::codegen
