// Modules to machine code.
#pragma once

#include <memory>
#include <string>

#include "compiler/codegen/host.h"
#include "compiler/kernel/kernel.h"

namespace dtl::codegen {

/// One thread's compiler: a target machine and what belongs to it. Not to be shared between threads.
class Compiler {
 public:
  Compiler(const Host& host, int opt_level);
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  /// Bytes of an object file in which the kernel is the function `name`.
  std::string object(const kernel::Kernel& kernel, const std::string& name);
  /// The module after LLVM's passes.
  std::string llvm_text(const kernel::Kernel& kernel, const std::string& name);
  std::string asm_text(const kernel::Kernel& kernel, const std::string& name);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dtl::codegen
