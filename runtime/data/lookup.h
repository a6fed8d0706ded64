// Where a data file named in a program lies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtl::data {

/// The folders in which relative names are looked up, in order: those of `--data`, the program's own, those of DTL_DATA.
struct Places {
  std::vector<std::string> given;  ///< --data
  std::string beside;              ///< the program's folder; empty is the working folder
  std::string variable;            ///< the value of DTL_DATA: folders parted by `:`
};

/// The path of the first one that exists; an absolute name is its own. Fault 5002 lists the places tried.
std::string look_up(const std::string& name, const Places& places);

}  // namespace dtl::data
