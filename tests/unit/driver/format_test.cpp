// dslc fmt as a command: what it prints, what it writes, its exit status.
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <iostream>

#include "folder.h"

namespace dtl::test {
namespace {

const std::string kOdd = "param   x: int=3 // three\nparam y:int = 4";
const std::string kEven = "param x: int = 3  // three\nparam y: int = 4\n";

/// What the standard input gives while it lives.
class Input {
 public:
  explicit Input(const std::string& text) : text_(text), before_(std::cin.rdbuf(text_.rdbuf())) {}
  ~Input() { std::cin.rdbuf(before_); }

 private:
  std::istringstream text_;
  std::streambuf* before_;
};

}  // namespace

TEST_CASE("fmt prints programs one after another, and leaves the files") {
  const Folder folder;
  const std::string odd = folder.write("odd.dtl", kOdd), even = folder.write("even.dtl", kEven);
  const Ran ran = dslc({"fmt", odd, even});
  CHECK(ran.status == 0);
  CHECK(ran.out == kEven + kEven);
  CHECK(folder.read("odd.dtl") == kOdd);
}

TEST_CASE("fmt --check names the files that it would change") {
  const Folder folder;
  const std::string odd = folder.write("odd.dtl", kOdd), even = folder.write("even.dtl", kEven);
  const Ran both = dslc({"fmt", "--check", odd, even});
  CHECK(both.status == 1);
  CHECK(both.out == odd + "\n");
  CHECK(dslc({"fmt", "--check", even}).status == 0);
  CHECK(dslc({"fmt", "--check", even}).out.empty());
  CHECK(folder.read("odd.dtl") == kOdd);
}

TEST_CASE("fmt --write puts the layout in place: mode and links stay, and nothing is left behind") {
  const Folder folder;
  const std::string odd = folder.write("odd.dtl", kOdd);
  REQUIRE(::chmod(odd.c_str(), 0640) == 0);
  fs::create_symlink("odd.dtl", folder / "link.dtl");
  CHECK(dslc({"fmt", "--write", folder / "link.dtl"}).status == 0);
  CHECK(folder.read("odd.dtl") == kEven);
  CHECK(fs::is_symlink(folder / "link.dtl"));
  struct stat status{};
  REQUIRE(::stat(odd.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0640);
  CHECK(folder.names() == std::vector<std::string>{"link.dtl", "odd.dtl"});
  // A file that is laid out is not written again.
  const auto time = fs::last_write_time(odd) - std::chrono::hours(1);
  fs::last_write_time(odd, time);
  CHECK(dslc({"fmt", "--write", odd}).status == 0);
  CHECK(fs::last_write_time(odd) == time);
}

TEST_CASE("fmt --diff shows lines before and after, and where a line end is missing") {
  const Folder folder;
  const std::string odd = folder.write("odd.dtl", kOdd);
  const Ran ran = dslc({"fmt", "--diff", odd});
  CHECK(ran.status == 0);
  CHECK(ran.out == "--- " + odd + "\n+++ " + odd + R"(
@@ -1,2 +1,2 @@
-param   x: int=3 // three
-param y:int = 4
\ No newline at end of file
+param x: int = 3  // three
+param y: int = 4
)");
  CHECK(dslc({"fmt", "--check", "--diff", odd}).status == 1);

  // Pieces far apart, with three lines around each.
  std::string before, after;
  for (int i = 0; i < 30; ++i) {
    const std::string name = "param p" + std::to_string(i);
    before += name + (i == 4 || i == 25 ? ":int=1\n" : ": int = 1\n");
    after += name + ": int = 1\n";
  }
  const std::string far = folder.write("far.dtl", before);
  const Ran pieces = dslc({"fmt", "--diff", far});
  CHECK(pieces.out.find("@@ -2,7 +2,7 @@\n param p1: int = 1\n") != std::string::npos);
  CHECK(pieces.out.find("@@ -23,7 +23,7 @@\n param p22: int = 1\n") != std::string::npos);
  CHECK(dslc({"fmt", "--write", "--diff", far}).out == pieces.out);
  CHECK(folder.read("far.dtl") == after);
}

TEST_CASE("fmt reads the standard input for `-`") {
  {
    const Input input(kOdd);
    const Ran ran = dslc({"fmt", "-"});
    CHECK(ran.status == 0);
    CHECK(ran.out == kEven);
  }
  const Input input(kOdd);
  const Ran checked = dslc({"fmt", "--check", "-"});
  CHECK(checked.status == 1);
  CHECK(checked.out == "<stdin>\n");
  CHECK(dslc({"fmt", "--write", "-"}).status == 1);
}

TEST_CASE("fmt goes on after a file that it cannot read or parse, and leaves that file alone") {
  const Folder folder;
  const std::string broken = folder.write("broken.dtl", "param x: = 3\n"), odd = folder.write("odd.dtl", kOdd);
  const Ran ran = dslc({"fmt", "--write", broken, folder / "none.dtl", odd});
  CHECK(ran.status == 2);
  CHECK(ran.err.find("DTL0003") != std::string::npos);
  CHECK(ran.err.find("DTL5001") != std::string::npos);
  CHECK(folder.read("broken.dtl") == "param x: = 3\n");
  CHECK(folder.read("odd.dtl") == kEven);
  CHECK(dslc({"fmt", broken, odd}).status == 1);
}

TEST_CASE("fmt --write that runs out of room says so, keeps the file and leaves nothing") {
  const Folder folder;
  const std::string odd = folder.write("odd.dtl", kOdd);
  // No file may grow beyond 8 bytes: as if the disk were full.
  const auto signal = ::signal(SIGXFSZ, SIG_IGN);
  struct rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const struct rlimit small{8, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Ran ran = dslc({"fmt", "--write", odd});
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, signal);
  CHECK(ran.status == 2);
  CHECK(ran.err.find("DTL6004") != std::string::npos);
  CHECK(folder.read("odd.dtl") == kOdd);
  CHECK(folder.names() == std::vector<std::string>{"odd.dtl"});
}

}  // namespace dtl::test
