// Every seed of the fuzzers, and everything they found, through the entries they run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "full_speed.h"
#include "source_dir.h"
#include "tests/fuzz/entries.h"

namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(DTL_SOURCE_DIR) / "tests/fuzz/corpus";

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

TEST_CASE("what the fuzzers begin with and what they found") {
  for (const dtl::fuzz::Entry& entry : dtl::fuzz::entries()) {
    std::vector<fs::path> seeds;
    REQUIRE(fs::is_directory(kCorpus / entry.name));
    for (const auto& seed : fs::directory_iterator(kCorpus / entry.name)) seeds.push_back(seed.path());
    std::sort(seeds.begin(), seeds.end());
    CHECK_FALSE(seeds.empty());
    for (const fs::path& seed : seeds) {
      INFO(entry.name << "/" << seed.filename().string());
      std::ifstream in(seed, std::ios::binary);
      const std::string input{std::istreambuf_iterator<char>(in), {}};
      const double begin = cpu_seconds();
      CHECK_NOTHROW(entry.run(input));
      CHECK(cpu_seconds() - begin < (kFullSpeed ? 5 : 60));
    }
  }
  for (const auto& folder : fs::directory_iterator(kCorpus)) {
    const std::string name = folder.path().filename().string();
    INFO(name << " is of no entry");
    CHECK(std::any_of(dtl::fuzz::entries().begin(), dtl::fuzz::entries().end(), [&](const auto& entry) { return entry.name == name; }));
  }
}

TEST_CASE("every program of the repository is laid out without a change of its meaning, and only once") {
  const auto syntax =
      std::find_if(dtl::fuzz::entries().begin(), dtl::fuzz::entries().end(), [](const auto& e) { return e.name == std::string("syntax"); });
  REQUIRE(syntax != dtl::fuzz::entries().end());
  int programs = 0;
  for (const char* folder : {"stdlib", "examples", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(DTL_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".dtl") continue;
      INFO(entry.path().string());
      std::ifstream in(entry.path(), std::ios::binary);
      CHECK_NOTHROW(syntax->run(std::string{std::istreambuf_iterator<char>(in), {}}));
      ++programs;
    }
  }
  CHECK(programs > 100);
}
