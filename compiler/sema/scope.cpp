// Look-up in nested scopes. Most bodies are short: their bindings are searched from the last one back.
#include "compiler/sema/scope.h"

namespace dtl::sema {

namespace {
constexpr size_t kFew = 16;  // bindings that a search finds as fast as a table
}

const syntax::Decl* Globals::find(const std::string& name) const {
  for (const Globals* globals = this; globals; globals = globals->outer) {
    if (auto it = globals->decls.find(name); it != globals->decls.end()) return it->second;
  }
  return nullptr;
}

Binding& Scope::bind(std::string name, Value value, source::Range range) {
  Binding& binding = bindings_.emplace_back();
  binding.name = std::move(name);
  binding.value = std::move(value);
  binding.range = range;
  if (bindings_.size() == kFew + 1) {
    for (Binding& each : bindings_) latest_[each.name] = &each;
  } else if (bindings_.size() > kFew) {
    latest_[binding.name] = &binding;
  }
  return binding;
}

Binding* Scope::find_here(std::string_view name) {
  if (bindings_.size() > kFew) {
    const auto found = latest_.find(name);
    return found == latest_.end() ? nullptr : found->second;
  }
  for (auto it = bindings_.rbegin(); it != bindings_.rend(); ++it) {
    if (it->name == name) return &*it;
  }
  return nullptr;
}

Binding* Scope::find(std::string_view name) {
  for (Scope* scope = this; scope; scope = scope->parent_) {
    if (Binding* binding = scope->find_here(name)) return binding;
  }
  return nullptr;
}

void Scope::describe_example(const std::vector<std::string>& fields) {
  about_ = "a loss and metrics read `prediction` and what an example is made of: " + enumerate(fields);
}

std::vector<std::string> Scope::names() const {
  std::vector<std::string> result;
  for (const Scope* scope = this; scope; scope = scope->parent_) {
    for (const Binding& binding : scope->bindings_) result.push_back(binding.name);
  }
  return result;
}

std::vector<std::string> Globals::names() const {
  std::vector<std::string> result;
  for (const Globals* globals = this; globals; globals = globals->outer) {
    for (const auto& [name, decl] : globals->decls) result.push_back(name);
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace dtl::sema
