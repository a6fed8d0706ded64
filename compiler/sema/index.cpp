// Indexing: of lists at compile time, of tensors by slices.
#include "compiler/sema/evaluate.h"

namespace dtl::sema {

using source::Range;
using syntax::Expr;
using syntax::ExprKind;
using types::Dim;

Value Evaluator::index(const Expr& expr, Scope* scope) {
  const Value base = evaluate(*expr.items[0], scope);
  if (!base.ok()) return {};
  if (base.is(ValueKind::tensor)) return index_tensor(expr, base.tensor, scope);
  if (base.is(ValueKind::list) || base.is(ValueKind::tuple)) return index_list(expr, base, scope);
  auto reported = reporter_.report(expr.range, diag::not_indexable, shown(base));
  if (base.is(ValueKind::dtype)) reported.help("types stand only behind `:` and `->`; a shape is a list: `zeros([3])`");
  return {};
}

Value Evaluator::index_list(const Expr& expr, const Value& list, Scope* scope) {
  const auto n = static_cast<int64_t>(list.items->size());
  if (expr.items.size() != 2) {
    reporter_.report(expr.range, diag::not_indexable, "a list, by more than one index");
    return {};
  }
  const Expr& at = *expr.items[1];
  const auto position = [&](const Expr* end, int64_t otherwise) -> std::optional<int64_t> {
    if (!end) return otherwise;
    const auto i = integer(evaluate(*end, scope), end->range, "an index");
    if (!i) return std::nullopt;
    return *i < 0 ? *i + n : *i;
  };
  if (at.kind == ExprKind::range) {
    const auto begin = position(at.items[0], 0), end = position(at.items[1], n);
    if (!begin || !end) return {};
    if (*begin < 0 || *end > n || *begin > *end) {
      reporter_.report(at.range, diag::slice_out_of_range, fmt::format("{} .. {}", *begin, *end), describe(list), std::to_string(n));
      return {};
    }
    return Value::of_items(list.kind, {list.items->begin() + *begin, list.items->begin() + *end});
  }
  const auto i = position(&at, 0);
  if (!i) return {};
  if (*i < 0 || *i >= n) {
    reporter_.report(at.range, diag::index_out_of_range, text_of(at), describe(list), std::to_string(n));
    return {};
  }
  return (*list.items)[static_cast<size_t>(*i)];
}

Value Evaluator::index_tensor(const Expr& expr, Tensor x, Scope* scope) {
  const types::TensorType type = emitter_.type(x);
  const size_t rank = type.rank(), given = expr.items.size() - 1;
  size_t dots = 0;
  for (size_t i = 1; i <= given; ++i) dots += expr.items[i] && expr.items[i]->kind == ExprKind::ellipsis ? 1 : 0;
  if (given - dots > rank || dots > 1) {
    auto reported = reporter_.report(expr.range, diag::too_many_indices, static_cast<int64_t>(given - dots), type.str());
    if (emitter_.range(x) != expr.items[0]->range) reported.note(emitter_.range(x), fmt::format("`{}` comes from here", type.str()));
    return {};
  }
  std::vector<int64_t> starts(rank, 0);
  types::Dims sliced = type.dims, kept;
  std::vector<char> dropped(rank, 0);
  bool good = true;
  size_t axis = 0;
  for (size_t i = 1; i <= given; ++i) {
    const Expr& at = *expr.items[i];
    if (at.kind == ExprKind::ellipsis) {
      axis += rank - (given - 1);
      continue;
    }
    const Dim& whole = type.dims[axis];
    const auto position = [&](const Expr* end, const Dim& otherwise) -> std::optional<Dim> {
      if (!end) return otherwise;
      const Value value = evaluate(*end, scope);
      if (!value.ok()) return std::nullopt;
      const auto dim = as_dim(value);
      if (!dim) {
        auto reported = reporter_.report(end->range, diag::setting_type, "an index", "an int", shown(value));
        if (value.is(ValueKind::tensor)) reported.help("`gather(x, i)` looks rows up by a tensor of indices");
        return std::nullopt;
      }
      const auto constant = dim->constant();
      return constant && *constant < 0 ? *dim + whole : *dim;
    };
    const bool is_range = at.kind == ExprKind::range;
    const auto begin = is_range ? position(at.items[0], Dim(0)) : position(&at, Dim(0));
    const auto end = !begin ? std::nullopt : is_range ? position(at.items[1], whole) : std::optional<Dim>(*begin + Dim(1));
    if (!begin || !end) {
      good = false;
      ++axis;
      continue;
    }
    const auto first = begin->constant();
    const Dim length = *end - *begin;
    if (!first || (!whole.is_constant() && !(*first == 0 && *end == whole))) {
      reporter_.report(at.range, diag::index_not_constant, static_cast<int64_t>(axis), type.str())
          .help("which elements are taken must be known before the first step");
      good = false;
    } else if (whole.is_constant() &&
               (!end->is_constant() || *first < 0 || *end->constant() > *whole.constant() || *length.constant() < 0)) {
      if (is_range) {
        reporter_.report(at.range, diag::slice_out_of_range, fmt::format("{} .. {}", begin->str(), end->str()),
                         fmt::format("axis {} of `{}`", axis, type.str()), whole.str());
      } else {
        reporter_.report(at.range, diag::index_out_of_range, text_of(at), fmt::format("axis {} of `{}`", axis, type.str()), whole.str());
      }
      good = false;
    } else {
      starts[axis] = *first;
      sliced[axis] = length;
      dropped[axis] = is_range ? 0 : 1;
    }
    ++axis;
  }
  if (!good) return {};
  for (size_t i = 0; i < rank; ++i) {
    if (!dropped[i]) kept.push_back(sliced[i]);
  }
  return Value::of_tensor(emitter_.reshape(emitter_.slice(x, starts, sliced, expr.range), kept, expr.range));
}

}  // namespace dtl::sema
