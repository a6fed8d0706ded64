// Files that are made under another name until they are whole: whoever makes one holds it, and what nobody holds any more was left
// by a process that was killed.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace dtl {

/// Holds an open file until it is closed or this process ends, however it ends. Where the file system has no locks, nothing happens.
void hold_unfinished(int file);

/// Removes the files of `folder` whose names `is_one` knows and that nobody holds. Looks once into each folder in a process.
void remove_unfinished(const std::string& folder, const std::function<bool(std::string_view name)>& is_one);

}  // namespace dtl
