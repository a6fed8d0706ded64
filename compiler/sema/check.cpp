// Check: declarations of file and library made known, names resolved, the chosen train block instantiated, and then every
// other declaration on its own.
#include "compiler/sema/builtins.h"
#include "compiler/sema/dataset.h"
#include "compiler/sema/resolve.h"
#include "compiler/sema/sema.h"
#include "compiler/sema/strategy.h"
#include "compiler/sema/train.h"

namespace dtl::sema {
namespace {

using syntax::Ast;
using syntax::Decl;
using syntax::DeclKind;
using Library = std::vector<std::unique_ptr<Ast>>;

/// What one walk over the program needs: a Program to fill and where mistakes go.
struct Session {
  Session(const Library& library, const graph::OpTable& ops, const Options& options, source::Sink& sink)
      : reporter(sink), emitter(ops, reporter), evaluator(emitter, reporter, program, options) {
    for (const auto& ast : library) reporter.add_library(ast->file);
    evaluator.file_globals.outer = &evaluator.library_globals;
    for (const auto& ast : library) {
      for (const Decl* decl : ast->decls) evaluator.library_globals.decls.emplace(decl->name.text, decl);
    }
    evaluator.library_root = evaluator.scopes().root(&evaluator.library_globals);
    evaluator.file_root = evaluator.scopes().root(&evaluator.file_globals);
  }

  void declare(const Ast& file) {
    for (const Decl* decl : file.decls) {
      if (decl->kind == DeclKind::import_file) {
        reporter.report(decl->range, diag::not_supported_yet, "`import`");
        continue;
      }
      // A train block's name is for the command line only, yet one name should mean one thing.
      if (decl->name.text.empty()) continue;
      const auto [known, fresh] = evaluator.file_globals.decls.emplace(decl->name.text, decl);
      if (!fresh) {
        reporter.report(decl->name.range, diag::declared_twice, decl->name.text)
            .note(known->second->name.range, "it is declared here already");
      }
    }
  }

