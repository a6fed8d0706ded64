// Source expressions, stage by stage: functions and their arguments by a table, values evaluated at compile time.
#include "compiler/sema/source_reader.h"

#include "compiler/sema/builtins.h"
#include "compiler/sema/source_values.h"

namespace dtl::sema {

using source::Range;
using syntax::Expr;
using syntax::ExprKind;

namespace {

/// Where a function of sources stands.
enum class Position : uint8_t { first, piped };

struct SourceFunction {
  std::string_view name;
  Position position;
  std::string_view parameters;  ///< as in Builtin; `sources...` are sources
  bool takes_sources = false;   ///< all its parameters are sources
};

constexpr SourceFunction kFunctions[] = {
    {"idx", Position::first, "images labels"},
    {"synthetic", Position::first, "examples fields seed?"},
    {"csv", Position::first, "file header? delimiter? missing? fill? finite?"},
    {"npy", Position::first, "file finite?"},
    {"npz", Position::first, "file finite?"},
    {"text", Position::first, "file range?"},
    {"records", Position::first, "rows"},
    {"concat", Position::first, "sources..."},
    {"zip", Position::first, "sources..."},
    {"join", Position::piped, "table at", true},
    {"take", Position::piped, "n"},
    {"skip", Position::piped, "n"},
    {"where", Position::piped, "condition"},
    {"shuffle", Position::piped, "seed?"},
    {"windows", Position::piped, "size stride?"},
    {"encode", Position::piped, "vocabulary"},
    {"cache", Position::piped, ""},
};

const SourceFunction* find_function(std::string_view name) {
  const auto* at = std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const SourceFunction& f) { return f.name == name; });
  return at == std::end(kFunctions) ? nullptr : at;
}

bool is_required(std::string_view parameter) { return !parameter.ends_with('?'); }
std::string bare(std::string_view parameter) {
  return std::string(is_required(parameter) ? parameter : parameter.substr(0, parameter.size() - 1));
}

/// Names that lambdas read of their rows, anywhere in a source expression.
void collect_row_fields(const Expr& expr, std::vector<std::string>& rows, std::vector<std::string>& names) {
  const size_t depth = rows.size();
  if (expr.kind == ExprKind::lambda) {
    for (const syntax::Parameter& parameter : expr.parameters) rows.push_back(parameter.name.text);
  }
  if (expr.kind == ExprKind::field && expr.items[0]->kind == ExprKind::name &&
      std::find(rows.begin(), rows.end(), expr.items[0]->name) != rows.end()) {
    names.push_back(expr.name);
  }
  for (const Expr* item : expr.items) {
    if (item) collect_row_fields(*item, rows, names);
  }
  for (const syntax::Argument& argument : expr.arguments) {
    if (argument.value) collect_row_fields(*argument.value, rows, names);
  }
  rows.resize(depth);
}

class SourceReader {
 public:
  SourceReader(Evaluator& evaluator, Scope* scope, const SourceContext& context, const Expr& whole)
      : evaluator_(evaluator), reporter_(evaluator.reporter()), scope_(scope), context_(context), values_(evaluator, scope) {
    if (!context.parameters) return;
    wishes_.emplace();
    for (const syntax::Parameter& parameter : *context.parameters) wish(parameter.name.text, parameter.type);
    std::vector<std::string> rows, names;
    collect_row_fields(whole, rows, names);
    for (const std::string& name : names) wish(name, nullptr);
  }

  bool read(const Expr& expr, SourceSpec& spec) {
    if (expr.kind == ExprKind::group) return read(*expr.items[0], spec);
    if (expr.kind == ExprKind::pipe) {
      const bool source = read(*expr.items[0], spec);
      return stage(*expr.items[1], true, spec, source) && source;
    }
    return stage(expr, false, spec, true);
  }

 private:
  /// A column of a table that the program reads. A declared type says how; one that no column has is told by `example`.
  void wish(const std::string& name, const syntax::TypeExpr* type) {
    for (const ColumnWish& known : *wishes_) {
      if (known.name == name) return;
    }
    std::string as;
    if (type && type->kind == syntax::TypeKind::named && type->dims.empty()) {
      if (type->name == "string") {
        as = "text";
      } else if (type->name == "int") {
        as = "i64";
      } else if (type->name == "float") {
        as = name_of(evaluator_.emitter().float_dtype());
      } else if (const auto dtype = evaluator_.dtype_named(type->name); dtype && *dtype != DType::bf16 && *dtype != DType::f16) {
        as = name_of(*dtype);
      }
    }
    wishes_->push_back({name, as});
  }

