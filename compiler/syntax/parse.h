// From text to Ast.
//
// takes:    a file of the source set
// gives:    its Ast; what is wrong with it, in the user's words, in the sink
// promises: several mistakes are reported, each once; no input crashes it or takes more than time linear in its length
//           for each reported mistake; ranges count bytes
// print it: `dslc emit --stage tokens`, `--stage ast`
#pragma once

#include <memory>

#include "compiler/source/diagnostic.h"
#include "compiler/syntax/ast.h"

namespace dtl::syntax {

/// The Ast of a file. With errors in the sink it holds what could be read; null if that is nothing (not UTF-8, nested
/// too deep).
std::unique_ptr<Ast> parse(const source::SourceSet& sources, source::FileId file, source::Sink& sink);

/// The expression that a whole text of the command line is; its nodes live in `into`. Null with an error in the sink.
const Expr* parse_expression(Ast& into, const source::SourceSet& sources, source::FileId file, source::Sink& sink);

/// The item of a body that a whole text is: `let x = 3`, `x + 1`. As parse_expression.
const Item* parse_item(Ast& into, const source::SourceSet& sources, source::FileId file, source::Sink& sink);

}  // namespace dtl::syntax
