// dslc explain-error CODE: the page of a diagnostic; without a code, the catalogue as a list.
#include <algorithm>
#include <ostream>
#include <vector>

#include "compiler/driver/embedded.h"
#include "compiler/driver/options.h"
#include "compiler/source/diagnostic.h"

namespace dtl::driver {
namespace {

/// `DTL2003`, `dtl2003` and `2003` → 2003; −1 for anything else.
int number_of(std::string_view code) {
  if (code.size() > 3 && (code.starts_with("DTL") || code.starts_with("dtl"))) code.remove_prefix(3);
  if (code.empty() || code.size() > 4) return -1;
  int number = 0;
  for (const char c : code) {
    if (c < '0' || c > '9') return -1;
    number = 10 * number + (c - '0');
  }
  return number;
}

}  // namespace

int explain_error(const Options& options, std::ostream& out, std::ostream& err) {
  if (options.code.empty()) {
    std::vector<source::CatalogueRow> rows = source::catalogue();
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.code < b.code; });
    for (const source::CatalogueRow& row : rows) {
      const char* severity = row.severity == source::Severity::warning ? "warning: " : "";
      out << fmt::format("{}  {}{}\n", source::code_name(row.code), severity, row.text);
    }
    return 0;
  }
  const int number = number_of(options.code);
  const std::string name = number < 0 ? std::string() : source::code_name(number) + ".md";
  for (const EmbeddedFile& page : error_pages()) {
    if (page.name != name) continue;
    out << page.text;
    return 0;
  }
  err << fmt::format("dslc: no diagnostic has the code `{}`; `dslc explain-error` lists them all\n", options.code);
  return 1;
}

}  // namespace dtl::driver