  bool stage(const Expr& expr, bool piped, SourceSpec& spec, bool readable) {
    const Expr* callee = expr.kind == ExprKind::call ? expr.items[0] : &expr;
    if (callee->kind != ExprKind::name || (expr.kind != ExprKind::call && !(piped && find_function(callee->name)))) {
      reporter_.report(expr.range, diag::not_a_source, text_of(expr))
          .help("a source is `csv(…)`, `text(…)`, `idx(…)`, `records(…)` or `synthetic(…)`, piped through `where(…)`, `take(n)`, …");
      return false;
    }
    const std::string& name = callee->name;
    if (is_later(name)) {
      reporter_.report(callee->range, diag::not_supported_yet, "the source `" + name + "`");
      return false;
    }
    const SourceFunction* function = find_function(name);
    if (!function) {
      auto reported = reporter_.report(callee->range, diag::not_a_source, name);
      std::vector<std::string> known;
      for (const SourceFunction& f : kFunctions) known.emplace_back(f.name);
      if (auto near = nearest(name, known)) {
        reported.meant(*near);
      } else {
        reported.help("known sources are " + enumerate(known));
      }
      return false;
    }
    if ((function->position == Position::piped) != piped) {
      reporter_.report(expr.range, diag::misplaced, "`" + name + "`",
                       piped ? "after `|>`: it is a source of its own" : "first: pipe a source into it");
      return false;
    }
    SourceStage stage;
    stage.function = name;
    stage.range = expr.range;
    if (function->parameters == "sources...") {
      if (!sources(expr, stage)) return false;
    } else {
      Args args;
      for (const syntax::Argument& argument : expr.arguments)
        args.push_back({argument.name, argument.value, std::nullopt, argument.value->range, scope_});
      std::vector<std::string> names;
      const std::vector<std::string_view> parameters = split_words(function->parameters, ' ');
      for (const std::string_view parameter : parameters) names.push_back(bare(parameter));
      const auto slots = evaluator_.bind(names, args, name, expr.range, {});
      if (!slots) return false;
      for (size_t i = 0; i < parameters.size(); ++i) {
        if ((*slots)[i] || !is_required(parameters[i])) continue;
        reporter_.report(expr.range, diag::missing_argument, name, names[i]);
        return false;
      }
      if (function->takes_sources) {
        bool good = true;
        for (const Arg* slot : *slots) {
          SourceSpec inner;
          good &= read(*slot->expr, inner);
          stage.sources.push_back(std::move(inner));
        }
        if (!good) return false;
      } else if (!arguments(stage, *slots, spec, readable)) {
        return false;
      }
    }
    spec.stages.push_back(std::move(stage));
    return true;
  }

  bool sources(const Expr& expr, SourceStage& stage) {
    bool good = true;
    for (const syntax::Argument& argument : expr.arguments) {
      if (argument.name) {
        reporter_.report(argument.name->range, diag::unknown_argument, stage.function, argument.name->text);
        good = false;
        continue;
      }
      SourceSpec inner;
      good &= read(*argument.value, inner);
      stage.sources.push_back(std::move(inner));
    }
    if (stage.sources.empty()) reporter_.report(expr.range, diag::missing_argument, stage.function, "a source");
    return good && !stage.sources.empty();
  }

  bool arguments(SourceStage& stage, const std::vector<const Arg*>& slots, const SourceSpec& before, bool readable) {
    const std::string& name = stage.function;
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
    const auto seed = [&](const Arg* arg) {
      stage.integers["seed"] = 0;
      return !arg || values_.integer(*arg, "seed", kLeast, stage);
    };
    if (name == "take" || name == "skip") return values_.count(*slots[0], stage);
    if (name == "idx") return values_.text(*slots[0], "images", stage) & values_.text(*slots[1], "labels", stage);
    if (name == "synthetic")
      return values_.integer(*slots[0], "examples", 0, stage) & values_.generators(*slots[1]->expr, stage) & seed(slots[2]);
    if (name == "csv") {
      stage.columns = wishes_;
      stage.integers["skip_limit"] = context_.skip_limit;
      bool good = values_.text(*slots[0], "file", stage);
      if (slots[1]) good &= values_.boolean(*slots[1], "header", stage);
      if (slots[2]) good &= values_.delimiter(*slots[2], stage);
      if (slots[3]) good &= values_.texts(*slots[3], "missing", stage);
      if (slots[4]) good &= values_.fill(*slots[4], stage);
      if (slots[5]) good &= values_.boolean(*slots[5], "finite", stage);
      return good;
    }
    if (name == "npy" || name == "npz")
      return values_.text(*slots[0], "file", stage) & (!slots[1] || values_.boolean(*slots[1], "finite", stage));
    if (name == "text") return values_.text(*slots[0], "file", stage) & (!slots[1] || values_.range(*slots[1], stage));
    if (name == "records") return values_.records(*slots[0], stage);
    if (name == "shuffle") return seed(slots[0]);
    if (name == "windows") {
      if (!values_.integer(*slots[0], "size", 1, stage)) return false;
      stage.integers["stride"] = 1;
      return !slots[1] || values_.integer(*slots[1], "stride", 1, stage);
    }
    if (name == "encode") {
      const Value vocabulary = evaluator_.evaluate(*slots[0]);
      if (vocabulary.is(ValueKind::vocabulary) && vocabulary.vocabulary->of_categories()) {
        reporter_.report(slots[0]->range, diag::setting_type, "`vocabulary` of `encode`", "one of `words` or `characters`", "of categories")
            .help("a column of categories is encoded in `example`: `kind = encode(kind, kinds)`");
        return false;
      }
      if (vocabulary.is(ValueKind::vocabulary)) {
        stage.vocabulary = *vocabulary.vocabulary;
        return true;
      }
      if (vocabulary.ok())
        reporter_.report(slots[0]->range, diag::setting_type, "`vocabulary` of `encode`", "a vocabulary", evaluator_.shown(vocabulary))
            .help("an entry before this one makes it: `vocabulary = characters(of = \"corpus.txt\")`");
      return false;
    }
    if (name == "where") {
      if (!readable) return false;
      auto info = context_.catalogue->open(before, reporter_.sink());
      if (!info) return false;
      // Fields without names take those of the parameters that they bind to.
      for (size_t i = 0; context_.parameters && i < info->fields.size() && i < context_.parameters->size(); ++i) {
        if (info->fields[i].name.empty()) info->fields[i].name = (*context_.parameters)[i].name.text;
      }
      stage.strings["condition"] = text_of(*slots[0]->expr);
      stage.predicate = read_row_expr(evaluator_, scope_, *slots[0]->expr, *info, before.stages[0].range);
      return stage.predicate.has_value();
    }
    return true;
  }

