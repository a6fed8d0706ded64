// docs/errors: a page for every code of the catalogue, whose wrong program gives that code and whose right one passes.
//
// A page is `# DTL2003 · inner_dimensions_differ`, prose, and fenced programs: ```dtl wrong [options of check]``` and
// ```dtl right [options]```. A code that no program shows alone says so in a line that begins `No program shows it`.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/driver/embedded.h"
#include "compiler/source/diagnostic.h"
#include "tests/golden/page_testing.h"

namespace dtl::driver {
namespace {

namespace fs = std::filesystem;

struct Block {
  std::string kind;
  std::vector<std::string> options;
  std::string text;
};

std::vector<Block> blocks_of(std::string_view page) {
  std::vector<Block> blocks;
  std::istringstream in{std::string(page)};
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back().text += line + "\n";
    } else if (line.starts_with("```dtl ")) {
      std::istringstream words(line.substr(7));
      Block block;
      words >> block.kind;
      for (std::string word; words >> word;) block.options.push_back(word);
      blocks.push_back(std::move(block));
      inside = true;
    }
  }
  return blocks;
}

Ran check_text(const Block& block) {
  std::vector<std::string> words = {"check"};
  words.insert(words.end(), block.options.begin(), block.options.end());
  return run_on(std::move(words), block.text);
}

}  // namespace

TEST_CASE("every diagnostic has a page, and the page's programs do what it says") {
  std::set<std::string> pages;
  for (const EmbeddedFile& page : error_pages()) pages.emplace(page.name);
  for (const source::CatalogueRow& row : source::catalogue()) {
    const std::string code = source::code_name(row.code);
    INFO("docs/errors/" << code << ".md (" << row.symbol << ")");
    CHECK(pages.erase(code + ".md") == 1);
    std::string text;
    for (const EmbeddedFile& page : error_pages()) {
      if (page.name == code + ".md") text = page.text;
    }
    if (text.empty()) continue;
    CHECK(text.starts_with(fmt::format("# {} · {}\n", code, row.symbol)));
    const std::vector<Block> blocks = blocks_of(text);
    const bool excused = text.find("\nNo program shows it") != std::string::npos;
    bool wrong = false, right = false;
    for (const Block& block : blocks) {
      const Ran ran = check_text(block);
      INFO(block.kind << ":\n" << block.text << "\n" << ran.text);
      if (block.kind == "wrong") {
        wrong = true;
        CHECK(codes_in(ran.text) == std::set<std::string>{code});
      } else {
        CHECK(block.kind == "right");
        right = true;
        CHECK(ran.status == 0);
        CHECK(codes_in(ran.text).empty());
      }
    }
    CHECK((excused || (wrong && right)));
    CHECK_FALSE((excused && wrong));
  }
  for (const std::string& page : pages) FAIL_CHECK(page << " is about no code of the catalogue");
}

TEST_CASE("explain-error prints a page, lists the codes, and knows what it does not know") {
  const auto ask = [](std::vector<std::string> words) {
    std::ostringstream out, err;
    const int status = run(words, out, err);
    return std::make_pair(status, out.str() + err.str());
  };
  for (const char* spelling : {"DTL1001", "dtl1001", "1001"}) {
    const auto [status, text] = ask({"explain-error", spelling});
    CHECK(status == 0);
    CHECK(text.starts_with("# DTL1001 · unknown_name\n"));
  }
  const auto [listed, list] = ask({"explain-error"});
  CHECK(listed == 0);
  CHECK(static_cast<size_t>(std::count(list.begin(), list.end(), '\n')) == source::catalogue().size());
  for (const char* wrong : {"DTL9998", "DTL", "x", "99999999", "-1"}) {
    const auto [status, text] = ask({"explain-error", "--", wrong});
    INFO(wrong << text);
    CHECK(status == 1);
  }
}

}  // namespace dtl::driver
