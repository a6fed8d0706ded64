// Where data files are found.
#include "runtime/data/lookup.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "runtime/plan/fault.h"

namespace dtl::data {
namespace {

namespace fs = std::filesystem;

TEST_CASE("look-up: --data, then beside the program, then DTL_DATA") {
  const fs::path root = fs::temp_directory_path() / ("lookup-" + std::to_string(getpid()));
  Places places{{root / "given", root / "second"}, root / "program", (root / "a").string() + ":" + (root / "b").string()};
  // From the last place to the first: each file made hides those before.
  for (const char* folder : {"b", "a", "program", "second", "given"}) {
    fs::create_directories(root / folder);
    std::ofstream(root / folder / "x.idx") << "x";
    CHECK(look_up("x.idx", places) == root / folder / "x.idx");
  }
  CHECK(look_up((root / "a/x.idx").string(), places) == root / "a/x.idx");
  fs::remove_all(root);
}

TEST_CASE("look-up: the fault lists the places tried") {
  const auto fault_of = [](const std::string& name, const Places& places) {
    try {
      look_up(name, places);
    } catch (const Fault& fault) {
      return fault;
    }
    FAIL("no fault");
    return Fault(0, {});
  };
  const Fault fault = fault_of("none.idx", {{"d1", "d2"}, "", ":e1::e2"});
  CHECK(fault.code() == 5002);
  CHECK(fault.arguments() == std::vector<std::string>{"none.idx", "`d1`, `d2`, this folder, `e1` (DTL_DATA), `e2` (DTL_DATA)"});
  CHECK(fault_of("none.idx", {{}, "programs", ""}).arguments()[1] == "`programs`");
  CHECK(fault_of("/none/x.idx", {{"d1"}, "", ""}).arguments() ==
        std::vector<std::string>{"/none/x.idx", "nowhere else, as the name is absolute"});
}

}  // namespace
}  // namespace dtl::data
