// Whole programs: they parse, and the formatter keeps what they mean and what their comments say.
#include <catch2/catch.hpp>

#include "tests/unit/syntax/syntax_test.h"

namespace fs = std::filesystem;

namespace dtl::syntax {
namespace {

std::vector<fs::path> every_program() {
  std::vector<fs::path> paths;
  for (const char* folder : {"tests/programs", "examples", "stdlib", "tests/unit/syntax"}) {
    for (const fs::path& path : programs_in(folder)) paths.push_back(path);
  }
  return paths;
}

std::vector<std::string> comments_of(const Ast& ast) {
  std::vector<std::string> texts;
  for (const Comment& comment : ast.comments) texts.push_back(fmt::format("{}{}", comment.own_line ? "own " : "", comment.text));
  return texts;
}

TEST_CASE("every program parses without diagnostics") {
  CHECK(programs_in("tests/programs").size() == 6);
  CHECK(programs_in("stdlib").size() >= 9);
  for (const fs::path& path : every_program()) {
    INFO(path.string());
    Read read(read_text(path));
    REQUIRE(read.ast);
    CHECK(read.texts() == std::vector<std::string>{});
    CHECK(read.ast->decls.size() > 1);
  }
}

TEST_CASE("formatting keeps the Ast and the comments, and doing it twice changes nothing") {
  for (const fs::path& path : every_program()) {
    INFO(path.string());
    const Read read(read_text(path));
    const std::string once = read.formatted();
    Read again(once);
    REQUIRE(again.texts() == std::vector<std::string>{});
    CHECK(again.printed() == read.printed());
    CHECK(comments_of(*again.ast) == comments_of(*read.ast));
    CHECK(again.formatted() == once);
  }
}

/// Line ends at other places, more or fewer blanks: what a formatter must bring back or leave alone, but never break.
TEST_CASE("formatting a program squeezed or torn apart keeps its Ast") {
  for (const fs::path& path : programs_in("tests/programs")) {
    INFO(path.string());
    const Read read(read_text(path));
    std::string torn;
    for (char c : read_text(path)) {
      torn += c;
      if (c == '(' || c == '[') torn += "\n\n  ";
      if (c == ' ') torn += "\t ";
    }
    const Read other(torn);
    if (other.sink.has_errors()) continue;  // a comment was torn
    const std::string once = other.formatted();
    CHECK(Read(once).printed() == other.printed());
    CHECK(Read(once).formatted() == once);
  }
}

TEST_CASE("what formatted text looks like") {
  const auto formatted = [](const std::string& text) { return Read(text).formatted(); };
  CHECK(formatted("param  a:int=-3") == "param a: int = -3\n");
  CHECK(formatted("\n\nparam a: int = 1\n\n\n\nparam b: int = 2\n\n") == "param a: int = 1\n\nparam b: int = 2\n");
  CHECK(formatted("train{a=1;b=2,}") == "train { a = 1; b = 2 }\n");
  CHECK(formatted("train{a=1;b=2\n}") == "train {\n  a = 1\n  b = 2\n}\n");
  CHECK(formatted("train{\n\na=1\n\n}") == "train {\n  a = 1\n}\n");
  CHECK(formatted("train {\n}") == "train {}\n");
  CHECK(formatted("train { // c\n}") == "train {  // c\n}\n");
  CHECK(formatted("layer f(a:int)(x:f32[a])->f32[a]{x|>g(-1,b=a-1)}") ==
        "layer f (a: int) (x: f32[a]) -> f32[a] { x |> g(-1, b = a - 1) }\n");
  CHECK(formatted("fn f()->int{\nif a{\nb\n}\nelse{\nc\n}\n}") == "fn f () -> int {\n  if a {\n    b\n  } else {\n    c\n  }\n}\n");
  CHECK(formatted("fn f()->int{\nx\n|>g(\na,\nb)\n|>h\n}") == "fn f () -> int {\n  x\n    |> g(\n      a,\n      b\n    )\n    |> h\n}\n");
  CHECK(formatted("fn f()->int{\nstep(x){x}\n}") == "fn f () -> int {\n  step (x) { x }\n}\n");
  CHECK(formatted("/// doc\n///   more  \nparam a: int = 1// c") == "/// doc\n///   more\nparam a: int = 1  // c\n");
  CHECK(formatted("// only\r\n\r\n\r\n// comments\r\nparam a: int = 1\r\n") == "// only\n\n// comments\nparam a: int = 1\n");
}

}  // namespace
}  // namespace dtl::syntax
