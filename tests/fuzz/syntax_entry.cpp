// Texts through lexer, parser and formatter.
#include <map>

#include "compiler/source/render.h"
#include "compiler/syntax/format.h"
#include "compiler/syntax/parse.h"
#include "compiler/syntax/print.h"
#include "tests/fuzz/entries.h"

namespace dtl::fuzz {
namespace {

struct Read {
  explicit Read(std::string text) : file(sources.add("fuzz.dtl", std::move(text))), ast(syntax::parse(sources, file, sink)) {}

  source::SourceSet sources;
  source::Sink sink;
  source::FileId file;
  std::unique_ptr<syntax::Ast> ast;
};

/// Comments by text; those that stand at another place in the line are the same.
std::map<std::string, int> comments(const Read& read) {
  std::map<std::string, int> result;
  for (const syntax::Comment& comment : read.ast->comments) ++result[comment.text];
  return result;
}

}  // namespace

void syntax(std::string_view input) {
  const Read read{std::string(input)};
  for (const source::Diagnostic* diagnostic : read.sink.all()) source::render(*diagnostic, read.sources, false);
  source::Sink again_sink;
  syntax::print_tokens(read.sources, read.file, again_sink);
  if (read.ast) syntax::print(*read.ast);
  promise(read.ast || read.sink.has_errors(), "no Ast, and no error");
  if (!read.ast || read.sink.has_errors()) return;

  const std::string formatted = syntax::format(*read.ast, read.sources);
  const Read again(formatted);
  for (const source::Diagnostic* diagnostic : again.sink.all())
    promise(diagnostic->severity != source::Severity::error, "what is formatted has a mistake: {}\n{}", diagnostic->text, formatted);
  promise(syntax::print(*again.ast) == syntax::print(*read.ast), "what is formatted is another program:\n{}", formatted);
  promise(comments(again) == comments(read), "comments are lost or changed:\n{}", formatted);
  promise(syntax::format(*again.ast, again.sources) == formatted, "formatting again changes:\n{}", formatted);
}

}  // namespace dtl::fuzz
