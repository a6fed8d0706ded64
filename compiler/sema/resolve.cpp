// The walk over every declaration: which names are in scope where, and which declarations need which.
#include "compiler/sema/resolve.h"

#include "compiler/sema/builtins.h"
#include "compiler/sema/dataset.h"
#include "compiler/sema/settings.h"
#include "compiler/sema/source_reader.h"
#include "compiler/sema/strategy.h"
#include "compiler/sema/train_advice.h"

namespace dtl::sema {
namespace {

using syntax::Body;
using syntax::Decl;
using syntax::DeclKind;
using syntax::Expr;
using syntax::ExprKind;
using syntax::Item;
using syntax::ItemKind;
using syntax::Parameter;
using syntax::TypeExpr;
using Words = std::vector<std::string_view>;

class Resolver {
 public:
  Resolver(Evaluator& evaluator, const std::vector<const syntax::Ast*>& files) : evaluator_(evaluator) {
    for (const syntax::Ast* file : files) decls_.insert(decls_.end(), file->decls.begin(), file->decls.end());
  }

  std::set<const Decl*> run() {
    for (const Decl* decl : decls_) {
      current_ = decl;
      visit(*decl, evaluator_.file_root);
    }
    return cycles();
  }

 private:
  // ---- declarations

  void visit(const Decl& decl, Scope* root) {
    Scope* scope = evaluator_.scopes().inside(root);
    switch (decl.kind) {
      case DeclKind::import_file:
        return;
      case DeclKind::param:
        if (decl.value) visit(*decl.value, scope, words_of(decl.type));
        return;
      case DeclKind::dataset:
        if (decl.value) visit(*decl.value, scope, {});
        if (decl.body) visit_dataset(*decl.body, scope);
        return;
      case DeclKind::layer:
      case DeclKind::model:
      case DeclKind::function:
      case DeclKind::optimizer:
        parameters(decl.hyper, scope);
        parameters(decl.parameters, scope);
        if (decl.kind == DeclKind::optimizer) bind("updates", decl.name.range, scope);
        if (decl.body) visit(*decl.body, scope);
        return;
      case DeclKind::strategy:
        parameters(decl.hyper, scope);
        if (decl.value) visit(*decl.value, scope, {});
        if (decl.body) visit_strategy(*decl.body, scope);
        return;
      case DeclKind::train:
        if (decl.body) visit_train(*decl.body, scope);
        return;
    }
  }

  void visit_dataset(const Body& body, Scope* scope) {
    for (const Item* item : body.items) {
      if (strayed(*item, DeclKind::dataset, DeclKind::train)) continue;
      if (item->kind == ItemKind::block) {
        Scope* inner = evaluator_.scopes().inside(scope);
        parameters(item->parameters, inner);
        if (item->body) visit_outputs(*item->body, inner);
      } else if (item->kind == ItemKind::assign) {
        const std::string& name = item->names[0].text;
        if (name == "batch" || name == "shuffle") {
          visit(*item->value, scope, name == "batch" ? Words() : Words{"all", "none"});
        } else if (name == "on_error") {
          for (const syntax::Argument& argument : item->value->arguments) visit(*argument.value, scope, {});
        } else {
          visit_source(*item->value, scope);
        }
        // Helper values (a vocabulary) are read by later entries; settings and splits are not names.
        const std::vector<std::string>& known = dataset_entries();
        if (std::find(known.begin(), known.end(), item->names[0].text) == known.end())
          bind(item->names[0].text, item->names[0].range, scope);
      } else {
        visit(*item, scope);
      }
    }
  }

  static const std::vector<std::string>& dataset_entries() {
    static const std::vector<std::string> entries = {"train", "validation", "test", "batch", "shuffle", "on_error"};
    return entries;
  }

  static bool is_source(const Expr& expr) {
    if (expr.kind == ExprKind::pipe || expr.kind == ExprKind::group) return is_source(*expr.items[0]);
    return expr.kind == ExprKind::call && expr.items[0]->kind == ExprKind::name && is_source_name(expr.items[0]->name);
  }

