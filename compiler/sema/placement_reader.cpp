// Reading of placements.
#include "compiler/sema/placement_reader.h"

#include <algorithm>

namespace dtl::sema {

using syntax::Expr;
using syntax::ExprKind;
using types::Placement;
using types::PlacementKind;
using types::Placements;

namespace {

// Placements that the placement pass does not reach yet; a program whose strategy has one is checked, and not placed.
constexpr std::string_view kLaterPlacements[] = {"local", "at", "partitioned", "center", "varying", "partial"};

/// Axes are written by their names; a dimension is a number.
bool is_axes(const Expr& expr) { return expr.kind == ExprKind::name || expr.kind == ExprKind::list || expr.kind == ExprKind::tuple; }

}  // namespace

std::optional<Placements> PlacementReader::read(const Expr& expr, const std::string& what) {
  const size_t axes = mesh_.axes.size();
  if (expr.kind == ExprKind::group) return read(*expr.items[0], what);
  if (expr.kind == ExprKind::tuple && expr.items.size() == axes) {
    Placements result;
    for (size_t i = 0; i < axes; ++i) {
      const auto one = read(*expr.items[i], what);
      if (!one) return std::nullopt;
      result.push_back((*one)[i]);
    }
    return result;
  }
  if (expr.kind == ExprKind::name && expr.name == "broadcast") return Placements(axes, Placement::broadcast());
  const Expr* callee = expr.kind == ExprKind::call && expr.items[0]->kind == ExprKind::name ? expr.items[0] : nullptr;
  const std::string& word = callee ? callee->name : expr.name;
  if (callee && word == "split") return split(expr);
  if (std::find(std::begin(kLaterPlacements), std::end(kLaterPlacements), word) != std::end(kLaterPlacements)) {
    later_ = !callee || word != "partitioned" || split(expr);
    return std::nullopt;
  }
  auto reported = reporter_.report(expr.range, diag::not_a_placement, what, text_of(expr));
  if (auto near = nearest(word, {"broadcast", "split"})) {
    reported.help("did you mean `" + *near + "`?");
  } else {
    reported.help("`broadcast` or `split(axis)`, with an axis of the mesh");
  }
  return std::nullopt;
}

// `split(data)`, `split(1, over = model)`, `split(over = [worker, data])`: the argument's form decides.
std::optional<Placements> PlacementReader::split(const Expr& expr) {
  Placements result(mesh_.axes.size(), Placement::broadcast());
  int64_t dim = 0;
  std::vector<const Expr*> over;
  const auto add_axes = [&](const Expr* axes) {
    if (axes->kind == ExprKind::list || axes->kind == ExprKind::tuple) {
      over.insert(over.end(), axes->items.begin(), axes->items.end());
    } else {
      over.push_back(axes);
    }
  };
  for (const syntax::Argument& argument : expr.arguments) {
    const bool named_over = argument.name && argument.name->text == "over";
    if (argument.name && !named_over && argument.name->text != "dim") {
      reporter_.report(argument.name->range, diag::unknown_argument, "split", argument.name->text).help("it takes `dim` and `over`");
      return std::nullopt;
    }
    if (named_over || (is_axes(*argument.value) && !argument.name)) {
      add_axes(argument.value);
    } else if (const auto given =
                   evaluator_.integer(evaluator_.evaluate(*argument.value, scope_), argument.value->range, "the dimension of `split`")) {
      dim = *given;
    } else {
      return std::nullopt;
    }
  }
  std::vector<std::string> axes;
  for (const plan::MeshAxis& axis : mesh_.axes) axes.push_back(axis.name);
  if (over.empty() && axes.size() == 1) {
    result[0] = Placement::split(static_cast<int>(dim));
    return result;
  }
  if (over.empty()) {
    reporter_.report(expr.range, diag::missing_argument, "split", "over").help("the mesh has the axes " + enumerate(axes));
    return std::nullopt;
  }
  for (const Expr* name : over) {
    const auto axis = std::find(axes.begin(), axes.end(), name->name);
    if (name->kind != ExprKind::name || axis == axes.end()) {
      auto reported = reporter_.report(name->range, diag::not_an_axis, text_of(*name));
      reported.note(mesh_range_, "the axes of this mesh are " + enumerate(axes));
      if (auto near = nearest(name->name, axes)) reported.meant(*near);
      return std::nullopt;
    }
    result[static_cast<size_t>(axis - axes.begin())] = Placement::split(static_cast<int>(dim));
  }
  return result;
}

std::optional<types::OwnPlacement> own_placement(Evaluator& evaluator, const Expr& expr, Scope* scope, const types::TensorType& type) {
  const types::Strategy& strategy = evaluator.program().strategy;
  // Without a strategy there is no mesh to speak of: a file of layers alone, or one whose strategy has a mistake.
  if (strategy.mesh.axes.empty()) return types::OwnPlacement();
  const source::Range chosen = evaluator.program().strategy_range;
  PlacementReader reader(evaluator, scope, strategy.mesh, chosen.known() ? chosen : expr.range);
  const auto placements = reader.read(expr, "weight");
  if (reader.later()) evaluator.reporter().report(expr.range, diag::not_supported_yet, "`" + text_of(expr) + "` of a weight");
  if (!placements) return std::nullopt;
  const bool everywhere = std::all_of(placements->begin(), placements->end(),
                                      [](const Placement& placement) { return placement.kind == PlacementKind::broadcast; });
  types::OwnPlacement own(placements->size());
  for (size_t axis = 0; axis < own.size(); ++axis) {
    const Placement& placement = (*placements)[axis];
    if (placement.kind != PlacementKind::split) {
      if (everywhere) own[axis] = placement;
      continue;
    }
    if (static_cast<size_t>(placement.dim) >= type.rank()) {
      evaluator.reporter().report(expr.range, diag::axis_out_of_range, placement.dim, type.str());
      return std::nullopt;
    }
    own[axis] = placement;
  }
  return own;
}

}  // namespace dtl::sema
