// Name resolution of a whole file before anything is evaluated, so that one mistake hides no other.
#pragma once

#include <set>
#include <vector>

#include "compiler/sema/evaluate.h"

namespace dtl::sema {

/// Reports names that mean nothing anywhere in `file`, and declarations that are defined by themselves; gives the latter.
std::set<const syntax::Decl*> resolve(Evaluator& evaluator, const std::vector<const syntax::Ast*>& files);

}  // namespace dtl::sema
