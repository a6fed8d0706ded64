// The Jit around the kernels: one function a text, the disk cache and what may be wrong with it, threads, printed code.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/unit/codegen/reference.h"

using namespace dtl;
using namespace dtl::codegen;
using namespace dtl::codegen::test;
namespace fs = std::filesystem;

namespace {

/// A directory that is gone afterwards.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "codegen_test_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()));
    path = name;
  }
  ~Folder() {
    std::error_code error;
    fs::permissions(path, fs::perms::owner_all, error);
    fs::remove_all(path, error);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> result;
    for (const auto& entry : fs::directory_iterator(path)) result.push_back(entry.path());
    return result;
  }
};

/// out[i] = x[i] + number.
plan::KernelEntry adding(double number) {
  return {fmt::format("add {}", number), fmt::format("operand 0 f32[$0]\noperand 1 f32[$0] written\nouter 0 $0\n%0 = loop i64 0\n%1 = load "
                                                     "f32 0[%0]\n%2 = constant f32 {:.1f}\n%3 = add f32 %1, %2\nstage []\n"
                                                     "  store 1[%0] %3\n",
                                                     number)};
}

float run(plan::KernelFunction function, float x) {
  std::array<float, 3> in = {x, x, x}, out = {};
  void* const operands[] = {in.data(), out.data()};
  const int64_t extent = 3;
  function(operands, &extent, 0, 3);
  return out[2];
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void overwrite(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes; }

/// Compiles adding(1) with the folder's cache: what it says of itself.
Jit::Stats compile_one(const fs::path& folder) {
  Jit jit({.cache_directory = folder.string()});
  CHECK(run(jit.compile({adding(1)})[0], 4) == 5);
  return jit.stats();
}

}  // namespace

TEST_CASE("equal text is one function, whatever it is called") {
  Jit jit({});
  auto renamed = adding(1);
  renamed.name = "another";
  const auto first = jit.compile({adding(1), adding(2), renamed});
  CHECK(first[0] == first[2]);
  CHECK(first[0] != first[1]);
  CHECK(run(first[0], 4) == 5);
  CHECK(run(first[1], 4) == 6);
  CHECK(jit.stats().compiled == 2);
  CHECK(jit.compile({adding(2)})[0] == first[1]);
  CHECK(run(jit.compile({adding(3)})[0], 4) == 7);
  CHECK(jit.stats().compiled == 3);
  CHECK(jit.stats().from_cache == 0);
  CHECK(jit.stats().seconds > 0);
  CHECK(jit.compile({}).empty());
}

TEST_CASE("the second process finds what the first has compiled") {
  const Folder folder;
  const Jit::Stats cold = compile_one(folder.path), warm = compile_one(folder.path);
  CHECK(cold.compiled == 1);
  CHECK(cold.from_cache == 0);
  CHECK(warm.compiled == 0);
  CHECK(warm.from_cache == 1);
  CHECK(folder.files().size() == 1);
}

TEST_CASE("other vectors and other levels are other files") {
  const Folder folder;
  compile_one(folder.path);
  for (const JitOptions& other : {JitOptions{.cache_directory = folder.path.string(), .opt_level = 1},
                                  JitOptions{.cache_directory = folder.path.string(), .vector_bits = 128}}) {
    Jit jit(other);
    CHECK(run(jit.compile({adding(1)})[0], 4) == 5);
    CHECK(jit.stats().compiled == 1);
  }
  CHECK(folder.files().size() == 3);
}

TEST_CASE("a damaged file is a miss, and is written anew") {
  const Folder folder;
  compile_one(folder.path);
  const fs::path file = folder.files()[0];
  const std::string whole = contents(file);
  std::vector<std::string> damaged = {
      "", "dtl", whole.substr(0, 31), whole.substr(0, whole.size() - 1), whole + "x", std::string(whole.size(), '\0')};
  for (const size_t at : {size_t{0}, size_t{9}, size_t{20}, size_t{40}, whole.size() / 2, whole.size() - 1}) {
    damaged.push_back(whole);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 1);
  }
  for (const std::string& bytes : damaged) {
    overwrite(file, bytes);
    CHECK(compile_one(folder.path).compiled == 1);
    CHECK(compile_one(folder.path).from_cache == 1);
    CHECK(folder.files().size() == 1);
  }
}

TEST_CASE("one kernel's file under another's name is a miss") {
  const Folder folder;
  compile_one(folder.path);
  const fs::path file = folder.files()[0];
  const std::string one = contents(file);
  fs::remove(file);
  Jit jit({.cache_directory = folder.path.string()});
  jit.compile({adding(2)});
  const fs::path other = folder.files()[0];
  overwrite(other, one);
  Jit again({.cache_directory = folder.path.string()});
  CHECK(run(again.compile({adding(2)})[0], 4) == 6);
  CHECK(again.stats().compiled == 1);
}

