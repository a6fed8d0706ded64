// Expressions: operators by precedence climbing, suffixes, primaries.
#include "compiler/syntax/build.h"
#include "grammar/DtlParser.h"

namespace dtl::syntax {

using grammar::DtlParser;

namespace {

// From the loosest; the table stands in grammar/Dtl.g4.
enum Precedence : int { kLambda = 1, kPipe, kOr, kAnd, kNot, kCompare, kRange, kSum, kProduct, kSign, kPower };

int precedence_of(int32_t type) {
  if (type == DtlParser::FAT_ARROW) return kLambda;
  if (type == DtlParser::PIPE) return kPipe;
  if (type == DtlParser::OR) return kOr;
  if (type == DtlParser::AND) return kAnd;
  if (type == DtlParser::RANGE) return kRange;
  if (type == DtlParser::PLUS || type == DtlParser::MINUS) return kSum;
  if (type == DtlParser::STAR || type == DtlParser::SLASH) return kProduct;
  return type == DtlParser::POWER ? kPower : kCompare;
}

bool is_compare(const std::string& op) { return op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">="; }

}  // namespace

/// A place in an expression, which is a row of operands with operators between; an operand is signs, a primary, suffixes.
struct Builder::Operators {
  const Node& node;
  size_t at = 0;          ///< in the children of `node`: operands at even places
  size_t in_operand = 0;  ///< signs of the operand already taken

