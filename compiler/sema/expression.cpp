// Checking of one expression: a body of its own, with what the session holds as states.
#include "compiler/sema/expression.h"

#include "compiler/sema/resolve.h"
#include "compiler/sema/session.h"
#include "compiler/sema/strategy.h"
#include "compiler/sema/train.h"

namespace dtl::sema {
namespace {

using syntax::Item;
using syntax::ItemKind;

/// A compile-time value as its user would write it; tensors by their types.
std::string text_of_value(const Value& value, const Evaluator& evaluator) {
  const auto joined = [&](const char* open, const char* close) {
    std::string text = open;
    for (size_t i = 0; i < value.items->size(); ++i) {
      if (i > 0) text += ", ";
      if (value.is(ValueKind::record)) text += (*value.names)[i] + " = ";
      text += text_of_value((*value.items)[i], evaluator);
    }
    return text + close;
  };
  switch (value.kind) {
    case ValueKind::integer:
      return std::to_string(value.integer);
    case ValueKind::number:
      return fmt::format("{}", value.number);
    case ValueKind::boolean:
      return value.boolean ? "true" : "false";
    case ValueKind::text:
      return "\"" + value.text + "\"";
    case ValueKind::dtype:
      return std::string(name_of(value.dtype));
    case ValueKind::word:
      return value.text;
    case ValueKind::list:
      return joined("[", "]");
    case ValueKind::tuple:
      return joined("(", ")");
    case ValueKind::record:
      return joined("{ ", " }");
    case ValueKind::error:
    case ValueKind::unit:
    case ValueKind::none:
    case ValueKind::quantity:
    case ValueKind::dim:
    case ValueKind::range:
    case ValueKind::tensor:
    case ValueKind::declared:
    case ValueKind::builtin:
    case ValueKind::lambda:
    case ValueKind::constant_function:
    case ValueKind::recipe:
    case ValueKind::instance:
    case ValueKind::pending:
    case ValueKind::optimizer:
    case ValueKind::strategy:
    case ValueKind::update:
    case ValueKind::vocabulary:
    case ValueKind::row_text:
      return evaluator.shown(value);
  }
  return {};
}

class ExpressionReader {
 public:
  ExpressionReader(Session& session, const ExpressionRequest& request, ExpressionResult& result)
      : evaluator_(session.evaluator), emitter_(session.emitter), program_(session.program), request_(request), result_(result) {}

  void run() {
    Scope* scope = evaluator_.scopes().inside(evaluator_.file_root);
    program_.strategy = default_strategy();
    if (request_.strategy) {
      program_.strategy_range = request_.strategy->range;
      if (auto strategy = strategy_of(evaluator_, *request_.strategy, scope)) program_.strategy = std::move(*strategy);
    }
    BodyContext context;
    context.body = &program_.eval_step.emplace();
    BodyContext* outer = emitter_.enter(&context);
    Instance instance;
    instance.path = instance.model = request_.path;
    Instance* outer_instance = evaluator_.enter_instance(&instance);
    // In the order in which they came, each in a scope of its own: a later one hides an earlier one of its name, and what speaks of the
    // earlier one keeps it.
    for (size_t i = 0; i <= request_.lets.size(); ++i) {
      for (const Held& held : request_.held) {
        if (held.after == i) scope->bind(held.name, Value::of_tensor(read(held)), {});
      }
      if (i == request_.lets.size()) break;
      Scope* inner = evaluator_.scopes().inside(scope);
      evaluator_.run_item(*request_.lets[i], scope, inner);
      scope = inner;
    }
    evaluate(*request_.item, evaluator_.scopes().inside(scope));
    evaluator_.enter_instance(outer_instance);
    emitter_.enter(outer);
  }

 private:
  int32_t add_state(const std::string& path, const types::TensorType& type) {
    Variable variable;
    variable.path = path;
    variable.type = type;
    BodyContext context;
    context.body = &variable.init;
    context.initial = true;
    BodyContext* outer = emitter_.enter(&context);
    variable.init_value = emitter_.constant(0, type.dtype, type.dims, {}).id;
    emitter_.enter(outer);
    program_.states.push_back(std::move(variable));
    return static_cast<int32_t>(program_.states.size()) - 1;
  }

  Tensor read(const Held& held) {
    const int32_t index = add_state(held.name, held.type);
    const Tensor x = emitter_.value(held.name, held.type, {});
    emitter_.name(x, held.name);
    Statement& read = emitter_.statement(StatementKind::read_state, {});
    read.index = index;
    read.results = {x.id};
    read.path = held.name;
    return x;
  }

  void write(const std::string& name, Tensor x, source::Range range) {
    x = emitter_.use(x, range, "the result");
    if (!x.ok()) return;
    const types::TensorType type = emitter_.type(x);
    const std::string path = "= " + name;
    const int32_t index = add_state(path, type);
    Statement& write = emitter_.statement(StatementKind::write_state, range);
    write.index = index;
    write.operands = {x.id};
    write.path = path;
    result_.outputs.push_back({name, path, type});
  }

