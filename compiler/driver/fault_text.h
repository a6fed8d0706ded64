// The text of a runtime Fault, from the catalogue.
#pragma once

#include <string>

#include "runtime/plan/fault.h"

namespace dtl::driver {

/// The catalogue row's text with its slots filled in order.
std::string fault_message(const Fault& fault);
/// `error[DTL5001]: …`, or a JSON object.
std::string fault_text(const Fault& fault, bool json);

}  // namespace dtl::driver