TEST_CASE("a directory that cannot be made, read or written is no error") {
  const Folder folder;
  overwrite(folder.path / "file", "x");
  CHECK(compile_one(folder.path / "file").compiled == 1);  // a file, not a directory
  CHECK(compile_one(folder.path / "file" / "below").compiled == 1);
  CHECK(compile_one("/proc/nowhere").compiled == 1);
  CHECK(compile_one(folder.path / "a" / "b").compiled == 1);
  CHECK(compile_one(folder.path / "a" / "b").from_cache == 1);
  fs::create_directory(folder.path / "closed");
  fs::permissions(folder.path / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(compile_one(folder.path / "closed").compiled == 1);
  // A directory where the kernel's file would be.
  const fs::path taken = folder.path / "a" / "b";
  const fs::path file = fs::directory_iterator(taken)->path();
  fs::remove(file);
  fs::create_directories(file / "x");
  CHECK(compile_one(taken).compiled == 1);
}

TEST_CASE("many threads make the functions of one") {
  std::vector<plan::KernelEntry> entries;
  for (int i = 0; i < 24; ++i) entries.push_back(adding(i));
  const Folder folder;
  Jit one({.cache_directory = folder.path.string(), .threads = 1}), many({.threads = 5});
  const auto expected = one.compile(entries), found = many.compile(entries);
  CHECK(many.stats().compiled == 24);
  for (size_t i = 0; i < entries.size(); ++i) {
    CHECK(run(expected[i], 4) == static_cast<float>(i) + 4);
    CHECK(run(found[i], 4) == static_cast<float>(i) + 4);
  }
}

TEST_CASE("threads and processes share a cache directory") {
  const Folder folder;
  std::vector<plan::KernelEntry> entries;
  for (int i = 0; i < 6; ++i) entries.push_back(adding(i));
  const auto right = [&] {
    Jit jit({.cache_directory = folder.path.string(), .threads = 2});
    const auto functions = jit.compile(entries);
    bool result = true;
    for (size_t i = 0; i < entries.size(); ++i) result = result && run(functions[i], 4) == static_cast<float>(i) + 4;
    return result;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(right() ? 0 : 1);
    REQUIRE(child > 0);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { good += right(); });
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 3);
  CHECK(folder.files().size() == entries.size());
}

TEST_CASE("every level of optimisation gives the same bits") {
  const std::string text =
      "operand 0 f32[$0, 21]\noperand 1 f32[$0] written\nouter 0 $0\ninner 1 21\n%0 = loop i64 0\n%1 = loop i64 1\n%2 = load f32 0[%0, "
      "%1]\n%3 = exp f32 %2\n"
      "%4 = multiply f32 %3, %2\n%5 = reduced f32 0.0\n%6 = tanh f32 %5\nstage [1]\n  reduce sum %4\nstage []\n  store 1[%0] %6\n";
  std::set<std::string> results;
  for (int level = 0; level <= 3; ++level) {
    Jit jit({.opt_level = level});
    Memories operands = make_operands(parsed(text), {19});
    call(jit.compile({{"level", text}})[0], operands, {19}, 0, 19);
    results.insert(operands[1].bits());
  }
  CHECK(results.size() == 1);
}

TEST_CASE("code is printed under the kernel's name") {
  Jit jit({});
  const std::string ir = jit.llvm_text(adding(1)), assembly = jit.asm_text(adding(1));
  CHECK(ir.find("define void @add_1(") != std::string::npos);
  CHECK(ir.find("fadd <") != std::string::npos);
  CHECK(assembly.find("add_1:") != std::string::npos);
  CHECK(assembly.find("ret") != std::string::npos);
  CHECK(jit.llvm_text(adding(1)) == ir);
}

TEST_CASE("the default cache directory follows the environment") {
  const auto set = [](const char* name, const char* value) { value ? ::setenv(name, value, 1) : ::unsetenv(name); };
  std::map<std::string, std::optional<std::string>> before;
  for (const char* name : {"DTL_CACHE", "XDG_CACHE_HOME", "HOME"})
    before[name] = std::getenv(name) ? std::optional<std::string>(std::getenv(name)) : std::nullopt;
  set("DTL_CACHE", "/one");
  set("XDG_CACHE_HOME", "/two");
  set("HOME", "/three");
  CHECK(default_cache_directory() == "/one");
  set("DTL_CACHE", nullptr);
  CHECK(default_cache_directory() == "/two/dslc");
  set("XDG_CACHE_HOME", "");
  CHECK(default_cache_directory() == "/three/.cache/dslc");
  set("HOME", nullptr);
  CHECK(default_cache_directory().empty());
  for (const auto& [name, value] : before) set(name.c_str(), value ? value->c_str() : nullptr);
}
