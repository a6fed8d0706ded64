// Parser of graph text: a cursor over the text, one method for each construct.
#include "compiler/graph/parse.h"

#include <algorithm>
#include <limits>

#include "compiler/graph/verify.h"
#include "compiler/types/scan.h"

namespace dtl::graph {
namespace {

/// Thrown and caught in this file only.
struct Failure {
  size_t at;
  std::string text;
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/';
}

/// Comments become blanks, so that offsets stay.
std::string without_comments(std::string_view text) {
  std::string plain(text);
  bool quoted = false;
  for (size_t i = 0; i < plain.size(); ++i) {
    if (quoted) {
      if (plain[i] == '\\')
        ++i;
      else if (plain[i] == '"' || plain[i] == '\n')
        quoted = false;
    } else if (plain[i] == '"') {
      quoted = true;
    } else if (plain[i] == '/' && i + 1 < plain.size() && plain[i + 1] == '/' && (i == 0 || !is_word(plain[i - 1]))) {
      for (; i < plain.size() && plain[i] != '\n'; ++i) plain[i] = ' ';
    }
  }
  return plain;
}

class Parser {
 public:
  Parser(std::string_view text, const OpTable& ops) : text_(text), ops_(&ops) {}

  Graph run() {
    if (eat_word("mesh")) parse_mesh();
    if (eat_word("strategy")) parse_strategy();
    while (eat_word("place")) parse_own_placement();
    if (eat_word("bounds")) {
      for (auto& [name, size] : parse_sizes()) graph_.bounds.emplace_back(std::move(name), size);
    }
    if (eat_word("products")) {
      const auto dtype = parse_dtype(word("an element type"));
      if (!dtype || (*dtype != DType::f32 && !is_narrow(*dtype))) fail("products are computed in f32, bf16 or f16");
      graph_.products = *dtype;
    }
    while (skip()) {
      if (!eat_word("func")) fail("expected `func`");
      parse_function();
    }
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(std::string text) const { throw Failure{at_, std::move(text)}; }

  /// Skips blanks; false at the end.
  bool skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    return at_ < text_.size();
  }
  bool peek(char c) { return skip() && text_[at_] == c; }
  bool eat(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!eat(c)) fail(fmt::format("expected `{}`", c));
  }
  std::string_view peek_word() {
    skip();
    size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  std::string word(std::string_view what) {
    const std::string_view found = peek_word();
    if (found.empty()) fail(fmt::format("expected {}", what));
    at_ += found.size();
    return std::string(found);
  }
  bool eat_word(std::string_view expected) {
    if (peek_word() != expected) return false;
    at_ += expected.size();
    return true;
  }
  /// A bracketed group or string that starts here.
  std::string_view group() {
    skip();
    const auto end = types::end_of_group(text_, at_);
    if (!end) fail("brackets or quotes do not match");
    const std::string_view found = text_.substr(at_, *end - at_);
    at_ = *end;
    return found;
  }
  std::string string() {
    if (!peek('"')) fail("expected a string");
    auto plain = types::unquote(group());
    if (!plain) fail("a string has no end");
    return *plain;
  }

  std::vector<std::pair<std::string, int64_t>> parse_sizes() {
    std::vector<std::pair<std::string, int64_t>> sizes;
    do {
      std::string name = word("a name");
      need('=');
      const auto size = types::parse_integer(word("a size"));
      if (!size) fail("expected a size");
      sizes.emplace_back(std::move(name), *size);
    } while (eat(','));
    return sizes;
  }

  void parse_mesh() {
    for (auto& [name, size] : parse_sizes()) {
      constexpr int64_t kMost = 4096;  // as of a strategy in a program
      if (size < 1 || size > kMost) fail(fmt::format("a mesh axis has between 1 and {} members", kMost));
      graph_.strategy.mesh.axes.push_back({std::move(name), size});
    }
  }

  template <class T>
  void take(const types::Attrs& attrs, std::string_view name, T& target) {
    const types::AttrValue* value = attrs.find(name);
    if (!value) return;
    if (!std::holds_alternative<T>(*value)) fail(fmt::format("`{}` of the strategy is of another kind", name));
    target = std::get<T>(*value);
  }

  void parse_strategy() {
    const types::Attrs attrs = parse_attrs();
    for (const auto& [name, value] : attrs.values()) {
      constexpr std::string_view kKnown[] = {"name",         "batch",  "weights", "gradients", "optimizer",
                                             "first_bucket", "bucket", "overlap", "timeout"};
      if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown)) fail(fmt::format("a strategy has no `{}`", name));
    }
    types::Strategy& strategy = graph_.strategy;
    take(attrs, "name", strategy.name);
    take(attrs, "batch", strategy.batch);
    take(attrs, "weights", strategy.weights);
    take(attrs, "gradients", strategy.gradients);
    take(attrs, "optimizer", strategy.optimizer);
    take(attrs, "first_bucket", strategy.communication.first_bucket);
    take(attrs, "bucket", strategy.communication.bucket);
    take(attrs, "overlap", strategy.communication.overlap);
    take(attrs, "timeout", strategy.communication.timeout_seconds);
  }

  void parse_own_placement() {
    const auto& axes = graph_.strategy.mesh.axes;
    types::OwnPlacement placement(axes.size());
    const std::string path = string();
    do {
      const std::string name = word("a mesh axis");
      const auto axis = std::find_if(axes.begin(), axes.end(), [&](const plan::MeshAxis& each) { return each.name == name; });
      if (axis == axes.end()) fail(fmt::format("the mesh has no axis `{}`", name));
      need('=');
      std::string text = word("a placement");
      if (peek('(')) text += group();
      const auto parsed = types::Placement::parse(text);
      if (!parsed) fail(fmt::format("`{}` is no placement", text));
      placement[static_cast<size_t>(axis - axes.begin())] = *parsed;
    } while (eat(','));
    graph_.strategy.own[path] = std::move(placement);
  }

