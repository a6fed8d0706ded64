// Overrides of the command line: which place of a program a path names, and what stands there afterwards.
#pragma once

#include <string>
#include <vector>

#include "compiler/sema/effective.h"
#include "compiler/sema/value.h"

namespace dtl::sema {

/// Declarations by file and name, as they are now: overrides replace them.
class ProgramFiles {
 public:
  ProgramFiles(syntax::Ast& main, const Imports& imports, const std::vector<std::unique_ptr<syntax::Ast>>& library, Effective& effective)
      : effective(effective), main_(&main), imports_(imports), library_(library) {}

  /// The program's own files, each once.
  std::vector<syntax::Ast*> asts() const;
  syntax::Ast& main() const { return *main_; }
  /// The file that a text of the command line, or a file itself, speaks in.
  syntax::Ast* spoken_in(source::FileId file) const;
  syntax::Ast* imported(const syntax::Decl& import) const;
  /// A declaration of the file itself; null where there is none.
  static const syntax::Decl* find(const syntax::Ast& file, const std::string& name);
  /// The declaration that `X` or `b.X` names, the library's among them.
  const syntax::Decl* named_by(const syntax::Expr& expr) const;
  std::vector<std::string> names_of(source::FileId file, syntax::DeclKind kind) const;
  void replace(const syntax::Decl* old, const syntax::Decl* made) const;

  Effective& effective;

 private:
  syntax::Ast* main_;
  const Imports& imports_;
  const std::vector<std::unique_ptr<syntax::Ast>>& library_;
};

/// What `--set` takes for a name that is a setting, of this program or of another library: `batch_size` is `Points.batch`. The likeliest
/// first; empty: it is none.
std::vector<std::string> paths_called(ProgramFiles& files, source::SourceSet& sources, syntax::Ast& fragments, const Overrides& overrides,
                                      const std::string& name, source::Sink& sink);

/// Every `--set` and `--strategy` in order.
void apply_overrides(ProgramFiles& files, source::SourceSet& sources, syntax::Ast& fragments, const Overrides& overrides,
                     source::Sink& sink);

}  // namespace dtl::sema
