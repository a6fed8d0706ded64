// `checkpoint` of a train block: where a run is saved, how often, how many are kept.
#include <cmath>

#include "compiler/sema/train_settings.h"

namespace dtl::sema {
namespace {

/// `1 epoch`, `500 steps`, `10min`.
void read_every(Evaluator& evaluator, const RecordSetting::Entry& entry, const Value& value, CheckpointSettings& to) {
  Reporter& reporter = evaluator.reporter();
  if (!value.ok()) return;
  const bool count = value.is(ValueKind::quantity) && value.text == "count";
  if (!count && !(value.is(ValueKind::quantity) && value.text == "duration")) {
    reporter.report(entry.range, diag::setting_type, "`every`", "a count or a duration, such as `1 epoch`, `500 steps` or `10min`",
                    evaluator.shown(value));
    return;
  }
  constexpr double kMost = 0x1p53;
  if (!(value.number > 0) || value.number > kMost || (count && std::floor(value.number) != value.number)) {
    reporter.report(entry.range, diag::setting_type, "`every`", count ? "a whole number from 1 on" : "a duration above 0",
                    fmt::format("{}", value.number));
    return;
  }
  to.every_epochs = 0;
  if (!count) {
    to.every_seconds = value.number;
  } else {
    (value.unit.starts_with("epoch") ? to.every_epochs : to.every_steps) = static_cast<int64_t>(value.number);
  }
}

}  // namespace

void read_checkpoint(Evaluator& evaluator, const Settings& settings, const syntax::Decl& train, Scope* scope) {
  RecordSetting record(evaluator, settings, train, "checkpoint", scope);
  if (!record.given()) return;
  Reporter& reporter = evaluator.reporter();
  const int errors = reporter.errors();
  CheckpointSettings checkpoint;
  if (const RecordSetting::Entry* entry = record.find("directory")) {
    const Value value = entry->expr ? evaluator.evaluate(*entry->expr, scope) : entry->value;
    if (value.is(ValueKind::text) && !value.text.empty()) {
      checkpoint.directory = value.text;
      checkpoint.directory_range = value.origin;
    } else if (value.ok()) {
      reporter.report(entry->range, diag::setting_type, "`directory`", "the name of a folder, such as `\"runs/first\"`",
                      value.is(ValueKind::text) ? "an empty string" : evaluator.shown(value));
    }
  } else if (!reporter.has_errors()) {
    reporter.report(record.range(), diag::missing_setting, "`checkpoint`", "`directory`")
        .help("where to save: `directory = \"runs/first\"`");
  }
  if (const RecordSetting::Entry* entry = record.find("every"))
    read_every(evaluator, *entry, entry->expr ? evaluator.evaluate(*entry->expr, scope) : entry->value, checkpoint);
  checkpoint.keep = record.integer("keep", 1).value_or(checkpoint.keep);
  if (const RecordSetting::Entry* mode = record.find("mode"); mode && !record.find("watch"))
    reporter.report(mode->range, diag::missing_setting, "`mode`", "`watch`").help("what it is the mode of: `watch = validation.loss`");
  if (auto watch = read_watch(evaluator, record, "`checkpoint`")) {
    checkpoint.watch = watch->split + "/" + watch->report;
    checkpoint.maximize = watch->maximize;
  }
  if (reporter.errors() == errors) evaluator.program().checkpoint = std::move(checkpoint);
}

}  // namespace dtl::sema
