// Names of scalar functions, in the order of the enum.
#include <array>

#include "compiler/kernel/kernel.h"

namespace dtl::kernel {
namespace {

constexpr std::array<std::string_view, 42> kNames = {
    "constant",    "loop",       "size",        "begin",     "load",  "reduced",  //
    "negate",      "abs",        "exp",         "log",       "log1p", "sqrt",       "rsqrt",   "tanh", "sigmoid",
    "erf",         "sin",        "cos",         "floor",     "ceil",                                                 //
    "round",       "sign",       "logical_not", "is_nan",                                                            //
    "add",         "subtract",   "multiply",    "divide",    "power", "maximum",    "minimum", "mod",  "floor_div",  //
    "logical_and", "logical_or", "equal",       "not_equal", "less",  "less_equal",                                  //
    "select",      "cast",       "uniform",
};
static_assert(kNames.size() == static_cast<size_t>(Scalar::uniform) + 1);

}  // namespace

std::string_view name_of(Scalar scalar) { return kNames[static_cast<size_t>(scalar)]; }

std::optional<Scalar> parse_scalar(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Scalar>(i);
  }
  return std::nullopt;
}

}  // namespace dtl::kernel
