// The sink of diagnostics and the catalogue as a table.
#include "compiler/source/diagnostic.h"

#include <algorithm>
#include <tuple>

namespace dtl::source {

Reported& Reported::note(Range range, std::string text) {
  diagnostic_->notes.push_back({range, std::move(text)});
  return *this;
}

Reported& Reported::help(std::string text) {
  diagnostic_->helps.push_back(std::move(text));
  return *this;
}

Reported& Reported::meant(const std::string& name) {
  diagnostic_->fixes.push_back({diagnostic_->range, name});
  return help("did you mean `" + name + "`?");
}

Reported Sink::add(Diagnostic diagnostic) {
  const Range range = diagnostic.range;
  const bool first = seen_.insert({diagnostic.code, range.file.index, range.begin, range.end, diagnostic.text}).second;
  // A repetition still takes notes, so that its reporter need not know; nobody reads them.
  std::deque<Diagnostic>& into = first ? store_ : repeated_;
  into.push_back(std::move(diagnostic));
  if (first) {
    order_.push_back(&store_.back());
    if (store_.back().severity == Severity::error) ++errors_;
  }
  return Reported(into.back());
}

void Sink::sort() {
  const auto key = [](const Diagnostic* d) { return std::make_tuple(d->range.file.index, d->range.begin, d->range.end); };
  std::stable_sort(order_.begin(), order_.end(), [&](const Diagnostic* a, const Diagnostic* b) { return key(a) < key(b); });
}

const std::vector<CatalogueRow>& catalogue() {
  static const std::vector<CatalogueRow> rows = {
#define ERROR(code, symbol, text, ...) {code, #symbol, Severity::error, text},
#define WARNING(code, symbol, text, ...) {code, #symbol, Severity::warning, text},
#include "compiler/source/diagnostics.def"
#undef ERROR
#undef WARNING
  };
  return rows;
}

std::string code_name(int code) { return fmt::format("DTL{:04}", code); }

}  // namespace dtl::source
