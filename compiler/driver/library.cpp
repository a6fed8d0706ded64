// dslc library: the reference of the standard library as Markdown, whole or of one name.
#include "compiler/driver/library.h"

#include <algorithm>
#include <ostream>

#include "compiler/driver/embedded.h"
#include "compiler/driver/options.h"
#include "compiler/sema/builtins.h"
#include "compiler/sema/value.h"
#include "compiler/source/check.h"
#include "compiler/syntax/parse.h"
#include "runtime/plan/fault.h"

namespace dtl::driver {
namespace {

constexpr std::string_view kBuiltins = "functions";
constexpr std::string_view kExample = "Example: ", kHelper = "For the library: ", kIs = " is ";

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// What stands between backquotes; all of it where there are none.
std::string bare(std::string_view text) {
  if (text.size() >= 2 && text.starts_with('`') && text.ends_with('`')) text = text.substr(1, text.size() - 2);
  return std::string(text);
}

LibraryExample example_of(std::string_view line) {
  // The code is between the first backquote and the next: code holds none.
  const size_t end = line.starts_with('`') ? line.find('`', 1) : std::string_view::npos;
  DTL_CHECK(end != std::string_view::npos, "an example of the library without backquotes: {}", line);
  LibraryExample example{bare(line.substr(0, end + 1)), {}};
  line.remove_prefix(end + 1);
  if (line.starts_with(kIs)) example.result = bare(line.substr(kIs.size()));
  return example;
}

LibraryEntry entry_of(std::string_view file, const syntax::Decl& decl, std::string_view text) {
  LibraryEntry entry;
  entry.file = file;
  entry.name = decl.name.text;
  const auto begin = static_cast<size_t>(decl.range.begin), end = static_cast<size_t>(decl.body ? decl.body->range.begin : decl.range.end);
  entry.signature = text.substr(begin, end - begin);
  while (entry.signature.ends_with(' ')) entry.signature.pop_back();
  for (const std::string& line : lines_of(decl.doc)) {
    if (line.starts_with(kExample)) {
      entry.examples.push_back(example_of(std::string_view(line).substr(kExample.size())));
    } else {
      entry.text += line + "\n";
    }
  }
  entry.helper = entry.text.starts_with(kHelper);
  return entry;
}

/// A line of at most that many bytes ends at a blank.
std::string wrapped(std::string_view text) {
  constexpr size_t kWidth = 130;
  std::string lines;
  while (text.size() > kWidth) {
    const size_t end = text.rfind(' ', kWidth);
    lines += std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return lines + std::string(text) + "\n";
}

std::vector<LibraryEntry> builtin_entries() {
  std::vector<LibraryEntry> entries;
  for (const sema::BuiltinDoc& doc : sema::builtin_docs()) {
    LibraryEntry& entry = entries.emplace_back();
    entry.file = kBuiltins;
    entry.name = doc.name;
    entry.signature = fmt::format("fn {} {}", doc.name, doc.signature);
    entry.text = wrapped(doc.text);
    for (const std::string& line : lines_of(doc.examples)) entry.examples.push_back(example_of(line));
  }
  return entries;
}

/// The comment that a file begins with, without its slashes.
std::string head_of(std::string_view text) {
  std::string head;
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with("//") || line.starts_with("///")) break;
    head += line.substr(std::min<size_t>(3, line.size())) + "\n";
  }
  return head;
}

void print(std::ostream& out, const LibraryEntry& entry, std::string_view heading) {
  out << heading << " " << entry.name << "\n\n" << entry.text;
  out << "\n```dtl-part\n" << entry.signature << "\n```\n\n";
  for (const LibraryExample& example : entry.examples) {
    out << "- `" << example.code << "`";
    if (example.result.empty()) {
      out << "\n";
    } else if (example.result.find('[') != std::string::npos) {
      out << " is `" << example.result << "`\n";
    } else {
      out << " is " << example.result << "\n";
    }
  }
  out << "\n";
}

}  // namespace

std::vector<LibraryEntry> library_entries() {
  std::vector<LibraryEntry> entries = builtin_entries();
  for (const EmbeddedFile& file : stdlib_files()) {
    source::SourceSet sources;
    source::Sink sink;
    const source::FileId id = sources.add(std::string(file.name), std::string(file.text));
    const auto ast = syntax::parse(sources, id, sink);
    DTL_CHECK(ast && !sink.has_errors(), "the standard library's {} does not parse", file.name);
    for (const syntax::Decl* decl : ast->decls) entries.push_back(entry_of(file.name, *decl, file.text));
  }
  return entries;
}

int print_library(const Options& options, std::ostream& out, std::ostream& err) {
  const std::vector<LibraryEntry> entries = library_entries();
  if (!options.name.empty()) {
    std::vector<std::string> names;
    for (const LibraryEntry& entry : entries) {
      if (entry.helper) continue;
      names.push_back(entry.name);
      if (entry.name != options.name) continue;
      print(out, entry, "#");
      return 0;
    }
    for (const sema::BuiltinDoc& doc : sema::source_docs()) {
      names.emplace_back(doc.name);
      if (doc.name != options.name) continue;
      out << "# " << doc.name << "\n\n"
          << wrapped(doc.text) << "\n```dtl-part\n"
          << doc.signature << "\n```\n\nMore in docs/language/data.md.\n";
      return 0;
    }
    const auto near = sema::nearest(options.name, names);
    err << fmt::format("the library has no `{}`{}\n", options.name, near ? fmt::format("; did you mean `{}`?", *near) : "");
    return 1;
  }
  out << "# The standard library\n\n"
         "Made by `dslc library` from the comments in `stdlib/`; `dslc library NAME` prints one entry. All of it but the functions\n"
         "in the first part, which are built in, is written in the language, and a program may declare its own of the same kind, or of the "
         "same name. Examples are checked by the tests, in a "
         "model\n"
         "with `x` and `target: f32[batch, 8]`, `label: i64[batch]`, `image: f32[batch, 28, 28, 3]`, `sequence: f32[batch, 16, 32]`,\n"
         "`memory: f32[batch, 20, 32]` and `tokens: i64[batch, 20]`.\n";
  out << "\n## functions\n\nBuilt into the language, in tensors of any shape: `[...]`. Where a tensor is asked for, a number will do. "
         "Sources of data are in\n"
         "[Data](data.md).\n\n";
  for (const LibraryEntry& entry : entries) {
    if (entry.file == kBuiltins) print(out, entry, "###");
  }
  for (const EmbeddedFile& file : stdlib_files()) {
    out << "\n## " << file.name.substr(0, file.name.rfind('.')) << "\n\n" << head_of(file.text) << "\n";
    for (const LibraryEntry& entry : entries) {
      if (entry.file == file.name && !entry.helper) print(out, entry, "###");
    }
  }
  return 0;
}

}  // namespace dtl::driver
