// Emitter, the ops: how each takes shapes and axes as the user sees them.
#include "compiler/sema/emit.h"

namespace dtl::sema {

using source::Range;
using types::Dim;
using types::Dims;
using types::Ints;
using types::TensorType;

namespace {

/// What an op computes in. u8 and i8 are how data lies in memory: arithmetic on them is that of i32, so that the difference of
/// two pixels is what it is; what only chooses among its operands keeps their type.
DType arithmetic(std::string_view op, DType dtype) {
  static constexpr std::string_view kOps[] = {"add", "subtract", "multiply", "floor_div", "mod", "negate", "abs"};
  const bool small = dtype == DType::u8 || dtype == DType::i8;
  return small && std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps) ? DType::i32 : dtype;
}

}  // namespace

Tensor Emitter::unary(std::string_view op, const Operand& x, Range range) {
  if (!x.value.ok()) return {};
  const bool any_number = op == "negate" || op == "abs" || op == "sign";
  const Operand operands[] = {x};
  const auto dtype = common(op, operands, x.range, !any_number);
  if (!dtype) return {};
  const auto ready = together(operands, arithmetic(op, *dtype), range, op);
  if (!ready) return {};
  return emit(op, *ready, {}, range, (*ready)[0].lead);
}

Tensor Emitter::binary(std::string_view op, const Operand& a, const Operand& b, Range range, std::string_view shown) {
  if (!a.value.ok() || !b.value.ok()) return {};
  const Operand operands[] = {a, b};
  const auto is_bool = [&](const Operand& o) { return o.value.is(ValueKind::boolean) || dtype_of(o.value) == DType::boolean; };
  std::optional<DType> dtype;
  if ((op == "equal" || op == "not_equal") && is_bool(a) && is_bool(b)) {
    dtype = DType::boolean;
  } else {
    dtype = common(shown, operands, range, op == "divide" || op == "power");
  }
  if (!dtype) return {};
  const auto ready = together(operands, arithmetic(op, *dtype), range, shown);
  if (!ready) return {};
  return emit(op, *ready, {}, range, (*ready)[0].lead, shown);
}

Tensor Emitter::logical(std::string_view op, const std::vector<Operand>& operands, Range range, std::string_view shown) {
  for (const Operand& operand : operands) {
    if (!operand.value.ok()) return {};
    if (operand.value.is(ValueKind::boolean) || dtype_of(operand.value) == DType::boolean) continue;
    reporter_
        ->report(operand.range, diag::needs_bool, std::string(shown),
                 operand.value.is(ValueKind::tensor) ? fmt::format("`{}`", type(operand.value.tensor).str()) : describe(operand.value))
        .help("compare it: `x != 0`");
    return {};
  }
  const auto ready = together(operands, DType::boolean, range, shown);
  if (!ready) return {};
  return emit(op, *ready, {}, range, (*ready)[0].lead, shown);
}

Tensor Emitter::select(const Operand& condition, const Operand& a, const Operand& b, Range range) {
  if (!condition.value.ok() || !a.value.ok() || !b.value.ok()) return {};
  if (dtype_of(condition.value) != DType::boolean) {
    reporter_->report(
        condition.range, diag::needs_bool, "select",
        condition.value.is(ValueKind::tensor) ? fmt::format("`{}`", type(condition.value.tensor).str()) : describe(condition.value));
    return {};
  }
  const Operand branches[] = {a, b};
  const bool bools = dtype_of(a.value) == DType::boolean && dtype_of(b.value) == DType::boolean;
  const auto dtype = bools ? DType::boolean : common("select", branches, range, false);
  if (!dtype) return {};
  // Numbers first become scalars of the branches' type, so that all three are tensors of one shape.
  const auto scalar = [&](const Operand& o) { return Operand{Value::of_tensor(materialise(o, *dtype, {}, "select")), o.range}; };
  const Operand all[] = {condition, scalar(a), scalar(b)};
  if (!all[1].value.ok() || !all[2].value.ok()) return {};
  Dims dims;
  bool lead = false;
  for (const Operand& o : all) {
    const auto joined = types::broadcast_dims(dims, type(o.value.tensor).dims);
    if (!joined) {
      reporter_->report(range, diag::shapes_differ, "select", TensorType{*dtype, dims}.str(), type(o.value.tensor).str());
      return {};
    }
    if (dims.size() * type(o.value.tensor).dims.size() > 0) warn_of_pairs("select", {*dtype, dims}, type(o.value.tensor), *joined, range);
    dims = *joined;
    lead |= o.value.tensor.lead;
  }
  std::vector<Tensor> ready;
  for (const Operand& o : all) {
    Tensor x = o.value.tensor;
    if (lead && !x.lead) x = with_lead(broadcast(x, dims, range), range);
    ready.push_back(broadcast(x, dims, range));
    if (!ready.back().ok()) return {};
  }
  return emit("select", ready, {}, range, lead);
}