  /// Every tensor of a value, under names that say where it was.
  void write_all(const std::string& name, const Value& value, source::Range range) {
    if (value.is(ValueKind::tensor)) {
      write(name, value.tensor, range);
    } else if (value.is(ValueKind::list) || value.is(ValueKind::tuple) || value.is(ValueKind::record)) {
      for (size_t i = 0; i < value.items->size(); ++i) {
        write_all(name + "." + (value.is(ValueKind::record) ? (*value.names)[i] : std::to_string(i)), (*value.items)[i], range);
      }
    }
  }

  void evaluate(const Item& item, Scope* scope) {
    if (item.kind == ItemKind::let) {
      evaluator_.run_item(item, scope);
      for (const syntax::Ident& name : item.names) {
        const Binding* binding = scope->find_here(name.text);
        if (!binding || !binding->value.ok()) continue;
        describe(binding->value);
        write_all(name.text, binding->value, name.range);
      }
      return;
    }
    if (item.kind != ItemKind::expression) {
      evaluator_.reporter().report(item.range, diag::misplaced, "this",
                                   "a line of its own: an expression, a `let` or a declaration can be");
      return;
    }
    const Value value = evaluator_.evaluate(*item.value, scope);
    if (!value.ok()) return;
    describe(value);
    if (request_.gradient) {
      differentiate(value, item.value->range);
    } else {
      write_all("it", value, item.value->range);
    }
  }

  void describe(const Value& value) {
    result_.type = value.is(ValueKind::tensor) ? emitter_.type(value.tensor).str() : evaluator_.shown(value);
    if (!value.is(ValueKind::tensor)) result_.shown = text_of_value(value, evaluator_);
  }

  void differentiate(const Value& value, source::Range range) {
    Reporter& reporter = evaluator_.reporter();
    if (!value.is(ValueKind::tensor)) {
      reporter.report(range, diag::needs_tensor, ":gradient", evaluator_.shown(value));
      return;
    }
    const types::TensorType type = emitter_.type(value.tensor);
    if (type.rank() != 0 || !is_float(type.dtype)) {
      reporter.report(range, diag::not_a_scalar, "what `:gradient` differentiates", type.str()).help("reduce it, say by `sum` or `mean`");
      return;
    }
    std::vector<std::pair<std::string, Tensor>> sources;
    const Body& body = *program_.eval_step;
    for (const Statement& statement : body.statements) {
      const bool reads = statement.kind == StatementKind::read_state || statement.kind == StatementKind::read_weight;
      if (!reads || !is_float(body.values[static_cast<size_t>(statement.results[0])].type.dtype)) continue;
      const auto same = [&](const auto& source) { return source.first == statement.path; };
      if (std::none_of(sources.begin(), sources.end(), same) && depends(body, value.tensor.id, statement.results[0]))
        sources.emplace_back(statement.path, Tensor{statement.results[0], false, &body});
    }
    if (sources.empty()) {
      reporter.report(range, diag::loss_without_weights, "this session").help("hold a tensor by `let w = normal([3])`, and use it here");
      return;
    }
    std::vector<int32_t> operands{value.tensor.id};
    std::vector<Tensor> results;
    for (const auto& [path, x] : sources) {
      operands.push_back(x.id);
      results.push_back(emitter_.value(path + "/gradient", emitter_.type(x), range));
    }
    Statement& gradient = emitter_.statement(StatementKind::op, range);
    gradient.op = "gradient";
    gradient.operands = operands;
    for (const Tensor x : results) gradient.results.push_back(x.id);
    for (size_t i = 0; i < results.size(); ++i) write(sources[i].first, results[i], range);
  }

  static bool depends(const Body& body, int32_t on_way, int32_t source) {
    std::set<int32_t> open{on_way};
    for (auto statement = body.statements.rbegin(); statement != body.statements.rend(); ++statement) {
      for (const int32_t result : statement->results) {
        if (open.contains(result)) open.insert(statement->operands.begin(), statement->operands.end());
      }
    }
    return open.contains(source);
  }

  Evaluator& evaluator_;
  Emitter& emitter_;
  Program& program_;
  const ExpressionRequest& request_;
  ExpressionResult& result_;
};

}  // namespace

std::optional<Program> check_expression(const syntax::Ast& file, const std::vector<std::unique_ptr<syntax::Ast>>& library,
                                        const graph::OpTable& ops, const Options& options, const ExpressionRequest& request,
                                        ExpressionResult& result, source::Sink& sink) {
  Shared shared(library);
  Session session(library, shared, ops, options, sink);
  shared.cyclic = resolve(session.evaluator, session.declare_all(file, options));
  if (!sink.has_errors()) ExpressionReader(session, request, result).run();
  if (sink.has_errors()) return std::nullopt;
  return std::move(session.program);
}

}  // namespace dtl::sema
