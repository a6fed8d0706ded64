// Linking of kernels by ORC, without a compile layer: code comes from the cache or from our own compilers, and a start
// from the cache makes no target machine.
#include "compiler/codegen/session.h"

#include <dlfcn.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include "compiler/source/check.h"

namespace dtl::codegen {
namespace {

void expect(llvm::Error error, const char* what) {
  if (error) DTL_CHECK(false, "LLVM could not {}: {}", what, llvm::toString(std::move(error)));
}
template <class T>
T expect(llvm::Expected<T> value, const char* what) {
  if (!value) expect(value.takeError(), what);
  return std::move(*value);
}

std::unique_ptr<llvm::orc::ExecutionSession> make_session() {
  // Kernels call libmvec's functions, which nothing else in the process may have loaded.
  static const bool found = ::dlopen("libmvec.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr;
  DTL_CHECK(found, "libmvec.so.1, a part of glibc, cannot be loaded");
  return std::make_unique<llvm::orc::ExecutionSession>(expect(llvm::orc::SelfExecutorProcessControl::Create(), "start a session"));
}

}  // namespace

struct Session::Parts {
  std::unique_ptr<llvm::orc::ExecutionSession> session = make_session();
  llvm::orc::ObjectLinkingLayer layer{*session, expect(llvm::jitlink::InProcessMemoryManager::Create(), "make a memory manager")};
  llvm::orc::JITDylib& kernels = session->createBareJITDylib("kernels");
};

Session::Session() : parts_(std::make_unique<Parts>()) {
  parts_->kernels.addGenerator(expect(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0'), "look into this process"));
}

Session::~Session() { expect(parts_->session->endSession(), "end a session"); }

std::vector<plan::KernelFunction> Session::add(std::vector<Object> objects) {
  llvm::orc::SymbolLookupSet wanted;
  std::vector<llvm::orc::SymbolStringPtr> names;
  for (Object& object : objects) {
    names.push_back(parts_->session->intern(object.name));
    wanted.add(names.back());
    expect(parts_->layer.add(parts_->kernels, llvm::MemoryBuffer::getMemBufferCopy(object.bytes, object.name)), "add a kernel");
  }
  const auto found =
      expect(parts_->session->lookup({{&parts_->kernels, llvm::orc::JITDylibLookupFlags::MatchAllSymbols}}, std::move(wanted)),
             "link the kernels");
  std::vector<plan::KernelFunction> result;
  for (const auto& name : names) result.push_back(found.find(name)->second.getAddress().toPtr<plan::KernelFunction>());
  return result;
}

}  // namespace dtl::codegen
