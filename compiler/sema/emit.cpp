// Emitter, the base: values and statements, use of values where they may be used, casts, constants, operands brought together.
#include "compiler/sema/emit.h"

#include "compiler/source/check.h"
#include "runtime/plan/half.h"

namespace dtl::sema {

using source::Range;
using types::Dim;
using types::Dims;
using types::Ints;
using types::TensorType;

int64_t stream_of(std::string_view path) {
  uint64_t hash = 14695981039346656037ull;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return static_cast<int64_t>(hash >> 11);
}

// ---- statements

Tensor Emitter::value(std::string name, TensorType type, Range range, bool lead) {
  Body& body = *context_->body;
  const auto id = static_cast<int32_t>(body.values.size());
  body.values.push_back({std::move(name), std::move(type), false});
  context_->ranges.push_back(reporter_->place(range));
  context_->named.push_back(0);
  return {id, lead, &body};
}

Statement& Emitter::statement(StatementKind kind, Range range) {
  Statement& statement = context_->body->statements.emplace_back();
  statement.kind = kind;
  // What the library makes is told where the program calls it.
  statement.range = reporter_->place(range);
  return statement;
}

Tensor Emitter::read_seed(Range range) {
  if (!context_->seed) {
    const Tensor result = value("seed", {DType::i64, {}}, range);
    statement(StatementKind::read_seed, range).results = {result.id};
    context_->seed = result.id;
  }
  return {*context_->seed, false, context_->body};
}

Tensor Emitter::read_updates(Range range) {
  if (context_->initial) return constant(0, DType::i64, {}, range);
  if (!context_->updates) {
    const Tensor result = value("updates", {DType::i64, {}}, range);
    statement(StatementKind::read_updates, range).results = {result.id};
    context_->updates = result.id;
  }
  return {*context_->updates, false, context_->body};
}

Tensor Emitter::read_rows(Range range) {
  if (!context_->rows) {
    const Tensor result = value("rows", {DType::i64, {}}, range);
    statement(StatementKind::read_rows, range).results = {result.id};
    context_->rows = result.id;
  }
  return {*context_->rows, false, context_->body};
}

void Emitter::name(Tensor tensor, const std::string& name) {
  if (!tensor.ok() || tensor.body != context_->body) return;
  char& named = context_->named[static_cast<size_t>(tensor.id)];
  if (named) return;
  named = 1;
  context_->body->values[static_cast<size_t>(tensor.id)].name = name;
}

Tensor Emitter::check_index(Tensor x, int32_t site, Range range) {
  const TypedValue of = context_->body->values[static_cast<size_t>(x.id)];  // a copy: the store moves
  const Tensor result = value(of.name, of.type, range, x.lead);
  context_->body->values.back().local = of.local;
  Statement& check = statement(StatementKind::check_index, range);
  check.operands = {x.id};
  check.results = {result.id};
  check.index = site;
  return result;
}

// ---- types and use

TensorType Emitter::type(Tensor tensor) const {
  TensorType type = tensor.body->values[static_cast<size_t>(tensor.id)].type;
  if (tensor.lead) type.dims.erase(type.dims.begin());
  return type;
}

std::optional<DType> Emitter::dtype_of(const Value& value) const {
  if (!value.is(ValueKind::tensor)) return std::nullopt;
  return value.tensor.body->values[static_cast<size_t>(value.tensor.id)].type.dtype;
}

Tensor Emitter::use(Tensor tensor, Range range, std::string_view user) {
  if (!tensor.ok()) return {};
  if (tensor.body != context_->body) {
    reporter_->report(range, diag::value_of_another_body, context_->initial ? "an initial value" : "an optimizer's rule");
    return {};
  }
  const bool is_local = local(tensor);
  // Seed and counts are the same on every replica, inside a region too.
  if (tensor.id == context_->seed || tensor.id == context_->updates || tensor.id == context_->rows) return tensor;
  if (context_->region_start) {
    if (!is_local && tensor.id < *context_->region_start) return share(tensor, range);
  } else if (is_local) {
    const Range made = this->range(tensor);
    auto reported = reporter_->report(range, diag::local_as_global, std::string(user));
    if (made != range && !reporter_->in_library(made)) reported.note(made, "this is one value for each replica");
    reported.help("combine the replicas' values with `reduce(sum, …)`, `all_reduce(sum, …)` or `all_gather(…)`");
    return {};
  }
  return tensor;
}

Tensor Emitter::share(Tensor x, Range range) {
  if (auto known = context_->shares.find(x.id); known != context_->shares.end()) return {known->second, false, x.body};
  const TensorType& type = x.body->values[static_cast<size_t>(x.id)].type;
  for (size_t i = 1; i < type.dims.size(); ++i) {
    if (type.dims[i].is_constant()) continue;
    reporter_->report(range, diag::batch_not_first, type.str()).help("transpose it so that the batch is the first dimension");
    return {};
  }
  const graph::OpRecord& record = (*ops_)[*ops_->find("local_share")];
  const auto inferred = (*record.infer)(std::span(&type, 1), {});
  if (!inferred) {
    reporter_->report(range, diag::op_mismatch, "per_replica", inferred.error().text);
    return {};
  }
  const std::string name = x.body->values[static_cast<size_t>(x.id)].name;
  const Tensor result = value(name, (*inferred)[0], range);
  context_->body->values.back().local = true;
  Statement& made = statement(StatementKind::op, range);
  made.op = "local_share";
  made.operands = {x.id};
  made.results = {result.id};
  context_->shares.emplace(x.id, result.id);
  return result;
}

Dims Emitter::physical(const Dims& dims, bool lead) const {
  Dims result = dims;
  if (lead) result.insert(result.begin(), Dim::symbol("batch"));
  return result;
}

namespace {

bool mentions_share(const Dims& dims) {
  for (const Dim& dim : dims) {
    for (const std::string& symbol : dim.symbols()) {
      if (symbol.find('/') != std::string::npos) return true;
    }
  }
  return false;
}

}  // namespace

Tensor Emitter::emit(std::string_view op, std::span<const Tensor> operands, types::Attrs attrs, Range range, bool lead,
                     std::string_view user) {
  if (!context_) {
    reporter_->report(range, diag::misplaced, "a tensor", "made here: settings are known before the first step")
        .help("numbers and lists of numbers are settings");
    return {};
  }
  std::vector<int32_t> ids;
  std::vector<TensorType> operand_types;
  bool is_local = false;
  for (const Tensor operand : operands) {
    const Tensor used = use(operand, range, user.empty() ? fmt::format("`{}`", op) : fmt::format("`{}`", user));
    if (!used.ok()) return {};
    ids.push_back(used.id);
    operand_types.push_back(context_->body->values[static_cast<size_t>(used.id)].type);
    is_local |= local(used);
  }
  const auto id = ops_->find(op);
  DTL_CHECK(id, "sema uses the op `{}`, which the table lacks", op);
  const auto inferred = (*(*ops_)[*id].infer)(operand_types, attrs);
  if (!inferred) {
    auto reported = reporter_->report(range, diag::op_mismatch, std::string(user.empty() ? op : user), inferred.error().text);
    const int about = inferred.error().operand;
    for (size_t i = 0; i < operands.size(); ++i) {
      const Range made = this->range(operands[i]);
      if ((about < 0 || about == static_cast<int>(i)) && made != range && !reporter_->in_library(made)) {
        reported.note(made, fmt::format("`{}` comes from here", type(operands[i]).str()));
      }
    }
    return {};
  }
  DTL_CHECK(inferred->size() == 1, "`{}` has one result", op);
  const Tensor result = value(std::string(op), (*inferred)[0], range, lead);
  const types::AttrValue* dim = attrs.find("dim");
  is_local |= mentions_share((*inferred)[0].dims) || (dim && std::holds_alternative<Dims>(*dim) && mentions_share(std::get<Dims>(*dim)));
  context_->body->values.back().local = is_local;
  Statement& made = statement(StatementKind::op, range);
  made.op = op;
  made.attrs = std::move(attrs);
  made.operands = std::move(ids);
  made.results = {result.id};
  return result;
}

void Emitter::note_origin(source::Reported& reported, const Operand& operand, Range told) {
  if (!operand.value.is(ValueKind::tensor)) return;
  const Range made = range(operand.value.tensor);
  if (made == reporter_->place(told) || made == operand.range || !made.known() || reporter_->in_library(made)) return;
  reported.note(made, fmt::format("`{}` comes from here", type(operand.value.tensor).str()));
}

// ---- constants and casts

Tensor Emitter::constant(double value, DType dtype, Dims dims, Range range) {
  return emit("constant", {}, {{"value", value}, {"dtype", dtype}, {"shape", std::move(dims)}}, range, false);
}

Tensor Emitter::size(const Dim& dim, DType dtype, Range range) {
  return emit("size", {}, {{"dim", Dims{dim}}, {"dtype", dtype}}, range, false);
}

Tensor Emitter::cast(Tensor x, DType dtype, Range range) {
  if (!x.ok() || type(x).dtype == dtype) return x;
  const Tensor operands[] = {x};
  return emit("cast", operands, {{"to", dtype}}, range, x.lead);
}

namespace {

/// Does a number known at compile time keep its meaning in the type? Floats round, but do not become infinite; integers are
/// whole, in range, and exact on their way through a constant, which is an f64.
bool fits(const Value& value, DType dtype) {
  const double number = value.as_number();
  switch (dtype) {
    case DType::f64:
    case DType::boolean:
      return true;
    case DType::f32:
      return !std::isfinite(number) || std::isfinite(static_cast<float>(number));
    case DType::bf16:
    case DType::f16:
      return !std::isfinite(number) || std::isfinite(plan::narrowed(dtype, number));
    case DType::i64:
    case DType::i32:
    case DType::i8:
    case DType::u8: {
      const int bits = static_cast<int>(size_of(dtype)) * 8;
      const double low = dtype == DType::u8 ? 0 : -std::ldexp(1.0, bits - 1), high = std::ldexp(1.0, dtype == DType::u8 ? bits : bits - 1);
      if (!(number >= low && number < high) || std::trunc(number) != number) return false;
      return !value.is(ValueKind::integer) || static_cast<int64_t>(number) == value.integer;
    }
  }
  return true;
}

}  // namespace

void Emitter::needs_tensor(const Value& value, Range range, std::string_view user) {
  const std::string callee = reporter_->callee(range);
  auto reported = reporter_->report(range, diag::needs_tensor, callee.empty() ? std::string(user) : callee, describe(value));
  const bool function = value.is(ValueKind::lambda) || value.is(ValueKind::constant_function) || value.is(ValueKind::declared) ||
                        value.is(ValueKind::builtin) || value.is(ValueKind::pending);
  if (value.is(ValueKind::row_text)) {
    reported.help("`encode(" + value.text + ", vocabulary, length = 64)` makes numbers of it, `" + value.text + " == \"…\"` a bool");
  } else if (function && context_ && context_->optimizer) {
    reported.help("a schedule is a function of the count of updates: the rate of this update is `learning_rate(updates)`");
  } else if (function) {
    reported.help("a function is called for its number; a schedule made of another is `step => 2 * f(step)`");
  }
}

Tensor Emitter::materialise(const Operand& operand, DType dtype, const Dims& dims, std::string_view user) {
  const Value& v = operand.value;
  switch (v.kind) {
    case ValueKind::tensor:
      return cast(v.tensor, dtype, operand.range);
    case ValueKind::integer:
    case ValueKind::number: {
      if (!fits(v, dtype)) {
        auto reported =
            reporter_->report(operand.range, diag::number_does_not_fit,
                              v.is(ValueKind::integer) ? fmt::format("{}", v.integer)
                                                       : fmt::format("{}", std::isnan(v.number) ? std::fabs(v.number) : v.number),
                              std::string(name_of(dtype)));
        if (is_integer(dtype)) reported.help("`cast` the other side to a type that holds it");
        return {};
      }
      return constant(v.as_number(), dtype, dims, operand.range);
    }
    case ValueKind::boolean:
      return constant(v.boolean ? 1 : 0, DType::boolean, dims, operand.range);
    case ValueKind::dim:
      return size(v.dim, dtype, operand.range);
    case ValueKind::error:
      return {};
    case ValueKind::unit:
    case ValueKind::none:
    case ValueKind::text:
    case ValueKind::quantity:
    case ValueKind::dtype:
    case ValueKind::word:
    case ValueKind::vocabulary:
    case ValueKind::row_text:
    case ValueKind::list:
    case ValueKind::tuple:
    case ValueKind::record:
    case ValueKind::range:
    case ValueKind::declared:
    case ValueKind::builtin:
    case ValueKind::lambda:
    case ValueKind::constant_function:
    case ValueKind::recipe:
    case ValueKind::instance:
    case ValueKind::pending:
    case ValueKind::optimizer:
    case ValueKind::strategy:
    case ValueKind::update:
      break;
  }
  needs_tensor(v, operand.range, user);
  return {};
}

// ---- operands of elementwise ops

namespace {

int width_rank(DType dtype) {
  switch (dtype) {
    case DType::i64:
      return 3;
    case DType::i32:
      return 2;
    case DType::i8:
    case DType::u8:
      return 1;
    case DType::f64:
    case DType::f32:
    case DType::bf16:
    case DType::f16:
    case DType::boolean:
      return 0;
  }
  return 0;
}

}  // namespace

std::optional<DType> Emitter::common(std::string_view shown, std::span<const Operand> operands, Range range, bool divides) {
  std::optional<DType> real, whole;
  const Operand* real_from = nullptr;
  bool weak_real = false;
  for (const Operand& operand : operands) {
    if (!operand.value.ok()) return std::nullopt;
    const auto dtype = dtype_of(operand.value);
    if (!dtype) {
      if (!operand.value.is_number()) {
        needs_tensor(operand.value, operand.range, shown);
        return std::nullopt;
      }
      weak_real |= operand.value.is(ValueKind::number);
    } else if (*dtype == DType::boolean) {
      auto reported = reporter_->report(operand.range, diag::needs_numbers, std::string(shown), type(operand.value.tensor).str());
      note_origin(reported, operand, range);
      reported.help("`cast(…, f32)` makes true 1 and false 0");
      return std::nullopt;
    } else if (is_float(*dtype)) {
      if (real && *real != *dtype) {
        auto reported =
            reporter_->report(range, diag::two_float_types, std::string(shown), std::string(name_of(*real)), std::string(name_of(*dtype)));
        note_origin(reported, *real_from, range);
        note_origin(reported, operand, range);
        reported.help(fmt::format("write `cast(…, {})` around one of them", name_of(*real)));
        return std::nullopt;
      }
      real = dtype;
      real_from = &operand;
    } else if (!whole) {
      whole = dtype;
    } else if (*whole != *dtype) {
      // u8 with i8 meets in i32, else the wider.
      whole = width_rank(*whole) == width_rank(*dtype) ? DType::i32 : (width_rank(*whole) > width_rank(*dtype) ? *whole : *dtype);
    }
  }
  if (real) return real;
  if (weak_real || divides) return float_;
  return whole ? *whole : DType::i64;
}

std::optional<std::vector<Tensor>> Emitter::together(std::span<const Operand> written, DType dtype, Range range, std::string_view shown) {
  // Inside a region it is the shapes of shares that must fit.
  std::vector<Operand> operands(written.begin(), written.end());
  for (Operand& operand : operands) {
    if (!operand.value.is(ValueKind::tensor)) continue;
    operand.value.tensor = use(operand.value.tensor, range, fmt::format("`{}`", shown));
    if (!operand.value.tensor.ok()) return std::nullopt;
  }
  Dims dims;
  const Operand* widest = nullptr;
  bool lead = false;
  for (const Operand& operand : operands) {
    if (!operand.value.is(ValueKind::tensor)) continue;
    const TensorType type = this->type(operand.value.tensor);
    lead |= operand.value.tensor.lead;
    const auto joined = types::broadcast_dims(dims, type.dims);
    if (!joined) {
      auto reported = reporter_->report(range, diag::shapes_differ, std::string(shown), this->type(widest->value.tensor).str(), type.str());
      note_origin(reported, *widest, range);
      note_origin(reported, operand, range);
      const Dims &wide = dims.size() > type.dims.size() ? dims : type.dims, &narrow = dims.size() > type.dims.size() ? type.dims : dims;
      if (wide.size() == narrow.size() + 1 && std::equal(narrow.begin(), narrow.end(), wide.begin())) {
        reported.help("`expand(…, axis = -1)` gives the smaller one the missing last dimension");
      } else {
        reported.help("shapes are aligned from the right; a dimension of 1 stretches");
      }
      return std::nullopt;
    }
    if (widest) warn_of_pairs(shown, this->type(widest->value.tensor), type, *joined, range);
    if (!widest || type.dims.size() >= this->type(widest->value.tensor).dims.size()) widest = &operand;
    dims = *joined;
  }
  std::vector<Tensor> result;
  for (const Operand& operand : operands) {
    const bool is_tensor = operand.value.is(ValueKind::tensor);
    Tensor x = materialise(operand, dtype, physical(dims, lead), shown);
    if (!x.ok()) return std::nullopt;
    if (!is_tensor && !operand.value.is(ValueKind::dim)) {
      x.lead = lead;
    } else {
      if (lead && !x.lead) {
        x = broadcast(x, dims, range);
        x = with_lead(x, range);
      }
      x = broadcast(x, dims, range);
    }
    if (!x.ok()) return std::nullopt;
    result.push_back(x);
  }
  return result;
}

void Emitter::warn_of_pairs(std::string_view shown, const TensorType& a, const TensorType& b, const Dims& joined, Range range) {
  // Who wants all pairs writes the 1 on both sides.
  if (a.dims.size() == b.dims.size()) return;
  for (const types::Dim& dim : joined) {
    const auto times = [&dim](const Dims& dims) { return std::count(dims.begin(), dims.end(), dim); };
    if (dim.is_constant() || times(joined) <= std::max(times(a.dims), times(b.dims))) continue;
    const Range place = reporter_->place(range);
    if (!reporter_->first(diag::dimension_repeats, place)) return;
    const std::string callee = reporter_->callee(range);
    const TensorType& small = a.dims.size() < b.dims.size() ? a : b;
    reporter_
        ->report(place, diag::dimension_repeats, callee.empty() ? std::string(shown) : callee, a.str(), b.str(),
                 TensorType{a.dtype, joined}.str())
        .help(fmt::format("`expand(…, axis = -1)` of `{}` pairs row with row; where all pairs are meant, `expand(…, axis = 0)` says so",
                          small.str()));
    return;
  }
}

Tensor Emitter::with_lead(Tensor x, Range range) {
  if (!x.ok() || x.lead) return x;
  const Dims dims = type(x).dims;
  Ints map;
  for (size_t i = 0; i < dims.size(); ++i) map.push_back(static_cast<int64_t>(i) + 1);
  const Tensor operands[] = {x};
  return emit("broadcast", operands, {{"shape", physical(dims, true)}, {"dims", map}}, range, true);
}

Tensor Emitter::broadcast(Tensor x, const Dims& dims, Range range) {
  if (!x.ok()) return {};
  const Dims own = type(x).dims;
  if (own == dims) return x;
  // What is stretched over a replica's share is each replica's own.
  if (mentions_share(dims) && !local(x)) x = share(x, range);
  if (!x.ok()) return {};
  const size_t skip = dims.size() - own.size(), lead = x.lead ? 1 : 0;
  Dims kept;
  Ints map;
  if (x.lead) map.push_back(0);
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i] != dims[i + skip]) continue;  // a 1 that stretches is dropped first
    kept.push_back(own[i]);
    map.push_back(static_cast<int64_t>(i + skip + lead));
  }
  if (kept.size() != own.size()) x = reshape(x, kept, range);
  if (!x.ok() || kept == dims) return x;
  const Tensor operands[] = {x};
  return emit("broadcast", operands, {{"shape", physical(dims, x.lead)}, {"dims", map}}, range, x.lead);
}

Tensor Emitter::reveal_batch(Tensor x, Range range) {
  x = with_lead(x, range);
  x.lead = false;
  return x;
}

}  // namespace dtl::sema
