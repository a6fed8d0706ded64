// Ctrl-C, once and twice.
#include "runtime/train/interrupt.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace dtl::train {
namespace {

TEST_CASE("interrupt: the first asks, the second ends the process at once") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Interrupt interrupt;
    if (interrupt.asked()) _exit(1);
    std::raise(SIGINT);
    if (!interrupt.asked()) _exit(2);
    std::raise(SIGINT);
    _exit(3);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
}

TEST_CASE("interrupt: a new one has not been asked") {
  struct sigaction before{}, after{};
  sigaction(SIGINT, nullptr, &before);
  {
    Interrupt interrupt;
    std::raise(SIGINT);
    CHECK(interrupt.asked());
  }
  CHECK_FALSE(Interrupt().asked());
  sigaction(SIGINT, nullptr, &after);
  CHECK(after.sa_handler == before.sa_handler);
}

}  // namespace
}  // namespace dtl::train
