// A path of `--set` walks from a declaration through settings, records and the arguments of calls to one expression.
// First segment: a param, else another declaration or import, else a setting of the chosen train block.
#include "compiler/sema/overrides.h"

#include <algorithm>

#include "compiler/sema/builtins.h"
#include "compiler/sema/settings.h"
#include "compiler/source/foreign_names.h"
#include "compiler/syntax/parse.h"

namespace dtl::sema {

using source::FileId;
using source::Range;
using syntax::Ast;

using syntax::Decl;
using syntax::DeclKind;
using syntax::Expr;
using syntax::ExprKind;
using syntax::Item;
using syntax::ItemKind;

// ---- the program's declarations

std::vector<Ast*> ProgramFiles::asts() const {
  std::vector<Ast*> all{main_};
  for (const auto& [import, ast] : imports_) {
    if (std::find(all.begin(), all.end(), ast) == all.end()) all.push_back(ast);
  }
  // In the order of their texts, not of addresses.
  std::sort(all.begin(), all.end(), [](const Ast* a, const Ast* b) { return a->file.index < b->file.index; });
  return all;
}

Ast* ProgramFiles::spoken_in(FileId file) const {
  if (const auto known = effective.spoken_in.find(file.index); known != effective.spoken_in.end()) file = known->second;
  for (Ast* ast : asts()) {
    if (ast->file == file) return ast;
  }
  return main_;
}

Ast* ProgramFiles::imported(const Decl& import) const {
  const auto known = imports_.find(&import);
  return known == imports_.end() ? nullptr : known->second;
}

const Decl* ProgramFiles::find(const Ast& file, const std::string& name) {
  for (const Decl* decl : file.decls) {
    if ((decl->kind == DeclKind::import_file ? alias_of(*decl) : decl->name.text) == name) return decl;
  }
  return nullptr;
}

const Decl* ProgramFiles::named_by(const Expr& expr) const {
  if (expr.kind == ExprKind::group) return named_by(*expr.items[0]);
  if (expr.kind == ExprKind::name) {
    if (const Decl* decl = find(*spoken_in(expr.range.file), expr.name)) return decl;
    for (const auto& ast : library_) {
      if (const Decl* decl = find(*ast, expr.name)) return decl;
    }
    return nullptr;
  }
  if (expr.kind != ExprKind::field) return nullptr;
  const Decl* import = named_by(*expr.items[0]);
  const Ast* ast = import && import->kind == DeclKind::import_file ? imported(*import) : nullptr;
  return ast ? find(*ast, expr.name) : nullptr;
}

std::vector<std::string> ProgramFiles::names_of(FileId file, DeclKind kind) const {
  std::vector<std::string> names;
  for (const Decl* decl : spoken_in(file)->decls) {
    if (decl->kind == kind && !decl->name.text.empty()) names.push_back(decl->name.text);
  }
  return names;
}

void ProgramFiles::replace(const Decl* old, const Decl* made) const {
  for (Ast* ast : asts()) std::replace(ast->decls.begin(), ast->decls.end(), old, made);
}

namespace {

using Path = std::vector<std::string>;

/// Puts one value in its place.
class Setter {
 public:
  Setter(ProgramFiles& files, source::SourceSet& sources, Ast& fragments, const Overrides& overrides, source::Sink& sink)
      : files_(files), sources_(sources), fragments_(fragments), overrides_(overrides), sink_(sink) {}

  void set(const std::string& text, bool setting = false) {
    const size_t equals = text.find('=');
    written_ = text.substr(0, equals);
    const FileId id = add("<--set " + written_ + ">", equals == std::string::npos ? "" : text.substr(equals + 1), files_.main().file);
    if (equals == std::string::npos || equals == 0) {
      sink_.report({id, 0, 0}, diag::set_without_value, text).help("write --set NAME=VALUE");
      return;
    }
    if (!read(id)) return;
    Path path;
    for (size_t begin = 0; begin <= written_.size();) {
      const size_t end = std::min(written_.find('.', begin), written_.size());
      path.push_back(written_.substr(begin, end - begin));
      begin = end + 1;
    }
    if (std::find(path.begin(), path.end(), "") != path.end()) return refuse("a path is names with one point between two: `--set a.b=…`");
    if (!setting) return start(files_.main(), path, "");
    if (const Decl* train = chosen_train(files_.main(), overrides_.train)) field_of(*train, path, "");
  }