  /// What is no source is told when the dataset is read. Generators of `synthetic` are words of their place.
  void visit_source(const Expr& expr, Scope* scope) {
    if (expr.kind == ExprKind::pipe || expr.kind == ExprKind::group) {
      for (const Expr* item : expr.items) visit_source(*item, scope);
      return;
    }
    if (expr.kind != ExprKind::call) return;
    for (const syntax::Argument& argument : expr.arguments) {
      if (argument.value && is_source(*argument.value)) {
        visit_source(*argument.value, scope);
      } else if (argument.value && argument.value->kind == ExprKind::record) {
        for (const syntax::Argument& field : argument.value->arguments) {
          if (!field.value || field.value->kind != ExprKind::call) continue;
          for (const syntax::Argument& inner : field.value->arguments) visit(*inner.value, scope, {});
        }
      } else if (argument.value) {
        visit(*argument.value, scope, {});
      }
    }
  }

  /// `name = value` makes outputs, which no right-hand side sees.
  void visit_outputs(const Body& body, Scope* scope) {
    for (const Item* item : body.items) {
      if (item->kind == ItemKind::assign) {
        visit(*item->value, scope, {});
      } else {
        visit(*item, scope);
      }
    }
  }

  void visit_strategy(const Body& body, Scope* scope) {
    for (const Item* item : body.items) {
      if (item->kind != ItemKind::assign) {
        visit(*item, scope);
        continue;
      }
      strategy_field(item->names[0].text, *item->value, scope, true);
    }
  }

  /// Placements are words, and their arguments are axes. `closed`: there are no other fields than a strategy's.
  void strategy_field(const std::string& name, const Expr& value, Scope* scope, bool closed) {
    if (name == "mesh") {
      if (value.kind == ExprKind::record) {
        for (const syntax::Argument& axis : value.arguments) visit(*axis.value, scope, {"all"});
      } else {
        visit(value, scope, {});
      }
    } else if (name == "update" || name == "communication") {
      visit(value, scope, {});
    } else if (!closed && name != "batch" && name != "weights" && name != "gradients" && name != "optimizer") {
      visit(value, scope, {});
    }
  }

  void visit_train(const Body& body, Scope* scope) {
    const Decl* data = nullptr;
    for (const Item* item : body.items) {
      if (item->kind != ItemKind::assign || item->names[0].text != "data") continue;
      const Decl* decl = declaration(*item->value, scope);
      if (decl && decl->kind == DeclKind::dataset) data = decl;
    }
    Scope* inner = evaluator_.scopes().inside(scope);
    const bool known = bind_outputs(data, inner);
    inner->describe_example(inner->names());
    bind("prediction", body.range, inner);
    for (const Item* item : body.items) {
      if (strayed(*item, DeclKind::train, DeclKind::dataset)) continue;
      if (item->kind == ItemKind::block) {
        Scope* step = evaluator_.scopes().inside(scope);
        parameters(item->parameters, step);
        if (item->body) visit(*item->body, step);
      } else if (item->kind == ItemKind::assign) {
        const std::string& name = item->names[0].text;
        const bool sees_example = name == "loss" || name == "metrics";
        if (sees_example && !known) continue;  // the evaluator looks, once the data is read
        // Conditions to watch speak of splits and metrics.
        if (name == "stop_early" || name == "checkpoint" || name == "reproducible") continue;
        if ((name == "model" || name == "data") && is_undeclared(evaluator_, *item->value, kind_of_setting(name), scope)) continue;
        if (name == "strategy" && calls_nothing(evaluator_, *item->value, DeclKind::strategy, scope)) continue;
        if (name == "optimizer" && calls_nothing(evaluator_, *item->value, DeclKind::optimizer, scope)) continue;
        visit(*item->value, sees_example ? inner : scope, name == "precision" ? Words{"f32", "f64", "bf16", "f16"} : Words());
      } else {
        visit(*item, scope);
      }
    }
  }

