// Where the texts of an effective program come from, and the copies that `with` makes of datasets and train blocks.
#include "compiler/sema/effective.h"

#include <algorithm>

#include "compiler/sema/overrides.h"
#include "compiler/sema/settings.h"

namespace dtl::sema {

using source::Range;
using syntax::Decl;
using syntax::DeclKind;
using syntax::Expr;
using syntax::ExprKind;
using syntax::Item;
using syntax::ItemKind;

namespace {

/// Makes a declaration `= X` or `= X with { … }` one with a body.
class Copies {
 public:
  Copies(const ProgramFiles& files, syntax::Ast& fragments, source::Sink& sink) : files_(files), fragments_(fragments), sink_(sink) {}

  void run() {
    for (syntax::Ast* ast : files_.asts()) {
      for (const Decl*& decl : ast->decls) {
        if (needs_copy(*decl)) decl = copy(*decl);
      }
    }
  }

 private:
  static bool needs_copy(const Decl& decl) {
    return (decl.kind == DeclKind::dataset || decl.kind == DeclKind::train) && decl.value != nullptr;
  }

  /// Without a body after a report: what it lacks is not told again.
  const Decl* copy(const Decl& decl) {
    if (const auto known = done_.find(&decl); known != done_.end()) return known->second;
    const Expr* value = decl.value;
    while (value->kind == ExprKind::group) value = value->items[0];
    const Expr* with = value->kind == ExprKind::with ? value : nullptr;
    const Expr* base_name = with ? with->items[0] : value;
    const Decl* base = files_.named_by(*base_name);
    const bool fits = base && base->kind == decl.kind;
    if (!fits || std::find(path_.begin(), path_.end(), &decl) != path_.end()) {
      const std::string kind = decl.kind == DeclKind::dataset ? "a dataset" : "a train block";
      if (fits) {
        sink_.report(decl.name.range, diag::uses_itself, decl.name.text, "it is a copy of itself");
      } else {
        auto reported = sink_.report(base_name->range, diag::not_a_copy, text_of(*base_name), kind);
        if (base) reported.note(base->name.range, "`" + base->name.text + "` is declared here");
        if (!base) {
          if (auto near = nearest(text_of(*base_name), files_.names_of(base_name->range.file, decl.kind)))
            reported.help("did you mean `" + *near + "`?");
        }
      }
      Decl& empty = fragments_.decl_store.emplace_back(decl);
      empty.value = nullptr;
      return done_[&decl] = &empty;
    }
    path_.push_back(&decl);
    if (needs_copy(*base)) base = copy(*base);
    path_.pop_back();
    if (!base->body) {
      Decl& empty = fragments_.decl_store.emplace_back(decl);
      empty.value = nullptr;
      return done_[&decl] = &empty;
    }

    Decl& made = fragments_.decl_store.emplace_back(decl);
    made.value = nullptr;
    // `train = Quick` chooses a block; it is no other one.
    if (made.name.text.empty()) made.name = {base->name.text, {}};
    syntax::Body body{base->body->range, base->body->items};
    if (with) {
      for (const syntax::Argument& argument : with->arguments) change(body, argument, decl.kind);
    }
    fragments_.bodies.push_back(std::move(body));
    made.body = &fragments_.bodies.back();
    return done_[&decl] = &made;
  }