  /// What `--set` takes for a name: a param, a setting of the train block, or what a path to it ends in.
  std::vector<std::string> paths_called(const std::string& name) const {
    std::vector<std::string> firsts = without_later(known_fields(DeclKind::train));
    for (std::string& param : files_.names_of(files_.main().file, DeclKind::param)) firsts.push_back(std::move(param));
    if (std::find(firsts.begin(), firsts.end(), name) != firsts.end()) return {name};
    std::vector<std::string> paths = paths_to(name);
    if (paths.empty()) {
      if (auto near = nearest(name, firsts)) paths.push_back(*near);
    }
    return paths;
  }

  void set_strategy(const std::string& text) {
    written_ = "strategy";
    if (!read(add("<--strategy>", text, files_.main().file))) return;
    if (const Decl* train = chosen_train(files_.main(), overrides_.train)) field_of(*train, {"strategy"}, "");
  }

 private:
  FileId add(std::string name, std::string text, FileId speaks_in) {
    const FileId id = sources_.add(std::move(name), std::move(text));
    files_.effective.spoken_in[id.index] = files_.spoken_in(speaks_in)->file;
    return id;
  }

  bool read(FileId id) {
    const int errors = sink_.errors();
    value_ = syntax::parse_expression(fragments_, sources_, id, sink_);
    return value_ && sink_.errors() == errors;
  }

  void unknown(const std::string& wrong, const std::vector<std::string>& known, const std::string& prefix) {
    auto reported = sink_.report(value_ ? value_->range : Range(), diag::unknown_override, written_);
    if (const std::vector<std::string> paths = prefix.empty() ? paths_to(wrong) : std::vector<std::string>(); !paths.empty()) {
      reported.help("did you mean " + enumerate(paths, "or") + "?");
    } else if (auto near = nearest(wrong, without_later(known))) {
      reported.help("did you mean `" + prefix + *near + "`?");
    } else if (!known.empty()) {
      std::vector<std::string> full;
      for (const std::string& name : without_later(known)) full.push_back(prefix + name);
      reported.help("what can be set: " + enumerate(full));
    }
  }

  /// Paths that end in that name, or in what it is called here, in the file's datasets and its chosen train block.
  std::vector<std::string> paths_to(const std::string& name) const {
    std::vector<std::string> paths;
    const auto add = [&](const std::string& prefix, const std::vector<std::string>& names) {
      const bool has = std::find(names.begin(), names.end(), name) != names.end();
      if (const auto ours = has ? std::optional(name) : source::counterpart(name, names)) paths.push_back(prefix + "." + *ours);
    };
    for (const Decl* decl : files_.main().decls) {
      if (decl->kind == DeclKind::dataset) add(decl->name.text, fields(*decl));
    }
    const Decl* train = nullptr;
    for (const Decl* decl : files_.main().decls) {
      if (decl->kind == DeclKind::train && (!train || decl->name.text == overrides_.train)) train = decl;
    }
    if (!train || !train->body) return paths;
    for (const std::string& field : known_fields(DeclKind::train)) add(field, record_fields(field));
    for (const Item* item : train->body->items) {
      if (item->kind == ItemKind::assign) add(item->names[0].text, parameters_within(*item->value));
    }
    return paths;
  }

  /// What a path may lead to inside an expression.
  std::vector<std::string> parameters_within(const Expr& expr) const {
    std::vector<std::string> names;
    if (expr.kind == ExprKind::pipe || expr.kind == ExprKind::group) {
      for (const Expr* item : expr.items) {
        for (std::string& name : parameters_within(*item)) names.push_back(std::move(name));
      }
    } else if (expr.kind == ExprKind::call || is_use(expr)) {
      names = parameters(expr);
    }
    return names;
  }

  void refuse(const std::string& help) { sink_.report(value_->range, diag::unknown_override, written_).help(help); }

