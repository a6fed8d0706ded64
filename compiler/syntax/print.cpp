// The Ast as an indented tree. A line is a label: its kind, then what it holds; below it its parts, or on the same line
// if they have none of their own.
#include "compiler/syntax/print.h"

#include "compiler/syntax/token_filter.h"

namespace dtl::syntax {
namespace {

/// As a string literal of the language.
std::string quote(std::string_view text) {
  constexpr std::string_view kMeanings = "\n\t\r\"\\", kLetters = "ntr\"\\";
  std::string quoted = "\"";
  for (char c : text) {
    if (const size_t letter = kMeanings.find(c); letter != std::string_view::npos) {
      quoted += '\\';
      quoted += kLetters[letter];
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      quoted += fmt::format("\\u{{{:X}}}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

const char* name_of(DeclKind kind) {
  switch (kind) {
    case DeclKind::import_file:
      return "import";
    case DeclKind::param:
      return "param";
    case DeclKind::dataset:
      return "dataset";
    case DeclKind::layer:
      return "layer";
    case DeclKind::model:
      return "model";
    case DeclKind::function:
      return "fn";
    case DeclKind::optimizer:
      return "optimizer";
    case DeclKind::strategy:
      return "strategy";
    case DeclKind::train:
      return "train";
  }
  return "";
}

const char* name_of(ItemKind kind) {
  switch (kind) {
    case ItemKind::let:
      return "let";
    case ItemKind::weight:
      return "weight";
    case ItemKind::state:
      return "state";
    case ItemKind::update:
      return "update";
    case ItemKind::for_each:
      return "for";
    case ItemKind::if_else:
      return "if";
    case ItemKind::require:
      return "require";
    case ItemKind::assign:
      return "assign";
    case ItemKind::block:
      return "block";
    case ItemKind::expression:
      return "value";
  }
  return "";
}

class Printer {
 public:
  std::string run(const Ast& ast) {
    for (const Decl* decl : ast.decls) declaration(*decl);
    return std::move(text_);
  }

 private:
  /// Indents what is printed while it lives.
  class Deeper {
   public:
    explicit Deeper(Printer& printer) : printer_(printer) { ++printer_.depth_; }
    ~Deeper() { --printer_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    Printer& printer_;
  };

  void line(std::string_view content) { text_.append(static_cast<size_t>(depth_) * 2, ' ').append(content).push_back('\n'); }

  void declaration(const Decl& decl) {
    std::string label = name_of(decl.kind);
    if (!decl.name.text.empty()) label += ' ' + decl.name.text;
    if (decl.kind == DeclKind::import_file) label += ' ' + quote(decl.path);
    line(label);
    Deeper deeper(*this);
    doc(decl.doc);
    if (decl.has_hyper) parameters("hyperparameters", decl.hyper);
    const bool has_list =
        decl.kind == DeclKind::layer || decl.kind == DeclKind::model || decl.kind == DeclKind::function || decl.kind == DeclKind::optimizer;
    if (has_list) parameters("parameters", decl.parameters);
    if (decl.type) line("type " + type(*decl.type));
    if (decl.value) expression("value ", *decl.value);
    if (decl.body) body("body", *decl.body);
  }

  void doc(const std::string& text) {
    if (!text.empty()) line("doc " + quote(text));
  }

  /// Puts a value that fits there behind a label; false if it needs lines of its own.
  static bool append_value(std::string& label, const char* separator, const Expr* value) {
    if (!value) return true;
    const std::string text = on_line(*value);
    if (!text.empty()) label += separator + text;
    return !text.empty();
  }

  void parameters(const char* label, const std::vector<Parameter>& list) {
    line(label);
    Deeper deeper(*this);
    for (const Parameter& parameter : list) {
      std::string label = parameter.name.text + (parameter.type ? ": " + type(*parameter.type) : "");
      const bool one_line = append_value(label, " = ", parameter.value);
      line(label);
      Deeper still(*this);
      doc(parameter.doc);
      if (!one_line) expression("default ", *parameter.value);
    }
  }

  void body(const std::string& label, const Body& body) {
    line(label);
    Deeper deeper(*this);
    for (const Item* each : body.items) item(*each);
  }

  void item(const Item& item) {
    std::string label = name_of(item.kind);
    for (size_t i = 0; i < item.names.size(); ++i) label += (i == 0 ? " " : ", ") + item.names[i].text;
    if (item.type) label += ": " + type(*item.type);
    const bool one_line = append_value(label, item.names.empty() ? " " : item.kind == ItemKind::for_each ? " in " : " = ", item.value);
    line(label);
    Deeper deeper(*this);
    doc(item.doc);
    if (item.kind == ItemKind::block) parameters("parameters", item.parameters);
    if (!one_line) expression("", *item.value);
    if (item.kind == ItemKind::require) line("else " + quote(item.text));
    if (item.body) body("body", *item.body);
    if (item.other) body("else", *item.other);
  }

  static bool is_leaf(const Expr* expr) {
    return !expr || (expr->items.empty() && expr->arguments.empty() && expr->bodies.empty() && expr->kind != ExprKind::lambda);
  }

  /// An expression whose parts have no parts, on one line; empty if it does not fit there.
  static std::string on_line(const Expr& expr) {
    if (is_leaf(&expr)) return label(expr);
    bool fits = expr.bodies.empty() && expr.kind != ExprKind::lambda;
    for (const Expr* item : expr.items) fits = fits && is_leaf(item);
    for (const Argument& argument : expr.arguments) fits = fits && is_leaf(argument.value);
    if (!fits) return {};
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? " " : ", ") + part; };
    for (size_t i = 0; i < expr.items.size(); ++i) add(expr.items[i] ? label(*expr.items[i]) : i == 0 ? "from the start" : "to the end");
    for (const Argument& argument : expr.arguments) add((argument.name ? argument.name->text + " = " : "") + label(*argument.value));
    return text.size() <= 120 ? label(expr) + text : std::string();
  }

  void expression(const std::string& prefix, const Expr& expr) {
    if (const std::string whole = on_line(expr); !whole.empty()) {
      line(prefix + whole);
      return;
    }
    line(prefix + label(expr));
    Deeper deeper(*this);
    if (expr.kind == ExprKind::lambda) {
      for (const Parameter& parameter : expr.parameters) line("parameter " + parameter.name.text);
    }
    for (size_t i = 0; i < expr.items.size(); ++i) {
      if (expr.items[i]) {
        expression("", *expr.items[i]);
      } else {
        line(i == 0 ? "from the start" : "to the end");
      }
    }
    for (const Argument& argument : expr.arguments) expression(argument.name ? argument.name->text + " = " : "", *argument.value);
    for (size_t i = 0; i < expr.bodies.size(); ++i) body(i == 0 ? "body" : "else", *expr.bodies[i]);
  }

  /// A name stands alone, so no other label is one word that could be a name.
  static std::string label(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::integer:
        return fmt::format("{}", expr.integer);
      case ExprKind::number:
        return fmt::format("number {}", expr.number);
      case ExprKind::quantity:
        return fmt::format("{} {} ({})", expr.name, expr.number, expr.unit);
      case ExprKind::string:
        return quote(expr.text);
      case ExprKind::boolean:
        return expr.integer ? "true" : "false";
      case ExprKind::name:
        return expr.name;
      case ExprKind::list:
        return "list:";
      case ExprKind::record:
        return "record:";
      case ExprKind::tuple:
        return "tuple:";
      case ExprKind::lambda:
        return "lambda:";
      case ExprKind::call:
        return "call:";
      case ExprKind::index:
        return "index:";
      case ExprKind::field:
        return "field " + expr.name;
      case ExprKind::unary:
        return "unary " + expr.op;
      case ExprKind::binary:
        return "binary " + expr.op;
      case ExprKind::pipe:
        return "pipe:";
      case ExprKind::range:
        return "range:";
      case ExprKind::ellipsis:
        return "...";
      case ExprKind::if_else:
        return "if";
      case ExprKind::per_replica:
        return "per_replica";
      case ExprKind::with:
        return "with";
      case ExprKind::group:
        return "group:";
    }
    return "";
  }

  // Types stand on one line, as in the language; expressions in them, too.
  static std::string join(const std::vector<const TypeExpr*>& types, size_t count, const char* separator) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : separator) + type(*types[i]);
    return text;
  }

  static std::string type(const TypeExpr& expr) {
    std::string text;
    switch (expr.kind) {
      case TypeKind::named:
        text = expr.name;
        if (expr.has_dims) {
          text += '[';
          for (size_t i = 0; i < expr.dims.size(); ++i)
            text += (i == 0 ? "" : ", ") + (expr.dims[i].ellipsis ? "..." : inline_text(*expr.dims[i].value));
          text += ']';
        }
        break;
      case TypeKind::list:
        text = "[" + type(*expr.items[0]) + "]";
        break;
      case TypeKind::tuple:
        text = "(" + join(expr.items, expr.items.size(), ", ") + ")";
        break;
      case TypeKind::function:
        text = "(" + join(expr.items, expr.items.size() - 1, ", ") + ") -> " + type(*expr.items.back());
        break;
      case TypeKind::record:
        text = "{";
        for (size_t i = 0; i < expr.items.size(); ++i) text += (i == 0 ? " " : ", ") + expr.names[i].text + ": " + type(*expr.items[i]);
        text += expr.items.empty() ? "}" : " }";
        break;
      case TypeKind::optional: {
        const bool compound = expr.items[0]->kind == TypeKind::function || expr.items[0]->kind == TypeKind::words;
        text = (compound ? "(" + type(*expr.items[0]) + ")" : type(*expr.items[0])) + "?";
        break;
      }
      case TypeKind::words:
        text = join(expr.items, expr.items.size(), " | ");
        break;
    }
    if (expr.placement) text += " @ " + inline_text(*expr.placement);
    return text;
  }

  /// An expression in a type: its label and parts in parentheses, or its tree with the line ends as semicolons.
  static std::string inline_text(const Expr& expr) {
    if (is_leaf(&expr)) return label(expr);
    Printer printer;
    printer.expression("", expr);
    std::string text = "(";
    for (char c : printer.text_.substr(0, printer.text_.size() - 1)) c == '\n' ? text += "; " : text += c;
    return text + ')';
  }

  std::string text_;
  int depth_ = 0;
};

}  // namespace

std::string print(const Ast& ast) { return Printer().run(ast); }

std::string print_tokens(const source::SourceSet& sources, source::FileId file, source::Sink& sink) {
  std::string text;
  const std::optional<TokenList> list = read_tokens(sources, file, sink);
  if (!list) return text;
  for (const Token& token : list->tokens) {
    const source::Position at = sources.position(file, token.begin);
    text += fmt::format("{}:{} {}", at.line, at.column, token_symbol(token.type));
    const std::string_view written = sources.text({file, token.begin, token.end});
    // A line end stands for itself.
    if (!written.empty() && written != "\n") text += fmt::format(" {}", written);
    text += '\n';
  }
  return text;
}

}  // namespace dtl::syntax
