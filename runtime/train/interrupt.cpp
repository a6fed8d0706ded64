// The handler of SIGINT.
#include "runtime/train/interrupt.h"

#include <unistd.h>

namespace dtl::train {
namespace {

volatile std::sig_atomic_t asked_to_stop = 0;

void handle(int) {
  if (asked_to_stop) _exit(130);
  asked_to_stop = 1;
}

}  // namespace

Interrupt::Interrupt() {
  asked_to_stop = 0;
  struct sigaction action{};
  action.sa_handler = handle;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &before_);
}

Interrupt::~Interrupt() { sigaction(SIGINT, &before_, nullptr); }

bool Interrupt::asked() const { return asked_to_stop != 0; }

}  // namespace dtl::train
