// Texts of a table, from the file to the weights: every number of replicas trains as one, with a cache and without.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/driver/options.h"
#include "tests/unit/runtime/folder_testing.h"

using namespace dtl;

namespace {

constexpr const char* kProgram = R"(
dataset Messages {
  vocabulary = words(of = "messages.csv", column = "text", keep = 40)
  train      = csv("messages.csv") |> where(row => row.split == "train")
  validation = csv("messages.csv") |> where(row => row.split == "validation")
  batch      = 37
  shuffle    = 100

  example (text: string, label: int) {
    words = encode(text, vocabulary, length = 6)
    label = cast(label, f32)
  }
}

model Bag (words: i32[batch, length]) -> f32[batch] {
  let mask = cast(words != 0, f32)
  let rows = embedding(size(Messages.vocabulary), width = 4)(words) * expand(mask, axis = -1)
  sum(rows, axis = 1) |> dense(1) |> squeeze(axis = -1)
}

train {
  model     = Bag
  data      = Messages
  loss      = mean(sigmoid_cross_entropy(prediction, label))
  optimizer = sgd(0.5)
  precision = f64
  epochs    = 2
}
)";

/// 1,000 messages of words w0 … w59, of which those with a w1 have the label 1.
std::string messages() {
  std::string text = "text,label,split\n";
  uint32_t state = 7;
  for (int i = 0; i < 1000; ++i) {
    std::string words;
    bool label = false;
    for (int j = 0; j <= i % 8; ++j) {
      state = state * 1664525 + 1013904223;
      const uint32_t word = (state >> 16) % 60 * ((state >> 24) % 60) / 60;
      label |= word == 1;
      words += (j ? (i % 3 ? " " : ", ") : "") + std::string("W") + std::to_string(word);
    }
    text += "\"" + words + "\"," + std::to_string(label) + (i % 5 ? ",train\n" : ",validation\n");
  }
  return text;
}

/// The numbers of every report of a training run, in their order.
std::vector<double> reports(const test::TemporaryFolder& folder, const std::string& strategy, const std::string& cache) {
  std::ostringstream out, err;
  const int status = driver::run(
      {"train", folder.path("program.dtl"), "--json", "--run", "none", "--strategy", strategy, "--cache", cache, "--threads", "1"}, out,
      err);
  INFO(err.str());
  REQUIRE(status == 0);
  std::vector<double> numbers;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line);
    for (const char* key : {"loss", "values", "reports"}) {
      if (!event.contains(key)) continue;
      for (const auto& value : event[key]) {
        if (value.is_number()) numbers.push_back(value.get<double>());
      }
    }
  }
  return numbers;
}

TEST_CASE("a table of texts trains alike on any number of replicas, from its file and from the cache") {
  const test::TemporaryFolder folder("data-equivalence");
  folder.plain("program.dtl", kProgram);
  folder.plain("messages.csv", messages());
  const std::vector<double> one = reports(folder, "one_device()", "none");
  REQUIRE(one.size() >= 4);
  CHECK(one.back() < one.front());
  for (const char* strategy : {"mirrored(replicas = 2)", "mirrored(replicas = 3)"}) {
    for (const std::string& cache : {std::string("none"), folder.path("cache"), folder.path("cache")}) {
      const std::vector<double> many = reports(folder, strategy, cache);
      REQUIRE(many.size() == one.size());
      for (size_t i = 0; i < one.size(); ++i) CHECK(many[i] == Approx(one[i]).epsilon(1e-9));
    }
  }
}

}  // namespace
