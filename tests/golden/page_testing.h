// What tests of pages share: a program of a page is run by a command, and the codes that it gives are read.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/driver/options.h"

namespace dtl::driver {

struct Ran {
  int status;
  std::string text;  ///< diagnostics
};

/// The command on a file of this text.
inline Ran run_on(std::vector<std::string> words, const std::string& text) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("page-" + std::to_string(getpid()) + ".dtl");
  std::ofstream(file) << text;
  words.push_back(file.string());
  std::ostringstream out, err;
  const int status = run(words, out, err);
  std::filesystem::remove(file);
  return {status, err.str()};
}

inline std::set<std::string> codes_in(const std::string& text) {
  std::set<std::string> codes;
  static const std::regex pattern(R"(\[(DTL\d{4})\])");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), pattern); it != std::sregex_iterator(); ++it) codes.insert((*it)[1]);
  return codes;
}

}  // namespace dtl::driver