  bool done() const { return at >= node.children.size(); }
  const Node& child() const { return *node.children[at]; }
};

Expr& Builder::make(ExprKind kind, int32_t first, int32_t last) {
  Expr& made = ast_.exprs.emplace_back();
  made.kind = kind;
  made.range = mistakes_.range(first, last);
  return made;
}

const Expr* Builder::expression(const Node& node) {
  Operators from{node};
  return climb(from, kLambda);
}

const Expr* Builder::climb(Operators& from, int loosest) {
  const Node& first = from.child();
  const int32_t first_token = first.children[from.in_operand]->first;
  const Expr* left = prefixed(from);
  while (!from.done()) {
    const Node& op = from.child();
    const int precedence = precedence_of(token_type(op.first));
    if (precedence < loosest) break;
    ++from.at;
    const Node& right_first = from.child();
    const bool to_the_right = precedence == kLambda || precedence == kPower;
    const Expr* right = climb(from, to_the_right ? precedence : precedence + 1);
    const int32_t last_token = from.node.children[from.at - 1]->last;
    if (precedence == kLambda) {
      left = lambda(left, right, first_token, op.first - 1, last_token);
      continue;
    }
    if (precedence == kPipe) check_pipe(*right, right_first.first, last_token);
    if (precedence == kCompare || precedence == kRange) check_chain(*left, op, precedence);
    left = binary(left, op, right, first_token, last_token);
  }
  return left;
}

const Expr* Builder::prefixed(Operators& from) {
  const Node& operand = from.child();
  const Node& next = *operand.children[from.in_operand];
  if (next.rule == Node::kTokenNode) {
    ++from.in_operand;
    const bool is_not = token_type(next.first) == DtlParser::NOT;
    const Expr* inner = climb(from, is_not ? kNot : kSign);
    Expr& made = make(ExprKind::unary, next.first, from.node.children[from.at - 1]->last);
    made.op = mistakes_.text(next.first);
    made.name_range = range(next);
    made.items.push_back(inner);
    return &made;
  }
  const Expr* made = primary(next);
  for (size_t i = from.in_operand + 1; i < operand.children.size(); ++i) made = suffix(made, next.first, *operand.children[i]);
  ++from.at;
  from.in_operand = 0;
  return made;
}

const Expr* Builder::binary(const Expr* left, const Node& op, const Expr* right, int32_t first, int32_t last) {
  const int32_t type = token_type(op.first);
  Expr& made = make(type == DtlParser::PIPE ? ExprKind::pipe : type == DtlParser::RANGE ? ExprKind::range : ExprKind::binary, first, last);
  if (made.kind == ExprKind::binary) made.op = mistakes_.text(op.first);
  made.name_range = range(op);
  made.items = {left, right};
  return &made;
}

void Builder::check_chain(const Expr& left, const Node& op, int precedence) {
  const bool chains = precedence == kRange ? left.kind == ExprKind::range : left.kind == ExprKind::binary && is_compare(left.op);
  if (!chains || !mistakes_.may_report(op.first)) return;
  auto reported = mistakes_.sink().report(range(op), diag::comparisons_chain, precedence == kRange ? "ranges" : "comparisons");
  if (precedence == kCompare) reported.help("join them: `a < b and b < c`");
}

void Builder::check_pipe(const Expr& right, int32_t first, int32_t last) {
  if (right.kind == ExprKind::call || right.kind == ExprKind::name) return;
  if (auto reported = mistakes_.unexpected("a call or a name after `|>`", first, last)) {
    reported->help("`|>` binds loosest; put parentheses around what comes before the next operator: `(x |> f()) == y`");
  }
}

const Expr* Builder::lambda(const Expr* left, const Expr* right, int32_t first, int32_t left_last, int32_t last) {
  Expr& made = make(ExprKind::lambda, first, last);
  const bool in_parentheses = left->kind == ExprKind::tuple || left->kind == ExprKind::group;
  bool good = in_parentheses || left->kind == ExprKind::name;
  for (const Expr* name : in_parentheses ? left->items : std::vector<const Expr*>{left}) {
    good = good && name->kind == ExprKind::name;
    made.parameters.push_back({{name->name, name->range}});
  }
  made.items.push_back(right);
  if (!good) {
    if (auto reported = mistakes_.unexpected("names before `=>`", first, left_last))
      reported->help("a function is written `x => …` or `(x, y) => …`");
  }
  return &made;
}

const Expr* Builder::suffix(const Expr* inner, int32_t first, const Node& node) {
  const Node& opening = *node.children[0];
  const int32_t type = token_type(opening.first);
  if (type == DtlParser::DOT) {
    Expr& made = make(ExprKind::field, first, node.last);
    made.name = mistakes_.text(node.last);
    made.name_range = range(*node.children[1]);
    made.items.push_back(inner);
    return &made;
  }
  if (type == DtlParser::WITH) {
    std::vector<Argument> changes = record(*node.children[1]);
    Expr& made = make(ExprKind::with, first, node.last);
    made.name_range = range(opening);
    made.items.push_back(inner);
    made.arguments = std::move(changes);
    return &made;
  }
  Expr& made = make(type == DtlParser::OPEN_PAREN ? ExprKind::call : ExprKind::index, first, node.last);
  made.items.push_back(inner);
  for (const Node* child : of_rule(node, DtlParser::RuleArgument)) made.arguments.push_back(argument(*child));
  for (const Node* child : of_rule(node, DtlParser::RuleSubscript)) made.items.push_back(subscript(*child));
  return &made;
}

Argument Builder::argument(const Node& node) {
  const Children parts = of_rule(node, DtlParser::RuleExpression);
  for (const Node* child : node.children) {
    if (!is_token(*child, DtlParser::COLON)) continue;
    if (auto reported = mistakes_.unexpected("`,`, `=` or `)`", child->first, child->first)) {
      reported->help("a type stands in the parameters of a declaration or a block; an argument's value follows `=`");
    }
  }
  const Expr* first = expression(*parts[0]);
  if (parts.size() == 1) return {std::nullopt, first};
  const Expr* value = expression(*parts[1]);
  if (first->kind == ExprKind::name) return {Ident{first->name, first->range}, value};
  if (auto reported = mistakes_.unexpected("the name of an argument before `=`", parts[0]->first, parts[0]->last)) {
    reported->help("two values are compared with `==`");
  }
  return {std::nullopt, value};
}

const Expr* Builder::subscript(const Node& node) {
  const Node& first = *node.children.front();
  const Node& last = *node.children.back();
  if (is_token(first, DtlParser::ELLIPSIS)) return &make(ExprKind::ellipsis, node.first, node.last);
  if (first.rule != Node::kTokenNode && node.children.size() == 1) return expression(first);
  const Expr* low = first.rule != Node::kTokenNode ? expression(first) : nullptr;
  const Expr* high = last.rule != Node::kTokenNode ? expression(last) : nullptr;
  const Expr* ended = low ? low : high;
  if (ended && ended->kind == ExprKind::range && mistakes_.may_report(low ? last.first : first.first)) {
    mistakes_.sink().report(range(low ? last : first), diag::comparisons_chain, "ranges");
  }
  Expr& made = make(ExprKind::range, node.first, node.last);
  made.name_range = range(low ? last : first);
  made.items = {low, high};
  return &made;
}

std::vector<Argument> Builder::record(const Node& node) {
  std::vector<Argument> fields;
  for (const Node* setting : of_rule(node, DtlParser::RuleSetting))
    fields.push_back({ident(*setting->children[0]), expression(*setting->children[2])});
  return fields;
}

const Expr* Builder::primary(const Node& node) {
  const Node& first = *node.children[0];
  if (first.rule == DtlParser::RuleRecord) {
    std::vector<Argument> fields = record(first);
    Expr& made = make(ExprKind::record, node.first, node.last);
    made.arguments = std::move(fields);
    return &made;
  }
  if (first.rule == DtlParser::RuleConditional) return conditional(first);
  const int32_t type = token_type(first.first);
  if (type == DtlParser::OPEN_PAREN) return in_parentheses(node);
  if (type == DtlParser::PER_REPLICA) {
    Expr& made = make(ExprKind::per_replica, node.first, node.last);
    made.bodies.push_back(body(*node.children[1]));
    return &made;
  }
  if (type == DtlParser::OPEN_BRACKET) {
    Expr& made = make(ExprKind::list, node.first, node.last);
    for (const Node* child : of_rule(node, DtlParser::RuleExpression)) made.items.push_back(expression(*child));
    return &made;
  }
  return literal(node);
}

const Expr* Builder::in_parentheses(const Node& node) {
  const Children inner = of_rule(node, DtlParser::RuleExpression);
  Expr& made = make(inner.size() == 1 ? ExprKind::group : ExprKind::tuple, node.first, node.last);
  for (const Node* child : inner) made.items.push_back(expression(*child));
  return &made;
}

const Expr* Builder::literal(const Node& node) {
  Expr& made = make(ExprKind::name, node.first, node.last);
  const int32_t type = token_type(node.first);
  if (type == DtlParser::NAME) {
    made.name = mistakes_.text(node.first);
  } else if (type == DtlParser::STRING) {
    made.kind = ExprKind::string;
    made.text = string(node.first);
  } else if (type == DtlParser::TRUE || type == DtlParser::FALSE) {
    made.kind = ExprKind::boolean;
    made.integer = type == DtlParser::TRUE;
  } else if (type == DtlParser::INTEGER) {
    made.kind = ExprKind::integer;
    integer(node.first, made);
  } else if (type == DtlParser::NUMBER) {
    made.kind = ExprKind::number;
    number(node.first, made);
  } else {
    quantity(node.first, made);
  }
  if (node.children.size() > 1) {
    if (made.kind == ExprKind::integer) made.number = static_cast<double>(made.integer);
    made.kind = ExprKind::quantity;
    made.integer = 0;
    made.name = "count";
    made.unit = mistakes_.text(node.last);
  }
  return &made;
}

const Expr* Builder::conditional(const Node& node) {
  Expr& made = make(ExprKind::if_else, node.first, node.last);
  made.items.push_back(expression(*node.children[1]));
  made.bodies.push_back(body(*node.children[2]));
  if (node.children.size() == 3) return &made;
  const Node& other = *node.children[4];
  if (other.rule == DtlParser::RuleBody) {
    made.bodies.push_back(body(other));
    return &made;
  }
  // `else if`: a body whose one item is the next `if`; it has no braces, and its range says so.
  Item item;
  item.kind = ItemKind::expression;
  item.range = range(other);
  item.value = conditional(other);
  ast_.items.push_back(std::move(item));
  ast_.bodies.push_back({range(other), {&ast_.items.back()}});
  made.bodies.push_back(&ast_.bodies.back());
  return &made;
}

}  // namespace dtl::syntax
