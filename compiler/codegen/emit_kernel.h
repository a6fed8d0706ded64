// A kernel as a module with one function.
#pragma once

#include <memory>
#include <string>

#include "compiler/codegen/host.h"
#include "compiler/kernel/kernel.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace dtl::codegen {

/// `void name(void* const* operands, const int64_t* extents, int64_t begin, int64_t end)`, see plan::KernelFunction.
/// Aliases are allowed where an operand is written at the index at which another is read. The kernel is verified.
std::unique_ptr<llvm::Module> emit_kernel(const kernel::Kernel& kernel, const std::string& name, const Host& host,
                                          llvm::LLVMContext& context);

}  // namespace dtl::codegen
