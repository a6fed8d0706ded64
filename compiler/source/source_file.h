// Source texts and ranges in them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace dtl::source {

struct FileId {
  int32_t index = -1;
  bool operator==(const FileId&) const = default;
};

/// Bytes [begin, end) of a file. A default Range is nowhere (built-in, synthesised).
struct Range {
  FileId file;
  int32_t begin = 0, end = 0;
  bool known() const { return file.index >= 0; }
  bool operator==(const Range&) const = default;
};

struct Position {
  int32_t line, column;  ///< from 1; columns count UTF-8 characters
};

struct SourceFile {
  std::string name;  ///< as the user wrote it; `<stdlib>/layers.dtl` for the library, `<--set>` for overrides
  std::string text;
  std::vector<int32_t> line_starts;
};

/// Owns every text of a compilation; ids stay valid as long as it lives.
class SourceSet {
 public:
  FileId add(std::string name, std::string text);
  const SourceFile& file(FileId id) const { return files_[static_cast<size_t>(id.index)]; }
  Position position(FileId id, int32_t offset) const;
  /// The line's text without its line end; `line` counts from 1.
  std::string_view line(FileId id, int32_t line) const;
  std::string_view text(Range range) const;
  int32_t size() const { return static_cast<int32_t>(files_.size()); }

 private:
  std::deque<SourceFile> files_;
};

/// The offset of the first byte that is not UTF-8, or −1.
int64_t find_invalid_utf8(std::string_view text);

}  // namespace dtl::source