Tensor Emitter::reshape(Tensor x, const Dims& dims, Range range) {
  if (!x.ok()) return {};
  const TensorType from = type(x);
  if (from.dims == dims) return x;
  const TensorType to{from.dtype, dims};
  if (from.elements() != to.elements()) {
    auto reported = reporter_->report(range, diag::elements_differ, from.str(), to.str(), from.elements().str(), to.elements().str());
    note_origin(reported, {Value::of_tensor(x), {}}, range);
    return {};
  }
  const Tensor operands[] = {x};
  return emit("reshape", operands, {{"shape", physical(dims, x.lead)}}, range, x.lead);
}

Tensor Emitter::transpose(Tensor x, const std::vector<int64_t>& permutation, Range range) {
  if (!x.ok()) return {};
  Ints full;
  if (x.lead) full.push_back(0);
  for (const int64_t axis : permutation) full.push_back(axis + (x.lead ? 1 : 0));
  const Tensor operands[] = {x};
  return emit("transpose", operands, {{"permutation", full}}, range, x.lead);
}

Tensor Emitter::slice(Tensor x, const std::vector<int64_t>& starts, const Dims& dims, Range range) {
  if (!x.ok() || type(x).dims == dims) return x;
  Ints full = starts;
  if (x.lead) full.insert(full.begin(), 0);
  const Tensor operands[] = {x};
  return emit("slice", operands, {{"starts", full}, {"shape", physical(dims, x.lead)}}, range, x.lead);
}

Tensor Emitter::pad(Tensor x, const std::vector<int64_t>& before, const Dims& dims, Range range) {
  if (!x.ok()) return {};
  Ints full = before;
  if (x.lead) full.insert(full.begin(), 0);
  const Tensor operands[] = {x};
  return emit("pad", operands, {{"before", full}, {"shape", physical(dims, x.lead)}}, range, x.lead);
}

Tensor Emitter::concat(const std::vector<Operand>& xs, int64_t axis, Range range) {
  const auto dtype = common("concat", xs, range, false);
  if (!dtype) return {};
  bool lead = false;
  for (const Operand& x : xs) lead |= x.value.is(ValueKind::tensor) && x.value.tensor.lead;
  std::vector<Tensor> ready;
  for (const Operand& x : xs) {
    Tensor t = materialise(x, *dtype, {}, "concat");
    if (lead) t = with_lead(t, range);
    if (!t.ok()) return {};
    ready.push_back(t);
  }
  return emit("concat", ready, {{"axis", axis + (lead ? 1 : 0)}}, range, lead);
}

Tensor Emitter::reduce(ReduceOp op, Tensor x, const std::vector<int64_t>& axes, bool keep, Range range) {
  if (!x.ok()) return {};
  const DType dtype = type(x).dtype;
  const bool adds = op == ReduceOp::sum || op == ReduceOp::product;
  if (adds && dtype == DType::boolean) x = cast(x, float_, range);
  // Sums of integers are i64, as NumPy has them: a sum of labels or pixels does not wrap.
  if (adds && is_integer(dtype)) x = cast(x, DType::i64, range);
  if (!x.ok()) return {};
  const Dims before = type(x).dims;
  Ints full;
  Dims kept = before;
  for (const int64_t axis : axes) {
    full.push_back(axis + (x.lead ? 1 : 0));
    kept[static_cast<size_t>(axis)] = Dim(1);
  }
  std::sort(full.begin(), full.end());
  if (full.empty()) return use(x, range, name_of(op));
  const Tensor operands[] = {x};
  const Tensor result = emit("reduce", operands, {{"op", op}, {"axes", full}}, range, x.lead, name_of(op));
  return keep && result.ok() ? reshape(result, kept, range) : result;
}

Tensor Emitter::argmax(Tensor x, int64_t axis, Range range) {
  if (!x.ok()) return {};
  const Tensor operands[] = {x};
  return emit("argmax", operands, {{"axis", axis + (x.lead ? 1 : 0)}}, range, x.lead);
}

