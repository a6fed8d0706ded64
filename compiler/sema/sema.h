// Entry to sema: from Asts to a Program, or diagnostics.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/op.h"
#include "compiler/sema/program.h"
#include "compiler/source/diagnostic.h"
#include "compiler/syntax/ast.h"

namespace dtl::sema {

struct Options {
  std::map<const syntax::Decl*, const syntax::Ast*> imports;  ///< what each `import` of the program's files names
  std::map<int32_t, source::FileId> spoken_in;                ///< texts of the command line: the file whose names they speak of
  std::optional<std::string> train;                           ///< `--train`; nothing: the only one, or the one without a name
  int64_t devices = 1;                                        ///< what `all` means: cores of this machine
  std::optional<std::string> predict;  ///< fills Program::prediction with the model's result, or, where it is not empty, a layer's
  bool needs_train = true;             ///< false: a file without a train block is no mistake; its Program trains nothing
};

/// Checks every declaration of `file` and of what it imports, and instantiates what its chosen train block needs. `library` is the standard
/// library. Nothing if the sink has errors.
std::optional<Program> check(const syntax::Ast& file, const std::vector<std::unique_ptr<syntax::Ast>>& library, const graph::OpTable& ops,
                             const DataCatalogue& catalogue, const Options& options, source::Sink& sink);

/// The `directory` of the chosen train block's `checkpoint`, found without data; nothing where there is none, or where it cannot be
/// known so. Mistakes are left to `check`.
std::optional<std::string> checkpoint_directory(const syntax::Ast& file, const std::vector<std::unique_ptr<syntax::Ast>>& library,
                                                const graph::OpTable& ops, const Options& options);

}  // namespace dtl::sema
