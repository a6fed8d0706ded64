// Edits from back to front, so that places stay true.
#include "compiler/driver/fix.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "runtime/plan/fault.h"

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
  const std::string fresh = path + ".fixed";
  errno = 0;
  std::ofstream out(fresh, std::ios::binary);
  out << text << std::flush;
  std::error_code failed;
  if (out) {
    out.close();
    std::filesystem::permissions(fresh, std::filesystem::status(path).permissions(), failed);
    std::filesystem::rename(fresh, path, failed);
    if (!failed) return made;
  } else {
    failed = std::error_code(errno ? errno : EIO, std::generic_category());
  }
  std::error_code ignored;
  std::filesystem::remove(fresh, ignored);
  throw Fault(6004, {fmt::format("{}: {}", path, failed.message())});
}

}  // namespace dtl::driver
