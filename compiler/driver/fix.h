// Applies the edits that diagnostics suggest to the program's own file.
#pragma once

#include <string>

#include "compiler/source/diagnostic.h"

namespace dtl::driver {

/// Makes every suggested edit of `file` that overlaps none before it, and writes the file in one step (a new file beside it,
/// renamed). Gives the number of edits made; a Fault 6004 where it cannot be written.
int apply_fixes(const source::Sink& sink, const source::SourceSet& sources, source::FileId file, const std::string& path);

}  // namespace dtl::driver
