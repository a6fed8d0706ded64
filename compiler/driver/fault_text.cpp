// Fills the slots of a catalogue row with a Fault's arguments.
#include "compiler/driver/fault_text.h"

#include <nlohmann/json.hpp>

#include "compiler/source/check.h"
#include "compiler/source/diagnostic.h"

namespace dtl::driver {

std::string fault_message(const Fault& fault) {
  for (const source::CatalogueRow& row : source::catalogue()) {
    if (row.code != fault.code()) continue;
    std::string text;
    size_t argument = 0;
    for (size_t i = 0; i < row.text.size(); ++i) {
      if (row.text.substr(i, 2) == "{}") {
        DTL_CHECK(argument < fault.arguments().size(), "fault {} has too few arguments", fault.code());
        text += fault.arguments()[argument++];
        ++i;
      } else {
        text += row.text[i];
      }
    }
    return text;
  }
  DTL_CHECK(false, "fault {} has no row in the catalogue", fault.code());
}

std::string fault_text(const Fault& fault, bool json) {
  bool warning = false;
  for (const source::CatalogueRow& row : source::catalogue())
    warning |= row.code == fault.code() && row.severity == source::Severity::warning;
  const char* severity = warning ? "warning" : "error";
  if (!json) return fmt::format("{}[{}]: {}", severity, source::code_name(fault.code()), fault_message(fault));
  return nlohmann::json{{"event", severity}, {"code", source::code_name(fault.code())}, {"message", fault_message(fault)}}.dump();
}

}  // namespace dtl::driver
