// What `dslc --version` says.
#pragma once

#include <string>

namespace dtl::driver {

/// `dslc 0.1.0, LLVM 19.1.7, Release`.
std::string version_text();

}  // namespace dtl::driver
