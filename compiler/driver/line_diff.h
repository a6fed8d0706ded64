// What differs between two texts, line by line.
#pragma once

#include <string>
#include <string_view>

namespace dtl::driver {

/// A unified diff with three lines of context, `--- name` and `+++ name` above it; empty where the texts are equal.
std::string line_diff(const std::string& name, std::string_view before, std::string_view after);

}  // namespace dtl::driver
