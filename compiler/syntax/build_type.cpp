// Types.
#include "compiler/syntax/build.h"
#include "grammar/DtlParser.h"

namespace dtl::syntax {

using grammar::DtlParser;

TypeExpr& Builder::make_type(TypeKind kind, const Node& node) {
  TypeExpr& made = ast_.types.emplace_back();
  made.kind = kind;
  made.range = range(node);
  return made;
}

TypeExpr* Builder::type(const Node& node) {
  const Children alternatives = of_rule(node, DtlParser::RuleAlternative);
  TypeExpr* made = alternative(*alternatives.front());
  if (alternatives.size() > 1) {
    TypeExpr& words = make_type(TypeKind::words, node);
    words.items.push_back(made);
    for (size_t i = 1; i < alternatives.size(); ++i) words.items.push_back(alternative(*alternatives[i]));
    made = &words;
  }
  if (const Node* placement = first_of_rule(node, DtlParser::RuleExpression)) {
    made->placement = expression(*placement);
    made->range = range(node);
  }
  return made;
}

TypeExpr* Builder::alternative(const Node& node) {
  TypeExpr* made = nullptr;
  if (const Node* core = first_of_rule(node, DtlParser::RuleCoreType)) {
    made = core_type(*core);
  } else {
    const Node* result = first_of_rule(node, DtlParser::RuleAlternative);
    const Children parts = of_rule(node, DtlParser::RuleType);
    if (!result && parts.size() == 1) {
      made = type(*parts[0]);  // parentheses around one type only group
    } else {
      made = &make_type(result ? TypeKind::function : TypeKind::tuple, node);
      for (const Node* part : parts) made->items.push_back(type(*part));
      if (result) made->items.push_back(alternative(*result));
    }
  }
  if (!is_token(*node.children.back(), DtlParser::QUESTION)) return made;
  TypeExpr& optional = make_type(TypeKind::optional, node);
  optional.items.push_back(made);
  return &optional;
}

TypeExpr* Builder::core_type(const Node& node) {
  const Node& first = *node.children.front();
  if (is_token(first, DtlParser::OPEN_BRACKET)) {
    TypeExpr& list = make_type(TypeKind::list, node);
    list.items.push_back(type(*node.children[1]));
    return &list;
  }
  if (is_token(first, DtlParser::OPEN_BRACE)) {
    TypeExpr& record = make_type(TypeKind::record, node);
    for (const Node* field : of_rule(node, DtlParser::RuleTypedName)) {
      record.names.push_back(ident(*field->children[0]));
      record.items.push_back(type(*field->children[2]));
    }
    return &record;
  }
  TypeExpr& named = make_type(TypeKind::named, node);
  named.name = mistakes_.text(first.first);
  named.has_dims = node.children.size() > 1;
  for (const Node* dim : of_rule(node, DtlParser::RuleDim)) {
    DimExpr& made = named.dims.emplace_back();
    made.ellipsis = dim->children[0]->rule == Node::kTokenNode;
    if (!made.ellipsis) made.value = expression(*dim->children[0]);
  }
  return &named;
}

}  // namespace dtl::syntax
