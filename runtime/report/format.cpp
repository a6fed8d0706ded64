// Short forms of values, rates and durations.
#include "runtime/report/format.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <ostream>

#include "runtime/plan/fault.h"

namespace dtl::report {

void write(std::ostream& out, const std::string& text) {
  errno = 0;
  out << text << std::flush;
  if (!out) throw Fault(6004, {std::strerror(errno ? errno : EIO)});
}

std::string value_text(double value) {
  if (std::isnan(value)) return "nan";  // without the sign that some operations leave on it
  const double size = std::abs(value);
  if (!std::isfinite(value)) return fmt::format("{}", value);
  // Counts are told to the last digit; above 2^53 a double no longer knows it.
  if (size <= 0x1p53 && std::floor(size) == size) return fmt::format("{}", static_cast<int64_t>(value));
  if (size < 1e-3 || size >= 1e6) return fmt::format("{:.3e}", value);
  return fmt::format("{:.{}f}", value, size < 10 ? 4 : size < 1000 ? 2 : 0);
}

std::string values_text(std::span<const Value> values) {
  std::string text;
  for (const auto& [name, value] : values) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value_text(value));
  return text;
}

std::string rate_text(double per_second) {
  if (per_second < 1e3) return fmt::format("{:.{}f}", per_second, per_second < 10 ? 1 : 0);
  if (per_second < 1e6) return fmt::format("{:.1f}k", per_second / 1e3);
  return fmt::format("{:.2f}M", per_second / 1e6);
}

std::string duration_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace dtl::report
