// Object files in this process's memory, linked by LLVM's ORC.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace dtl::codegen {

struct Object {
  std::string name;  ///< of its one function, not used twice in a session
  std::string bytes;
};

/// Code lives as long as its session.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::vector<plan::KernelFunction> add(std::vector<Object> objects);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dtl::codegen
