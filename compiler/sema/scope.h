// Scopes: which name means what, innermost first, down to a file's declarations, the library's and the built-in names.
#pragma once

#include <deque>
#include <memory>
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
  Scope(Scope* parent, const Globals* globals) : parent_(parent), globals_(globals) {}

  /// A later binding of a name hides the earlier one.
  Binding& bind(std::string name, Value value, source::Range range);
  Binding* find(std::string_view name);
  Binding* find_here(std::string_view name);
  const Globals& globals() const { return *globals_; }
  std::deque<Binding>& bindings() { return bindings_; }
  /// Every name that can be said here, for suggestions.
  std::vector<std::string> names() const;

 private:
  Scope* parent_;
  const Globals* globals_;
  std::deque<Binding> bindings_;
};

/// Owns every scope of a check: closures point into them for as long as it lives.
class Scopes {
 public:
  Scope* root(const Globals* globals) { return &store_.emplace_back(nullptr, globals); }
  Scope* inside(Scope* parent) { return &store_.emplace_back(parent, &parent->globals()); }

 private:
  std::deque<Scope> store_;
};

}  // namespace dtl::sema
