// The effective program: what `--set`, `--strategy` and `with` make of what was written, once as nodes of the Ast and once as
// edits of the texts, so that a program with its overrides can be written out again.
//
// takes:    the Asts of a program and its imports, the command line's overrides
// gives:    the same Asts with declarations replaced by changed copies; edits of their texts
// promises: every value keeps its place: one of the command line is in a text of its own, called `<--set PATH>`
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/source/diagnostic.h"
#include "compiler/syntax/ast.h"

namespace dtl::sema {

/// What each `import` of the program's files names.
using Imports = std::map<const syntax::Decl*, syntax::Ast*>;

/// What the command line says about values.
struct Overrides {
  std::vector<std::string> sets;        ///< `PATH=VALUE`, in order: a later one wins
  std::optional<std::string> strategy;  ///< an expression
  std::optional<std::string> train;     ///< the name of a train block
  std::vector<std::string> settings;    ///< as `sets`, of the train block's own settings, whatever else has such a name
};

/// The text at `at` becomes `before`, the text at `value` with its own edits, `after`.
struct Edit {
  source::Range at;
  std::string before;
  source::Range value;  ///< nowhere: no text
  std::string after;
};

struct Effective {
  std::vector<Edit> edits;
  /// Texts of the command line, and the file whose names they speak of.
  std::map<int32_t, source::FileId> spoken_in;
};

/// Puts every override in its place, then makes `X with { … }` of datasets and train blocks declarations of their own.
/// `fragments` owns what is made. Mistakes go to `sink`; what names nothing offers the nearest name that does.
Effective make_effective(syntax::Ast& main, const Imports& imports, const std::vector<std::unique_ptr<syntax::Ast>>& library,
                         source::SourceSet& sources, syntax::Ast& fragments, const Overrides& overrides, source::Sink& sink);

/// A text after its edits.
std::string edited(const source::SourceSet& sources, source::Range range, const std::vector<Edit>& edits);
/// The text of a file after its edits.
std::string edited(const source::SourceSet& sources, source::FileId file, const std::vector<Edit>& edits);

/// The name by which a program speaks of an imported file: what stands after `as`, else the file's name without its ending.
std::string alias_of(const syntax::Decl& import);

/// The train block that is meant: `name`, the only one, or the one without a name among several. Null: none, or several.
const syntax::Decl* chosen_train(const syntax::Ast& file, const std::optional<std::string>& name);

}  // namespace dtl::sema