  Evaluator& evaluator_;
  Reporter& reporter_;
  Scope* scope_;
  const SourceContext& context_;
  SourceValues values_;
  std::optional<std::vector<ColumnWish>> wishes_;
};

}  // namespace

bool read_source(Evaluator& evaluator, Scope* scope, const SourceContext& context, const Expr& expr, SourceSpec& spec) {
  return SourceReader(evaluator, scope, context, expr).read(expr, spec);
}

Value read_vocabulary(Evaluator& evaluator, Scope* scope, const SourceContext& context, const Expr& expr, const std::string& name) {
  Reporter& reporter = evaluator.reporter();
  const std::string& unit = expr.items[0]->name;
  Args args;
  for (const syntax::Argument& argument : expr.arguments)
    args.push_back({argument.name, argument.value, std::nullopt, argument.value->range, scope});
  const bool categories = unit == "categories";
  const auto slots =
      evaluator.bind({"of", "column", categories ? "unknown" : "keep", "header", "delimiter", "missing"}, args, unit, expr.range, {});
  if (!slots) return {};
  if (!(*slots)[0]) {
    reporter.report(expr.range, diag::missing_argument, unit, "of").help("the file of the texts: `" + unit + "(of = \"corpus.txt\")`");
    return {};
  }
  SourceStage stage;
  stage.function = unit;
  SourceValues values(evaluator, scope);
  bool good = values.text(*(*slots)[0], "of", stage);
  if ((*slots)[1]) good &= values.text(*(*slots)[1], "column", stage);
  if ((*slots)[2]) good &= categories ? values.boolean(*(*slots)[2], "unknown", stage) : values.integer(*(*slots)[2], "keep", 3, stage);
  if ((*slots)[3]) good &= values.boolean(*(*slots)[3], "header", stage);
  if ((*slots)[4]) good &= values.delimiter(*(*slots)[4], stage);
  if ((*slots)[5]) good &= values.texts(*(*slots)[5], "missing", stage);
  if (categories && !(*slots)[1]) {
    reporter.report(expr.range, diag::missing_argument, unit, "column")
        .help("the column of a table whose texts they are: `categories(of = \"people.csv\", column = \"city\")`");
    return {};
  }
  if (!good) return {};
  auto spec = std::make_shared<VocabularySpec>();
  spec->name = name;
  spec->unit = categories && (*slots)[2] && stage.integers.at("unknown") != 0 ? "open_categories" : unit;
  spec->file = stage.strings.at("of");
  spec->file_range = stage.written.at("of");
  if ((*slots)[1]) spec->column = stage.strings.at("column");
  if ((*slots)[2] && !categories) spec->keep = stage.integers.at("keep");
  if ((*slots)[3]) spec->header = stage.integers.at("header") != 0;
  if ((*slots)[4]) spec->delimiter = stage.strings.at("delimiter")[0];
  if ((*slots)[5]) spec->missing = stage.lists.at("missing");
  spec->skip_limit = context.skip_limit;
  spec->range = expr.range;
  const auto size = context.catalogue->vocabulary(*spec, reporter.sink());
  if (!size) return {};
  Value value = Value::of_text(ValueKind::vocabulary, name);
  value.integer = *size;
  value.vocabulary = std::move(spec);
  return value;
}

bool is_source_name(std::string_view name) { return is_later(name) || find_function(name); }
std::vector<std::string> source_names() {
  std::vector<std::string> names;
  for (const SourceFunction& function : kFunctions) names.emplace_back(function.name);
  return names;
}
bool is_vocabulary_name(std::string_view name) { return name == "characters" || name == "words" || name == "categories"; }

}  // namespace dtl::sema
