// From text to the tokens that the grammar's rules read: the lexer, then everything that needs a look around a token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/source/diagnostic.h"
#include "compiler/syntax/ast.h"

namespace dtl::syntax {

/// Brackets nest at most this deep.
inline constexpr int kMaxBrackets = 256;
/// A statement's operators, those around its open brackets included: a bound on the depth of any Ast.
inline constexpr int kMaxOperators = 1000;

/// `type` is the grammar's number of the token; the end of the text is kEndOfText.
struct Token {
  int32_t type;
  int32_t begin, end;
};
inline constexpr int32_t kEndOfText = -1;

/// A `///` line of its own.
struct DocLine {
  int32_t begin, end;
  std::string text;  ///< without the slashes and one blank
};

/// A token at which something was reported and repaired: what the parser finds near it is a consequence.
struct Damage {
  int32_t token;
  bool whole_declaration;  ///< a bracket; else only its statement
};

struct TokenList {
  std::vector<Token> tokens;  ///< ends with kEndOfText; brackets are balanced
  std::vector<Comment> comments;
  std::vector<DocLine> docs;
  std::vector<Damage> damages;
};

/// The tokens of a file. Reports what is wrong with them and repairs it; nothing if there is no use in going on.
std::optional<TokenList> read_tokens(const source::SourceSet& sources, source::FileId file, source::Sink& sink);

/// The grammar's name of a token: the literal (`'->'`) or the symbol (`NAME`, `EOF`).
std::string token_name(int32_t type);
std::string token_symbol(int32_t type);

}  // namespace dtl::syntax
