// Texts that travel in the binary: the standard library and the pages of diagnostics.
#pragma once

#include <string_view>
#include <vector>

namespace dtl::driver {

struct EmbeddedFile {
  std::string_view name;  ///< `layers.dtl`, `DTL1001.md`
  std::string_view text;
};
/// Of stdlib/, in the order of their names.
const std::vector<EmbeddedFile>& stdlib_files();
/// Of docs/errors/, in the order of their names: one page for each code of the catalogue.
const std::vector<EmbeddedFile>& error_pages();

}  // namespace dtl::driver
