// The Ast and the tokens as text, for `emit --stage ast` and `--stage tokens`.
#pragma once

#include <string>

#include "compiler/source/diagnostic.h"
#include "compiler/syntax/ast.h"

namespace dtl::syntax {

/// One node a line, children indented below, no ranges: two files that mean the same by syntax print the same. Comments
/// are left out, documentation is not.
std::string print(const Ast& ast);

/// `line:column SYMBOL text`, one token a line, as the grammar's rules read them: a line end that parts nothing is not
/// among them.
std::string print_tokens(const source::SourceSet& sources, source::FileId file, source::Sink& sink);

}  // namespace dtl::syntax
