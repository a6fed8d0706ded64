// Ways out for mistakes in a train block, in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/sema/settings.h"

namespace dtl::sema {

/// What the file of a range declares of a kind, in the order of names.
std::vector<std::string> names_of(const Evaluator& evaluator, source::Range file, syntax::DeclKind kind);
/// How the file comes by a model or dataset, `name` if it is given; or which it has.
std::string declaration_help(const Evaluator& evaluator, source::Range file, syntax::DeclKind kind, const std::string& name = {});
/// What `model`, `data` of a train block name.
syntax::DeclKind kind_of_setting(const std::string& name);
/// Whether `value` is a name that means nothing, where the file declares nothing of the kind; then it is reported.
bool is_undeclared(Evaluator& evaluator, const syntax::Expr& value, syntax::DeclKind kind, Scope* scope);
/// Where a name that is no setting may be set inside one: `optimizer = sgd(learning_rate = …)`; empty: nowhere.
std::string within_setting(const Evaluator& evaluator, const Settings& settings, const syntax::Decl& train, const std::string& name);
/// The declaration of a kind, of the file or the library, that a text names.
std::optional<std::string> declaration_called(const Evaluator& evaluator, source::Range file, syntax::DeclKind kind,
                                              const std::string& text);
/// Whether `value` is, or calls, a name that means nothing where a declaration of the kind is asked for; then it is reported.
bool calls_nothing(Evaluator& evaluator, const syntax::Expr& value, syntax::DeclKind kind, Scope* scope);
/// How a loss is written that is given by its name, or as a function without arguments.
void advise_loss(Evaluator& evaluator, source::Reported& reported, const Value& value, source::Range range);
/// How `epochs` or `steps` is written that is given as a count of training: `6 epochs`.
void advise_count(const Evaluator& evaluator, source::Reported& reported, const Value& value, source::Range range);

}  // namespace dtl::sema
