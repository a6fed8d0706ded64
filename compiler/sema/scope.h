// Scopes: which name means what, innermost first. Below the bodies' names stand the declarations of the file in which the
// name is written (not of the one that is running), then the library's, then the built-in names.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/sema/value.h"

namespace dtl::sema {

/// The declarations of one file, or of all files of the library together, by name.
struct Globals {
  std::unordered_map<std::string, const syntax::Decl*> decls;
  const Globals* outer = nullptr;  ///< the library, for a file

  const syntax::Decl* find(const std::string& name) const;
  std::vector<std::string> names() const;
};

/// What all walks over one program share: its declarations, and how much work they may be together.
struct Shared {
  explicit Shared(const std::vector<std::unique_ptr<syntax::Ast>>& library);

  Globals library;
  Globals file;                          ///< of the program's own file
  std::map<int32_t, Globals> imported;   ///< of each file it imports, by file
  std::set<const syntax::Decl*> cyclic;  ///< declarations that use themselves: poisoned
  int64_t evaluations = 0;               ///< of expressions, and turns of loops, so far
};

/// A name bound in a body.
struct Binding {
  std::string name;
  Value value;
  source::Range range;
  enum class Kind : uint8_t { value, weight, state } kind = Kind::value;
  int32_t index = -1;           ///< of a state
  types::TensorType type = {};  ///< of a state: what `<-` must keep
  bool used = false;
};

class Scope {
 public:
  explicit Scope(Scope* parent) : parent_(parent) {}

  /// A later binding of a name hides the earlier one.
  Binding& bind(std::string name, Value value, source::Range range);
  Binding* find(std::string_view name);
  Binding* find_here(std::string_view name);
  std::deque<Binding>& bindings() { return bindings_; }
  /// Every name that a body binds here, for suggestions.
  std::vector<std::string> names() const;
  /// This scope is that of a loss and of metrics, over an example of these fields.
  void describe_example(const std::vector<std::string>& fields);
  /// What there is to read in this scope, in words; null where nobody said so.
  const std::string* about() const { return !about_.empty() ? &about_ : parent_ ? parent_->about() : nullptr; }

 private:
  Scope* parent_;
  std::string about_;
  std::deque<Binding> bindings_;
  std::unordered_map<std::string_view, Binding*> latest_;  ///< by name, once the bindings are many
};

/// Owns every scope of a check: closures point into them for as long as it lives.
class Scopes {
 public:
  Scope* inside(Scope* parent) { return &store_.emplace_back(parent); }

 private:
  std::deque<Scope> store_;
};

}  // namespace dtl::sema
