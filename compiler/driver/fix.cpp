// Edits from back to front, so that places stay true.
#include "compiler/driver/fix.h"

#include <algorithm>

#include "compiler/driver/write_file.h"

namespace dtl::driver {

int apply_fixes(const source::Sink& sink, const source::SourceSet& sources, source::FileId file, const std::string& path) {
  std::vector<source::Fix> fixes;
  for (const source::Diagnostic* diagnostic : sink.all()) {
    for (const source::Fix& fix : diagnostic->fixes) {
      if (fix.range.known() && fix.range.file == file) fixes.push_back(fix);
    }
  }
  std::stable_sort(fixes.begin(), fixes.end(), [](const source::Fix& a, const source::Fix& b) { return a.range.begin < b.range.begin; });
  std::string text(sources.file(file).text);
  int made = 0;
  int32_t before = static_cast<int32_t>(text.size());
  for (auto fix = fixes.rbegin(); fix != fixes.rend(); ++fix) {
    if (fix->range.end > before) continue;
    text.replace(static_cast<size_t>(fix->range.begin), static_cast<size_t>(fix->range.end - fix->range.begin), fix->replacement);
    before = fix->range.begin;
    ++made;
  }
  if (made == 0) return 0;
  replace_file(path, text);
  return made;
}

}  // namespace dtl::driver