  /// The names that an example of `data` has; false where they are not written in the program.
  bool bind_outputs(const Decl* data, Scope* scope) {
    if (!data || !data->body) return false;
    for (const Item* item : data->body->items) {
      if (item->kind != ItemKind::block || item->names[0].text != "example" || !item->body) continue;
      for (const Item* output : item->body->items) {
        if (output->kind == ItemKind::assign) bind(output->names[0].text, output->range, scope);
      }
      return true;
    }
    // Without `example`, they are the fields that a generated source names.
    for (const Item* item : data->body->items) {
      if (item->kind != ItemKind::assign || item->names[0].text != "train") continue;
      const Expr* source = item->value;
      while (source->kind == ExprKind::pipe || source->kind == ExprKind::group) source = source->items[0];
      for (const syntax::Argument& argument : source->arguments) {
        if (!argument.value || argument.value->kind != ExprKind::record) continue;
        for (const syntax::Argument& field : argument.value->arguments) {
          if (field.name) bind(field.name->text, field.name->range, scope);
        }
        return true;
      }
    }
    return false;
  }

  // ---- bodies

  void parameters(const std::vector<Parameter>& parameters, Scope* scope) {
    for (const Parameter& parameter : parameters) {
      if (parameter.value) visit(*parameter.value, scope, words_of(parameter.type));
      if (parameter.type) bind_dims(*parameter.type, scope);
      Binding& bound = scope->bind(parameter.name.text, {}, parameter.name.range);
      if (const Words words = words_of(parameter.type); !words.empty()) words_[&bound] = words;
    }
  }

  /// Fresh names of a parameter's dimensions may be read as ints.
  void bind_dims(const TypeExpr& type, Scope* scope) {
    for (const syntax::DimExpr& dim : type.dims) {
      if (dim.value) bind_dims(*dim.value, scope);
    }
    for (const TypeExpr* item : type.items) bind_dims(*item, scope);
  }

  /// `2 * n + 1` is solved for `n`.
  void bind_dims(const Expr& expr, Scope* scope) {
    if (expr.kind == ExprKind::name && !scope->find(expr.name)) bind(expr.name, expr.range, scope);
    if (expr.kind != ExprKind::binary && expr.kind != ExprKind::group) return;
    for (const Expr* item : expr.items) bind_dims(*item, scope);
  }

  void visit(const Body& body, Scope* scope) {
    for (const Item* item : body.items) visit(*item, scope);
  }

  void visit(const Item& item, Scope* scope) {
    if (item.kind == ItemKind::assign) return;  // no item of a body: that is told, not what its value lacks
    if (item.value) visit(*item.value, scope, words_of(item.type));
    switch (item.kind) {
      case ItemKind::let:
      case ItemKind::weight:
      case ItemKind::state:
        for (const syntax::Ident& name : item.names) bind(name.text, name.range, scope);
        return;
      case ItemKind::for_each: {
        Scope* inner = evaluator_.scopes().inside(scope);
        for (const syntax::Ident& name : item.names) bind(name.text, name.range, inner);
        if (item.body) visit(*item.body, inner);
        return;
      }
      case ItemKind::if_else:
        if (item.body) visit(*item.body, evaluator_.scopes().inside(scope));
        if (item.other) visit(*item.other, evaluator_.scopes().inside(scope));
        return;
      case ItemKind::update:
        look_up(item.names[0].text, item.names[0].range, scope);
        return;
      case ItemKind::require:
      case ItemKind::assign:
      case ItemKind::block:
      case ItemKind::expression:
        return;
    }
  }

  /// Whether an entry has strayed from a declaration of another kind, which is told; the names that it speaks of are of there.
  static bool strayed(const Item& item, DeclKind here, DeclKind other) {
    if (item.kind == ItemKind::expression) return true;
    if (item.kind != ItemKind::assign) return false;
    const auto knows = [&](DeclKind kind) {
      const std::vector<std::string> fields = known_fields(kind);
      return std::find(fields.begin(), fields.end(), item.names[0].text) != fields.end();
    };
    return !knows(here) && knows(other);
  }

  // ---- expressions

  Words words_of(const TypeExpr* type) const {
    Words words;
    if (!type) return words;
    if (type->kind == syntax::TypeKind::optional) return words_of(type->items[0]);
    if (type->kind == syntax::TypeKind::words) {
      for (const TypeExpr* item : type->items) words.push_back(item->name);
    }
    if (type->name == "devices") words.push_back("all");
    return words;
  }

