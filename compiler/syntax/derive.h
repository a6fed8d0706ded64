// From tokens to their derivation by the grammar: the one place that runs the ANTLR parser.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "compiler/syntax/token_filter.h"

namespace dtl::syntax {

/// A rule of the grammar and what it covers, or one token.
struct Node {
  int32_t rule = kTokenNode;    ///< the grammar's number of the rule
  int32_t first = 0, last = 0;  ///< tokens, both included; equal for a token
  std::vector<const Node*> children;
  static constexpr int32_t kTokenNode = -1;
};

/// The first token that the grammar does not allow, and those that it does there.
struct Mistake {
  int32_t token;
  std::vector<int32_t> expected;  ///< types of tokens
};

enum class StartRule { file, body, item, expression };

/// Either a root or a mistake.
struct Derivation {
  std::deque<Node> nodes;
  const Node* root = nullptr;
  std::optional<Mistake> mistake;
};

/// Derives the tokens `chosen` (indices into `list`, the end of the text not among them) from the rule `start`.
Derivation derive(const TokenList& list, const std::vector<int32_t>& chosen, StartRule start);

}  // namespace dtl::syntax
