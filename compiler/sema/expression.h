// One expression on its own, as an interactive session asks for it: to a Program whose `eval_step` computes it.
//
// takes:    declarations, earlier `let`s, tensors held from before, an item: an expression or a `let`
// gives:    a compile-time value as text, or a Program that reads the held tensors as states and writes its results as states
// promises: as sema.h; the batch of the session is 1, `training` is false
// print it: `:type` and `:graph` of `dslc repl`
#pragma once

#include "compiler/sema/sema.h"

namespace dtl::sema {

/// A tensor of an earlier line. In the Program: a state of that path.
struct Held {
  std::string name;
  types::TensorType type;
  size_t after = 0;  ///< it came after so many of the `lets`
};

struct ExpressionRequest {
  const syntax::Item* item = nullptr;
  std::vector<const syntax::Item*> lets;  ///< earlier ones of compile-time values, in order
  std::vector<Held> held;
  /// What its random numbers and the weights of its layers are keyed by, so that two inputs draw different ones.
  std::string path = "it";
  const syntax::Expr* strategy = nullptr;  ///< what places it; null: all in one place
  bool gradient = false;                   ///< compute, in place of a scalar, its derivative by each held tensor and weight that it reads
};

/// One tensor that is computed.
struct ExpressionOutput {
  std::string name;  ///< the `let`'s; else `it`, `it.0`, `it.logits`; with `gradient`: what it is the derivative by
  std::string path;  ///< of the state that it is written to
  types::TensorType type;
};

struct ExpressionResult {
  std::vector<ExpressionOutput> outputs;  ///< empty: a compile-time value
  std::string shown;                      ///< the compile-time value as text; empty: none (a statement)
  std::string type;                       ///< what it is: `f32[3, 4]`, "the integer 3"
};

/// Nothing after a report.
std::optional<Program> check_expression(const syntax::Ast& file, const std::vector<std::unique_ptr<syntax::Ast>>& library,
                                        const graph::OpTable& ops, const Options& options, const ExpressionRequest& request,
                                        ExpressionResult& result, source::Sink& sink);

}  // namespace dtl::sema
