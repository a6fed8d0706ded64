// Lambdas over rows, for the data's side: scalar fields, numbers and texts known at compile time, and what compares them.
#include "compiler/sema/source_reader.h"

namespace dtl::sema {
namespace {

using source::Range;
using syntax::Expr;
using syntax::ExprKind;

enum class Kind : uint8_t { number, text, truth };

struct Typed {
  RowExpr expr;
  Kind kind;
  Range range;
  std::string why;  ///< of a field of texts: why it is one
};

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::number:
      return "a number";
    case Kind::text:
      return "text";
    case Kind::truth:
      return "a bool";
  }
  return {};
}

class RowReader {
 public:
  RowReader(Evaluator& evaluator, Scope* scope, const std::string& row, const SplitInfo& info, Range source)
      : evaluator_(evaluator), reporter_(evaluator.reporter()), scope_(scope), row_(row), info_(info), source_(source) {}

  std::optional<Typed> read(const Expr& e) {
    if (!mentions_row(e)) return constant(e);
    switch (e.kind) {
      case ExprKind::group:
        return read(*e.items[0]);
      case ExprKind::field:
        if (e.items[0]->kind == ExprKind::name && e.items[0]->name == row_) return field(e);
        break;
      case ExprKind::unary: {
        auto x = read(*e.items[0]);
        const Kind wanted = e.op == "not" ? Kind::truth : Kind::number;
        if (!x || !is(*x, wanted, "`" + e.op + "`")) return std::nullopt;
        return make(e.op == "not" ? "logical_not" : "negate", wanted, e, std::move(x));
      }
      case ExprKind::binary:
        return binary(e);
      case ExprKind::call:
        return call(e);
      case ExprKind::integer:
      case ExprKind::number:
      case ExprKind::quantity:
      case ExprKind::string:
      case ExprKind::boolean:
      case ExprKind::name:
      case ExprKind::list:
      case ExprKind::record:
      case ExprKind::tuple:
      case ExprKind::lambda:
      case ExprKind::index:
      case ExprKind::pipe:
      case ExprKind::range:
      case ExprKind::ellipsis:
      case ExprKind::if_else:
      case ExprKind::per_replica:
      case ExprKind::with:
        break;
    }
    return refuse(e);
  }

 private:
  bool mentions_row(const Expr& e) const {
    if (e.kind == ExprKind::name) return e.name == row_;
    for (const Expr* item : e.items) {
      if (item && mentions_row(*item)) return true;
    }
    return std::any_of(e.arguments.begin(), e.arguments.end(), [&](const auto& a) { return a.value && mentions_row(*a.value); });
  }

  std::optional<Typed> refuse(const Expr& e) {
    reporter_.report(e.range, diag::not_a_row_expression, text_of(e))
        .help(
            "fields of the row, numbers and strings, `== != < <= > >=`, `and or not`, `+ - * /`, `len`, `starts_with`, `ends_with` and "
            "`contains`");
    return std::nullopt;
  }

  std::optional<Typed> constant(const Expr& e) {
    const Value value = evaluator_.evaluate(e, scope_);
    if (!value.ok()) return std::nullopt;
    if (value.is(ValueKind::integer) || value.is(ValueKind::number))
      return Typed{{"number", "", value.as_number(), {}}, Kind::number, e.range, {}};
    if (value.is(ValueKind::boolean)) return Typed{{"number", "", value.boolean ? 1.0 : 0.0, {}}, Kind::truth, e.range, {}};
    if (value.is(ValueKind::text)) return Typed{{"text", value.text, 0, {}}, Kind::text, e.range, {}};
    return refuse(e);
  }

  std::optional<Typed> field(const Expr& e) {
    std::vector<std::string> names;
    for (size_t i = 0; i < info_.fields.size(); ++i) {
      const FieldInfo& field = info_.fields[i];
      names.push_back(field.name);
      if (field.name != e.name) continue;
      RowExpr made{"field", {}, static_cast<double>(i), {}};
      if (field.text) return Typed{std::move(made), Kind::text, e.range, field.why};
      if (!field.shape.empty() || field.dtype == DType::f16 || field.dtype == DType::bf16) {
        reporter_.report(e.range, diag::not_a_row_expression, text_of(e))
            .note(source_, fmt::format("`{}` is {}[{}]: only scalars can be looked at here", field.name, dtl::name_of(field.dtype),
                                       fmt::join(field.shape, ", ")));
        return std::nullopt;
      }
      return Typed{std::move(made), field.dtype == DType::boolean ? Kind::truth : Kind::number, e.range, {}};
    }
    names.insert(names.end(), info_.unread.begin(), info_.unread.end());
    auto reported = reporter_.report(e.name_range.known() ? e.name_range : e.range, diag::no_such_field, e.name);
    reported.note(source_, "the data has the fields " + enumerate(names));
    if (auto near = nearest(e.name, names)) reported.help("did you mean `" + *near + "`?");
    return std::nullopt;
  }