  void start(const Ast& file, const Path& path, const std::string& prefix) {
    const bool is_main = &file == &files_.main();
    files_.effective.spoken_in[value_->range.file.index] = file.file;
    const Decl* target = nullptr;
    std::vector<std::string> firsts;
    if (is_main) firsts = known_fields(DeclKind::train);
    for (const Decl* decl : file.decls) {
      const bool settable = decl->kind == DeclKind::param || decl->kind == DeclKind::dataset || decl->kind == DeclKind::strategy ||
                            decl->kind == DeclKind::train || decl->kind == DeclKind::import_file;
      const std::string name = decl->kind == DeclKind::import_file ? alias_of(*decl) : decl->name.text;
      if (!settable || name.empty()) continue;
      firsts.push_back(name);
      if (name == path[0] && (!target || decl->kind == DeclKind::param)) target = decl;
    }
    const Path rest(path.begin() + 1, path.end());
    if (target && target->kind == DeclKind::import_file) {
      const Ast* imported = files_.imported(*target);
      if (!imported) return;
      if (rest.empty()) return refuse("`" + path[0] + "` is a file: name what it declares");
      return start(*imported, rest, prefix + path[0] + ".");
    }
    if (target) return declaration(*target, rest, prefix + path[0]);
    if (!is_main || std::find(firsts.begin(), firsts.end(), path[0]) == firsts.end()) return unknown(path[0], firsts, prefix);
    // Without a train block that is told elsewhere.
    if (const Decl* train = chosen_train(file, overrides_.train)) field_of(*train, path, "");
  }

  // ---- declarations

  void declaration(const Decl& decl, const Path& path, const std::string& prefix) {
    if (decl.kind == DeclKind::param) {
      if (!decl.value) return;
      if (const Expr* value = change(*decl.value, path, prefix)) with_value(decl, value);
      return;
    }
    if (path.empty() && decl.kind == DeclKind::strategy && decl.value) {
      with_value(decl, change(*decl.value, path, prefix));
    } else if (path.empty()) {
      unknown("", known_fields(decl.kind), prefix + ".");
    } else {
      field_of(decl, path, prefix + ".");
    }
  }

  void with_value(const Decl& decl, const Expr* value) {
    Decl& made = fragments_.decl_store.emplace_back(decl);
    made.value = value;
    files_.replace(&decl, &made);
  }

  /// A setting of a dataset, train block or strategy.
  void field_of(const Decl& decl, const Path& path, const std::string& prefix) {
    const std::string& name = path[0];
    if (decl.kind == DeclKind::strategy && decl.value) {
      const std::string whole = prefix.ends_with('.') ? prefix.substr(0, prefix.size() - 1) : prefix;
      if (const Expr* value = change(*decl.value, path, whole)) with_value(decl, value);
      return;
    }
    if (decl.kind == DeclKind::strategy && !known(decl, name)) {
      const auto hyper = std::find_if(decl.hyper.begin(), decl.hyper.end(), [&](const auto& each) { return each.name.text == name; });
      if (hyper != decl.hyper.end())
        return refuse("`" + name + "` is given where `" + decl.name.text + "` is used: `--set strategy." + name + "=…`");
    }
    if (!known(decl, name)) return unknown(name, fields(decl), prefix);
    const std::vector<std::string>& entries = record_fields(name);
    if (path.size() > 1 && !entries.empty() && std::find(entries.begin(), entries.end(), path[1]) == entries.end())
      return unknown(path[1], entries, prefix + name + ".");
    if (decl.value) return copied_field(decl, path, prefix);
    syntax::Body body = *decl.body;
    if (decl.kind == DeclKind::train && replace_other(decl, body, name, path.size() == 1)) return;
    const auto at = std::find_if(body.items.begin(), body.items.end(),
                                 [&](const Item* item) { return item->kind == ItemKind::assign && item->names[0].text == name; });
    if (at != body.items.end()) {
      const Expr* value = change(*(*at)->value, {path.begin() + 1, path.end()}, prefix + name);
      if (!value) return;
      Item& item = fragments_.items.emplace_back(**at);
      item.value = value;
      std::replace(body.items.begin(), body.items.end(), static_cast<const Item*>(*at), static_cast<const Item*>(&item));
    } else {
      const Expr* value = nested({path.begin() + 1, path.end()});
      Item& item = fragments_.items.emplace_back();
      item.kind = ItemKind::assign;
      item.range = value->range;
      item.names = {{name, value->range}};
      item.value = value;
      body.items.push_back(&item);
      const int32_t end = decl.body->range.end - 1;
      const Range closing{decl.body->range.file, end, end};
      std::string_view before = sources_.text({closing.file, decl.body->range.begin, end});
      while (before.ends_with(' ') || before.ends_with('\t')) before.remove_suffix(1);
      files_.effective.edits.push_back({closing, (before.ends_with('\n') ? "  " : "\n  ") + name + " = ", value->range, "\n"});
    }
    with_body(decl, std::move(body));
  }

