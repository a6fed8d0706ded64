// What parts items on several lines becomes commas; the formatter does the rest.
#include "compiler/driver/one_line.h"

#include "compiler/source/check.h"
#include "compiler/syntax/format.h"
#include "compiler/syntax/parse.h"
#include "compiler/syntax/token_filter.h"

namespace dtl::driver {

std::string one_line(const std::string& expression) {
  constexpr std::string_view kHead = "param x: any = ";
  source::SourceSet sources;
  source::Sink sink;
  const source::FileId file = sources.add("", std::string(kHead) + expression);
  const auto tokens = syntax::read_tokens(sources, file, sink);
  DTL_CHECK(tokens && !sink.has_errors(), "no expression: {}", expression);
  std::string joined;
  for (const syntax::Token& token : tokens->tokens) {
    const std::string_view text = sources.text({file, token.begin, token.end});
    // A line end has the extent of nothing, or of the separator that was written.
    joined += (text.empty() && token.type != syntax::kEndOfText ? "," : std::string(text)) + " ";
  }
  const source::FileId line = sources.add("", joined);
  const std::unique_ptr<syntax::Ast> ast = syntax::parse(sources, line, sink);
  DTL_CHECK(ast && !sink.has_errors(), "no expression: {}", joined);
  std::string text = syntax::format(*ast, sources).substr(kHead.size());
  text.pop_back();
  return text;
}

}  // namespace dtl::driver
