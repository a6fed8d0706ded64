// Entry to sema: from Asts to a Program, or diagnostics.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/op.h"
#include "compiler/sema/program.h"
#include "compiler/source/diagnostic.h"
#include "compiler/syntax/ast.h"

namespace dtl::sema {

/// `--set path=value`, parsed by the language's grammar.
struct Override {
  std::string path;
  const syntax::Expr* value;
  source::Range range;
};

struct Options {
  std::vector<Override> overrides;
  const syntax::Expr* strategy = nullptr;  ///< `--strategy`
  std::optional<std::string> train;        ///< `--train`; nothing: the only one
  int64_t devices = 1;                     ///< what `all` means: cores of this machine
  bool needs_train = true;                 ///< false: a file without a train block is no mistake; its Program trains nothing
};

/// Checks every declaration of `file`, and instantiates what its chosen train block needs. `library` is the standard
/// library. Nothing if the sink has errors.
std::optional<Program> check(const syntax::Ast& file, const std::vector<std::unique_ptr<syntax::Ast>>& library, const graph::OpTable& ops,
                             const OpenSource& open, const Options& options, source::Sink& sink);

}  // namespace dtl::sema
