// A file is derived in one go. If that fails, each declaration is derived alone; a mistake takes its statement out, and
// the rest of the declaration is tried again: so the mistakes of one file are independent of each other.
#include "compiler/syntax/parse.h"

#include <algorithm>
#include <numeric>

#include "compiler/syntax/build.h"
#include "grammar/DtlParser.h"

namespace dtl::syntax {
namespace {

using grammar::DtlParser;
using Chosen = std::vector<int32_t>;

bool opens(int32_t type) { return type == DtlParser::OPEN_PAREN || type == DtlParser::OPEN_BRACKET || type == DtlParser::OPEN_BRACE; }
bool closes(int32_t type) { return type == DtlParser::CLOSE_PAREN || type == DtlParser::CLOSE_BRACKET || type == DtlParser::CLOSE_BRACE; }

class Recovery {
 public:
  Recovery(const TokenList& list, Mistakes& mistakes, Builder& builder) : list_(list), mistakes_(mistakes), builder_(builder) {}

  void run() {
    Chosen chosen;
    int depth = 0;
    for (int32_t token = 0; token < static_cast<int32_t>(list_.tokens.size()); ++token) {
      const int32_t type = list_.tokens[static_cast<size_t>(token)].type;
      if (type == kEndOfText || (type == DtlParser::NEWLINE && depth == 0)) {
        if (!chosen.empty()) declaration(std::move(chosen));
        chosen.clear();
        continue;
      }
      depth += opens(type) - closes(type);
      chosen.push_back(token);
    }
  }

 private:
  /// The tokens [begin, end) of the innermost statement of a `{}` around a place; without such a `{}`, of the declaration.
  struct Extent {
    size_t begin, end;
    bool in_braces;
  };

  int32_t type(const Chosen& chosen, size_t at) const { return list_.tokens[static_cast<size_t>(chosen[at])].type; }

  void declaration(Chosen chosen) {
    // A body below a header that is wrong is still worth reading.
    const bool orphan = header_failed_ && type(chosen, 0) == DtlParser::OPEN_BRACE;
    header_failed_ = false;
    StartRule start = orphan ? StartRule::body : StartRule::file;
    while (!chosen.empty() && tries_++ < kMaxMistakes) {
      const Derivation derivation = derive(list_, chosen, start);
      if (!derivation.mistake) {
        start == StartRule::file ? builder_.file(*derivation.root) : builder_.stray_body(*derivation.root->children[0]);
        strays_ = false;
        return;
      }
      const int32_t token = derivation.mistake->token;
      // Statements outside of any declaration are one mistake, however many.
      const bool stray = start == StartRule::file && token == chosen[0];
      if (!(stray && strays_)) mistakes_.report(*derivation.mistake, false);
      strays_ = stray;
      const auto found = std::lower_bound(chosen.begin(), chosen.end(), token);
      if (!take_out(chosen, static_cast<size_t>(found - chosen.begin()), start)) return;
    }
  }

  /// Takes the mistake out of the tokens; false if nothing is left to read.
  bool take_out(Chosen& chosen, size_t place, StartRule& start) {
    Extent extent = statement_around(chosen, place);
    if (extent.in_braces && extent.begin < extent.end) {
      const bool brace_below = place < chosen.size() && place == extent.end && type(chosen, place) == DtlParser::NEWLINE &&
                               place + 1 < chosen.size() && type(chosen, place + 1) == DtlParser::OPEN_BRACE;
      if (brace_below) extent.end = statement_around(chosen, place + 1).end;
      // With it one of the line ends around it.
      if (type(chosen, extent.begin - 1) == DtlParser::NEWLINE) {
        --extent.begin;
      } else if (type(chosen, extent.end) == DtlParser::NEWLINE) {
        ++extent.end;
      }
      chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(extent.begin), chosen.begin() + static_cast<std::ptrdiff_t>(extent.end));
      return true;
    }
    header_failed_ = place == chosen.size();
    if (start == StartRule::body || place == chosen.size()) return false;
    // The header is wrong: the body is what the last `}` closes, if it opens behind the mistake.
    int depth = 0;
    size_t at = chosen.size();
    do {
      --at;
      depth += closes(type(chosen, at)) - opens(type(chosen, at));
    } while (at > 0 && depth > 0);
    if (type(chosen, chosen.size() - 1) != DtlParser::CLOSE_BRACE || at < place || at == 0) return false;
    chosen.erase(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(at));
    start = StartRule::body;
    return true;
  }