  /// `dataset Small = Fashion with { … }`: what is not changed yet is copied from the base and then changed.
  void copied_field(const Decl& decl, const Path& path, const std::string& prefix) {
    const Expr& value = *decl.value;
    const bool has = value.kind == ExprKind::with && argument_of(value, path[0]);
    if (has || path.size() == 1) {
      const Expr* changed = value.kind == ExprKind::with ? record(value, path, prefix) : add_with(value, path[0], value_);
      if (changed) with_value(decl, changed);
      return;
    }
    const Expr& base_name = value.kind == ExprKind::with ? *value.items[0] : value;
    const Decl* base = files_.named_by(base_name);
    for (int depth = 0; base && base->value && depth < 100; ++depth) {
      const Expr* from = base->value->kind == ExprKind::with ? base->value->items[0] : base->value;
      if (base->value->kind == ExprKind::with && argument_of(*base->value, path[0])) break;
      base = files_.named_by(*from);
    }
    const Expr* there = nullptr;
    if (base && base->body) {
      for (const Item* item : base->body->items) {
        if (item->kind == ItemKind::assign && item->names[0].text == path[0]) there = item->value;
      }
    } else if (base && base->value) {
      if (const syntax::Argument* argument = argument_of(*base->value, path[0])) there = argument->value;
    }
    const Path rest(path.begin() + 1, path.end());
    if (there && there->range.file != decl.range.file)
      return refuse("`" + path[0] + "` is set in another file: set it whole, `--set " + prefix + path[0] + "=…`");
    const Expr* copy = nullptr;
    if (there) {
      const Expr* text = parsed(std::string(sources_.text(there->range)), decl.range.file);
      copy = text ? change(*text, rest, prefix + path[0]) : nullptr;
      if (!copy) return;
    } else {
      copy = nested(rest);
    }
    const Expr* changed = value.kind == ExprKind::with ? insert(value, path[0], copy) : add_with(value, path[0], copy);
    with_value(decl, changed);
  }

  std::vector<std::string> fields(const Decl& decl) const {
    std::vector<std::string> all = known_fields(decl.kind);
    if (decl.body) {
      for (const Item* item : decl.body->items) {
        if (item->kind == ItemKind::assign && std::find(all.begin(), all.end(), item->names[0].text) == all.end())
          all.push_back(item->names[0].text);
      }
    }
    return all;
  }
  bool known(const Decl& decl, const std::string& name) const {
    if (decl.kind == DeclKind::strategy && decl.value) return true;
    const std::vector<std::string> all = fields(decl);
    return std::find(all.begin(), all.end(), name) != all.end();
  }

  /// `steps` of the command line stands in place of `epochs` of the file, and the other way about.
  bool replace_other(const Decl& decl, syntax::Body& body, const std::string& name, bool whole) {
    if (!whole || (name != "steps" && name != "epochs")) return false;
    const auto place_of = [&](std::string_view wanted) {
      return std::find_if(body.items.begin(), body.items.end(),
                          [&](const Item* item) { return item->kind == ItemKind::assign && item->names[0].text == wanted; });
    };
    const auto other = place_of(name == "steps" ? "epochs" : "steps");
    if (other == body.items.end() || place_of(name) != body.items.end()) return false;
    files_.effective.edits.push_back({(*other)->range, name + " = ", value_->range, ""});
    Item& item = fragments_.items.emplace_back(**other);
    item.names = {{name, value_->range}};
    item.value = value_;
    *other = &item;
    with_body(decl, std::move(body));
    return true;
  }

  void with_body(const Decl& decl, syntax::Body body) {
    Decl& made = fragments_.decl_store.emplace_back(decl);
    fragments_.bodies.push_back(std::move(body));
    made.body = &fragments_.bodies.back();
    files_.replace(&decl, &made);
  }

  // ---- expressions

  static const syntax::Argument* argument_of(const Expr& record, const std::string& name) {
    for (const syntax::Argument& argument : record.arguments) {
      if (argument.name && argument.name->text == name) return &argument;
    }
    return nullptr;
  }

  /// The value at the end of what is left of a path where nothing stands yet: `{ a = { b = VALUE } }`.
  const Expr* nested(const Path& rest) {
    if (rest.empty()) return value_;
    std::string text(sources_.text({value_->range.file, 0, static_cast<int32_t>(sources_.file(value_->range.file).text.size())}));
    for (auto it = rest.rbegin(); it != rest.rend(); ++it) text = "{ " + *it + " = " + text + " }";
    const Expr* made = parsed(text, files_.effective.spoken_in[value_->range.file.index]);
    return made ? made : value_;
  }

  /// An expression that the command line asks for without saying it whole, as a text of its own.
  const Expr* parsed(std::string text, FileId speaks_in) {
    return syntax::parse_expression(fragments_, sources_, add("<--set " + written_ + ">", std::move(text), speaks_in), sink_);
  }

