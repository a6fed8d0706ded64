// Expressions on one line.
#pragma once

#include <string>

namespace dtl::driver {

/// A valid expression's text in the standard layout, without comments and line ends.
std::string one_line(const std::string& expression);

}  // namespace dtl::driver
