// Numbers for people, and lines that are surely written.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "runtime/report/progress.h"

namespace dtl::report {

/// Writes and flushes. A fault (6004) if the output cannot be written.
void write(std::ostream& out, const std::string& text);
/// `0.4312`, `12.50`, `3.210e-05`, `nan`; whole numbers to the last digit: `16777217`, `1`
std::string value_text(double value);
/// `loss 0.4312, accuracy 0.8921`
std::string values_text(std::span<const Value> values);
/// `812`, `81.2k`, `1.25M`
std::string rate_text(double per_second);
/// `0.7 s`, `32 s`, `1:05`, `2:00:07`
std::string duration_text(double seconds);

}  // namespace dtl::report
