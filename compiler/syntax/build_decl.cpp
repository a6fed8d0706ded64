// Declarations, parameters, and the `///` lines above them.
#include <algorithm>

#include "compiler/syntax/build.h"
#include "grammar/DtlParser.h"

namespace dtl::syntax {

using grammar::DtlParser;

Builder::Children Builder::of_rule(const Node& node, int32_t rule) {
  Children found;
  for (const Node* child : node.children) {
    if (child->rule == rule) found.push_back(child);
  }
  return found;
}

const Node* Builder::first_of_rule(const Node& node, int32_t rule) {
  const auto found = std::find_if(node.children.begin(), node.children.end(), [&](const Node* child) { return child->rule == rule; });
  return found == node.children.end() ? nullptr : *found;
}

namespace {

DeclKind kind_of(int32_t rule) {
  constexpr std::pair<int32_t, DeclKind> kKinds[] = {{DtlParser::RuleImportFile, DeclKind::import_file},
                                                     {DtlParser::RuleParameterOfProgram, DeclKind::param},
                                                     {DtlParser::RuleDataset, DeclKind::dataset},
                                                     {DtlParser::RuleLayer, DeclKind::layer},
                                                     {DtlParser::RuleModel, DeclKind::model},
                                                     {DtlParser::RuleFunction, DeclKind::function},
                                                     {DtlParser::RuleOptimizer, DeclKind::optimizer},
                                                     {DtlParser::RuleStrategy, DeclKind::strategy},
                                                     {DtlParser::RuleTrain, DeclKind::train}};
  return std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& each) { return each.first == rule; })->second;
}

}  // namespace

void Builder::file(const Node& node) {
  for (const Node* child : of_rule(node, DtlParser::RuleDeclaration)) declaration(*child->children[0]);
}

std::vector<Comment> Builder::loose_docs() const {
  std::vector<Comment> loose;
  for (size_t i = 0; i < list_.docs.size(); ++i) {
    const DocLine& doc = list_.docs[i];
    if (!used_docs_[i]) loose.push_back({{ast_.file, doc.begin, doc.end}, doc.text.empty() ? "///" : "/// " + doc.text, true});
  }
  return loose;
}

/// Those between the token and the one before.
std::string Builder::doc_before(int32_t token) {
  const int32_t end = list_.tokens[static_cast<size_t>(token)].begin;
  const int32_t begin = token == 0 ? 0 : list_.tokens[static_cast<size_t>(token) - 1].end;
  auto at =
      std::lower_bound(list_.docs.begin(), list_.docs.end(), begin, [](const DocLine& doc, int32_t offset) { return doc.begin < offset; });
  std::string text;
  for (bool first = true; at != list_.docs.end() && at->begin < end; ++at, first = false) {
    if (!first) text += '\n';
    text += at->text;
    used_docs_[static_cast<size_t>(at - list_.docs.begin())] = true;
  }
  return text;
}

std::vector<Parameter> Builder::parameters(const Node& node) {
  std::vector<Parameter> result;
  for (const Node* child : of_rule(node, DtlParser::RuleParameter)) {
    Parameter& parameter = result.emplace_back();
    parameter.doc = doc_before(child->first);
    parameter.name = ident(*child->children[0]);
    if (const Node* type_node = first_of_rule(*child, DtlParser::RuleType)) parameter.type = type(*type_node);
    if (const Node* value = first_of_rule(*child, DtlParser::RuleExpression)) parameter.value = expression(*value);
  }
  return result;
}

void Builder::declaration(const Node& node) {
  Decl& decl = ast_.decl_store.emplace_back();
  ast_.decls.push_back(&decl);
  decl.range = range(node);
  decl.doc = doc_before(node.first);
  decl.kind = kind_of(node.rule);
  for (const Node* child : node.children) {
    if (is_token(*child, DtlParser::NAME)) decl.name = ident(*child);
    if (is_token(*child, DtlParser::STRING)) decl.path = string(child->first);
    if (child->rule == DtlParser::RuleType) decl.type = type(*child);
    if (child->rule == DtlParser::RuleExpression) decl.value = expression(*child);
    if (child->rule == DtlParser::RuleBody) decl.body = body(*child);
  }
  const Children lists = of_rule(node, DtlParser::RuleParameters);
  decl.has_hyper = lists.size() == 2 || (lists.size() == 1 && decl.kind == DeclKind::strategy);
  if (decl.has_hyper) decl.hyper = parameters(*lists.front());
  if (!lists.empty() && lists.size() > static_cast<size_t>(decl.has_hyper)) decl.parameters = parameters(*lists.back());
}

}  // namespace dtl::syntax
