// Making and describing compile-time values; source text of expressions; near names.
#include "compiler/sema/value.h"

#include <algorithm>

#include "compiler/source/foreign_names.h"

namespace dtl::sema {

const Value* Value::find(std::string_view name) const {
  if (!names) return nullptr;
  for (size_t i = 0; i < names->size(); ++i) {
    if ((*names)[i] == name) return &(*items)[i];
  }
  return nullptr;
}

Value Value::of(ValueKind kind) {
  Value value;
  value.kind = kind;
  return value;
}
Value Value::of_integer(int64_t number) {
  Value value = of(ValueKind::integer);
  value.integer = number;
  return value;
}
Value Value::of_number(double number) {
  Value value = of(ValueKind::number);
  value.number = number;
  return value;
}
Value Value::of_boolean(bool truth) {
  Value value = of(ValueKind::boolean);
  value.boolean = truth;
  return value;
}
Value Value::of_text(ValueKind kind, std::string text) {
  Value value = of(kind);
  value.text = std::move(text);
  return value;
}
Value Value::of_dtype(DType dtype) {
  Value value = of(ValueKind::dtype);
  value.dtype = dtype;
  return value;
}
Value Value::of_dim(const types::Dim& dim) {
  if (auto constant = dim.constant()) return of_integer(*constant);
  Value value = of(ValueKind::dim);
  value.dim = dim;
  return value;
}
Value Value::of_tensor(Tensor tensor) {
  if (!tensor.ok()) return {};
  Value value = of(ValueKind::tensor);
  value.tensor = tensor;
  return value;
}
Value Value::of_items(ValueKind kind, std::vector<Value> items) {
  Value value = of(kind);
  value.items = std::make_shared<const std::vector<Value>>(std::move(items));
  return value;
}
Value Value::of_record(std::vector<std::string> names, std::vector<Value> items) {
  Value value = of_items(ValueKind::record, std::move(items));
  value.names = std::make_shared<const std::vector<std::string>>(std::move(names));
  return value;
}
Value Value::of_closure(ValueKind kind, Closure closure) {
  Value value = of(kind);
  value.closure = std::make_shared<const Closure>(std::move(closure));
  return value;
}
Value Value::at(source::Range range) && {
  origin = range;
  return std::move(*this);
}

std::optional<types::Dim> as_dim(const Value& value) {
  if (value.kind == ValueKind::integer) return types::Dim(value.integer);
  if (value.kind == ValueKind::dim) return value.dim;
  return std::nullopt;
}

std::string describe(const Value& value) {
  switch (value.kind) {
    case ValueKind::error:
      return "a mistake";
    case ValueKind::unit:
      return "nothing: a statement gives no value";
    case ValueKind::none:
      return "`none`";
    case ValueKind::integer:
      return fmt::format("the integer {}", value.integer);
    case ValueKind::number:
      return fmt::format("the number {}", value.number);
    case ValueKind::boolean:
      return value.boolean ? "the bool `true`" : "the bool `false`";
    case ValueKind::text:
      return fmt::format("the string \"{}\"", value.text);
    case ValueKind::quantity:
      if (value.text == "percent") return fmt::format("{:.15g}%", 100 * value.number);
      return fmt::format("a {} of {} {}", value.text, value.number, value.unit);
    case ValueKind::dim:
      return fmt::format("the dimension `{}`", value.dim.str());
    case ValueKind::dtype:
      return fmt::format("the element type `{}`", name_of(value.dtype));
    case ValueKind::vocabulary:
      return fmt::format("the vocabulary `{}`", value.text);
    case ValueKind::row_text:
      return fmt::format("the text `{}`", value.text);
    case ValueKind::word:
      return fmt::format("the word `{}`", value.text);
    case ValueKind::list:
      return fmt::format("a list of {}", value.items->size());
    case ValueKind::tuple:
      return fmt::format("a tuple of {}", value.items->size());
    case ValueKind::record:
      return "a record";
    case ValueKind::range:
      return "a range";
    case ValueKind::tensor:
      return "a tensor";
    case ValueKind::declared: {
      const syntax::Decl& decl = *value.closure->decl;
      switch (decl.kind) {
        case syntax::DeclKind::layer:
          return fmt::format("the layer `{}`", decl.name.text);
        case syntax::DeclKind::model:
          return fmt::format("the model `{}`", decl.name.text);
        case syntax::DeclKind::function:
          return fmt::format("the fn `{}`", decl.name.text);
        case syntax::DeclKind::optimizer:
          return fmt::format("the optimizer `{}`", decl.name.text);
        case syntax::DeclKind::strategy:
          return fmt::format("the strategy `{}`", decl.name.text);
        case syntax::DeclKind::dataset:
          return fmt::format("the dataset `{}`", decl.name.text);
        case syntax::DeclKind::train:
        case syntax::DeclKind::param:
        case syntax::DeclKind::import_file:
          return fmt::format("the declaration `{}`", decl.name.text);
      }
      return {};
    }
    case ValueKind::builtin:
    case ValueKind::lambda:
    case ValueKind::constant_function:
      return "a function";
    case ValueKind::recipe:
    case ValueKind::instance:
      return fmt::format("the layer `{}`", value.closure->decl->name.text);
    case ValueKind::pending:
      return fmt::format("the initialiser `{}`", value.closure->decl->name.text);
    case ValueKind::optimizer:
      return fmt::format("the optimizer `{}`", value.closure->decl->name.text);
    case ValueKind::strategy:
      return fmt::format("the strategy `{}`", value.strategy->name);
    case ValueKind::update:
      return fmt::format("the update `{}`", value.text);
  }
  return {};
}

namespace {

using syntax::Argument;
using syntax::Expr;
using syntax::ExprKind;
using syntax::TypeExpr;
using syntax::TypeKind;

template <class Items, class Text>
std::string join(const Items& items, Text text) {
  std::string result;
  for (const auto& item : items) result += (result.empty() ? "" : ", ") + text(item);
  return result;
}

std::string text_or_nothing(const Expr* expr) { return expr ? text_of(*expr) : std::string(); }

std::string arguments_text(const std::vector<Argument>& arguments) {
  return join(arguments, [](const Argument& a) { return (a.name ? a.name->text + " = " : std::string()) + text_or_nothing(a.value); });
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') literal += '\\';
    if (c == '\n') {
      literal += "\\n";
    } else if (c == '\t') {
      literal += "\\t";
    } else if (c == '\r') {
      literal += "\\r";
    } else {
      literal += c;
    }
  }
  return literal + "\"";
}

std::string text_of(const Expr& e) {
  const auto item = [&](size_t i) { return i < e.items.size() ? text_or_nothing(e.items[i]) : std::string(); };
  const auto expr_text = [](const Expr* x) { return text_or_nothing(x); };
  switch (e.kind) {
    case ExprKind::integer:
      return std::to_string(e.integer);
    case ExprKind::number:
      return fmt::format("{}", e.number);
    case ExprKind::quantity:
      return fmt::format("{}{}", e.number, e.unit);
    case ExprKind::string:
      return quoted(e.text);
    case ExprKind::boolean:
      return e.integer ? "true" : "false";
    case ExprKind::name:
      return e.name;
    case ExprKind::list:
      return "[" + join(e.items, expr_text) + "]";
    case ExprKind::record:
      return "{ " + arguments_text(e.arguments) + " }";
    case ExprKind::tuple:
      return "(" + join(e.items, expr_text) + ")";
    case ExprKind::lambda:
      return "(" + join(e.parameters, [](const syntax::Parameter& p) { return p.name.text; }) + ") => " + item(0);
    case ExprKind::call:
      return item(0) + "(" + arguments_text(e.arguments) + ")";
    case ExprKind::index:
      return item(0) + "[" + join(std::span(e.items).subspan(1), expr_text) + "]";
    case ExprKind::field:
      return item(0) + "." + e.name;
    case ExprKind::unary:
      return e.op + (e.op == "not" ? " " : "") + item(0);
    case ExprKind::binary:
      return item(0) + " " + e.op + " " + item(1);
    case ExprKind::pipe:
      return item(0) + " |> " + item(1);
    case ExprKind::range:
      return item(0) + " .. " + item(1);
    case ExprKind::ellipsis:
      return "...";
    case ExprKind::if_else:
      return "if " + item(0) + " { … }";
    case ExprKind::per_replica:
      return "per_replica { … }";
    case ExprKind::with:
      return item(0) + " with { " + arguments_text(e.arguments) + " }";
    case ExprKind::group:
      return "(" + item(0) + ")";
  }
  return {};
}

std::string text_of(const TypeExpr& type) {
  const auto type_text = [](const TypeExpr* t) { return text_of(*t); };
  switch (type.kind) {
    case TypeKind::named: {
      if (!type.has_dims) return type.name;
      return type.name + "[" +
             join(type.dims, [](const syntax::DimExpr& d) { return d.ellipsis ? std::string("...") : text_or_nothing(d.value); }) + "]";
    }
    case TypeKind::list:
      return "[" + join(type.items, type_text) + "]";
    case TypeKind::tuple:
      return "(" + join(type.items, type_text) + ")";
    case TypeKind::function:
      return "(" + join(std::span(type.items).first(type.items.size() - 1), type_text) + ") -> " + text_of(*type.items.back());
    case TypeKind::record: {
      std::string text;
      for (size_t i = 0; i < type.items.size(); ++i) text += (i ? ", " : "") + type.names[i].text + ": " + text_of(*type.items[i]);
      return "{ " + text + " }";
    }
    case TypeKind::optional:
      return text_of(*type.items[0]) + "?";
    case TypeKind::words: {
      std::string text;
      for (const TypeExpr* t : type.items) text += (text.empty() ? "" : " | ") + text_of(*t);
      return text;
    }
  }
  return {};
}

namespace {

// Edits of one letter, neighbours swapped among them (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view wrong, const std::vector<std::string>& names) {
  std::optional<std::string> best;
  if (wrong.size() > 60) return best;
  const std::string plain = source::plain_spelling(wrong);
  for (const std::string& name : names) {
    if (name != wrong && source::plain_spelling(name) == plain) return name;
  }
  if (auto ours = source::counterpart(wrong, names)) return ours;
  size_t best_distance = std::max<size_t>(1, wrong.size() / 3) + 1;
  for (const std::string& name : names) {
    const size_t longer = std::max(name.size(), wrong.size()), shorter = std::min(name.size(), wrong.size());
    if (longer - shorter >= best_distance || name == wrong) continue;
    const size_t distance = edit_distance(wrong, name);
    if (distance < best_distance && distance < longer) {
      best_distance = distance;
      best = name;
    }
  }
  return best;
}

std::string enumerate(const std::vector<std::string>& names, std::string_view last) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? fmt::format(" {} ", last) : ", ";
    text += "`" + names[i] + "`";
  }
  return text;
}

}  // namespace dtl::sema
