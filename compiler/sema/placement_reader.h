// Placements as they are written: in a strategy for a role, or at a weight.
#pragma once

#include <optional>
#include <string>

#include "compiler/sema/evaluate.h"

namespace dtl::sema {

class PlacementReader {
 public:
  /// `mesh_range`: where the mesh is written, for notes.
  PlacementReader(Evaluator& evaluator, Scope* scope, const types::Mesh& mesh, source::Range mesh_range)
      : evaluator_(evaluator), reporter_(evaluator.reporter()), scope_(scope), mesh_(mesh), mesh_range_(mesh_range) {}

  /// `broadcast`, `split(…)`, or one for each axis of the mesh; nothing after a report, and where it is read and not placed yet
  /// (`later`). `what` is placed, in words.
  std::optional<types::Placements> read(const syntax::Expr& expr, const std::string& what);
  bool later() const { return later_; }

 private:
  std::optional<types::Placements> split(const syntax::Expr& expr);

  Evaluator& evaluator_;
  Reporter& reporter_;
  Scope* scope_;
  const types::Mesh& mesh_;
  source::Range mesh_range_;
  bool later_ = false;
};

/// What is written behind the `@` of a weight of that type, on the mesh of the program's strategy; nothing after a report.
std::optional<types::OwnPlacement> own_placement(Evaluator& evaluator, const syntax::Expr& expr, Scope* scope,
                                                 const types::TensorType& type);

}  // namespace dtl::sema
