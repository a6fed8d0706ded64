// Golden tests: each case names, on its first line, the command that made its expectation, and runs in this process.
//
//   // RUN: emit --stage graph --only train_step
//
// A second RUN line is a second block of output. Expected output stands beside the input as NAME.out, compared whole;
// llvm and asm are not our text: such a case gives `// CHECK: text` and `// CHECK-NOT: text` lines instead. A case of
// the command `pass` may hold several graphs, parted by lines `// ---`. `./dev golden` rewrites what changed.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "compiler/driver/options.h"
#include "compiler/source/diagnostic.h"
#include "source_dir.h"

namespace fs = std::filesystem;

namespace {

constexpr int kInputLines = 40, kOutputLines = 80;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Words parted by blanks; single quotes keep blanks.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, any = false;
  for (char c : text) {
    if (c == '\'') {
      quoted = !quoted;
      any = true;
    } else if (c == ' ' && !quoted) {
      if (any) words.push_back(word);
      word.clear();
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) words.push_back(word);
  return words;
}

struct Ran {
  std::string text;
  bool failed = false;
};

Ran run_one(std::vector<std::string> words, const std::string& file) {
  std::ostringstream out, err;
  words.push_back(file);
  const int status = dtl::driver::run(words, out, err);
  Ran ran{out.str() + err.str(), status != 0};
  if (!ran.text.empty() && ran.text.back() != '\n') ran.text += '\n';
  if (status != 0) ran.text += "exit status " + std::to_string(status) + "\n";
  return ran;
}

/// The graphs of a `pass` case, each in a file of its own.
Ran run_parts(const std::vector<std::string>& words, const std::string& file) {
  Ran all;
  std::vector<std::string> parts(1);
  for (const std::string& line : lines_of(read(file))) {
    if (line == "// ---") {
      parts.emplace_back();
    } else {
      parts.back() += line + "\n";
    }
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const fs::path part = fs::temp_directory_path() / ("golden-" + std::to_string(getpid()) + "-" + fs::path(file).filename().string());
    std::ofstream(part) << parts[i];
    Ran ran = run_one(words, part.string());
    fs::remove(part);
    if (i > 0) all.text += "// ---\n";
    all.text += ran.text;
    all.failed = all.failed || ran.failed;
  }
  return all;
}

std::string first_difference(const std::string& expected, const std::string& actual) {
  const std::vector<std::string> a = lines_of(expected), b = lines_of(actual);
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string left = i < a.size() ? a[i] : "(end)", right = i < b.size() ? b[i] : "(end)";
    if (left != right) return "line " + std::to_string(i + 1) + "\n  expected: " + left + "\n  actual:   " + right;
  }
  return {};
}

void run_case(const std::string& file, bool update) {
  const std::string input = read(file);
  const std::vector<std::string> lines = lines_of(input);
  std::vector<std::vector<std::string>> runs;
  bool long_case = false;
  for (const std::string& line : lines) {
    if (line.rfind("// RUN: ", 0) == 0) runs.push_back(words_of(line.substr(8)));
    if (line.rfind("// LONG: ", 0) == 0) long_case = true;
  }
  INFO("case tests/golden/" << file << "\n  accept with: ./dev golden " << file);
  REQUIRE_FALSE(runs.empty());
  CHECK((long_case || lines.size() <= kInputLines));

  Ran all;
  for (const std::vector<std::string>& words : runs) {
    Ran ran = words[0] == "pass" ? run_parts(words, file) : run_one(words, file);
    if (runs.size() > 1) all.text += "// RUN: " + words[0] + "\n";
    all.text += ran.text;
    all.failed = all.failed || ran.failed;
  }
  const bool named_fail = fs::path(file).filename().string().rfind("fail_", 0) == 0;
  INFO("a case fails exactly if its name starts with fail_; output:\n" << all.text);
  CHECK(all.failed == named_fail);

  bool checks = false;
  for (const std::string& line : lines) {
    if (line.rfind("// CHECK: ", 0) == 0) {
      checks = true;
      INFO("must hold: " << line);
      CHECK(all.text.find(line.substr(10)) != std::string::npos);
    } else if (line.rfind("// CHECK-NOT: ", 0) == 0) {
      checks = true;
      INFO("must not hold: " << line);
      CHECK(all.text.find(line.substr(14)) == std::string::npos);
    }
  }
  if (checks) return;

  const fs::path out = fs::path(file).replace_extension(".out");
  CHECK((long_case || lines_of(all.text).size() <= kOutputLines));
  if (update) {
    if (!fs::exists(out) || read(out) != all.text) std::ofstream(out, std::ios::binary) << all.text;
    return;
  }
  REQUIRE(fs::exists(out));
  const std::string difference = first_difference(read(out), all.text);
  INFO(difference);
  CHECK(difference.empty());
}

}  // namespace

TEST_CASE("golden cases") {
  fs::current_path(fs::path(DTL_SOURCE_DIR) / "tests/golden");
  const bool update = std::getenv("DTL_GOLDEN_UPDATE") != nullptr;
  const char* filter = std::getenv("DTL_GOLDEN_FILTER");
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(".")) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".dtl" || extension == ".graph") files.push_back(entry.path().string().substr(2));
    if (extension == ".out") {
      INFO("an expectation without its case: " << entry.path().string());
      CHECK(
          (fs::exists(fs::path(entry.path()).replace_extension(".dtl")) || fs::exists(fs::path(entry.path()).replace_extension(".graph"))));
    }
  }
  std::sort(files.begin(), files.end());
  REQUIRE_FALSE(files.empty());
  for (const std::string& file : files) {
    if (filter && *filter && file.find(filter) == std::string::npos) continue;
    run_case(file, update);
  }
}

// The public tables of the compiler: a change of architecture shows as a diff here.
TEST_CASE("golden tables") {
  const bool update = std::getenv("DTL_GOLDEN_UPDATE") != nullptr;
  const std::vector<std::pair<std::vector<std::string>, std::string>> tables = {
      {{"ops"}, "docs/ops.md"}, {{"library"}, "docs/language/library.md"}, {{"emit", "--list-passes"}, "tests/golden/list_passes.txt"}};
  for (const auto& [command, path] : tables) {
    std::ostringstream out, err;
    REQUIRE(dtl::driver::run(command, out, err) == 0);
    const fs::path file = fs::path(DTL_SOURCE_DIR) / path;
    if (update) {
      std::ofstream(file, std::ios::binary) << out.str();
    } else {
      INFO(path << ": accept with ./dev golden");
      CHECK(read(file) == out.str());
    }
  }
}

// Every row of the catalogue is shown by a case, or its absence is explained in uncovered.txt; an explained row that
// gains a case must leave the list.
TEST_CASE("every diagnostic has a golden case") {
  const fs::path folder = fs::path(DTL_SOURCE_DIR) / "tests/golden";
  std::string shown;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".out") shown += read(entry.path());
  }
  const std::string excused = read(folder / "uncovered.txt");
  for (const dtl::source::CatalogueRow& row : dtl::source::catalogue()) {
    const std::string code = dtl::source::code_name(row.code);
    INFO(code << " " << row.symbol << " has neither a case nor a line in uncovered.txt, or has both");
    const bool has_case = shown.find("[" + code + "]") != std::string::npos, has_excuse = excused.find(code + " ") != std::string::npos;
    CHECK(has_case != has_excuse);
  }
}
