// The handler of SIGINT and SIGTERM.
#include "runtime/train/interrupt.h"

#include <unistd.h>

namespace dtl::train {
namespace {

volatile std::sig_atomic_t asked_to_stop = 0;

void handle(int signal) {
  if (asked_to_stop) _exit(128 + signal);
  asked_to_stop = signal;
}

}  // namespace

Interrupt::Interrupt() {
  asked_to_stop = 0;
  struct sigaction action{};
  action.sa_handler = handle;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &interrupt_before_);
  sigaction(SIGTERM, &action, &terminate_before_);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &interrupt_before_, nullptr);
  sigaction(SIGTERM, &terminate_before_, nullptr);
}

int Interrupt::signal() const { return asked_to_stop; }

}  // namespace dtl::train
