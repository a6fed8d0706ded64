// dslc: see command_line.cpp.
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "compiler/driver/options.h"

int main(int argc, char** argv) {
  // A reader that goes away is an error of a write, reported like any other, not a silent death.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a file that grows beyond what the system allows this process.
  std::signal(SIGXFSZ, SIG_IGN);
  return dtl::driver::run(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
}
