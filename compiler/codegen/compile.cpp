// Modules to machine code: a short pass pipeline (loops are laid out and vectorised already), then LLVM's code generator.
#include "compiler/codegen/compile.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/InstSimplifyPass.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

#include "compiler/codegen/emit_kernel.h"
#include "compiler/source/check.h"

namespace dtl::codegen {
namespace {

void start_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler([](void*, const char* reason, bool) { DTL_CHECK(false, "LLVM gave up: {}", reason); });
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

std::unique_ptr<llvm::TargetMachine> make_machine(const Host& host, int opt_level) {
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  DTL_CHECK(target, "LLVM has no target for {}: {}", triple, error);
  const auto level = opt_level <= 0   ? llvm::CodeGenOptLevel::None
                     : opt_level == 1 ? llvm::CodeGenOptLevel::Less
                     : opt_level == 2 ? llvm::CodeGenOptLevel::Default
                                      : llvm::CodeGenOptLevel::Aggressive;
  llvm::TargetMachine* machine =
      target->createTargetMachine(triple, host.cpu, host.features, {}, llvm::Reloc::PIC_, llvm::CodeModel::Small, level, true);
  DTL_CHECK(machine, "LLVM makes no target machine for {}", host.cpu);
  return std::unique_ptr<llvm::TargetMachine>(machine);
}

}  // namespace

struct Compiler::Parts {
  Parts(const Host& made_for, int level) : host(made_for), opt_level(level), machine(make_machine(made_for, level)) {}

  Host host;
  int opt_level;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;

  std::unique_ptr<llvm::Module> module(const kernel::Kernel& kernel, const std::string& name) {
    auto result = emit_kernel(kernel, name, host, context);
    result->setTargetTriple(machine->getTargetTriple().str());
    result->setDataLayout(machine->createDataLayout());
    if (opt_level > 0) optimize(*result);
    return result;
  }

  void optimize(llvm::Module& module) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager graph;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(machine.get());
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graph);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graph, modules);
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::EarlyCSEPass(true));
    // Not InstCombine: it buys nothing here, and LLVM 19's turns max(|x|, 0), NaN kept, into max(x, 0).
    passes.addPass(llvm::InstSimplifyPass());
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::EarlyCSEPass());
    llvm::ModulePassManager all;
    all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
    all.run(module, modules);
  }

  std::string generate(llvm::Module& module, llvm::CodeGenFileType type) {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    const bool refused = machine->addPassesToEmitFile(passes, stream, nullptr, type, true);
    DTL_CHECK(!refused, "LLVM writes no such file");
    passes.run(module);
    return std::string(bytes.begin(), bytes.end());
  }
};

Compiler::Compiler(const Host& host, int opt_level) {
  start_llvm();
  parts_ = std::make_unique<Parts>(host, opt_level);
}
Compiler::~Compiler() = default;

std::string Compiler::object(const kernel::Kernel& kernel, const std::string& name) {
  return parts_->generate(*parts_->module(kernel, name), llvm::CodeGenFileType::ObjectFile);
}

std::string Compiler::llvm_text(const kernel::Kernel& kernel, const std::string& name) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  parts_->module(kernel, name)->print(stream, nullptr);
  return text;
}

std::string Compiler::asm_text(const kernel::Kernel& kernel, const std::string& name) {
  return parts_->generate(*parts_->module(kernel, name), llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace dtl::codegen
