// What a name means where it is written, and what was meant by one that means nothing.
#include <algorithm>

#include "compiler/sema/builtins.h"
#include "compiler/sema/settings.h"

namespace dtl::sema {

using source::Range;
using syntax::Decl;
using syntax::DeclKind;
using syntax::Expr;
using syntax::ExprKind;

namespace {

/// Those of the words that a user writes; types stand among them.
std::vector<std::string> written_words(std::span<const std::string_view> words) {
  std::vector<std::string> written;
  for (const std::string_view word : words) {
    if (!Evaluator::is_plain_type(word)) written.emplace_back(word);
  }
  return written;
}

}  // namespace

const Globals& Evaluator::globals(Range range) const {
  if (range.known() && reporter_.in_library(range)) return shared_.library;
  int32_t file = range.file.index;
  if (const auto from = options_.spoken_in.find(file); from != options_.spoken_in.end()) file = from->second.index;
  const auto imported = shared_.imported.find(file);
  return imported == shared_.imported.end() ? shared_.file : imported->second;
}

const Decl* Evaluator::member(const Decl& import, const std::string& name, Range range) {
  const auto ast = options_.imports.find(&import);
  if (ast == options_.imports.end()) return nullptr;  // could not be read, which is told
  const Globals& declared = shared_.imported.at(ast->second->file.index);
  if (const auto found = declared.decls.find(name); found != declared.decls.end()) return found->second;
  if (!reporter_.first(diag::not_in_import, range)) return nullptr;
  auto reported = reporter_.report(range, diag::not_in_import, import.path, name);
  if (!may_suggest()) return nullptr;
  std::vector<std::string> names;
  for (const auto& [each, decl] : declared.decls) names.push_back(each);
  std::sort(names.begin(), names.end());
  if (auto near = nearest(name, names)) {
    reported.help("did you mean `" + *near + "`?");
  } else if (!names.empty()) {
    reported.help("it has " + enumerate(names));
  }
  return nullptr;
}

void Evaluator::unknown_name(const std::string& name, Range range, Scope* scope, std::span<const std::string_view> words) {
  const bool command_line = options_.spoken_in.contains(range.file.index);
  // Of a text without its quotes each word is unknown.
  if (!reporter_.first(diag::unknown_name, command_line ? Range{range.file, 0, 0} : range)) return;
  auto reported = reporter_.report(range, diag::unknown_name, name);
  if (!may_suggest()) return;
  // Where a word of a few is asked for, no other name is meant.
  if (const std::vector<std::string> written = written_words(words); !written.empty()) {
    if (auto near = nearest(name, written)) {
      reported.meant(*near);
    } else {
      reported.help("it is one of " + enumerate(written, "or"));
    }
    return;
  }
  std::vector<std::string> known = scope->names();
  for (std::string& declared : globals(range).names()) known.push_back(std::move(declared));
  for (std::string& builtin : builtin_names()) known.push_back(std::move(builtin));
  const auto among = [&](const std::vector<std::string>& fields) { return std::find(fields.begin(), fields.end(), name) != fields.end(); };
  if (auto near = nearest(name, known)) {
    reported.meant(*near);
  } else if (among(train_fields()) || among(dataset_fields())) {
    reported.help("a setting is no name: make a `param` of its value, and use that in both places");
  } else if (const std::string* there = scope->about()) {
    reported.help(*there);
  } else if (command_line) {
    reported.help("a text has quotes of its own besides the shell's: `--set 'NAME=\"TEXT\"'`");
  }
}

void Evaluator::unknown_declaration(const std::string& name, Range range, DeclKind kind) {
  if (!reporter_.first(diag::unknown_name, range)) return;
  auto reported = reporter_.report(range, diag::unknown_name, name);
  if (!may_suggest()) return;
  std::vector<std::string> names;
  for (const Globals* around = &globals(range); around; around = around->outer) {
    for (const auto& [each, decl] : around->decls) {
      if (decl->kind == kind && !each.empty()) names.push_back(each);
    }
  }
  std::sort(names.begin(), names.end());
  const bool layer = kind == DeclKind::layer;
  std::vector<std::string> others = names;
  if (layer) {
    for (std::string& declared : globals(range).names()) others.push_back(std::move(declared));
    for (std::string& builtin : builtin_names()) others.push_back(std::move(builtin));
  }
  if (auto near = nearest(name, others)) {
    reported.meant(*near);
  } else {
    reported.help(fmt::format("{} {}{}",
                              kind == DeclKind::strategy ? "there are the strategies"
                              : layer                    ? "there are the layers"
                                                         : "there are the optimizers",
                              enumerate(names), layer ? "; `dslc library` lists all functions, too" : ""));
  }
}

Value Evaluator::lookup(const std::string& name, Range range, Scope* scope, bool callee) {
  if (Binding* binding = scope->find(name); binding && (!callee || is_callable(binding->value))) {
    binding->used = true;
    return binding->value;
  }
  if (const Decl* decl = globals(range).find(name)) {
    Value value = declared(*decl);
    if (!callee || is_callable(value)) return value;
  }
  if (auto value = builtin_value(name, *this)) {
    if (!value->ok() && !reporter_.has_errors()) {
      reporter_.report(range, diag::misplaced, "`" + name + "`", "used here: it is known to the train block, once its data is open");
    }
    return *value;
  }
  if (const Builtin* builtin = find_builtin(name)) {
    Closure closure;
    closure.builtin = builtin;
    return Value::of_closure(ValueKind::builtin, std::move(closure)).at(range);
  }
  if (is_later(name)) {
    reporter_.report(range, diag::not_supported_yet, "`" + name + "`");
    return {};
  }
  // A value that cannot be called is found after all, so that the report says what it is.
  if (callee) {
    if (Binding* binding = scope->find(name)) return binding->value;
    if (const Decl* decl = globals(range).find(name)) return declared(*decl);
  }
  unknown_name(name, range, scope);
  return {};
}

Value Evaluator::evaluate_word(const Expr& expr, Scope* scope, std::span<const std::string_view> words) {
  if (expr.kind == ExprKind::name) {
    for (const std::string_view word : words) {
      if (word == expr.name) return Value::of_text(ValueKind::word, expr.name).at(expr.range);
    }
    if (!words.empty() && !is_known(expr.name, expr.range, scope)) {
      unknown_name(expr.name, expr.range, scope, words);
      return {};
    }
  }
  if (expr.kind == ExprKind::string) {
    const std::vector<std::string> known = written_words(words);
    const bool is_text = std::find(words.begin(), words.end(), "string") != words.end();
    if (!is_text && std::find(known.begin(), known.end(), expr.text) != known.end()) {
      reporter_.report(expr.range, diag::word_in_quotes, expr.text).meant(expr.text);
      return {};
    }
  }
  return evaluate(expr, scope);
}

bool Evaluator::is_known(const std::string& name, Range range, Scope* scope) {
  if (scope->find(name) || globals(range).find(name)) return true;
  const std::vector<std::string> names = builtin_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace dtl::sema
