// Fields of one source as another program wants them: chosen by name, numbers converted where nothing but rounding is lost.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/data/source.h"

namespace dtl::data {

/// `source` with the fields `wanted`, in that order. A field without a name is the wanted one if just one is wanted. Floats become
/// floats of any width; integers become integers that hold them, which is looked at for every row now, or floats. `path` names the
/// source in faults: 6121 a field that is not there; 6122 one of another shape or element type, or with a number that does not fit.
std::shared_ptr<const Source> as_fields(std::shared_ptr<const Source> source, const std::vector<Field>& wanted, const std::string& path);

}  // namespace dtl::data
