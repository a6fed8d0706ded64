// Large programs: time and memory in proportion to the text. Limits are several times what is measured, in CPU time.
#include <sys/resource.h>

#include <ctime>

#include "full_speed.h"
#include "tests/unit/sema/support.h"

using namespace dtl::test;

namespace {

constexpr double kSlower = kFullSpeed ? 1 : 20;

constexpr int kMany = kFullSpeed ? 10'000 : 1'000;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string layers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text +=
        fmt::format("layer Block{} (units: int = {}) (x: f32[batch, 4]) -> f32[batch, units] {{\n  x |> dense(units)\n}}\n", i, i % 7 + 1);
  }
  return text;
}

double seconds_of(const std::string& text, const std::string& symbols = {}) {
  const double begin = cpu_seconds();
  const auto checked = check(text);
  const double taken = cpu_seconds() - begin;
  // Nothing is trained here, which is told first.
  CHECK(checked->symbols() == (symbols.empty() ? "no_train" : "no_train " + symbols));
  return taken;
}

}  // namespace

TEST_CASE("a program of a megabyte is checked in seconds") {
  CHECK(seconds_of(layers(10'000)) < 1.5 * kSlower);
  std::string body = "fn f (x: f32[batch, 4]) -> f32[batch, 4] {\n  let v0 = x\n";
  for (int i = 1; i < 25'000; ++i) body += fmt::format("  let v{} = v{} * 2 + v{} * v{}\n", i, i - 1, i / 2, i / 3);
  CHECK(seconds_of(body + "  v24999\n}\n") < 1.5 * kSlower);

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  CHECK(usage.ru_maxrss < 500 * 1024);
}

TEST_CASE("twice as many declarations take about twice the time") {
  const double once = seconds_of(layers(kMany));
  CHECK(seconds_of(layers(2 * kMany)) < 3 * once);
}

TEST_CASE("a chain of params is as long as the file") {
  std::string text = "param p0: int = 0\n";
  for (int i = 1; i < 10'000; ++i) text += fmt::format("param p{}: int = p{} + 1\n", i, i - 1);
  CHECK(seconds_of(text) < 1.5 * kSlower);
  CHECK(seconds_of(text + "param q: int = r\nparam r: int = q\n", "uses_itself") < 1.5 * kSlower);
  std::string cycle = "param p0: int = p9999\n";
  for (int i = 1; i < 10'000; ++i) cycle += fmt::format("param p{}: int = p{} + 1\n", i, i - 1);
  CHECK(seconds_of(cycle, "uses_itself") < 1.5 * kSlower);
}

TEST_CASE("a file of unknown names is told in seconds") {
  std::string text, symbols;
  for (int i = 0; i < 10'000; ++i) {
    text += fmt::format("param p{}: int = r{}\n", i, i);
    symbols += i ? " unknown_name" : "unknown_name";
  }
  CHECK(seconds_of(text, symbols) < 1.5 * kSlower);
}

TEST_CASE("dimensions stay small: squares of squares are a mistake") {
  std::string text = "fn f (x: f32[n, 4]) -> f32[n, 4] {\n  let d0 = n + 1\n";
  for (int i = 1; i < 40; ++i) text += fmt::format("  let d{} = d{} * d{}\n", i, i - 1, i - 1);
  CHECK(seconds_of(text + "  x\n}\n", "integer_overflow") < 1.5 * kSlower);
}
