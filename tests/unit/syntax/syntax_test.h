// A text read, for the tests of this room.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "compiler/source/diagnostic.h"
#include "compiler/syntax/format.h"
#include "compiler/syntax/parse.h"
#include "compiler/syntax/print.h"
#include "source_dir.h"

namespace dtl::syntax {

/// A file and what the parser made of it.
struct Read {
  explicit Read(const std::string& text) : file(sources.add("test.dtl", text)), ast(parse(sources, file, sink)) {}

  std::string printed() const { return ast ? print(*ast) : ""; }
  std::string formatted() const { return format(*ast, sources); }
  std::vector<std::string> symbols() const {
    std::vector<std::string> result;
    for (const source::Diagnostic* each : sink.all()) result.emplace_back(each->symbol);
    return result;
  }
  /// `line: text` of each, in the order of the file.
  std::vector<std::string> texts() {
    sink.sort();
    std::vector<std::string> result;
    for (const source::Diagnostic* each : sink.all())
      result.push_back(fmt::format("{}: {}", sources.position(file, each->range.begin).line, each->text));
    return result;
  }
  const source::Diagnostic& only() const { return *sink.all().at(0); }

  source::SourceSet sources;
  source::Sink sink;
  source::FileId file;
  std::unique_ptr<Ast> ast;
};

/// The body of a function, so that a test shows only what it is about.
inline std::string in_function(const std::string& body) { return "fn f () -> int {\n" + body + "\n}\n"; }

/// The printed items of such a body, without the function around them and without its indentation.
inline std::string items(const std::string& body) {
  const Read read(in_function(body));
  if (!read.sink.all().empty()) return "error: " + read.sink.all()[0]->text;
  const std::string whole = read.printed();
  std::string result;
  const size_t start = whole.find("  body\n") + 7;
  for (size_t at = start; at < whole.size();) {
    const size_t end = whole.find('\n', at);
    result += whole.substr(at + 4, end - at - 3);
    at = end + 1;
  }
  return result;
}

/// The text of the one diagnostic of such a body.
inline std::string mistake(const std::string& body) {
  const Read read(in_function(body));
  if (read.sink.all().size() != 1) return fmt::format("{} diagnostics", read.sink.all().size());
  return read.only().text;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The .dtl files of a folder of the repository, sorted.
inline std::vector<std::filesystem::path> programs_in(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(DTL_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == ".dtl") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace dtl::syntax
