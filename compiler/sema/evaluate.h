// Evaluator: walks expressions and bodies with compile-time values, and emits typed statements where tensors are involved.
// Functions, layers and models are instantiated at each call with the types of their arguments.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/sema/emit.h"
#include "compiler/sema/reporter.h"
#include "compiler/sema/scope.h"
#include "compiler/sema/sema.h"
#include "compiler/sema/value.h"

namespace dtl::sema {

/// An argument on its way: evaluated once the parameter's type is known.
struct Arg {
  std::optional<syntax::Ident> name;
  const syntax::Expr* expr = nullptr;
  std::optional<Value> value;
  source::Range range;
  Scope* scope = nullptr;
};
using Args = std::vector<Arg>;

/// What the names of a signature's dimensions and `float` stand for in one call.
struct CallTypes {
  struct Bound {
    types::Dim dim;
    std::string from;  ///< the argument that fixed it
  };
  std::map<std::string, Bound> dims;
  std::optional<DType> real, whole;  ///< what `float`, `int` stand for
  std::optional<types::Dims> dots;   ///< what `...` stands for
  std::string dots_from;             ///< the argument that fixed it
  std::string callee;
  Scope* scope = nullptr;
};

/// One activation of a fn, layer, model or optimizer.
struct Activation {
  const syntax::Decl* decl = nullptr;
  CallTypes types;
};

/// The optimizer's rule being built for one weight.
struct OptimizerFrame {
  Update* update;
  std::string prefix;      ///< `Classifier/dense.0/kernel:adam`
  types::TensorType type;  ///< of the weight
  Binding* weight = nullptr;
  std::vector<Binding*> states;
  bool updated = false;
};

/// What `minimize` and `report` write to: the training step, or nothing.
struct StepFrame {
  std::vector<std::pair<std::string, source::Range>> reported;
  std::set<int32_t> minimized, trained;  ///< weights that a `minimize` is over, and those that a gradient reaches
};

class Evaluator {
 public:
  /// All of them outlive it.
  Evaluator(Emitter& emitter, Reporter& reporter, Program& program, Shared& shared, const Options& options);

  // ---- names
  /// The declarations that a name written there may mean.
  const Globals& globals(source::Range range) const;
  /// A declaration of an imported file; null after a report.
  const syntax::Decl* member(const syntax::Decl& import, const std::string& name, source::Range range);
  Scope* file_root = nullptr;
  Scope* library_root = nullptr;
  const DataCatalogue* catalogue = nullptr;              ///< opens the vocabularies of datasets
  std::map<const syntax::Decl*, Scope*> dataset_scopes;  ///< made so far (dataset.h)

  Value lookup(const std::string& name, source::Range range, Scope* scope, bool callee = false);
  /// With the words that may stand there, those are what is suggested.
  void unknown_name(const std::string& name, source::Range range, Scope* scope, std::span<const std::string_view> words = {});
  /// Reports a name that means nothing where a declaration of one kind is asked for; `kind` is a strategy, an optimizer or a layer.
  void unknown_declaration(const std::string& name, source::Range range, syntax::DeclKind kind);
  /// Whether a name means anything at all there.
  bool is_known(const std::string& name, source::Range range, Scope* scope);
  Value declared(const syntax::Decl& decl);

  // ---- expressions
  Value evaluate(const syntax::Expr& expr, Scope* scope);
  /// With the words of an enumeration in scope; checks nothing.
  Value evaluate_as(const syntax::Expr& expr, Scope* scope, const syntax::TypeExpr* type);
  Value evaluate_word(const syntax::Expr& expr, Scope* scope, std::span<const std::string_view> words);
  Value evaluate(const Arg& arg);
  Value binary(const std::string& op, const Operand& a, const Operand& b, source::Range range);
  /// A compile-time int or nothing, reported as the setting or argument `what`.
  std::optional<int64_t> integer(const Value& value, source::Range range, const std::string& what);

  /// Counts `count` turns of loops at compile time, or elements of lists; false after a report, once all of a program are too many.
  bool take_turns(int64_t count, source::Range range);