  Expr& copy_of(const Expr& expr) { return fragments_.exprs.emplace_back(expr); }

  /// The expression with what `path` leads to replaced; null after a report.
  const Expr* change(const Expr& expr, const Path& path, const std::string& prefix) {
    if (path.empty()) {
      files_.effective.edits.push_back({expr.range, "", value_->range, ""});
      return value_;
    }
    switch (expr.kind) {
      case ExprKind::group: {
        const Expr* inner = change(*expr.items[0], path, prefix);
        if (!inner) return nullptr;
        Expr& made = copy_of(expr);
        made.items[0] = inner;
        return &made;
      }
      case ExprKind::record:
        return record(expr, path, prefix);
      case ExprKind::with: {
        if (argument_of(expr, path[0]) || !takes(*expr.items[0], path[0])) return record(expr, path, prefix);
        const Expr* inner = change(*expr.items[0], path, prefix);
        if (!inner) return nullptr;
        Expr& made = copy_of(expr);
        made.items[0] = inner;
        return &made;
      }
      case ExprKind::call:
        return call(expr, path, prefix, false);
      case ExprKind::pipe: {
        const bool left = takes(*expr.items[0], path[0]), right = takes(*expr.items[1], path[0]);
        if (left && right) {
          refuse("several functions of this pipe take `" + path[0] + "`: set it whole, `--set " + prefix + "=…`");
          return nullptr;
        }
        const Expr* inner = right ? call(*expr.items[1], path, prefix, true) : change(*expr.items[0], path, prefix);
        if (!inner) return nullptr;
        Expr& made = copy_of(expr);
        made.items[right ? 1 : 0] = inner;
        return &made;
      }
      case ExprKind::name:
      case ExprKind::field:
        return named(expr, path, prefix);
      case ExprKind::integer:
      case ExprKind::number:
      case ExprKind::quantity:
      case ExprKind::string:
      case ExprKind::boolean:
      case ExprKind::list:
      case ExprKind::tuple:
      case ExprKind::lambda:
      case ExprKind::index:
      case ExprKind::unary:
      case ExprKind::binary:
      case ExprKind::range:
      case ExprKind::ellipsis:
      case ExprKind::if_else:
      case ExprKind::per_replica:
        break;
    }
    refuse("`" + prefix + "` is `" + text_of(expr) + "`, which has no parts: set it whole, `--set " + prefix + "=…`");
    return nullptr;
  }

  const Expr* record(const Expr& expr, const Path& path, const std::string& prefix) {
    const Path rest(path.begin() + 1, path.end());
    const syntax::Argument* there = argument_of(expr, path[0]);
    if (!there) {
      const Expr* value = nested(rest);
      return insert(expr, path[0], value);
    }
    const Expr* value = change(*there->value, rest, prefix + "." + path[0]);
    if (!value) return nullptr;
    Expr& made = copy_of(expr);
    made.arguments[static_cast<size_t>(there - expr.arguments.data())].value = value;
    return &made;
  }

  /// One more argument or entry, in front of the closing bracket.
  const Expr* insert(const Expr& expr, const std::string& name, const Expr* value) {
    const int32_t at = expr.range.end - 1;
    const bool round = expr.kind == ExprKind::call;
    std::string_view inside = sources_.text({expr.range.file, expr.range.begin, at});
    while (!inside.empty() && std::string_view(" \t\r\n").find(inside.back()) != std::string_view::npos) inside.remove_suffix(1);
    const bool more = !expr.arguments.empty() && !inside.ends_with(',');
    files_.effective.edits.push_back({{expr.range.file, at, at}, (more ? ", " : " ") + name + " = ", value->range, round ? "" : " "});
    Expr& made = copy_of(expr);
    made.arguments.push_back({syntax::Ident{name, value->range}, value});
    return &made;
  }

  /// `base` becomes `base with { name = value }`.
  const Expr* add_with(const Expr& base, const std::string& name, const Expr* value) {
    const Expr* made =
        parsed(std::string(sources_.text(base.range)) + " with { " + name + " = " + std::string(sources_.text(value->range)) + " }",
               base.range.file);
    if (made) files_.effective.edits.push_back({base.range, "", made->range, ""});
    return made;
  }

