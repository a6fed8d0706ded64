// Entries of record settings.
#include "compiler/sema/record_setting.h"

#include <algorithm>
#include <cmath>

namespace dtl::sema {

using source::Range;
using syntax::Expr;
using syntax::ExprKind;

RecordSetting::RecordSetting(Evaluator& evaluator, const Settings& settings, const syntax::Decl& decl, std::string field, Scope* scope)
    : evaluator_(evaluator), field_(std::move(field)), scope_(scope) {
  Reporter& reporter = evaluator_.reporter();
  if (const Expr* expr = settings.find(decl, field_)) {
    given_ = true;
    range_ = expr->range;
    if (expr->kind == ExprKind::record) {
      for (const syntax::Argument& argument : expr->arguments) {
        if (argument.name) {
          add(argument.name->text, argument.name->range, {argument.value, {}, argument.value->range});
        } else {
          reporter.report(argument.value->range, diag::record_needs_names).help("write `name = value`");
        }
      }
    } else {
      const Value value = evaluator_.evaluate(*expr, scope_);
      if (value.is(ValueKind::record)) {
        for (size_t i = 0; i < value.items->size(); ++i) {
          const Value& item = (*value.items)[i];
          const Range at = item.origin.known() ? item.origin : expr->range;
          add((*value.names)[i], at, {nullptr, item, at});
        }
      } else if (value.is(ValueKind::none)) {
        given_ = false;
      } else if (value.ok()) {
        auto reported =
            reporter.report(expr->range, diag::setting_type, shown(field_), "a record such as `{ … }`", evaluator_.shown(value));
        if (value.is(ValueKind::text) && field_ == "checkpoint")
          reported.help(fmt::format("write `checkpoint = {{ directory = {} }}`", quoted(value.text)));
      }
    }
  }
}

void RecordSetting::add(const std::string& name, Range name_range, Entry entry) {
  Reporter& reporter = evaluator_.reporter();
  const std::vector<std::string>& known = record_fields(field_);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    auto reported = reporter.report(name_range, diag::unknown_setting, name, shown(field_));
    if (auto near = nearest(name, known)) {
      reported.help("did you mean `" + *near + "`?");
    } else {
      reported.help("it has " + enumerate(known));
    }
    return;
  }
  entry.name_range = name_range;
  if (const auto [first, fresh] = entries_.emplace(name, std::move(entry)); !fresh)
    reporter.report(name_range, diag::set_twice, name).note(first->second.name_range, "it is set here already");
}

const RecordSetting::Entry* RecordSetting::find(std::string_view name) const {
  const auto entry = entries_.find(name);
  return entry == entries_.end() ? nullptr : &entry->second;
}

Value RecordSetting::evaluated(const Entry& entry) { return entry.expr ? evaluator_.evaluate(*entry.expr, scope_) : entry.value; }

std::optional<int64_t> RecordSetting::integer(std::string_view name, int64_t least) {
  const Entry* entry = find(name);
  if (!entry) return std::nullopt;
  const auto value = evaluator_.integer(evaluated(*entry), entry->range, shown(name));
  if (!value || *value >= least) return value;
  evaluator_.reporter().report(entry->range, diag::too_small, shown(name), least, *value);
  return std::nullopt;
}

std::optional<double> RecordSetting::number(std::string_view name) {
  const Entry* entry = find(name);
  if (!entry) return std::nullopt;
  const Value value = evaluated(*entry);
  const bool number = value.is(ValueKind::integer) || value.is(ValueKind::number);
  if (number && std::isfinite(value.as_number())) return value.as_number();
  if (value.ok()) evaluator_.reporter().report(entry->range, diag::setting_type, shown(name), "a number", evaluator_.shown(value));
  return std::nullopt;
}

std::optional<bool> RecordSetting::boolean(std::string_view name) {
  const Entry* entry = find(name);
  if (!entry) return std::nullopt;
  const Value value = evaluated(*entry);
  if (value.is(ValueKind::boolean)) return value.boolean;
  if (value.ok()) evaluator_.reporter().report(entry->range, diag::setting_type, shown(name), "`true` or `false`", evaluator_.shown(value));
  return std::nullopt;
}

std::optional<std::string> RecordSetting::word(std::string_view name, std::span<const std::string_view> words) {
  const Entry* entry = find(name);
  if (!entry) return std::nullopt;
  const Value value = entry->expr ? evaluator_.evaluate_word(*entry->expr, scope_, words) : entry->value;
  if (value.is(ValueKind::word)) return value.text;
  if (!value.ok()) return std::nullopt;
  const std::vector<std::string> known(words.begin(), words.end());
  evaluator_.reporter()
      .report(entry->range, diag::unknown_word, std::string(name), evaluator_.shown(value))
      .help("it is one of " + enumerate(known, "or"));
  return std::nullopt;
}

}  // namespace dtl::sema