  void change(syntax::Body& body, const syntax::Argument& argument, DeclKind kind) {
    if (!argument.name) return;
    const std::string& name = argument.name->text;
    Item item;
    item.kind = ItemKind::assign;
    item.range = {argument.name->range.file, argument.name->range.begin, argument.value->range.end};
    item.names = {*argument.name};
    item.value = argument.value;
    fragments_.items.push_back(std::move(item));
    const Item* made = &fragments_.items.back();
    const auto is_set = [](syntax::Body& in, std::string_view wanted) {
      return std::find_if(in.items.begin(), in.items.end(), [&](const Item* each) {
        return (each->kind == ItemKind::assign || each->kind == ItemKind::block) && each->names[0].text == wanted;
      });
    };
    // How long to train is said in one of two ways.
    if (kind == DeclKind::train && (name == "steps" || name == "epochs")) {
      const auto other = is_set(body, name == "steps" ? "epochs" : "steps");
      if (other != body.items.end()) body.items.erase(other);
    }
    const auto at = is_set(body, name);
    if (at == body.items.end()) {
      const std::vector<std::string> known = known_fields(kind);
      std::vector<std::string> all = known;
      for (const Item* each : body.items) {
        if (each->kind == ItemKind::assign) all.push_back(each->names[0].text);
      }
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        auto reported =
            sink_.report(argument.name->range, diag::unknown_setting, name, kind == DeclKind::dataset ? "a dataset" : "a train block");
        if (auto near = nearest(name, without_later(all))) reported.help("did you mean `" + *near + "`?");
        return;
      }
      body.items.push_back(made);
    } else if ((*at)->kind == ItemKind::block) {
      sink_.report(argument.name->range, diag::misplaced, "`" + name + "`", "changed by `with`: it is a block, and `with` changes settings")
          .note((*at)->names[0].range, "it is written here");
    } else {
      *at = made;
    }
  }

  const ProgramFiles& files_;
  syntax::Ast& fragments_;
  source::Sink& sink_;
  std::map<const Decl*, const Decl*> done_;
  std::vector<const Decl*> path_;
};

}  // namespace

std::string edited(const source::SourceSet& sources, Range range, const std::vector<Edit>& edits) {
  std::vector<const Edit*> here;
  for (const Edit& edit : edits) {
    if (edit.at.file != range.file || edit.at.begin < range.begin || edit.at.end > range.end) continue;
    // What is put in at an end of the range belongs to what is around it.
    if (edit.at.begin == edit.at.end && (edit.at.begin == range.begin || edit.at.end == range.end)) continue;
    here.push_back(&edit);
  }
  std::stable_sort(here.begin(), here.end(), [](const Edit* a, const Edit* b) { return a->at.begin < b->at.begin; });
  std::string text;
  int32_t from = range.begin;
  for (const Edit* edit : here) {
    // What lies within a text that another edit replaces is gone with it.
    if (edit->at.begin < from) continue;
    text += sources.text({range.file, from, edit->at.begin});
    text += edit->before;
    if (edit->value.known()) text += edited(sources, edit->value, edits);
    text += edit->after;
    from = edit->at.end;
  }
  return text + std::string(sources.text({range.file, from, range.end}));
}

std::string edited(const source::SourceSet& sources, source::FileId file, const std::vector<Edit>& edits) {
  return edited(sources, Range{file, 0, static_cast<int32_t>(sources.file(file).text.size())}, edits);
}

std::string alias_of(const Decl& import) {
  if (!import.name.text.empty()) return import.name.text;
  const size_t slash = import.path.find_last_of('/');
  const std::string file = slash == std::string::npos ? import.path : import.path.substr(slash + 1);
  return file.substr(0, file.find('.'));
}

const Decl* chosen_train(const syntax::Ast& file, const std::optional<std::string>& name) {
  const Decl *only = nullptr, *unnamed = nullptr;
  int count = 0, without_name = 0;
  for (const Decl* decl : file.decls) {
    if (decl->kind != DeclKind::train) continue;
    // `--train ""` is no way to say the one without a name.
    if (name && !name->empty() && decl->name.text == *name) return decl;
    only = decl;
    ++count;
    if (decl->name.text.empty() || !decl->name.range.known()) {
      unnamed = decl;
      ++without_name;
    }
  }
  if (name) return nullptr;
  return count == 1 ? only : without_name == 1 ? unnamed : nullptr;
}

Effective make_effective(syntax::Ast& main, const Imports& imports, const std::vector<std::unique_ptr<syntax::Ast>>& library,
                         source::SourceSet& sources, syntax::Ast& fragments, const Overrides& overrides, source::Sink& sink) {
  Effective effective;
  ProgramFiles files(main, imports, library, effective);
  apply_overrides(files, sources, fragments, overrides, sink);
  Copies(files, fragments, sink).run();
  return effective;
}

}  // namespace dtl::sema
