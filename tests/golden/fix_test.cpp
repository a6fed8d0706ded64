// dslc check --fix: the edits that diagnostics suggest, made in the file.
#include "compiler/driver/fix.h"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
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

TEST_CASE("check --fix leaves a file alone that it has nothing to change in") {
  const Folder folder;
  const std::string file = folder.write(kNone);
  const auto time = fs::last_write_time(file) - std::chrono::hours(1);
  fs::last_write_time(file, time);
  std::string said;
  CHECK(check_file({"check", "--fix", file}, &said) == 0);
  CHECK(said.empty());
  // A mistake that no edit is suggested for.
  const std::string wrong = "param x: int = \"three\"\n";
  std::ofstream(file) << wrong;
  fs::last_write_time(file, time);
  CHECK(check_file({"check", "--fix", file}, &said) == 1);
  CHECK(said.find("edit") == std::string::npos);
  CHECK(folder.read() == wrong);
  CHECK(fs::last_write_time(file) == time);
  CHECK(folder.files() == 1);
}

TEST_CASE("check --fix of a file that cannot be written says so, keeps it and leaves nothing") {
  const Folder folder;
  const std::string file = folder.write(kTwoMistakes);
  const auto signal = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{8, before.rlim_max};  // as if the disk were full
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string said;
  const int status = check_file({"check", "--fix", file}, &said);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, signal);
  CHECK(status == 2);
  CHECK(said.find("error[DTL6004]: cannot write the output: " + file + ": File too large") != std::string::npos);
  CHECK(said.find("edits made") == std::string::npos);
  CHECK(folder.read() == kTwoMistakes);
  CHECK(folder.files() == 1);
}

TEST_CASE("edits that overlap are not made both, and those of other files not at all") {
  const Folder folder;
  const std::string text = "abcdefgh\n", file = folder.write(text);
  source::SourceSet sources;
  const source::FileId id = sources.add(file, text), other = sources.add("other.dtl", text);
  source::Sink sink;
  const auto suggest = [&](source::FileId in, int32_t begin, int32_t end, const std::string& replacement) {
    sink.add({1001,
              "unknown_name",
              source::Severity::error,
              {in, begin, end},
              fmt::format("{} {}", begin, replacement),
              {},
              {},
              {{{in, begin, end}, replacement}}});
  };
  suggest(id, 0, 2, "AB");
  suggest(id, 1, 4, "overlaps");
  suggest(id, 3, 5, "DE");
  suggest(id, 5, 5, "+");
  suggest(other, 6, 7, "elsewhere");
  CHECK(apply_fixes(sink, sources, id, file) == 3);
  CHECK(folder.read() == "ABcDE+fgh\n");
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
