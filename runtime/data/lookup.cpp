// Looking a name up in folders.
#include "runtime/data/lookup.h"

#include <filesystem>

#include "runtime/plan/fault.h"

namespace dtl::data {

std::string look_up(const std::string& name, const Places& places) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::path(name).is_absolute()) {
    if (fs::exists(name, ignored)) return name;
    throw Fault(5002, {name, "nowhere else, as the name is absolute"});
  }

  std::string tried;
  const auto found = [&](const std::string& folder, const std::string& shown) {
    tried += (tried.empty() ? "" : ", ") + shown;
    return fs::exists(fs::path(folder) / name, ignored);
  };
  for (const std::string& folder : places.given) {
    if (found(folder, "`" + folder + "`")) return fs::path(folder) / name;
  }
  if (found(places.beside, places.beside.empty() ? "this folder" : "`" + places.beside + "`")) return fs::path(places.beside) / name;
  for (size_t begin = 0; begin < places.variable.size();) {
    const size_t end = std::min(places.variable.find(':', begin), places.variable.size());
    const std::string folder = places.variable.substr(begin, end - begin);
    if (!folder.empty() && found(folder, "`" + folder + "` (DTL_DATA)")) return fs::path(folder) / name;
    begin = end + 1;
  }
  throw Fault(5002, {name, tried});
}

}  // namespace dtl::data
