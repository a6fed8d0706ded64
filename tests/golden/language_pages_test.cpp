// docs/language: what the pages show is what the compiler takes.
//
// ```dtl is a whole program without mistakes; ```dtl-part declarations, items of a body, or heads of declarations that parse;
// ```dtl-error DTL2003 a program whose mistakes have that code and no other.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "source_dir.h"
#include "tests/golden/page_testing.h"

namespace dtl::driver {
namespace {

namespace fs = std::filesystem;

struct Block {
  std::string kind, code, text;
  int line;
};

std::vector<Block> blocks_of(const fs::path& page) {
  std::vector<Block> blocks;
  std::ifstream in(page);
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back().text += line + "\n";
    } else if (line.starts_with("```dtl")) {
      std::istringstream words(line.substr(3));
      Block& block = blocks.emplace_back();
      words >> block.kind >> block.code;
      block.line = number;
      inside = true;
    }
  }
  return blocks;
}

/// As declarations, as items of a body, or as heads of declarations.
Ran parse_part(const std::string& text) {
  Ran declarations = run_on({"emit", "--stage", "ast"}, text);
  if (declarations.status == 0) return declarations;
  Ran items = run_on({"emit", "--stage", "ast"}, "train {\n" + text + "\n}\n");
  if (items.status == 0) return items;
  const Ran head = run_on({"emit", "--stage", "ast"}, text.substr(0, text.find_last_not_of(" \n") + 1) + " {\n}\n");
  return head.status == 0 ? head : items;
}

}  // namespace

TEST_CASE("the examples of the language reference are programs") {
  std::vector<fs::path> pages;
  for (const char* folder : {"docs/language", "docs/guide"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(DTL_SOURCE_DIR) / folder)) pages.push_back(entry.path());
  }
  std::sort(pages.begin(), pages.end());
  REQUIRE(pages.size() > 5);
  int programs = 0;
  for (const fs::path& page : pages) {
    for (const Block& block : blocks_of(page)) {
      INFO(page.string() << ":" << block.line);
      if (block.kind == "dtl") {
        const Ran ran = run_on({"check"}, block.text);
        INFO(ran.text);
        CHECK(ran.status == 0);
        ++programs;
      } else if (block.kind == "dtl-part") {
        const Ran ran = parse_part(block.text);
        INFO(ran.text);
        CHECK(ran.status == 0);
      } else {
        CHECK(block.kind == "dtl-error");
        const Ran ran = run_on({"check"}, block.text);
        INFO(ran.text);
        CHECK(codes_in(ran.text) == std::set<std::string>{block.code});
      }
    }
  }
  CHECK(programs > 5);
}

}  // namespace dtl::driver
