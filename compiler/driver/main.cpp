// dslc: see command_line.cpp.
#include <fcntl.h>

#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "compiler/driver/options.h"

namespace {

/// A stream that the caller closed stays taken, or the next file opened would be written to in its place. Writing to it fails.
void occupy_closed_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDONLY));  // the lowest that is free: this one
  }
}

}  // namespace

int main(int argc, char** argv) {
  occupy_closed_streams();
  // A reader that goes away is an error of a write, reported like any other, not a silent death.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a file that grows beyond what the system allows this process.
  std::signal(SIGXFSZ, SIG_IGN);
  return dtl::driver::run(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
}
