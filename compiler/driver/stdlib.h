// The standard library's texts, embedded in the binary.
#pragma once

#include <string_view>
#include <vector>

namespace dtl::driver {

struct StdlibFile {
  std::string_view name;  ///< `layers.dtl`
  std::string_view text;
};
/// In the order of their names.
const std::vector<StdlibFile>& stdlib_files();

}  // namespace dtl::driver