  void visit(const Expr& expr, Scope* scope, const Words& words) {
    switch (expr.kind) {
      case ExprKind::name:
        if (std::find(words.begin(), words.end(), expr.name) == words.end()) look_up(expr.name, expr.range, scope, words);
        return;
      case ExprKind::lambda: {
        Scope* inner = evaluator_.scopes().inside(scope);
        parameters(expr.parameters, inner);
        visit(*expr.items[0], inner, {});
        return;
      }
      case ExprKind::call: {
        visit(*expr.items[0], scope, {});
        visit_arguments(expr, scope, false);
        return;
      }
      case ExprKind::pipe: {
        visit(*expr.items[0], scope, {});
        const Expr& right = *expr.items[1];
        const bool known = !calls_nothing(evaluator_, right, DeclKind::layer, scope);
        if (right.kind == ExprKind::call) {
          if (known) visit(*right.items[0], scope, {});
          visit_arguments(right, scope, true);
        } else if (known) {
          visit(right, scope, {});
        }
        return;
      }
      case ExprKind::group:
        visit(*expr.items[0], scope, words);
        return;
      case ExprKind::binary: {
        const bool compares = expr.op == "==" || expr.op == "!=";
        visit(*expr.items[0], scope, compares ? words_beside(*expr.items[1], scope) : Words());
        visit(*expr.items[1], scope, compares ? words_beside(*expr.items[0], scope) : Words());
        return;
      }
      case ExprKind::field:
        visit(*expr.items[0], scope, {});
        if (const Decl* decl = declaration(expr, scope)) needs_[current_].push_back(decl);
        return;
      case ExprKind::integer:
      case ExprKind::number:
      case ExprKind::quantity:
      case ExprKind::string:
      case ExprKind::boolean:
      case ExprKind::list:
      case ExprKind::record:
      case ExprKind::tuple:
      case ExprKind::index:
      case ExprKind::unary:
      case ExprKind::range:
      case ExprKind::ellipsis:
      case ExprKind::if_else:
      case ExprKind::per_replica:
        break;
      case ExprKind::with:
        visit(*expr.items[0], scope, {});
        // A strategy's fields hold placements, which are words.
        for (const syntax::Argument& argument : expr.arguments) {
          if (argument.name && argument.value) strategy_field(argument.name->text, *argument.value, scope, false);
        }
        return;
    }
    for (const Expr* item : expr.items) {
      if (item) visit(*item, scope, {});
    }
    for (const syntax::Argument& argument : expr.arguments) {
      if (argument.value) visit(*argument.value, scope, {});
    }
    for (const Body* body : expr.bodies) {
      if (body) visit(*body, evaluator_.scopes().inside(scope));
    }
  }

  /// An argument may be a word of its parameter's enumeration.
  void visit_arguments(const Expr& call, Scope* scope, bool piped) {
    const std::string& callee = call.items[0]->name;
    const bool named = call.items[0]->kind == ExprKind::name;
    const Decl* decl = declaration(*call.items[0], scope);
    const Builtin* builtin = named && !decl ? find_builtin(callee) : nullptr;
    const std::vector<Parameter>* parameters = decl ? (decl->has_hyper ? &decl->hyper : &decl->parameters) : nullptr;
    const bool unknown = named && !scope->find(callee) && !decl && !builtin && !is_builtin_value(callee);
    size_t position = piped && !(decl && decl->kind == DeclKind::layer) ? 1 : 0;
    for (const syntax::Argument& argument : call.arguments) {
      Words words;
      if (parameters) {
        for (size_t i = 0; i < parameters->size(); ++i) {
          const Parameter& parameter = (*parameters)[i];
          if (argument.name ? parameter.name.text == argument.name->text : i == position) words = words_of(parameter.type);
        }
      } else if (builtin) {
        const std::vector<std::string> names = builtin->parameter_names();
        if (argument.name) {
          words = builtin->words_of(argument.name->text);
        } else if (position < names.size()) {
          words = builtin->words_of(names[position]);
        }
      }
      if (!argument.name) ++position;
      // Which words it takes is not known either.
      if (unknown && argument.value && argument.value->kind == ExprKind::name) continue;
      if (argument.value) visit(*argument.value, scope, words);
    }
  }

