// Ctrl-C: the first one asks to stop, the second one stops the process.
#pragma once

#include <csignal>

namespace dtl::train {

/// Handles SIGINT while it lives; the handler before it is put back. One at a time in a process.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool asked() const;

 private:
  struct sigaction before_{};
};

}  // namespace dtl::train