Tensor Emitter::matmul(const Operand& a_operand, const Operand& b_operand, bool transpose_a, bool transpose_b, Range range) {
  const Operand both[] = {a_operand, b_operand};
  for (const Operand& o : both) {
    if (!o.value.ok()) return {};
    if (o.value.is(ValueKind::tensor) && type(o.value.tensor).rank() > 0) continue;
    reporter_->report(o.range, diag::needs_tensor, "matmul",
                      o.value.is(ValueKind::tensor) ? fmt::format("the scalar `{}`", type(o.value.tensor).str()) : describe(o.value));
    return {};
  }
  const auto dtype = common("matmul", both, range, true);
  if (!dtype) return {};
  Tensor a = cast(a_operand.value.tensor, *dtype, range), b = cast(b_operand.value.tensor, *dtype, range);
  if (!a.ok() || !b.ok()) return {};
  // A vector is a row on the left and a column on the right; the dimension made for it goes away after.
  const bool row = type(a).rank() == 1, column = type(b).rank() == 1;
  if (row && !(a.lead && !b.lead && !column && type(b).rank() == 2)) a = reshape(a, {Dim(1), type(a).dims[0]}, range);
  if (column) b = reshape(b, {type(b).dims[0], Dim(1)}, range);
  const bool batched_row = row && type(a).rank() == 1;  // the unseen batch is its rows
  Dims da = type(a).dims, db = type(b).dims;
  const Dim ka = da[da.size() - (transpose_a && !row ? 2 : 1)], kb = db[db.size() - (transpose_b && !column ? 1 : 2)];
  const bool ta = transpose_a && !row, tb = transpose_b && !column;
  if (ka != kb) {
    auto reported = reporter_->report(range, diag::inner_dimensions_differ, "matmul", ka.str(), kb.str());
    reported.note(a_operand.range, fmt::format("{} is of `{}`", ka.str(), type(a_operand.value.tensor).str()));
    reported.note(b_operand.range, fmt::format("{} is of `{}`", kb.str(), type(b_operand.value.tensor).str()));
    if (db.size() == 2 && db[1] == ka) reported.help("did you mean `transpose_b = true`?");
    return {};
  }
  const Dim n = db[db.size() - (tb ? 2 : 1)];
  Dims result_dims;
  Tensor result;
  if (db.size() == 2 && !b.lead) {
    if (batched_row) {
      const Tensor operands[] = {a, b};
      return emit("matmul", operands, {{"transpose_a", false}, {"transpose_b", tb}}, range, true);
    }
    result_dims = da;
    if (ta) std::swap(result_dims[da.size() - 2], result_dims[da.size() - 1]);
    // Leading dimensions are more rows of one product; a transposed left side has its rows last, so it is turned first.
    const bool flat = da.size() + (a.lead ? 1 : 0) > 2;
    if (flat && ta) {
      Ints turn;
      for (size_t i = 0; i < da.size(); ++i) turn.push_back(static_cast<int64_t>(i));
      std::swap(turn[da.size() - 2], turn[da.size() - 1]);
      a = transpose(a, turn, range);
    }
    if (!a.ok()) return {};
    Dim rows = a.lead ? Dim::symbol("batch") : Dim(1);
    for (size_t i = 0; i + 1 < result_dims.size(); ++i) rows = rows * result_dims[i];
    result_dims.back() = n;
    const bool lead = a.lead;
    if (flat) {
      a.lead = false;
      a = reshape(a, {rows, ka}, range);
    }
    const Tensor operands[] = {a, b};
    if (!a.ok()) return {};
    result = emit("matmul", operands, {{"transpose_a", ta && !flat}, {"transpose_b", tb}}, range, false);
    if (flat && result.ok()) result = reshape(result, physical(result_dims, lead), range);
    result.lead = lead;
  } else {
    const auto leading = types::broadcast_dims(Dims(da.begin(), da.end() - 2), Dims(db.begin(), db.end() - 2));
    if (!leading) {
      auto reported = reporter_->report(range, diag::shapes_differ, "matmul", type(a).str(), type(b).str());
      reported.help("all dimensions but the last two are aligned from the right");
      return {};
    }
    const bool lead = a.lead || b.lead;
    const auto spread = [&](Tensor x, const Dims& own) {
      Dims to = *leading;
      to.insert(to.end(), own.end() - 2, own.end());
      if (lead && !x.lead) x = with_lead(broadcast(x, to, range), range);
      return broadcast(x, to, range);
    };
    const Tensor operands[] = {spread(a, da), spread(b, db)};
    if (!operands[0].ok() || !operands[1].ok()) return {};
    result = emit("matmul", operands, {{"transpose_a", ta}, {"transpose_b", tb}}, range, lead);
  }
  if (!result.ok()) return {};
  Dims dims = type(result).dims;
  if (column) dims.pop_back();
  if (row) dims.erase(dims.end() - (column ? 1 : 2));
  return reshape(result, dims, range);
}

Tensor Emitter::iota(const Dims& dims, int64_t axis, DType dtype, Range range) {
  return emit("iota", {}, {{"shape", dims}, {"axis", axis}, {"dtype", dtype}}, range, false);
}

Tensor Emitter::gather(Tensor x, Tensor index, Range range) {
  if (!x.ok() || !index.ok()) return {};
  if (x.lead) {
    reporter_->report(range, diag::not_supported_yet, "gathering from a table of each example");
    return {};
  }
  const Tensor operands[] = {x, index};
  return emit("gather", operands, {}, range, index.lead);
}

