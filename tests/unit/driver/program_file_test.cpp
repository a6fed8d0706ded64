// What is given as a program: a regular file of bounded size, and nothing that a command would read without end.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "compiler/driver/options.h"
#include "tests/unit/driver/folder.h"

namespace dtl::test {
namespace {

std::string pipe_at(const std::string& path) {
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  return path;
}

}  // namespace

TEST_CASE("programs are regular files") {
  const Folder folder;
  const std::string fifo = pipe_at(folder / "pipe.dtl");
  for (const std::string command : {"check", "train", "config", "fmt"}) {
    CAPTURE(command);
    const Ran piped = dslc({command, fifo});
    CHECK(piped.status == 2);
    CHECK(piped.err == "error[DTL5001]: cannot read `" + fifo + "`: not a regular file\n");
    CHECK(dslc({command, "/dev/zero"}).err == "error[DTL5001]: cannot read `/dev/zero`: not a regular file\n");
    CHECK(dslc({command, folder.str()}).err.find("Is a directory") != std::string::npos);
    CHECK(dslc({command, folder / "none.dtl"}).err.find("No such file or directory") != std::string::npos);
  }
  CHECK(dslc({"pass", "simplify", "/dev/zero"}).status == 2);
  const Ran imported = dslc({"check", folder.write("main.dtl", "import \"pipe.dtl\"\n")});
  CHECK(imported.status == 1);
  CHECK(imported.err.find("not a regular file") != std::string::npos);
}

TEST_CASE("programs have a size that one can wait for") {
  const Folder folder;
  const std::string large = folder.write("large.dtl", "// a sparse file\n");
  std::filesystem::resize_file(large, (uintmax_t{16} << 20) + 1);
  const Ran ran = dslc({"check", large});
  CHECK(ran.status == 2);
  CHECK(ran.err == "error[DTL5001]: cannot read `" + large + "`: it is larger than 16 MB\n");
}

TEST_CASE("data is of regular files, too") {
  const Folder folder;
  for (const std::string name : {"pipe.csv", "pipe.npy", "pipe.npz", "pipe.txt", "pipe-ubyte"}) pipe_at(folder / name);
  for (const std::string source : {"csv(\"pipe.csv\")", "npy(\"pipe.npy\")", "npz(\"pipe.npz\")", "text(\"pipe.txt\")",
                                   "idx(images = \"pipe-ubyte\", labels = \"pipe-ubyte\")", "csv(\"/dev/zero\")"}) {
    CAPTURE(source);
    const Ran ran = dslc({"check", folder.write("main.dtl", "dataset D {\n  train = " + source +
                                                                "\n  batch = 1\n  example (x: float) { x = x }\n}\n"
                                                                "model M (x: f32[batch]) -> f32 { mean(dense(1)(expand(x, axis = -1))) }\n"
                                                                "train { model = M, data = D, loss = prediction, optimizer = sgd(0.1), "
                                                                "epochs = 1 }\n")});
    CHECK(ran.status == 2);
    CHECK(ran.err.find("not a regular file") != std::string::npos);
  }
}

}  // namespace dtl::test
