// The processor at hand, by LLVM's detection.
#include "compiler/codegen/host.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include "compiler/source/check.h"

namespace dtl::codegen {
namespace {

Host detect() {
  const llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> names;
  for (const auto& feature : found) names.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(names.begin(), names.end());  // the map's order is not stable, and the text is part of cache keys
  Host result;
  result.cpu = llvm::sys::getHostCPUName().str();
  for (const std::string& name : names) result.features += (result.features.empty() ? "" : ",") + name;
  const auto has = [&](const char* name) { return found.lookup(name); };
  result.fma = has("fma");
  result.f16c = has("f16c");
  if (has("avx2") && has("fma")) result.vector_bits = 256;
  if (has("avx512f") && has("avx512dq") && has("avx512bw") && has("avx512vl")) result.vector_bits = 512;
  return result;
}

}  // namespace

Host host(int vector_bits) {
  static const Host mine = detect();
  if (vector_bits == 0 || vector_bits == mine.vector_bits) return mine;
  DTL_CHECK(vector_bits <= mine.vector_bits && (vector_bits == 256 || vector_bits == 128), "vectors of {} bits on a processor with {}",
            vector_bits, mine.vector_bits);
  if (vector_bits == 256) return {"x86-64-v3", "", 256, true, true};
  return {"x86-64-v2", "", 128, false, false};
}

}  // namespace dtl::codegen