  bool is(const Typed& x, Kind kind, const std::string& user) {
    if (x.kind == kind) return true;
    auto reported = reporter_.report(x.range, diag::row_operand, user, std::string(name_of(kind)), std::string(name_of(x.kind)));
    if (!x.why.empty()) reported.note(source_, "the field is text, as " + x.why);
    return false;
  }

  static Typed make(std::string op, Kind kind, const Expr& e, std::optional<Typed> a, std::optional<Typed> b = {}) {
    RowExpr made{std::move(op), {}, 0, {}};
    made.items.push_back(std::move(a->expr));
    if (b) made.items.push_back(std::move(b->expr));
    return {std::move(made), kind, e.range, {}};
  }

  std::optional<Typed> binary(const Expr& e) {
    auto a = read(*e.items[0]), b = read(*e.items[1]);
    if (!a || !b) return std::nullopt;
    const std::string user = "`" + e.op + "`";
    if (e.op == "and" || e.op == "or") {
      const bool good = is(*a, Kind::truth, user) & is(*b, Kind::truth, user);
      if (!good) return std::nullopt;
      return make(e.op == "and" ? "logical_and" : "logical_or", Kind::truth, e, std::move(a), std::move(b));
    }
    static const std::map<std::string, std::string> arithmetic = {{"+", "add"}, {"-", "subtract"}, {"*", "multiply"}, {"/", "divide"}};
    if (const auto op = arithmetic.find(e.op); op != arithmetic.end()) {
      const bool good = is(*a, Kind::number, user) & is(*b, Kind::number, user);
      if (!good) return std::nullopt;
      return make(op->second, Kind::number, e, std::move(a), std::move(b));
    }
    static const std::map<std::string, std::string> comparisons = {{"==", "equal"}, {"!=", "equal"},      {"<", "less"},
                                                                   {">", "less"},   {"<=", "less_equal"}, {">=", "less_equal"}};
    const auto op = comparisons.find(e.op);
    if (op == comparisons.end()) return refuse(e);
    if (a->kind != b->kind) {
      // The constant is told what the field is, and why.
      const bool left_is_constant = !mentions_row(*e.items[0]);
      Typed &told = left_is_constant ? *a : *b, &other = left_is_constant ? *b : *a;
      told.why = other.why;
      is(told, other.kind, user);
      return std::nullopt;
    }
    const bool swapped = e.op == ">" || e.op == ">=";
    Typed made = make(op->second, Kind::truth, e, std::move(swapped ? b : a), std::move(swapped ? a : b));
    return e.op == "!=" ? make("logical_not", Kind::truth, e, std::move(made)) : std::move(made);
  }

  std::optional<Typed> call(const Expr& e) {
    static const std::map<std::string, size_t> functions = {{"len", 1}, {"starts_with", 2}, {"ends_with", 2}, {"contains", 2}};
    const auto function = e.items[0]->kind == ExprKind::name ? functions.find(e.items[0]->name) : functions.end();
    if (function == functions.end() || e.arguments.size() != function->second) return refuse(e);
    std::vector<Typed> texts;
    for (const syntax::Argument& argument : e.arguments) {
      auto text = argument.name ? refuse(e) : read(*argument.value);
      if (!text || !is(*text, Kind::text, "`" + function->first + "`")) return std::nullopt;
      texts.push_back(std::move(*text));
    }
    if (texts.size() == 1) return make("length", Kind::number, e, std::move(texts[0]));
    return make(function->first, Kind::truth, e, std::move(texts[0]), std::move(texts[1]));
  }

  Evaluator& evaluator_;
  Reporter& reporter_;
  Scope* scope_;
  std::string row_;
  const SplitInfo& info_;
  Range source_;
};

}  // namespace

std::optional<RowExpr> read_row_expr(Evaluator& evaluator, Scope* scope, const Expr& lambda, const SplitInfo& info, Range source) {
  Reporter& reporter = evaluator.reporter();
  if (lambda.kind != ExprKind::lambda || lambda.parameters.size() != 1) {
    reporter.report(lambda.range, diag::setting_type, "the condition of `where`", "a function of one row, such as `row => row.year > 2000`",
                    text_of(lambda));
    return std::nullopt;
  }
  RowReader reader(evaluator, scope, lambda.parameters[0].name.text, info, source);
  auto body = reader.read(*lambda.items[0]);
  if (!body) return std::nullopt;
  if (body->kind == Kind::truth) return std::move(body->expr);
  reporter.report(lambda.items[0]->range, diag::row_operand, "`where`", "a bool", std::string(name_of(body->kind)));
  return std::nullopt;
}

}  // namespace dtl::sema