Tensor Emitter::gather_along(Tensor x, Tensor index, int64_t axis, Range range) {
  if (!x.ok() || !index.ok()) return {};
  const auto at = static_cast<size_t>(axis);
  Dims from = type(x).dims, to = type(index).dims;
  if (from.size() == to.size()) {
    const Dim here = std::exchange(from[at], Dim(1)), there = std::exchange(to[at], Dim(1));
    if (const auto joined = types::broadcast_dims(from, to)) {
      from = to = *joined;
      from[at] = here;
      to[at] = there;
      const bool lead = x.lead || index.lead;
      const auto ready = [&](Tensor tensor, const Dims& dims) {
        return lead ? with_lead(broadcast(tensor, dims, range), range) : broadcast(tensor, dims, range);
      };
      const Tensor operands[] = {ready(x, from), ready(index, to)};
      if (!operands[0].ok() || !operands[1].ok()) return {};
      return emit("gather_along", operands, {{"axis", axis + (lead ? 1 : 0)}}, range, lead);
    }
  }
  reporter_->report(range, diag::shapes_differ, "gather_along", type(x).str(), type(index).str())
      .help(fmt::format("the index has as many dimensions as what it looks into; all but axis {} go together", axis));
  return {};
}

Tensor Emitter::windows(std::string_view op, Tensor x, types::Attrs attrs, Range range) {
  if (!x.ok()) return {};
  const Tensor operands[] = {x};
  return emit(op, operands, std::move(attrs), range, x.lead);
}

Tensor Emitter::stop_gradient(Tensor x, Range range) {
  if (!x.ok()) return {};
  const Tensor operands[] = {x};
  return emit("stop_gradient", operands, {}, range, x.lead);
}

Tensor Emitter::uniform(const Dims& dims, DType dtype, const std::string& instance, Range range) {
  if (!context_) return emit("uniform", {}, {}, range, false);  // reports that there is no place for tensors
  const std::string& path = context_->stream_path.empty() ? instance : context_->stream_path;
  const int use = context_->random_uses[path]++;
  const int64_t stream = stream_of(use == 0 ? path : fmt::format("{}#{}", path, use));
  const bool lead = context_->per_example;
  types::Attrs attrs{{"shape", physical(dims, lead)}, {"stream", stream}, {"dtype", dtype}};
  std::vector<Tensor> operands = {read_seed(range), read_updates(range)};
  // Numbers with a row for each example are the row's own, whichever batch it comes in.
  const Dims& shape = attrs.get<Dims>("shape");
  const auto axis = std::find_if(shape.begin(), shape.end(), [](const Dim& dim) { return !dim.is_constant(); });
  if (axis != shape.end()) {
    Tensor rows = read_rows(range);
    if (const int64_t unit = axis->unit(); unit != 1) {
      const Tensor factors[] = {rows, constant(static_cast<double>(unit), DType::i64, {}, range)};
      rows = emit("multiply", factors, {}, range, false);
    }
    operands.push_back(rows);
    attrs.set("axis", static_cast<int64_t>(axis - shape.begin()));
  }
  return emit("uniform", operands, std::move(attrs), range, lead, "random_uniform");
}

Tensor Emitter::reduce_varying(ReduceOp op, Tensor x, Range range) {
  if (!x.ok()) return {};
  const TensorType& type = x.body->values[static_cast<size_t>(x.id)].type;
  const graph::OpRecord& record = (*ops_)[*ops_->find("reduce_varying")];
  types::Attrs attrs{{"op", op}};
  const auto inferred = (*record.infer)(std::span(&type, 1), attrs);
  if (!inferred) {
    reporter_->report(range, diag::op_mismatch, "reduce", inferred.error().text);
    return {};
  }
  const Tensor result = value("reduce", (*inferred)[0], range);
  Statement& made = statement(StatementKind::op, range);
  made.op = "reduce_varying";
  made.attrs = std::move(attrs);
  made.operands = {x.id};
  made.results = {result.id};
  return result;
}

std::optional<int64_t> Emitter::axis(int64_t written, size_t rank, Tensor x, Range range) {
  const auto n = static_cast<int64_t>(rank);
  const int64_t axis = written < 0 ? written + n : written;
  if (axis >= 0 && axis < n) return axis;
  auto reported = reporter_->report(range, diag::axis_out_of_range, written, type(x).str());
  note_origin(reported, {Value::of_tensor(x), {}}, range);
  if (n > 0) reported.help(fmt::format("its axes are 0 to {}, or -{} to -1 from the end", n - 1, n));
  return std::nullopt;
}

}  // namespace dtl::sema
