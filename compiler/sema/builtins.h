// The built-in names of the language: one table from a name to its parameters and what it does.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/sema/evaluate.h"

namespace dtl::sema {

/// One call of a built-in function, its arguments evaluated and bound.
struct BuiltinCall {
  Evaluator& evaluator;
  const Builtin& builtin;
  std::vector<std::optional<Operand>> arguments;  ///< one for each parameter
  source::Range range;
  Scope* scope;
};

struct Builtin {
  std::string_view name;
  /// Separated by blanks; `?` may be left out; `op:sum|max` takes these words; a last `names...` takes any named ones.
  std::string_view parameters;
  Value (*run)(BuiltinCall&);
  std::string_view op;  ///< for rows that share a function

  std::vector<std::string> parameter_names() const;
  /// The words that parameter `name` takes; empty: none.
  std::vector<std::string_view> words_of(std::string_view name) const;
  bool optional(std::string_view name) const;
};

/// What a built-in function is, for people (builtin_docs.cpp).
struct BuiltinDoc {
  std::string_view name;
  std::string_view signature;  ///< `(x: any[...], axis: int = 0) -> any[...]`
  std::string_view text;
  std::string_view examples;  ///< one a line: ``CODE`` or ``CODE is VALUE``, as in the library's comments
};
/// In the order of the reference.
std::span<const BuiltinDoc> builtin_docs();
/// Of sources, what they are piped through, and vocabularies (source_docs.cpp): the signature is a use, and there are no examples.
std::span<const BuiltinDoc> source_docs();

/// Nothing where the name is none of the language's functions.
const Builtin* find_builtin(std::string_view name);
/// Names of values: `none`, `training`, element types, `synchronous`.
std::optional<Value> builtin_value(std::string_view name, Evaluator& evaluator);
bool is_builtin_value(std::string_view name);
/// Names of the language that this compiler knows but cannot do yet.
bool is_later(std::string_view name);
std::vector<std::string> builtin_names();
/// Words between bars: `sum|max` → sum, max.
std::vector<std::string_view> split_words(std::string_view text, char by = '|');

Value call_builtin(Evaluator& evaluator, const Builtin& builtin, const Args& args, source::Range range, Scope* scope);

/// A loop over time, unrolled (scan.cpp).
Value scan(BuiltinCall& call);
/// `minimize` and `report` (train.cpp).
Value minimize(BuiltinCall& call);
Value report(BuiltinCall& call);
/// `encode` in `example` (example.cpp).
Value encode(BuiltinCall& call);
/// `checked_index(label, classes)`: `label`, whose numbers are from 0 to classes − 1 or a fault: they are looked at before training
/// where they are a field of the data, else in each step.
Value checked_index(BuiltinCall& call);
/// The same of a tensor that may be used here.
Tensor checked_index(BuiltinCall& call, Tensor index, const types::Dim& size);
/// `checked_share(target)`: `target`; where it is a field of the data as it is, all its numbers are from 0 to 1 or a fault.
Value checked_share(BuiltinCall& call);
/// For the library's advice to its users (advice.cpp): `x` as it is; `x`, with a warning where it was made by `as_probabilities`; a
/// warning.
Value as_probabilities(BuiltinCall& call);
Value as_logits(BuiltinCall& call);
Value warn(BuiltinCall& call);

}  // namespace dtl::sema
