// Files written whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace dtl::driver {

/// Puts `text` in place of the file's contents: a reader finds the old or the new, and after a failure there is the old. Keeps the
/// file's mode; behind a symbolic link, the file it leads to is replaced. Fault 6004.
void replace_file(const std::string& path, std::string_view text);

/// A new file; false where there is one already. Fault 6005, with the way out that runs have.
bool create_file(const std::string& path, std::string_view text);

}  // namespace dtl::driver
