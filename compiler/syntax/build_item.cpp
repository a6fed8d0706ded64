// Bodies and what stands in them.
#include "compiler/syntax/build.h"
#include "grammar/DtlParser.h"

namespace dtl::syntax {

using grammar::DtlParser;

namespace {

ItemKind kind_of(int32_t keyword) {
  if (keyword == DtlParser::LET) return ItemKind::let;
  if (keyword == DtlParser::WEIGHT) return ItemKind::weight;
  if (keyword == DtlParser::STATE) return ItemKind::state;
  return keyword == DtlParser::FOR ? ItemKind::for_each : ItemKind::require;
}

/// The one operand of an expression without operators, or null.
const Node* only_operand(const Node& expression) { return expression.children.size() == 1 ? expression.children[0] : nullptr; }

}  // namespace

const Body* Builder::body(const Node& node) {
  const Children nodes = of_rule(node, DtlParser::RuleItem);
  std::vector<const Item*> items;
  items.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) items.push_back(item(*nodes[i], i + 1 == nodes.size()));
  ast_.bodies.push_back({range(node), std::move(items)});
  return &ast_.bodies.back();
}

std::vector<Ident> Builder::pattern(const Node& node) {
  std::vector<Ident> names;
  for (const Node* child : node.children) {
    if (is_token(*child, DtlParser::NAME)) names.push_back(ident(*child));
  }
  return names;
}

const Item* Builder::item(const Node& node, bool last) {
  Item made;
  made.range = range(node);
  made.doc = doc_before(node.first);
  const Node& first = *node.children.front();
  if (first.rule == Node::kTokenNode) {
    keyword_item(node, made);
  } else if (node.children.size() > 1) {
    tail(node, made);
  } else {
    made.value = expression(first);
    made.kind = ItemKind::expression;
    if (made.value->kind == ExprKind::if_else && !last) {
      const Expr& whole = *made.value;
      made.kind = ItemKind::if_else;
      made.value = whole.items[0];
      made.body = whole.bodies[0];
      made.other = whole.bodies.size() > 1 ? whole.bodies[1] : nullptr;
    }
  }
  ast_.items.push_back(std::move(made));
  return &ast_.items.back();
}

void Builder::keyword_item(const Node& node, Item& made) {
  made.kind = kind_of(token_type(node.first));
  for (const Node* child : node.children) {
    if (child->rule == DtlParser::RulePattern) made.names = pattern(*child);
    if (is_token(*child, DtlParser::NAME)) made.names.push_back(ident(*child));
    if (is_token(*child, DtlParser::STRING)) made.text = string(child->first);
    if (child->rule == DtlParser::RuleType) made.type = type(*child);
    if (child->rule == DtlParser::RuleExpression) made.value = expression(*child);
    if (child->rule == DtlParser::RuleBody) made.body = body(*child);
  }
}

void Builder::tail(const Node& node, Item& made) {
  const Node& head = *node.children[0];
  const Node& rest = *node.children[1];
  if (rest.children[0]->rule == DtlParser::RuleBody) {
    made.kind = ItemKind::block;
    block(head, made);
    made.body = body(*rest.children[0]);
    return;
  }
  const bool update = is_token(*rest.children[0], DtlParser::UPDATE);
  made.kind = update ? ItemKind::update : ItemKind::assign;
  made.value = expression(*rest.children[1]);
  const Expr* target = expression(head);
  if (target->kind == ExprKind::name) {
    made.names.push_back({target->name, target->range});
    return;
  }
  // It stands in the Ast as its value, for there is nothing that it could be called.
  made.kind = ItemKind::expression;
  auto reported = mistakes_.unexpected(update ? "a name before `<-`" : "a name before `=`", head.first, head.last);
  if (reported && !update) reported->help("two values are compared with `==`");
}

void Builder::block(const Node& head, Item& made) {
  const Node* operand = only_operand(head);
  const bool is_head = operand && operand->children.size() == 2 && operand->children[0]->children.size() == 1 &&
                       is_token(*operand->children[0]->children[0], DtlParser::NAME) &&
                       is_token(*operand->children[1]->children[0], DtlParser::OPEN_PAREN);
  if (!is_head) {
    if (auto reported = mistakes_.unexpected("a name and parameters before `{`", head.first, head.last)) {
      reported->help("a block is written `name (parameters) { … }`, a record `name = { … }`");
    }
    made.names.push_back({std::string(mistakes_.text(head.first)), mistakes_.range(head.first, head.first)});
    return;
  }
  made.names.push_back(ident(*operand->children[0]->children[0]));
  for (const Node* argument : of_rule(*operand->children[1], DtlParser::RuleArgument))
    made.parameters.push_back(block_parameter(*argument));
}

Parameter Builder::block_parameter(const Node& argument) {
  Parameter parameter;
  parameter.doc = doc_before(argument.first);
  const Children parts = of_rule(argument, DtlParser::RuleExpression);
  const Expr* name = expression(*parts[0]);
  if (name->kind != ExprKind::name) mistakes_.unexpected("the name of a parameter", parts[0]->first, parts[0]->last);
  parameter.name = {name->name, name->range};
  if (const Node* type_node = first_of_rule(argument, DtlParser::RuleType)) parameter.type = type(*type_node);
  if (parts.size() > 1) parameter.value = expression(*parts[1]);
  return parameter;
}

}  // namespace dtl::syntax
