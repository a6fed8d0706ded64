// The command line's own answers: which command is meant, and what this program is.
#include <catch2/catch.hpp>
#include <sstream>

#include "compiler/driver/options.h"
#include "compiler/driver/version.h"

namespace dtl::driver {
namespace {

struct Ran {
  int status;
  std::string out, err;
};

Ran run_on(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  const int status = run(words, out, err);
  return {status, out.str(), err.str()};
}

}  // namespace

TEST_CASE("a word that is no command is told with the one that may be meant") {
  const Ran near = run_on({"trian", "net.dtl"});
  CHECK(near.status == 1);
  CHECK(near.err == "dslc: there is no command `trian`; did you mean `train`?\n");
  const Ran program = run_on({"net.dtl"});
  CHECK(program.status == 1);
  CHECK(program.err.find("`dslc train net.dtl` trains it") != std::string::npos);
  const Ran far = run_on({"quantize"});
  CHECK(far.status == 1);
  CHECK(far.err.find("there are `train`, `eval`") != std::string::npos);
}

TEST_CASE("the version names the program, the LLVM in it and the kind of build") {
  const Ran ran = run_on({"--version"});
  CHECK(ran.status == 0);
  CHECK(ran.out == version_text() + "\n");
  CHECK(ran.out.starts_with("dslc "));
  CHECK(ran.out.find(", LLVM ") != std::string::npos);
}

TEST_CASE("the library's reference has built-in functions, too") {
  const Ran ran = run_on({"library", "concat"});
  CHECK(ran.status == 0);
  CHECK(ran.out.find("fn concat (tensors: [any[...]], axis: int = 0) -> any[...]") != std::string::npos);
  CHECK(run_on({"library", "concta"}).err.find("did you mean `concat`?") != std::string::npos);
}

}  // namespace dtl::driver
