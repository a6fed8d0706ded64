// The Ast: what was written, with source ranges. Nodes live in their file's arena and never change.
//
// takes:    the ANTLR parse tree (parse.h), which nothing else sees
// gives:    declarations, types, expressions, body items; comments are kept beside (Ast::comments)
// promises: format(parse(text)) parses to an equal Ast
// print it: `dslc emit --stage ast`
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/source/source_file.h"

namespace dtl::syntax {

using source::Range;
struct Expr;
struct TypeExpr;
struct Body;

/// A name with its place.
struct Ident {
  std::string text;
  Range range;
};

/// An argument of a call, or an element of a record literal: `value` or `name = value`.
struct Argument {
  std::optional<Ident> name;
  const Expr* value;
};

/// A parameter: `name`, `name: type`, `name: type = value`.
struct Parameter {
  Ident name;
  const TypeExpr* type = nullptr;
  const Expr* value = nullptr;
  std::string doc;
};

enum class ExprKind : uint8_t {
  integer,   ///< `10_000`: `integer`
  number,    ///< `1e-3`: `number`
  quantity,  ///< `25MB` bytes, `30s` seconds, `80%` fraction, `1 epoch`: `number` in the base unit, `name` = size|duration|percent|count,
             ///< `unit` as written
  string,    ///< `text`, escapes resolved
  boolean,   ///< `integer` 0 or 1
  name,      ///< `name`
  list,      ///< `items`
  record,    ///< `{ a = x, b = y }`: `arguments`
  tuple,     ///< `(a, b)`, `()`: `items`
  lambda,    ///< `x => e`, `(x, y) => e`: `parameters`, `items[0]`
  call,      ///< `items[0]`(`arguments`)
  index,     ///< `items[0]`[`items[1..]`], each a range, an expression or an ellipsis
  field,     ///< `items[0]`.`name`
  unary,     ///< `op` items[0]: `-`, `not`
  binary,    ///< items[0] `op` items[1]: + - * / ** == != < <= > >= and or
  pipe,      ///< items[0] |> items[1]; the right side is a call or a name
  range,     ///< items[0] .. items[1]; either may be null inside `[]`
  ellipsis,  ///< `...` inside `[]`
  if_else,   ///< `if c { a } else { b }`: items[0], bodies[0], bodies[1] (absent: none)
  per_replica,  ///< `per_replica { … }`: bodies[0]
  with,         ///< `X with { a = … }`: items[0], arguments
  group,        ///< `(e)`: items[0]; kept for the formatter
};

struct Expr {
  ExprKind kind;
  Range range;
  int64_t integer = 0;
  double number = 0;
  std::string name, unit, text, op;
  Range name_range;  ///< of a field's name, an operator, …
  std::vector<const Expr*> items;
  std::vector<Argument> arguments;
  std::vector<Parameter> parameters;
  std::vector<const Body*> bodies;
};

enum class TypeKind : uint8_t {
  named,     ///< `int`, `float`, `f32`, `devices`, `f32[batch, 10]`: `name`, with `dims` if `has_dims`
  list,      ///< `[int]`: items[0]
  tuple,     ///< `(f32[n], int)`: items
  function,  ///< `(float[...]) -> float[...]`: items, last one the result
  record,    ///< `{ a: f32[], b: int }`: names, items
  optional,  ///< `int?`: items[0]
  words,     ///< `same | valid | int`: alternatives, each a word or a type: items (named)
};

/// One dimension of a type: an expression over integers and names, or `...`.
struct DimExpr {
  bool ellipsis = false;
  const Expr* value = nullptr;
};

struct TypeExpr {
  TypeKind kind;
  Range range;
  std::string name;
  bool has_dims = false;
  std::vector<DimExpr> dims;
  std::vector<const TypeExpr*> items;
  std::vector<Ident> names;
  const Expr* placement = nullptr;  ///< after `@`
};

enum class ItemKind : uint8_t {
  let,         ///< `let names: type = value`; several names destructure a tuple
  weight,      ///< `weight name: type = value`
  state,       ///< `state name: type = value`
  update,      ///< `names[0] <- value`
  for_each,    ///< `for names in value { body }`
  if_else,     ///< `if value { body } else { other }` as a statement (an `if` that ends a body is its result: expression)
  require,     ///< `require value else "text"`
  assign,      ///< `names[0] = value`: a setting, an output
  block,       ///< `names[0] (parameters) { body }`: example, augment, step
  expression,  ///< `value`
};

struct Item {
  ItemKind kind;
  Range range;
  std::vector<Ident> names;
  const TypeExpr* type = nullptr;
  const Expr* value = nullptr;
  std::vector<Parameter> parameters;
  const Body* body = nullptr;
  const Body* other = nullptr;
  std::string text;  ///< require's message
  std::string doc;
};

struct Body {
  Range range;  ///< the braces included
  std::vector<const Item*> items;
};

enum class DeclKind : uint8_t { import_file, param, dataset, layer, model, function, optimizer, strategy, train };

struct Decl {
  DeclKind kind;
  Range range;
  Ident name;                      ///< import: the alias or empty; train: may be empty
  std::string doc;                 ///< the `///` lines above, joined by newlines
  std::string path;                ///< import
  const TypeExpr* type = nullptr;  ///< param; result type of layer, model, fn
  const Expr* value = nullptr;     ///< param's default; `strategy Name = value`; `dataset Name = X with {…}`
  bool has_hyper = false;          ///< the first of a layer's or optimizer's two lists, a strategy's only one
  std::vector<Parameter> hyper, parameters;
  const Body* body = nullptr;
};

struct Comment {
  Range range;
  std::string text;  ///< with its slashes
  bool own_line;     ///< nothing but blanks before it
};

struct Ast {
  source::FileId file;
  std::vector<const Decl*> decls;
  std::vector<Comment> comments;  ///< `//` only, in order
  // Arenas.
  std::deque<Expr> exprs;
  std::deque<TypeExpr> types;
  std::deque<Item> items;
  std::deque<Body> bodies;
  std::deque<Decl> decl_store;

  Ast() = default;
  Ast(const Ast&) = delete;
  Ast& operator=(const Ast&) = delete;
};

}  // namespace dtl::syntax