  types::Attrs parse_attrs() {
    if (!peek('{')) fail("expected `{`");
    const size_t begin = at_;
    auto attrs = types::Attrs::parse(group());
    if (!attrs) {
      at_ = begin;
      fail("these are no attributes");
    }
    return *attrs;
  }

  std::string value_name() {
    need('%');
    return word("a value's name");
  }

  ValueId use() {
    const size_t begin = at_;
    const std::string name = value_name();
    const auto found = names_.find(name);
    if (found != names_.end()) return found->second;
    at_ = begin;
    fail(fmt::format("`%{}` is not defined before", name));
  }

  /// `%name: type @ placement`.
  ValueId define(std::optional<NodeId> node, int32_t result) {
    Value value{{}, {}, value_name(), function_, node, result};
    need(':');
    skip();
    const size_t begin = at_;
    at_ += peek_word().size();
    if (peek('[')) group();
    const auto type = types::TensorType::parse(text_.substr(begin, at_ - begin));
    if (!type) fail("expected a type such as `f32[batch, 10]`");
    value.type = *type;
    if (eat('@')) {
      skip();
      const size_t place = at_;
      at_ += peek_word().size();
      if (at_ < text_.size() && text_[at_] == '(') group();
      auto placements = types::parse_placements(text_.substr(place, at_ - place));
      if (!placements) fail("expected a placement such as `split(0)`");
      value.placements = std::move(*placements);
    }
    const ValueId id{static_cast<int32_t>(graph_.values.size())};
    pending_.emplace_back(value.name, id);
    graph_.values.push_back(std::move(value));
    return id;
  }

  /// Values become visible after the node that defines them.
  void reveal() {
    for (auto& [name, id] : pending_) {
      if (!names_.emplace(name, id).second) fail(fmt::format("`%{}` is defined twice", name));
    }
    pending_.clear();
  }

  Port parse_role(ValueId value) {
    Port port{value};
    if (!eat('{')) return port;
    const auto role = graph::parse_role(word("a role"));
    if (!role) fail("expected a role such as `weight`");
    port.role = *role;
    if (peek('"')) port.path = string();
    if (eat(',')) {
      if (!eat_word("identity")) fail("expected `identity`");
      need('=');
      skip();
      const size_t end = std::min(text_.find('}', at_), text_.size());
      const auto number = types::parse_number(types::trim(text_.substr(at_, end - at_)));
      if (!number) fail("expected a number");
      port.identity = *number;
      at_ = end;
    }
    need('}');
    return port;
  }

  void parse_node(const std::string& scope) {
    const NodeId id{static_cast<int32_t>(graph_.nodes.size())};
    Node node{{}, {}, {}, {}, function_, {}, scope};
    if (!peek('=')) {
      do node.results.push_back(define(id, static_cast<int32_t>(node.results.size())));
      while (eat(','));
    }
    need('=');
    const std::string op = word("an op");
    const auto found = ops_->find(op);
    if (!found) fail(fmt::format("there is no op `{}`", op));
    node.op = *found;
    need('(');
    if (!eat(')')) {
      do node.operands.push_back(use());
      while (eat(','));
      need(')');
    }
    if (peek('{')) node.attrs = parse_attrs();
    reveal();
    graph_.nodes.push_back(std::move(node));
    graph_[function_].nodes.push_back(id);
  }

  void parse_function() {
    function_ = {static_cast<int32_t>(graph_.functions.size())};
    names_.clear();
    Function function;
    function.name = word("a function's name");
    if (graph_.find_function(function.name)) fail(fmt::format("there are two functions `{}`", function.name));
    graph_.functions.push_back(std::move(function));
    need('(');
    if (!eat(')')) {
      do {
        const ValueId value = define(std::nullopt, static_cast<int32_t>(graph_[function_].params.size()));
        graph_[function_].params.push_back(parse_role(value));
        reveal();
      } while (eat(','));
      need(')');
    }
    need('{');
    std::string scope;
    while (!eat_word("return")) {
      if (eat_word("in"))
        scope = string();
      else
        parse_node(scope);
    }
    if (!eat('}')) {
      do {
        const ValueId value = use();
        graph_[function_].results.push_back(parse_role(value));
      } while (eat(','));
      need('}');
    }
  }

  std::string_view text_;
  const OpTable* ops_;
  size_t at_ = 0;
  Graph graph_;
  FunctionId function_;
  std::unordered_map<std::string, ValueId> names_;
  std::vector<std::pair<std::string, ValueId>> pending_;
};

void set_error(std::string* error, std::string text) {
  if (error) *error = std::move(text);
}

}  // namespace

std::optional<Graph> parse_unverified(std::string_view text, const OpTable& ops, std::string* error) {
  const std::string plain = without_comments(text);
  try {
    return Parser(plain, ops).run();
  } catch (const Failure& failure) {
    const auto line = 1 + std::count(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(std::min(failure.at, plain.size())), '\n');
    set_error(error, fmt::format("line {}: {}", line, failure.text));
    return std::nullopt;
  }
}

std::optional<Graph> parse(std::string_view text, const OpTable& ops, std::string* error) {
  auto graph = parse_unverified(text, ops, error);
  if (!graph) return std::nullopt;
  std::string broken = verify(*graph, ops);
  if (broken.empty()) return graph;
  set_error(error, std::move(broken));
  return std::nullopt;
}

}  // namespace dtl::graph
