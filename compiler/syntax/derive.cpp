// The ANTLR parser at work. It runs twice at most: fast, and where that fails once more, taking notes for the message.
#include "compiler/syntax/derive.h"

#include <antlr4-runtime/antlr4-runtime.h>

#include "grammar/DtlParser.h"

namespace dtl::syntax {
namespace {

using grammar::DtlParser;

/// The chosen tokens as ANTLR wants them. A token's index is its place in the whole list.
class Stream : public antlr4::TokenStream {
 public:
  Stream(const TokenList& list, const std::vector<int32_t>& chosen) {
    tokens_.reserve(chosen.size() + 1);
    for (int32_t index : chosen) add(static_cast<size_t>(list.tokens[static_cast<size_t>(index)].type), index);
    add(antlr4::Token::EOF, chosen.empty() ? 0 : chosen.back() + 1);
  }

  void consume() override {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  size_t LA(ssize_t k) override { return LT(k)->getType(); }
  antlr4::Token* LT(ssize_t k) override {
    const ssize_t place = static_cast<ssize_t>(at_) + (k > 0 ? k - 1 : k);
    return &tokens_[static_cast<size_t>(std::clamp<ssize_t>(place, 0, static_cast<ssize_t>(tokens_.size()) - 1))];
  }
  antlr4::Token* get(size_t index) const override { return const_cast<antlr4::CommonToken*>(&tokens_[index]); }
  ssize_t mark() override { return 0; }
  void release(ssize_t) override {}
  size_t index() override { return at_; }
  void seek(size_t index) override { at_ = index; }
  size_t size() override { return tokens_.size(); }
  antlr4::TokenSource* getTokenSource() const override { return nullptr; }
  std::string getSourceName() const override { return {}; }
  // The parser needs no texts.
  std::string getText(const antlr4::misc::Interval&) override { return {}; }
  std::string getText() override { return {}; }
  std::string getText(antlr4::RuleContext*) override { return {}; }
  std::string getText(antlr4::Token*, antlr4::Token*) override { return {}; }

 private:
  void add(size_t type, int32_t index) {
    tokens_.emplace_back(type);
    tokens_.back().setTokenIndex(static_cast<size_t>(index));
  }

  std::vector<antlr4::CommonToken> tokens_;
  size_t at_ = 0;
};

struct Stop {};

/// Stops at the first mistake. When it takes notes, it knows what else would have been allowed there: the parser itself
/// leaves a loop or an option that the token does not continue, and then knows only what comes after.
class StopAtMistake : public antlr4::ANTLRErrorStrategy {
 public:
  explicit StopAtMistake(bool takes_notes) : takes_notes_(takes_notes) {}

  void sync(antlr4::Parser* parser) override {
    if (!takes_notes_) return;
    const antlr4::atn::ATN& atn = parser->getATN();
    if (atn.nextTokens(atn.states[parser->getState()]).contains(static_cast<ssize_t>(parser->getTokenStream()->LA(1)))) return;
    if (noted_ && place_ == parser->getTokenStream()->index()) return;
    note(parser);
  }
  antlr4::Token* recoverInline(antlr4::Parser* parser) override {
    stop(parser);
    throw Stop();
  }
  void recover(antlr4::Parser* parser, std::exception_ptr) override { stop(parser); }
  void reset(antlr4::Parser*) override {}
  bool inErrorRecoveryMode(antlr4::Parser*) override { return false; }
  void reportMatch(antlr4::Parser*) override {}
  void reportError(antlr4::Parser*, const antlr4::RecognitionException&) override {}

  Mistake mistake(antlr4::Parser& parser) const {
    Mistake result{static_cast<int32_t>(parser.getTokenStream()->LT(1)->getTokenIndex()), {}};
    for (ssize_t type : parser.getATN().getExpectedTokens(state_, context_).toList()) result.expected.push_back(static_cast<int32_t>(type));
    return result;
  }

 private:
  void note(antlr4::Parser* parser) {
    noted_ = true;
    place_ = parser->getTokenStream()->index();
    state_ = parser->getState();
    context_ = parser->getContext();
  }
  void stop(antlr4::Parser* parser) {
    if (takes_notes_ && !(noted_ && place_ == parser->getTokenStream()->index())) note(parser);
    throw Stop();
  }

  bool takes_notes_, noted_ = false;
  size_t place_ = 0, state_ = 0;
  antlr4::ParserRuleContext* context_ = nullptr;
};

int32_t index_of(const antlr4::Token* token) { return static_cast<int32_t>(token->getTokenIndex()); }

const Node* copy(const antlr4::tree::ParseTree* tree, std::deque<Node>& nodes) {
  Node& node = nodes.emplace_back();
  if (const auto* leaf = dynamic_cast<const antlr4::tree::TerminalNodeImpl*>(tree)) {
    node.first = node.last = index_of(leaf->symbol);
    return &node;
  }
  const auto* rule = static_cast<const antlr4::ParserRuleContext*>(tree);
  node.rule = static_cast<int32_t>(rule->getRuleIndex());
  node.first = index_of(rule->start);
  node.last = rule->stop ? index_of(rule->stop) : node.first;
  node.children.reserve(tree->children.size());
  for (const antlr4::tree::ParseTree* child : tree->children) node.children.push_back(copy(child, nodes));
  return &node;
}

const antlr4::ParserRuleContext* run(DtlParser& parser, StartRule start) {
  switch (start) {
    case StartRule::file:
      return parser.file();
    case StartRule::body:
      return parser.fragmentOfBody();
    case StartRule::item:
      return parser.fragmentOfItem();
    case StartRule::expression:
      return parser.fragmentOfExpression();
  }
  return nullptr;
}

}  // namespace

Derivation derive(const TokenList& list, const std::vector<int32_t>& chosen, StartRule start) {
  Derivation result;
  for (const bool takes_notes : {false, true}) {
    Stream stream(list, chosen);
    DtlParser parser(&stream);
    parser.removeErrorListeners();
    const auto strategy = std::make_shared<StopAtMistake>(takes_notes);
    parser.setErrorHandler(strategy);
    try {
      const antlr4::ParserRuleContext* tree = run(parser, start);
      result.root = copy(tree, result.nodes);
      return result;
    } catch (const Stop&) {
      if (takes_notes) result.mistake = strategy->mistake(parser);
    }
  }
  return result;
}

}  // namespace dtl::syntax
