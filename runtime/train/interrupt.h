// Ctrl-C and SIGTERM: the first one asks to stop, the second one stops the process.
#pragma once

#include <csignal>

namespace dtl::train {

/// Handles SIGINT and SIGTERM while it lives; the handlers before it are put back. One at a time in a process.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool asked() const { return signal() != 0; }
  /// The one that asked, or 0. The exit status of a process that heeds it is 128 more: 130 of SIGINT, 143 of SIGTERM.
  int signal() const;

 private:
  struct sigaction interrupt_before_{}, terminate_before_{};
};

}  // namespace dtl::train
