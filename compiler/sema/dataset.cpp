// Splits and their sources, vocabularies and settings of a dataset.
#include "compiler/sema/dataset.h"

#include "compiler/sema/builtins.h"
#include "compiler/sema/source_reader.h"

namespace dtl::sema {

using source::Range;
using syntax::Decl;
using syntax::Expr;
using syntax::ExprKind;
using syntax::Item;
using syntax::ItemKind;

namespace {

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A split is a listed one, or a source of another name that is no near miss of a listed one.
bool is_split(const Item& item) {
  if (item.kind != ItemKind::assign) return false;
  const std::string& name = item.names[0].text;
  if (name == "batch" || name == "shuffle" || name == "on_error" || name == "example" || name == "augment" ||
      holds(later_dataset_fields(), name))
    return false;
  if (holds(dataset_fields(), name)) return true;
  const Expr* value = item.value;
  while (value->kind == ExprKind::pipe || value->kind == ExprKind::group) value = value->items[0];
  return value->kind == ExprKind::call && is_source_name(value->items[0]->name) && !nearest(name, dataset_fields());
}

/// A vocabulary, under a name of the program's choice.
bool is_vocabulary(const Item& item) {
  return item.kind == ItemKind::assign && item.value->kind == ExprKind::call && item.value->items[0]->kind == ExprKind::name &&
         is_vocabulary_name(item.value->items[0]->name) && !holds(dataset_fields(), item.names[0].text) &&
         !nearest(item.names[0].text, dataset_fields());
}

/// Whether a setting is meant that has another name here, which is told.
bool misspells(const Decl& decl, const std::string& setting) {
  return decl.body && std::any_of(decl.body->items.begin(), decl.body->items.end(), [&](const Item* item) {
           const bool plain = item->kind == ItemKind::assign && !is_split(*item) && !is_vocabulary(*item);
           return plain && !holds(dataset_fields(), item->names[0].text) && nearest(item->names[0].text, dataset_fields()) == setting;
         });
}

/// Every entry is a known setting, a split, a vocabulary or something later.
void check_entries(Evaluator& evaluator, const Decl& decl) {
  Reporter& reporter = evaluator.reporter();
  std::map<std::string, Range> seen;
  for (const Item* item : decl.body->items) {
    if (item->kind == ItemKind::require || item->kind == ItemKind::let) continue;
    if (item->kind != ItemKind::assign && item->kind != ItemKind::block) {
      reporter.report(item->range, diag::misplaced, "this", "in a dataset, which has settings, splits and `example`");
      continue;
    }
    const syntax::Ident& name = item->names[0];
    if (const auto [first, fresh] = seen.emplace(name.text, name.range); !fresh)
      reporter.report(name.range, diag::set_twice, name.text).note(first->second, "it is set here already");
    if (holds(later_dataset_fields(), name.text)) {
      reporter.report(name.range, diag::not_supported_yet, "`" + name.text + "`");
      continue;
    }
    const bool is_block = name.text == "example" || name.text == "augment";
    if (is_split(*item) || is_vocabulary(*item) || (holds(dataset_fields(), name.text) && (item->kind == ItemKind::block) == is_block))
      continue;
    if (!reporter.first(diag::unknown_setting, name.range)) continue;
    auto reported = reporter.report(name.range, diag::unknown_setting, name.text, "a dataset");
    if (auto near = nearest(name.text, dataset_fields())) {
      reported.meant(*near);
    } else {
      reported.help("it has " + enumerate(dataset_fields()) + ", splits of any other name that are sources, and vocabularies");
    }
  }
}

std::string shown(const FieldInfo& field) {
  return field.text ? "text" : fmt::format("{}[{}]", dtl::name_of(field.dtype), fmt::join(field.shape, ", "));
}

/// `on_error = stop`, `on_error = skip(limit = 10)`: how many faulty rows are left out; −1 for none.
int64_t skip_limit(Evaluator& evaluator, const Decl& decl, Scope* scope) {
  for (const Item* item : decl.body->items) {
    if (item->kind != ItemKind::assign || item->names[0].text != "on_error") continue;
    const Expr& value = *item->value;
    if (value.kind == ExprKind::name && value.name == "stop") return -1;
    if (value.kind == ExprKind::call && value.items[0]->kind == ExprKind::name && value.items[0]->name == "skip") {
      Args args;
      for (const syntax::Argument& argument : value.arguments)
        args.push_back({argument.name, argument.value, std::nullopt, argument.value->range, scope});
      const auto slots = evaluator.bind({"limit"}, args, "skip", value.range, {});
      if (!slots) return -1;
      if (!(*slots)[0]) {
        evaluator.reporter()
            .report(value.range, diag::missing_argument, "skip", "limit")
            .help("how many rows may be left out: `skip(limit = 10)`");
        return -1;
      }
      const auto limit = evaluator.integer(evaluator.evaluate(*(*slots)[0]), (*slots)[0]->range, "`limit` of `skip`");
      if (limit && *limit < 0) evaluator.reporter().report((*slots)[0]->range, diag::too_small, "`limit` of `skip`", 0, *limit);
      return limit ? std::max<int64_t>(*limit, 0) : -1;
    }
    evaluator.reporter().report(value.range, diag::setting_type, "`on_error`", "`stop` or `skip(limit = 10)`", text_of(value));
  }
  return -1;
}

/// What these headings tell of how a table was read; empty: nothing.
std::string misread_table(const std::vector<std::string>& columns) {
  if (columns.size() == 1) {
    for (const auto& [delimiter, shown] : {std::pair(';', ";"), std::pair('\t', "\\t"), std::pair('|', "|")}) {
      if (columns[0].find(delimiter) == std::string::npos) continue;
      return fmt::format("the first line is a single cell: `delimiter = \"{}\"` in `csv(…)` parts it", shown);
    }
  }
  const bool numbers = !columns.empty() && std::all_of(columns.begin(), columns.end(), [](const std::string& name) {
    char* end = nullptr;
    static_cast<void>(std::strtod(name.c_str(), &end));
    return !name.empty() && *end == '\0';
  });
  return numbers
             ? "the first line holds numbers: with `header = false` in `csv(…)` it is data, and the columns are `column_1`, `column_2`, …"
             : "";
}

/// Raw fields bind to the parameters of `example`: by name where the source names them, else by position.
bool bind_fields(Evaluator& evaluator, const Decl& decl, const Item* example, const SplitInfo& info, Range source) {
  Reporter& reporter = evaluator.reporter();
  Program& program = evaluator.program();
  // Of a table only what is asked for is read: nothing of it may be.
  const bool named =
      !info.unread.empty() || std::any_of(info.fields.begin(), info.fields.end(), [](const FieldInfo& f) { return !f.name.empty(); });
  if (!example) {
    if (!named) {
      reporter.report(decl.name.range, diag::example_needed, decl.name.text).help("write `example (image: u8[28, 28], label: u8) { … }`");
      return false;
    }
    program.fields = info.fields;
    return true;
  }
  std::vector<std::string> names;
  for (const FieldInfo& field : info.fields) names.push_back(field.name);
  std::vector<std::string> all = names;
  all.insert(all.end(), info.unread.begin(), info.unread.end());
  bool good = true;
  std::vector<FieldInfo> bound = info.fields;
  std::vector<char> used(bound.size(), 0);
  for (size_t i = 0; i < example->parameters.size(); ++i) {
    const syntax::Parameter& parameter = example->parameters[i];
    if (!named) {
      if (i < bound.size()) {
        bound[i].name = parameter.name.text;
        used[i] = 1;
        continue;
      }
      reporter
          .report(parameter.name.range, diag::too_many_fields, static_cast<int64_t>(bound.size()),
                  static_cast<int64_t>(example->parameters.size()))
          .note(source, "the data comes from here");
      return false;
    }
    const auto at = std::find(names.begin(), names.end(), parameter.name.text);
    if (at == names.end()) {
      auto reported = reporter.report(parameter.name.range, diag::no_such_field, parameter.name.text);
      reported.note(source, "the data has the fields " + enumerate(all));
      if (const std::string misread = misread_table(info.headings); !misread.empty()) {
        reported.help(misread);
      } else if (auto near = nearest(parameter.name.text, all)) {
        reported.help("did you mean `" + *near + "`?");
      }
      good = false;
      continue;
    }
    used[static_cast<size_t>(at - names.begin())] = 1;
  }
  for (size_t i = 0; i < bound.size(); ++i) {
    if (used[i]) program.fields.push_back(bound[i]);
  }
  return good;
}

}  // namespace

const Item* block_of(const Decl& decl, std::string_view name) {
  for (const Item* item : decl.body->items) {
    if (item->kind == ItemKind::block && item->names[0].text == name) return item;
  }
  return nullptr;
}

Scope* dataset_scope(Evaluator& evaluator, const Decl& decl) {
  Scope*& scope = evaluator.dataset_scopes[&decl];
  if (scope) return scope;
  scope = evaluator.scopes().inside(evaluator.file_root);
  // Whoever asks first, it is worth the same: settings see no tensors of the body that is being built.
  BodyContext* outer = evaluator.emitter().enter(nullptr);
  for (const Item* item : decl.body->items) {
    if (item->kind == ItemKind::let || item->kind == ItemKind::require) {
      evaluator.run_item(*item, scope);
    } else if (is_vocabulary(*item)) {
      const SourceContext context{evaluator.catalogue, nullptr, skip_limit(evaluator, decl, scope)};
      const std::string name = decl.name.text + "." + item->names[0].text;
      scope->bind(item->names[0].text, read_vocabulary(evaluator, scope, context, *item->value, name), item->names[0].range);
    }
  }
  evaluator.emitter().enter(outer);
  return scope;
}

std::optional<Value> vocabulary_of(Evaluator& evaluator, const Decl& decl, const std::string& name) {
  if (!decl.body) return std::nullopt;
  for (const Item* item : decl.body->items) {
    if (is_vocabulary(*item) && item->names[0].text == name) return dataset_scope(evaluator, decl)->find(name)->value;
  }
  return std::nullopt;
}

bool read_dataset(Evaluator& evaluator, const Decl& decl, const Settings& settings, const DataCatalogue& catalogue) {
  Reporter& reporter = evaluator.reporter();
  Program& program = evaluator.program();
  const int errors = reporter.errors();
  evaluator.entered.insert(&decl);
  if (!decl.body) return false;  // a copy of nothing, which is told
  check_entries(evaluator, decl);
  program.data.name = decl.name.text;
  Scope* scope = dataset_scope(evaluator, decl);
  for (const Item* item : decl.body->items) {
    if (!is_vocabulary(*item)) continue;
    if (const Binding* helper = scope->find(item->names[0].text); helper && helper->value.is(ValueKind::vocabulary))
      program.data.vocabularies.push_back(*helper->value.vocabulary);
  }

  if (const Expr* batch = settings.find(decl, "batch")) {
    if (const auto size = evaluator.integer(evaluator.evaluate(*batch, scope), batch->range, "`batch`")) {
      if (*size < 1) {
        reporter.report(batch->range, diag::too_small, "`batch`", 1, *size);
      } else {
        program.data.batch = *size;
      }
    }
  } else if (!misspells(decl, "batch")) {
    reporter.report(decl.name.range, diag::missing_setting, "the dataset `" + decl.name.text + "`", "`batch`")
        .help("how many examples a step takes: `batch = 32`");
  }
  if (const Expr* shuffle = settings.find(decl, "shuffle")) {
    static constexpr std::string_view kWords[] = {"all", "none"};
    const Value value = evaluator.evaluate_word(*shuffle, scope, kWords);
    if (value.is(ValueKind::word)) {
      program.data.shuffle = value.text == "all" ? -1 : 0;
    } else if (value.is(ValueKind::integer) && value.integer < 0) {
      reporter.report(shuffle->range, diag::too_small, "`shuffle`", 0, value.integer);
    } else if (value.is(ValueKind::integer)) {
      program.data.shuffle = value.integer;
    } else if (value.ok()) {
      auto reported =
          reporter.report(shuffle->range, diag::setting_type, "`shuffle`", "`all`, `none` or a window of examples", evaluator.shown(value));
      if (value.is(ValueKind::boolean)) reported.meant(value.boolean ? "all" : "none");
    }
  }

  // Each split is opened once; all must give the same fields.
  Range train_range;
  const SplitInfo* first = nullptr;
  Range first_range;
  std::vector<std::pair<DataSplit, Range>> splits;
  const Item* example = block_of(decl, "example");
  program.data.skip_limit = skip_limit(evaluator, decl, scope);
  const SourceContext context{&catalogue, example ? &example->parameters : nullptr, program.data.skip_limit};
  for (const Item* item : decl.body->items) {
    if (!is_split(*item)) continue;
    const Expr* source = settings.find(decl, item->names[0].text);
    DataSplit split;
    split.name = item->names[0].text;
    if (!read_source(evaluator, scope, context, *source, split.source)) continue;
    splits.emplace_back(std::move(split), source->range);
  }
  if (reporter.errors() == errors) {
    for (auto& [split, range] : splits) {
      const auto info = catalogue.open(split.source, reporter.sink());
      if (!info) continue;
      split.info = *info;
      program.data.splits.push_back(split);
      if (split.name == "train") train_range = range;
    }
    for (size_t i = 0; i < program.data.splits.size(); ++i) {
      const DataSplit& split = program.data.splits[i];
      const Range range = split.source.stages[0].range;
      if (!first) {
        first = &split.info;
        first_range = range;
        continue;
      }
      const auto same = [](const FieldInfo& a, const FieldInfo& b) {
        return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.text == b.text;
      };
      if (!std::equal(first->fields.begin(), first->fields.end(), split.info.fields.begin(), split.info.fields.end(), same)) {
        auto reported = reporter.report(range, diag::splits_differ, split.name, program.data.splits[0].name);
        reported.note(first_range, "the other one comes from here");
        for (size_t f = 0; f < std::min(first->fields.size(), split.info.fields.size()); ++f) {
          const FieldInfo &a = split.info.fields[f], &b = first->fields[f];
          if (same(a, b)) continue;
          reported.note({}, fmt::format("{} is {} here and {} there", a.name.empty() ? fmt::format("field {}", f) : "`" + a.name + "`",
                                        shown(a), shown(b)));
        }
      }
    }
  }
  const bool has_train = std::any_of(decl.body->items.begin(), decl.body->items.end(),
                                     [](const Item* item) { return is_split(*item) && item->names[0].text == "train"; });
  if (!has_train && reporter.errors() == errors)
    reporter.report(decl.name.range, diag::missing_setting, "the dataset `" + decl.name.text + "`", "the split `train`");
  if (reporter.errors() != errors || !first) return false;
  return bind_fields(evaluator, decl, example, *first, train_range);
}

}  // namespace dtl::sema