  std::vector<std::string> parameters(const Expr& call) const {
    const Expr& callee = call.kind == ExprKind::call ? *call.items[0] : call;
    if (const Decl* decl = files_.named_by(callee)) {
      std::vector<std::string> names;
      for (const syntax::Parameter& parameter : decl->has_hyper ? decl->hyper : decl->parameters) names.push_back(parameter.name.text);
      return names;
    }
    const Builtin* builtin = callee.kind == ExprKind::name ? find_builtin(callee.name) : nullptr;
    return builtin ? builtin->parameter_names() : std::vector<std::string>();
  }

  /// Whether a call, or one in a pipe, takes an argument of that name.
  bool takes(const Expr& expr, const std::string& name) const {
    if (expr.kind == ExprKind::pipe || expr.kind == ExprKind::group)
      return std::any_of(expr.items.begin(), expr.items.end(), [&](const Expr* item) { return takes(*item, name); });
    if (expr.kind != ExprKind::call && !is_use(expr)) return false;
    const std::vector<std::string> names = parameters(expr);
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  /// A strategy or optimizer by its name alone, used with its defaults.
  bool is_use(const Expr& expr) const {
    const Decl* decl = expr.kind == ExprKind::name || expr.kind == ExprKind::field ? files_.named_by(expr) : nullptr;
    return decl && !decl->value && (decl->kind == DeclKind::strategy || decl->kind == DeclKind::optimizer);
  }

  const Expr* call(const Expr& expr, const Path& path, const std::string& prefix, bool piped) {
    const std::vector<std::string> names = parameters(expr);
    const auto parameter = std::find(names.begin(), names.end(), path[0]);
    if (parameter == names.end()) {
      unknown(path[0], names, prefix + ".");
      return nullptr;
    }
    const Path rest(path.begin() + 1, path.end());
    const auto wanted = static_cast<size_t>(parameter - names.begin());
    size_t position = piped ? 1 : 0;
    for (size_t i = 0; i < expr.arguments.size(); ++i) {
      const syntax::Argument& argument = expr.arguments[i];
      if (argument.name ? argument.name->text != path[0] : position++ != wanted) continue;
      const Expr* value = change(*argument.value, rest, prefix + "." + path[0]);
      if (!value) return nullptr;
      Expr& made = copy_of(expr);
      made.arguments[i].value = value;
      return &made;
    }
    const Expr* value = nested(rest);
    return insert(expr, path[0], value);
  }

  /// A name leads to its declaration; a strategy or optimizer used by its name alone becomes a call.
  const Expr* named(const Expr& expr, const Path& path, const std::string& prefix) {
    const Decl* decl = files_.named_by(expr);
    if (decl && is_use(expr)) {
      if (!takes(expr, path[0])) {
        unknown(path[0], parameters(expr), prefix + ".");
        return nullptr;
      }
      const Expr* value = nested({path.begin() + 1, path.end()});
      const Expr* made = parsed(text_of(expr) + "(" + path[0] + " = " + std::string(sources_.text(value->range)) + ")", expr.range.file);
      if (made) files_.effective.edits.push_back({expr.range, "", made->range, ""});
      return made;
    }
    const bool leads = decl && (decl->kind == DeclKind::param || decl->kind == DeclKind::dataset || decl->kind == DeclKind::strategy ||
                                decl->kind == DeclKind::train);
    if (!leads) {
      refuse("`" + prefix + "` is `" + text_of(expr) + "`, which has no parts: set it whole, `--set " + prefix + "=…`");
      return nullptr;
    }
    const int errors = sink_.errors();
    declaration(*decl, path, prefix);
    return sink_.errors() == errors ? &expr : nullptr;
  }

  ProgramFiles& files_;
  source::SourceSet& sources_;
  Ast& fragments_;
  const Overrides& overrides_;
  source::Sink& sink_;
  std::string written_;  ///< the path as it was given
  const Expr* value_ = nullptr;
};

}  // namespace

std::vector<std::string> paths_called(ProgramFiles& files, source::SourceSet& sources, Ast& fragments, const Overrides& overrides,
                                      const std::string& name, source::Sink& sink) {
  return Setter(files, sources, fragments, overrides, sink).paths_called(name);
}

void apply_overrides(ProgramFiles& files, source::SourceSet& sources, Ast& fragments, const Overrides& overrides, source::Sink& sink) {
  Setter setter(files, sources, fragments, overrides, sink);
  if (overrides.strategy) setter.set_strategy(*overrides.strategy);
  for (const std::string& set : overrides.sets) setter.set(set);
  for (const std::string& setting : overrides.settings) setter.set(setting, true);
}

}  // namespace dtl::sema