  // ---- calls
  Value call(const Value& callee, Args args, source::Range range, Scope* scope);
  /// Which argument each parameter gets; nothing after a report. An absent one is null.
  std::optional<std::vector<const Arg*>> bind(const std::vector<std::string>& names, const Args& args, const std::string& callee,
                                              source::Range range, source::Range declared);
  Value call_model(const syntax::Decl& decl, Args args, source::Range range);
  /// Hyperparameters of a layer, optimizer or strategy into a scope of their own.
  Scope* bind_hyper(const syntax::Decl& decl, const Args& args, source::Range range);
  bool is_callable(const Value& value) const;

  // ---- types
  /// Checks `value` against a declared type, converting numbers; binds the names of dimensions. `what` starts the report.
  /// A type that is no tensor's, such as `schedule`: where words are listed it is none.
  static bool is_plain_type(std::string_view name);
  bool accept(Value& value, const syntax::TypeExpr& type, CallTypes& types, const std::string& what, source::Range range, bool hyper);
  std::optional<types::TensorType> tensor_type(const syntax::TypeExpr& type, CallTypes& types);
  std::optional<DType> dtype_named(const std::string& name) const;

  // ---- bodies
  Value run_items(const syntax::Body& body, Scope* scope, bool wants_result);
  Value run_item(const syntax::Item& item, Scope* scope);
  /// What a `let` names is known in `into`, which is `scope` or within it.
  Value run_item(const syntax::Item& item, Scope* scope, Scope* into);
  /// Whether it is met, or cannot be told; reports one that is not.
  bool require(const syntax::Item& item, Scope* scope);
  void report_assignment(const syntax::Item& item, Scope* scope);
  /// An initial value of a weight or state: a number, an initialiser, a tensor.
  Tensor initial_value(const Value& value, const types::TensorType& type, source::Range range);
  void instantiate_optimizer(const Value& optimizer, int32_t weight, MinimizeSite& site, source::Range range);

  Emitter& emitter() { return emitter_; }
  Reporter& reporter() { return reporter_; }
  Program& program() { return program_; }
  const Options& options() const { return options_; }
  Scopes& scopes() { return scopes_; }
  Instance* instance() { return instance_; }
  /// Layers called from here on belong to this instance, until the return value is given back.
  Instance* enter_instance(Instance* instance) { return std::exchange(instance_, instance); }
  /// Who evaluates params for this walk; null: itself.
  Evaluator* params = nullptr;
  std::set<const syntax::Decl*> entered;  ///< declarations instantiated so far
  StepFrame* step = nullptr;
  /// Where results of layers and models go, with the paths of their instances, while it is set.
  std::vector<std::pair<std::string, Value>>* layer_results = nullptr;
  std::optional<std::string> predict;  ///< Options::predict, for the train block that is chosen
  bool stands_in = false;              ///< a model at fault gave what it promises, so that its callers go on: no weights are behind that
  /// What a value is, a tensor with its type.
  std::string shown(const Value& value) const;
  bool in_library(const syntax::Decl& decl) const { return reporter_.in_library(decl.range); }

 private:
  /// What `run` gives; an error, reported at `range`, where it comes upon a dimension beyond 64 bits.
  template <class Run>
  Value within_64_bits(source::Range range, Run run);
  /// Counts evaluations of all walks; false once they are too many, and after the report.
  bool evaluates(int64_t count, source::Range range);
  /// Looking through all names is for the first mistakes: a file of nothing but unknown names would take the square of its size.
  bool may_suggest() { return ++suggestions_ <= 100; }
  int suggestions_ = 0;
  int loops_ = 0;  ///< those that the body at hand is in
  int64_t turns_ = 0;
  Value evaluate_unguarded(const syntax::Expr& expr, Scope* scope);
  Value call_unguarded(const Value& callee, Args args, source::Range range, Scope* scope);
  Value call_expr(const syntax::Expr& expr, Scope* scope);
  Value pipe(const syntax::Expr& expr, Scope* scope);
  Value callee_of(const syntax::Expr& expr, Scope* scope);
  Value unary(const syntax::Expr& expr, Scope* scope);
  Value comparison(const syntax::Expr& expr, Scope* scope);
  Value field(const syntax::Expr& expr, Scope* scope);
  Value with(const syntax::Expr& expr, Scope* scope);
  Value index(const syntax::Expr& expr, Scope* scope);
  Value index_tensor(const syntax::Expr& expr, Tensor x, Scope* scope);
  Value index_list(const syntax::Expr& expr, const Value& list, Scope* scope);
  Value if_else(const syntax::Expr& expr, Scope* scope);
  Value per_replica(const syntax::Expr& expr, Scope* scope);
  std::optional<bool> condition(const syntax::Expr& expr, Scope* scope);
  Value to_local(const Value& value, source::Range range);
  Value fold_number(const std::string& op, const Operand& a, const Operand& b, source::Range range);

