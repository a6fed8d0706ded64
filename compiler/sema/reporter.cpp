// Where a diagnostic is put, and whether it was told before.
#include "compiler/sema/reporter.h"

#include <algorithm>

namespace dtl::sema {

bool Reporter::in_library(source::Range range) const {
  return std::find(library_.begin(), library_.end(), range.file.index) != library_.end();
}

Reporter::Place Reporter::user_place(source::Range range) const {
  if (range.known() && !in_library(range)) return {range, {}};
  for (auto it = calls_.rbegin(); it != calls_.rend(); ++it) {
    if (it->range.known() && !in_library(it->range)) return {it->range, range.known() ? it->name : std::string()};
  }
  return {range, {}};
}

bool Reporter::fresh(int code, source::Range range, source::Range inner) {
  return told_.insert({code, range.file.index, range.begin, range.end, inner.begin}).second;
}

}  // namespace dtl::sema
