// dslc check --fix: the edits that diagnostics suggest, made in the file.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/driver/options.h"

namespace dtl::driver {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("fix-" + std::to_string(getpid()))) { fs::create_directories(path_); }
  ~Folder() { fs::remove_all(path_); }
  std::string write(const std::string& text) const {
    std::ofstream(path_ / "net.dtl") << text;
    return (path_ / "net.dtl").string();
  }
  std::string read() const {
    std::ifstream in(path_ / "net.dtl");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(path_), {})); }

 private:
  fs::path path_;
};

int check_file(const std::vector<std::string>& arguments, std::string* text = nullptr) {
  std::ostringstream out, err;
  const int status = run(arguments, out, err);
  if (text) *text = err.str();
  return status;
}

const char* const kTwoMistakes =
    "model Net (x: f32[batch, 4]) -> f32[batch, 3] {\n  let hidden = x |> dense(4, activaton = relu)\n  hiden |> dense(3)\n}\n";
const char* const kNone =
    "model Net (x: f32[batch, 4]) -> f32[batch, 3] {\n  let hidden = x |> dense(4, activation = relu)\n  hidden |> dense(3)\n}\n";

}  // namespace

TEST_CASE("check --fix makes every suggested edit and leaves nothing else behind") {
  const Folder folder;
  const std::string file = folder.write(kTwoMistakes);
  std::string said;
  CHECK(check_file({"check", "--fix", file}, &said) == 1);
  CHECK(said.find("2 edits made") != std::string::npos);
  CHECK(folder.read() == kNone);
  CHECK(folder.files() == 1);
  CHECK(check_file({"check", "--fix", file}, &said) == 0);
  CHECK(folder.read() == kNone);
}

TEST_CASE("check without --fix changes nothing") {
  const Folder folder;
  const std::string file = folder.write(kTwoMistakes);
  CHECK(check_file({"check", file}) == 1);
  CHECK(folder.read() == kTwoMistakes);
}

TEST_CASE("a diagnostic as JSON carries its edit") {
  const Folder folder;
  const std::string file = folder.write(kTwoMistakes);
  std::string said;
  CHECK(check_file({"check", "--json", file}, &said) == 1);
  std::istringstream lines(said);
  std::vector<std::string> replacements;
  for (std::string line; std::getline(lines, line);) {
    const auto parsed = nlohmann::json::parse(line);
    REQUIRE(parsed["fixes"].size() == 1);
    CHECK(parsed["fixes"][0]["line"] == parsed["line"]);
    CHECK(parsed["fixes"][0]["column"] == parsed["column"]);
    replacements.push_back(parsed["fixes"][0]["replacement"]);
  }
  CHECK(replacements == std::vector<std::string>{"activation", "hidden"});
}

}  // namespace dtl::driver