  Extent statement_around(const Chosen& chosen, size_t place) const {
    int depth = 0;
    size_t begin = place;
    for (; begin > 0; --begin) {
      const int32_t before = type(chosen, begin - 1);
      if (before == DtlParser::NEWLINE && depth == 0) break;
      depth += closes(before);
      if (!opens(before) || --depth >= 0) continue;
      if (before == DtlParser::OPEN_BRACE) break;
      depth = 0;
    }
    size_t end = place;
    depth = 0;
    for (; end < chosen.size(); ++end) {
      const int32_t here = type(chosen, end);
      if (here == DtlParser::NEWLINE && depth == 0) break;
      depth += opens(here);
      if (!closes(here) || --depth >= 0) continue;
      if (here == DtlParser::CLOSE_BRACE) break;
      depth = 0;
    }
    // A declaration begins at the first token; whatever begins later is in a `{}` of it.
    return {begin, end, begin > 0};
  }

  const TokenList& list_;
  Mistakes& mistakes_;
  Builder& builder_;
  bool header_failed_ = false, strays_ = false;
  int tries_ = 0;
};

Chosen all_of(const TokenList& list) {
  Chosen all(list.tokens.size() - 1);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Whether some line outside of all brackets begins as a declaration does, be it with a misspelt word: `modle Net (…) … {`.
bool has_declaration(const TokenList& list) {
  int depth = 0;
  bool begins = true;
  for (size_t i = 0; i < list.tokens.size(); ++i) {
    const int32_t type = list.tokens[i].type;
    if (depth == 0 && begins && type >= DtlParser::PARAM && type <= DtlParser::TRAIN) return true;
    if (depth == 0 && begins && type == DtlParser::IMPORT) return true;
    if (depth == 0 && !begins && type == DtlParser::OPEN_BRACE) return true;
    begins = type == DtlParser::NEWLINE;
    depth += opens(type) - closes(type);
  }
  return false;
}

/// A file that is no program at all, a table for example, is told of once.
void keep_first(source::Sink& all, source::Sink& sink, std::string_view file) {
  all.sort();
  source::Reported reported = sink.add(*all.all()[0]);
  reported.note({}, "nothing here begins a declaration: this does not look like a DTL program");
  if (file.ends_with(".csv"))
    reported.help(fmt::format("a program names its data: `dataset Data {{ train = csv(\"{}\"), batch = 32 }}`", file));
}

}  // namespace

std::unique_ptr<Ast> parse(const source::SourceSet& sources, source::FileId file, source::Sink& into) {
  source::Sink sink;
  std::optional<TokenList> list = read_tokens(sources, file, sink);
  const auto forward = [&] {
    const bool program = !list || list->tokens.size() == 1 || has_declaration(*list);
    if (!program && sink.has_errors()) return keep_first(sink, into, sources.file(file).name);
    for (const source::Diagnostic* diagnostic : sink.all()) into.add(*diagnostic);
  };
  if (!list) {
    forward();
    return nullptr;
  }
  auto ast = std::make_unique<Ast>();
  ast->file = file;
  ast->comments = std::move(list->comments);
  if (list->tokens.size() == 1 && list->damages.empty()) {
    sink.report({file, 0, 0}, diag::empty_file, sources.file(file).name).help("a program is declarations: `dataset`, `model`, `train`, …");
  }
  Mistakes mistakes(sources, file, *list, sink);
  Builder builder(*ast, *list, mistakes);
  const Derivation derivation = derive(*list, all_of(*list), StartRule::file);
  if (derivation.root) {
    builder.file(*derivation.root);
  } else {
    Recovery(*list, mistakes, builder).run();
  }
  for (Comment& loose : builder.loose_docs()) ast->comments.push_back(std::move(loose));
  std::sort(ast->comments.begin(), ast->comments.end(), [](const Comment& a, const Comment& b) { return a.range.begin < b.range.begin; });
  forward();
  return ast;
}

namespace {

/// A text that is one rule of the grammar; `build` makes its Ast from the derivation. Null after a mistake.
template <class Build>
auto parse_fragment(Ast& into, const source::SourceSet& sources, source::FileId file, source::Sink& sink, StartRule rule, Build build)
    -> decltype(build(std::declval<Builder&>(), std::declval<const Node&>())) {
  const int errors = sink.errors();
  const std::optional<TokenList> list = read_tokens(sources, file, sink);
  if (!list) return nullptr;
  Mistakes mistakes(sources, file, *list, sink);
  const Derivation derivation = derive(*list, all_of(*list), rule);
  if (derivation.mistake) {
    mistakes.report(*derivation.mistake, true);
    return nullptr;
  }
  Builder builder(into, *list, mistakes);
  const auto* made = build(builder, *derivation.root->children[0]);
  return sink.errors() == errors ? made : nullptr;
}

}  // namespace

const Expr* parse_expression(Ast& into, const source::SourceSet& sources, source::FileId file, source::Sink& sink) {
  return parse_fragment(into, sources, file, sink, StartRule::expression,
                        [](Builder& builder, const Node& node) { return builder.expression(node); });
}

const Item* parse_item(Ast& into, const source::SourceSet& sources, source::FileId file, source::Sink& sink) {
  return parse_fragment(into, sources, file, sink, StartRule::item,
                        [](Builder& builder, const Node& node) { return builder.item(node, true); });
}

}  // namespace dtl::syntax
