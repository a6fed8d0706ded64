// The formatter: `dslc fmt`.
#pragma once

#include <string>

#include "compiler/syntax/ast.h"

namespace dtl::syntax {

/// The file of an Ast without errors, laid out: two blanks a level, one blank around operators, at most one empty line,
/// settings and comments below one another aligned where they were. Keeps every comment, and line ends where the language leaves a choice:
/// a chain of pipes, a list of arguments, a body or a record stay on one line or on several, as they were. Promises: parses to an equal
/// Ast; formatting the result again changes nothing.
std::string format(const Ast& ast, const source::SourceSet& sources);

}  // namespace dtl::syntax
