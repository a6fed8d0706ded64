// From the derivation to the Ast: groups operators, tells apart what one rule of the grammar takes together.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/syntax/derive.h"
#include "compiler/syntax/mistakes.h"

namespace dtl::syntax {

/// Every node given to it is of a derivation without mistakes. What it refuses itself is reported and left out, or
/// stands in the Ast as near to what was written as can be.
class Builder {
 public:
  Builder(Ast& ast, const TokenList& list, Mistakes& mistakes)
      : ast_(ast), list_(list), mistakes_(mistakes), used_docs_(list.docs.size()) {}

  // build_decl.cpp
  void file(const Node& node);
  /// A body whose header is wrong: only for the mistakes in it.
  void stray_body(const Node& node) { body(node); }
  /// The `///` lines that document nothing, as comments.
  std::vector<Comment> loose_docs() const;

  // build_expr.cpp
  const Expr* expression(const Node& node);

  // build_item.cpp
  /// `last`: it ends its body, so that an `if` is its result.
  const Item* item(const Node& node, bool last);

 private:
  using Children = std::vector<const Node*>;

  // build_decl.cpp
  void declaration(const Node& node);
  std::vector<Parameter> parameters(const Node& node);
  std::string doc_before(int32_t token);

  // build_item.cpp
  const Body* body(const Node& node);
  void keyword_item(const Node& node, Item& item);
  void tail(const Node& node, Item& item);
  /// The rule `expression` read as `name (parameters)`.
  void block(const Node& head, Item& item);
  Parameter block_parameter(const Node& argument);
  std::vector<Ident> pattern(const Node& node);

  // build_expr.cpp
  struct Operators;
  const Expr* climb(Operators& from, int loosest);
  const Expr* prefixed(Operators& from);
  const Expr* binary(const Expr* left, const Node& op, const Expr* right, int32_t first, int32_t last);
  const Expr* lambda(const Expr* left, const Expr* right, int32_t first, int32_t left_last, int32_t last);
  void check_chain(const Expr& left, const Node& op, int precedence);
  void check_pipe(const Expr& right, int32_t first, int32_t last);
  const Expr* suffix(const Expr* inner, int32_t first, const Node& node);
  const Expr* primary(const Node& node);
  const Expr* in_parentheses(const Node& node);
  const Expr* literal(const Node& node);
  const Expr* conditional(const Node& node);
  const Expr* subscript(const Node& node);
  std::vector<Argument> record(const Node& node);
  Argument argument(const Node& node);

  // build_text.cpp
  void integer(int32_t token, Expr& expr);
  void number(int32_t token, Expr& expr);
  void quantity(int32_t token, Expr& expr);
  /// A string's text, its escapes resolved.
  std::string string(int32_t token);
  std::string escape(std::string_view inner, size_t& at, int32_t token, int32_t offset);

  // build_type.cpp
  TypeExpr* type(const Node& node);
  TypeExpr* alternative(const Node& node);
  TypeExpr* core_type(const Node& node);

  int32_t token_type(int32_t token) const { return list_.tokens[static_cast<size_t>(token)].type; }
  source::Range range(const Node& node) const { return mistakes_.range(node.first, node.last); }
  Ident ident(const Node& token) const { return {std::string(mistakes_.text(token.first)), range(token)}; }
  Expr& make(ExprKind kind, int32_t first, int32_t last);
  TypeExpr& make_type(TypeKind kind, const Node& node);
  bool is_token(const Node& node, int32_t type) const { return node.rule == Node::kTokenNode && token_type(node.first) == type; }
  /// The children of that rule, in order.
  static Children of_rule(const Node& node, int32_t rule);
  static const Node* first_of_rule(const Node& node, int32_t rule);

  Ast& ast_;
  const TokenList& list_;
  Mistakes& mistakes_;
  std::vector<bool> used_docs_;
};

}  // namespace dtl::syntax
