// Session: what one walk over a program needs, its names made known.
#pragma once

#include "compiler/sema/evaluate.h"
#include "compiler/sema/sema.h"

namespace dtl::sema {

using Library = std::vector<std::unique_ptr<syntax::Ast>>;

/// What one walk over the program needs: a Program to fill and where mistakes go.
struct Session {
  /// `shared` outlives it; its library is known already.
  Session(const Library& library, Shared& shared, const graph::OpTable& ops, const Options& options, source::Sink& sink);

  /// Makes known to all who share it what `file` and what it imports declare. Gives these files, `file` first, the others as they were
  /// read.
  std::vector<const syntax::Ast*> declare_all(const syntax::Ast& file, const Options& options);

  Program program;
  Reporter reporter;
  Emitter emitter;
  Evaluator evaluator;

 private:
  void declare(const syntax::Ast& file, Globals& globals);
  Shared& shared_;
};

}  // namespace dtl::sema
