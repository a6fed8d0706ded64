// What `dslc --version` says.
#include "compiler/driver/version.h"

#include <fmt/format.h>

#include "build_info.h"
#include "compiler/codegen/jit.h"

namespace dtl::driver {

std::string version_text() { return fmt::format("dslc {}, LLVM {}, {}", DTL_VERSION, codegen::llvm_version(), DTL_BUILD_TYPE); }

}  // namespace dtl::driver
