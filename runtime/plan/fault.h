// A fault of the world (file, network, worker, disk), as against a mistake in a program.
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace dtl {

/// Thrown by the runtime only, caught once per command. `code` is the number of a row in the compiler's catalogue
/// (5xxx data, 6xxx run), `arguments` fill that row's slots in order: the runtime carries no text of its own.
class Fault : public std::exception {
 public:
  Fault(int code, std::vector<std::string> arguments) : code_(code), arguments_(std::move(arguments)) {}

  int code() const { return code_; }
  const std::vector<std::string>& arguments() const { return arguments_; }
  const char* what() const noexcept override { return "fault"; }

 private:
  int code_;
  std::vector<std::string> arguments_;
};

}  // namespace dtl