  Value call_function(const syntax::Decl& decl, const Args& args, source::Range range);
  Value call_layer(const Closure& closure, const Args& args, source::Range range);
  Value call_lambda(const Closure& closure, const Args& args, source::Range range);
  Value call_pending(const Closure& closure, const Args& args, source::Range range);
  bool bind_parameters(const std::vector<syntax::Parameter>& parameters, const std::vector<const Arg*>& slots, CallTypes& types, bool hyper,
                       const syntax::Decl& decl, source::Range range, bool* pending);
  /// Reports a constant that is no learning rate.
  bool is_learning_rate(const Value& value, source::Range range);
  /// False, after a report, where the first argument for a layer's hyperparameters is a tensor: its input.
  bool separates_input(const syntax::Decl& decl, Args& args);
  Value run_declared(const syntax::Decl& decl, Activation& activation, source::Range range);
  /// Zeros of a model's declared type, where its body is at fault: mistakes of its callers are told in the same run.
  Value promised(const syntax::TypeExpr& type, CallTypes& types, source::Range range);
  bool check_result(Value& result, const syntax::Decl& decl, CallTypes& types, source::Range range);
  void not_a_dimension(const syntax::Expr& expr);
  std::optional<types::Dim> declared_dim(const syntax::Expr& expr, CallTypes& types, bool* fresh);
  bool solve(const syntax::Expr& expr, const types::Dim& dim, CallTypes& types, const std::string& from);
  bool no_solution(const syntax::Expr& expr, const types::Dim& dim);
  bool unify(const types::TensorType& actual, const syntax::TypeExpr& type, CallTypes& types, const std::string& from);
  bool accept_named(Value& value, const syntax::TypeExpr& type, bool hyper);
  bool accept_tensor(Value& value, const syntax::TypeExpr& type, CallTypes& types, const std::string& what, source::Range range);
  void mismatch(const Value& value, const syntax::TypeExpr& type, const CallTypes& types, const std::string& what, source::Range range);

  Value let(const syntax::Item& item, Scope* scope, Scope* into);
  Value weight(const syntax::Item& item, Scope* scope);
  Value state(const syntax::Item& item, Scope* scope);
  Value optimizer_state(const syntax::Item& item, Scope* scope);
  Value update(const syntax::Item& item, Scope* scope);
  Value for_each(const syntax::Item& item, Scope* scope);
  void init_body(Variable& variable, const syntax::Expr* expr, Scope* scope, source::Range range);
  void warn_unused_weights(Scope* scope);

  Emitter& emitter_;
  Reporter& reporter_;
  Program& program_;
  Shared& shared_;
  const Options& options_;
  Scopes scopes_;
  std::map<const syntax::Decl*, Value> declared_;
  std::map<std::string, const syntax::Decl*> models_;  ///< those called so far
  std::map<std::string, int32_t> weight_index_, state_index_, optimizer_index_;
  Instance* instance_ = nullptr;
  Activation* activation_ = nullptr;
  OptimizerFrame* optimizer_ = nullptr;
  std::string unsolved_;  ///< why the last unification failed, where a dimension is an expression: `8 is not `2 * n + 1``
  int depth_ = 0;
  bool too_deep_ = false;  ///< reported: callers on the way out need not
};

template <class Run>
Value Evaluator::within_64_bits(source::Range range, Run run) {
  BodyContext* const context = emitter_.has_context() ? &emitter_.context() : nullptr;
  Instance* const instance = instance_;
  Activation* const activation = activation_;
  OptimizerFrame* const optimizer = optimizer_;
  const int depth = depth_;
  try {
    return run();
  } catch (const types::DimOverflow& overflow) {
    emitter_.enter(context);
    instance_ = instance;
    activation_ = activation;
    optimizer_ = optimizer;
    depth_ = depth;
    reporter_.report(range, diag::integer_overflow, overflow.text);
    return {};
  }
}

}  // namespace dtl::sema
