// Compile-time values: what an expression is worth before the first step, and where it was written.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/sema/program.h"
#include "compiler/syntax/ast.h"

namespace dtl::sema {

struct Builtin;
struct Value;
class Scope;

/// A tensor of the body being built. In `example`, a value of each example: its batch dimension (`lead`) is unseen.
struct Tensor {
  int32_t id = -1;
  bool lead = false;
  const Body* body = nullptr;
  bool ok() const { return id >= 0; }
};

/// One instance of a model or layer: where its weights live, and how its callees are numbered.
struct Instance {
  std::string path;   ///< `Classifier/dense.0`
  std::string model;  ///< the model it is under
  std::map<std::string, int> counters;
};

enum class ValueKind : uint8_t {
  error,  ///< poisoned: a mistake was reported, nothing more is said about it
  unit,   ///< `()`, what a statement gives
  none,   ///< the word `none`
  integer,
  number,
  boolean,
  text,
  quantity,  ///< `number` in the base unit; `text` = size, duration, percent or count; `unit`
  dim,       ///< a dimension known only at run time, as a number
  dtype,
  word,  ///< a word of an enumeration
  list,
  tuple,
  record,
  range,  ///< items: begin, end
  tensor,
  declared,  ///< a fn, layer, model, optimizer, strategy or dataset by its name
  builtin,
  lambda,
  constant_function,  ///< a number where a schedule is expected: items[0] whatever the arguments
  recipe,             ///< a layer with its hyperparameters
  instance,           ///< the same, bound once by a `let`: its calls share weights
  pending,            ///< an initialiser that waits for its shape
  optimizer,          ///< an optimizer with its hyperparameters
  strategy,
  vocabulary,  ///< of a dataset: `text` = its name, `integer` = its size
  row_text,    ///< a field of texts in `example`: `text` = its name
  update,      ///< how the weights agree: `text` = periodic, asynchronous, …
};

/// What can be called or instantiated: a declaration or lambda, with the names it was given.
struct Closure {
  const syntax::Decl* decl = nullptr;
  const syntax::Expr* lambda = nullptr;
  const Builtin* builtin = nullptr;
  Scope* scope = nullptr;                      ///< of a lambda: where it was written; else the bound hyperparameters
  std::shared_ptr<Instance> instance;          ///< of a let-bound layer
  std::vector<syntax::Argument> changes = {};  ///< of a strategy: fields that `with` puts in place of the declaration's
};

struct Value {
  ValueKind kind = ValueKind::error;
  bool boolean = false;
  DType dtype = DType::f32;
  int64_t integer = 0;
  double number = 0;
  std::string text, unit;
  types::Dim dim;
  Tensor tensor;
  std::shared_ptr<const std::vector<Value>> items;
  std::shared_ptr<const std::vector<std::string>> names;  ///< of a record
  std::shared_ptr<const Closure> closure;
  std::shared_ptr<const types::Strategy> strategy;
  std::shared_ptr<const VocabularySpec> vocabulary;
  source::Range origin;  ///< where it was written: the file, `--set`, or a default

  bool ok() const { return kind != ValueKind::error; }
  bool is(ValueKind k) const { return kind == k; }
  /// An integer, a number or a run-time dimension: takes the dtype of the tensor it meets.
  bool is_number() const { return kind == ValueKind::integer || kind == ValueKind::number || kind == ValueKind::dim; }
  double as_number() const { return kind == ValueKind::integer ? static_cast<double>(integer) : number; }
  const Value* find(std::string_view name) const;

  static Value unit_value() { return of(ValueKind::unit); }
  static Value of(ValueKind kind);
  static Value of_integer(int64_t value);
  static Value of_number(double value);
  static Value of_boolean(bool value);
  static Value of_text(ValueKind kind, std::string text);
  static Value of_dtype(DType dtype);
  /// An integer where the dimension is constant.
  static Value of_dim(const types::Dim& dim);
  static Value of_tensor(Tensor tensor);  ///< an error where the tensor is none
  static Value of_items(ValueKind kind, std::vector<Value> items);
  static Value of_record(std::vector<std::string> names, std::vector<Value> items);
  static Value of_closure(ValueKind kind, Closure closure);
  Value at(source::Range range) &&;
};

/// The dimension that an integer or run-time dimension stands for.
std::optional<types::Dim> as_dim(const Value& value);

/// What it is, in the user's terms: `the number 3`, "a list", "`i64[batch]`" needs the caller's type.
std::string describe(const Value& value);

/// A string literal that means the text.
std::string quoted(std::string_view text);
/// As source: for records of effective values and messages.
std::string text_of(const syntax::Expr& expr);
std::string text_of(const syntax::TypeExpr& type);

/// The nearest of `names` to `wrong`, if near enough to be meant: spelt alike, else what other libraries call so, else by few letters.
std::optional<std::string> nearest(std::string_view wrong, const std::vector<std::string>& names);
/// `a`, `b` and `c`, each in backquotes.
std::string enumerate(const std::vector<std::string>& names, std::string_view last = "and");

}  // namespace dtl::sema