  Program program;
  Reporter reporter;
  Emitter emitter;
  Evaluator evaluator;
};

const Decl* chosen_train(const Ast& file, const Options& options, Reporter& reporter) {
  std::vector<const Decl*> trains;
  std::vector<std::string> names;
  for (const Decl* decl : file.decls) {
    if (decl->kind != DeclKind::train) continue;
    trains.push_back(decl);
    if (!decl->name.text.empty()) names.push_back(decl->name.text);
  }
  if (trains.empty()) {
    if (options.needs_train || options.train)
      reporter.report({file.file, 0, 0}, diag::no_train).help("add `train { model = …  data = …  loss = …  optimizer = …  epochs = … }`");
    return nullptr;
  }
  if (options.train) {
    for (const Decl* decl : trains) {
      // `--train ""` is no way to say the one without a name.
      if (!options.train->empty() && decl->name.text == *options.train) return decl;
    }
    auto reported = reporter.report({file.file, 0, 0}, diag::unknown_train, *options.train);
    if (auto near = nearest(*options.train, names)) {
      reported.help("did you mean `--train " + *near + "`?");
    } else if (!names.empty()) {
      reported.help("it has " + enumerate(names));
    }
    return nullptr;
  }
  if (trains.size() == 1) return trains[0];
  reporter.report(trains[1]->range, diag::many_trains, static_cast<int64_t>(trains.size()))
      .help(names.empty() ? "name them, `train Long { … }`, and choose one: `--train NAME`"
                          : "choose one of " + enumerate(names) + ": `--train " + names[0] + "`");
  return nullptr;
}

/// A tensor type with numbers for dimensions, and one free name, which stands for the batch; nothing for all others.
std::optional<types::TensorType> sample_type(Evaluator& evaluator, const syntax::TypeExpr& type, Scope* scope, std::string& batch) {
  if (type.kind != syntax::TypeKind::named || !type.has_dims) return std::nullopt;
  auto dtype = evaluator.dtype_named(type.name);
  if (type.name == "float") dtype = evaluator.emitter().float_dtype();
  if (!dtype) return std::nullopt;
  types::TensorType result{*dtype, {}};
  for (size_t i = 0; i < type.dims.size(); ++i) {
    const syntax::Expr* expr = type.dims[i].value;
    if (!expr) return std::nullopt;
    if (expr->kind == syntax::ExprKind::integer) {
      result.dims.emplace_back(expr->integer);
      continue;
    }
    if (expr->kind != syntax::ExprKind::name) return std::nullopt;
    if (Binding* binding = scope->find(expr->name)) {
      const auto dim = as_dim(binding->value);
      if (!dim) return std::nullopt;
      result.dims.push_back(*dim);
      continue;
    }
    if (const Decl* decl = scope->globals().find(expr->name); decl && decl->kind == DeclKind::param) {
      const auto dim = as_dim(evaluator.declared(*decl));
      if (!dim) return std::nullopt;
      result.dims.push_back(*dim);
      continue;
    }
    if (i > 0 || (!batch.empty() && batch != expr->name)) return std::nullopt;
    batch = expr->name;
    result.dims.push_back(types::Dim::symbol("batch"));
  }
  return result;
}

/// Instantiates a layer, model or fn whose parameters' types say enough, with no program around it.
void check_callable(Evaluator& evaluator, const Decl& decl) {
  const auto has_defaults = [](const syntax::Parameter& parameter) { return parameter.value != nullptr; };
  if (!std::all_of(decl.hyper.begin(), decl.hyper.end(), has_defaults)) return;
  Body body;
  BodyContext context;
  context.body = &body;
  context.training = true;
  Emitter& emitter = evaluator.emitter();
  BodyContext* outer = emitter.enter(&context);
  Instance instance;
  instance.path = instance.model = decl.name.text;
  Instance* outer_instance = evaluator.enter_instance(decl.kind == DeclKind::layer ? &instance : nullptr);

  Value callee = evaluator.declared(decl);
  if (decl.kind == DeclKind::layer) callee = evaluator.call(callee, {}, decl.name.range, evaluator.file_root);
  Args args;
  std::string batch;
  bool known = callee.ok();
  for (const syntax::Parameter& parameter : decl.parameters) {
    if (!known || parameter.value) continue;
    Scope* scope = decl.kind == DeclKind::layer ? callee.closure->scope : evaluator.file_root;
    const auto type = parameter.type ? sample_type(evaluator, *parameter.type, scope, batch) : std::nullopt;
    known &= type.has_value();
    if (!type) break;
    const Tensor x = emitter.value(parameter.name.text, *type, parameter.name.range);
    args.push_back({parameter.name, nullptr, Value::of_tensor(x).at(parameter.name.range), parameter.name.range, evaluator.file_root});
  }
  if (known) evaluator.call(callee, std::move(args), decl.name.range, evaluator.file_root);
  evaluator.enter_instance(outer_instance);
  emitter.enter(outer);
}

/// Runs an optimizer's rule for one small weight.
void check_optimizer(Evaluator& evaluator, const Decl& decl) {
  for (const syntax::Parameter& parameter : decl.hyper) {
    if (!parameter.value) return;
  }
  const Value optimizer = evaluator.call(evaluator.declared(decl), {}, decl.name.range, evaluator.file_root);
  if (!optimizer.ok()) return;
  Variable weight;
  weight.path = weight.model = "w";
  weight.type = {evaluator.emitter().float_dtype(), {types::Dim(2), types::Dim(3)}};
  evaluator.program().weights.push_back(std::move(weight));
  MinimizeSite site;
  evaluator.instantiate_optimizer(optimizer, 0, site, decl.name.range);
}

void check_alone(Session& session, const Ast& file, const Decl& decl, const OpenSource& open) {
  Evaluator& evaluator = session.evaluator;
  // Params that the command line sets are set here too.
  const Settings settings(evaluator, file, decl.kind == DeclKind::train ? &decl : nullptr);
  switch (decl.kind) {
    case DeclKind::import_file:
      return;
    case DeclKind::param:
      evaluator.declared(decl);
      return;
    case DeclKind::dataset: {
      // Not opened: what is wrong with its files matters to those who use it.
      read_dataset(evaluator, decl, settings, [](const SourceSpec&, source::Sink&) { return std::nullopt; });
      return;
    }
    case DeclKind::layer:
    case DeclKind::model:
    case DeclKind::function:
      check_callable(evaluator, decl);
      return;
    case DeclKind::optimizer:
      check_optimizer(evaluator, decl);
      return;
    case DeclKind::strategy: {
      const bool complete =
          std::all_of(decl.hyper.begin(), decl.hyper.end(), [](const syntax::Parameter& p) { return p.value != nullptr; });
      if (decl.value) {
        evaluator.declared(decl);
      } else if (complete) {
        evaluate_strategy(evaluator, decl, {}, decl.name.range);
      }
      return;
    }
    case DeclKind::train:
      check_train(evaluator, decl, settings, open);
      return;
  }
}

}  // namespace

std::optional<Program> check(const Ast& file, const Library& library, const graph::OpTable& ops, const OpenSource& open,
                             const Options& options, source::Sink& sink) {
  Session session(library, ops, options, sink);
  session.declare(file);
  session.evaluator.cyclic = resolve(session.evaluator, file);
  const Decl* train = chosen_train(file, options, session.reporter);
  const Settings settings(session.evaluator, file, train);
  if (train) check_train(session.evaluator, *train, settings, open);

  // What the train block does not use is checked as far as it can be without a use. What is not supported yet matters only
  // where it is used.
  for (const Decl* decl : file.decls) {
    if (decl == train || session.evaluator.entered.contains(decl)) continue;
    source::Sink alone_sink;
    Session alone(library, ops, options, alone_sink);
    alone.evaluator.file_globals = session.evaluator.file_globals;
    alone.evaluator.file_globals.outer = &alone.evaluator.library_globals;
    alone.evaluator.cyclic = session.evaluator.cyclic;
    alone.program.updates_per_epoch = std::max<int64_t>(1, session.program.updates_per_epoch);
    check_alone(alone, file, *decl, open);
    for (const source::Diagnostic* diagnostic : alone_sink.all()) {
      if (diagnostic->code != diag::not_supported_yet.code) sink.add(*diagnostic);
    }
  }
  if (sink.has_errors()) return std::nullopt;
  return std::move(session.program);
}

}  // namespace dtl::sema