  /// The words that may stand beside a parameter of an enumeration.
  Words words_beside(const Expr& expr, Scope* scope) {
    if (expr.kind != ExprKind::name) return {};
    if (const Binding* binding = scope->find(expr.name)) {
      const auto known = words_.find(binding);
      return known == words_.end() ? Words() : known->second;
    }
    const Decl* decl = declaration(expr, scope);
    return decl && decl->kind == DeclKind::param ? words_of(decl->type) : Words();
  }

  /// What `f` or `b.f` names; null where it is no declaration.
  const Decl* declaration(const Expr& expr, Scope* scope) {
    if (expr.kind == ExprKind::group) return declaration(*expr.items[0], scope);
    if (expr.kind == ExprKind::name) return scope->find(expr.name) ? nullptr : evaluator_.globals(expr.range).find(expr.name);
    if (expr.kind != ExprKind::field) return nullptr;
    const Decl* import = declaration(*expr.items[0], scope);
    return import && import->kind == DeclKind::import_file ? evaluator_.member(*import, expr.name, expr.name_range) : nullptr;
  }

  void bind(const std::string& name, source::Range range, Scope* scope) { scope->bind(name, {}, range); }

  void look_up(const std::string& name, source::Range range, Scope* scope, const Words& words = {}) {
    if (scope->find(name)) return;
    if (const Decl* decl = evaluator_.globals(range).find(name)) {
      if (!evaluator_.in_library(*decl)) needs_[current_].push_back(decl);
      return;
    }
    if (find_builtin(name) || is_builtin_value(name) || is_later(name)) return;
    evaluator_.unknown_name(name, range, scope, words);
  }

  // ---- cycles

  std::set<const Decl*> cycles() {
    for (const Decl* decl : decls_) walk(decl);
    return cyclic_;
  }

  /// Depth first, without recursion: a chain of declarations may be as long as the file.
  void walk(const Decl* root) {
    enter(root);
    while (!path_.empty()) {
      const Decl* decl = path_.back().decl;
      const std::vector<const Decl*>& needed = needs_[decl];
      if (path_.back().next < needed.size()) {
        enter(needed[path_.back().next++]);
        continue;
      }
      path_.pop_back();
      if (!clean_.empty() && clean_.back() == path_.size()) clean_.pop_back();
      places_.erase(decl);
    }
  }

  void enter(const Decl* decl) {
    if (const auto at = places_.find(decl); at != places_.end()) return close(at->second);
    if (!done_.insert(decl).second) return;
    places_.emplace(decl, path_.size());
    clean_.push_back(path_.size());
    path_.push_back({decl, 0});
  }

  /// The path from `at` on comes back to where it began.
  void close(size_t at) {
    size_t fresh = 0;
    for (; !clean_.empty() && clean_.back() >= at; clean_.pop_back(), ++fresh) cyclic_.insert(path_[clean_.back()].decl);
    if (fresh < path_.size() - at) return;  // a part of it is told already
    std::string chain;
    for (size_t i = at; i < path_.size(); ++i) chain += "`" + path_[i].decl->name.text + "` uses ";
    const Decl& decl = *path_[at].decl;
    auto reported = evaluator_.reporter().report(decl.name.range, diag::uses_itself, decl.name.text, chain + "`" + decl.name.text + "`");
    for (size_t i = at + 1; i < path_.size(); ++i)
      reported.note(path_[i].decl->name.range, "`" + path_[i].decl->name.text + "` is declared here");
  }

  Evaluator& evaluator_;
  std::vector<const Decl*> decls_;
  std::map<const Binding*, Words> words_;  ///< of parameters whose type is an enumeration
  const Decl* current_ = nullptr;
  std::map<const Decl*, std::vector<const Decl*>> needs_;
  /// A declaration on the way, and which of its needs comes next.
  struct Step {
    const Decl* decl;
    size_t next;
  };
  std::vector<Step> path_;
  std::map<const Decl*, size_t> places_;  ///< of those on the path
  std::vector<size_t> clean_;             ///< places of those on the path that are in no cycle so far, ascending
  std::set<const Decl*> cyclic_, done_;
};

}  // namespace

std::set<const Decl*> resolve(Evaluator& evaluator, const std::vector<const syntax::Ast*>& files) {
  return Resolver(evaluator, files).run();
}

}  // namespace dtl::sema
