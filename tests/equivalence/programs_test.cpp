// Whole programs, as users run them: each trains on two replicas as on one device, through every report it makes.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/driver/options.h"
#include "source_dir.h"
#include "tests/unit/runtime/folder_testing.h"

using namespace dtl;

namespace {

struct Program {
  const char* file;
  std::vector<std::string> sets;  ///< what makes it short
  const char* prepare = nullptr;  ///< the script that makes its data
};

const std::string kImages = "idx(images = \"train-images-idx3-ubyte.gz\", labels = \"train-labels-idx1-ubyte.gz\")";
const std::string kTest = "idx(images = \"t10k-images-idx3-ubyte.gz\", labels = \"t10k-labels-idx1-ubyte.gz\")";

/// Six hundred and fifty images, of which the last batch is short; thirty to validate and thirty to test.
std::vector<std::string> few_images(std::vector<std::string> more = {}) {
  more.push_back("Fashion.train=" + kImages + " |> take(650)");
  more.push_back("Fashion.validation=" + kImages + " |> skip(59_970)");
  more.push_back("Fashion.test=" + kTest + " |> take(30)");
  return more;
}

/// 200 messages of words w0 … w29; those with a w1 have the label 1.
std::string messages() {
  std::string text = "text,label,split\n";
  uint32_t state = 7;
  for (int i = 0; i < 200; ++i) {
    bool label = false;
    for (int j = 0; j <= i % 8; ++j) {
      state = state * 1664525 + 1013904223;
      const uint32_t word = (state >> 16) % 30 * ((state >> 24) % 30) / 30;
      label |= word == 1;
      text += "w" + std::to_string(word) + " ";
    }
    text += "," + std::to_string(label) + (i % 5 ? ",train\n" : ",validation\n");
  }
  return text;
}

/// The numbers of every epoch's and evaluation's report of a run, in their order.
std::vector<double> reports(const Program& program, const test::TemporaryFolder& folder, const std::string& strategy) {
  setenv("DTL_DATA", "/usr/share/datasets/fashion-mnist", 0);
  std::vector<std::string> arguments = {"train",      std::string(DTL_SOURCE_DIR) + "/" + program.file,
                                        "--json",     "--overwrite",
                                        "--run",      "none",
                                        "--threads",  "1",
                                        "--cache",    "none",
                                        "--data",     folder.path(),
                                        "--strategy", strategy,
                                        "--set",      "precision=f64"};
  for (const std::string& set : program.sets) {
    arguments.emplace_back("--set");
    arguments.push_back(set);
  }
  std::ostringstream out, err;
  const int status = driver::run(arguments, out, err);
  INFO(err.str());
  REQUIRE(status == 0);
  std::vector<double> numbers;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line);
    if (!event.contains("reports") || event["event"] == "step") continue;  // how many steps tell of themselves is a matter of time
    for (const auto& [name, value] : event["reports"].items()) {
      REQUIRE(value.is_number());
      if (!name.ends_with("slowest"))
        numbers.push_back(value.get<double>());  // a largest share, which is of each number of replicas another
    }
  }
  return numbers;
}

void check_equivalence(const Program& program) {
  const test::TemporaryFolder folder("programs");
  folder.plain("messages.csv", messages());
  if (program.prepare) {
    const std::string command = std::string(DTL_SOURCE_DIR) + "/" + program.prepare + " " + folder.path() + " >/dev/null";
    REQUIRE(std::system(command.c_str()) == 0);
  }
  CAPTURE(program.file);
  const std::vector<double> one = reports(program, folder, "one_device()");
  REQUIRE(one.size() >= 2);
  for (const char* strategy : {"mirrored(replicas = 2)", "sharded_optimizer(replicas = 3)", "fully_sharded(replicas = 2)"}) {
    CAPTURE(strategy);
    const std::vector<double> many = reports(program, folder, strategy);
    REQUIRE(many.size() == one.size());
    for (size_t i = 0; i < one.size(); ++i) {
      CAPTURE(i);
      CHECK(std::abs(many[i] - one[i]) <= 1e-9 * std::abs(one[i]) + 1e-12);
    }
  }
}

}  // namespace

TEST_CASE("the first programs train on two replicas as on one device") {
  check_equivalence({"tests/programs/fashion_mlp.dtl", few_images({"epochs=2"})});
  check_equivalence(
      {"tests/programs/custom_step.dtl", {"Fashion.train=" + kImages + " |> take(650)", "Fashion.test=" + kTest + " |> take(30)"}});
  check_equivalence({"tests/programs/text_ps.dtl", {"epochs=2"}});
  check_equivalence({"tests/programs/own_strategy.dtl",
                     {"epochs=2", "Points.train=synthetic(600, seed = 1, fields = { x = normal([32]), noise = normal([]) })"}});
}

TEST_CASE("batches joined to updates train as the larger batch, a short last update included") {
  const test::TemporaryFolder folder("programs");
  const auto run = [&](const std::vector<std::string>& sets, const char* strategy) {
    return reports({"tests/programs/fashion_mlp.dtl", few_images(sets)}, folder, strategy);
  };
  const std::vector<double> large = run({"epochs=2", "Fashion.batch=200"}, "one_device()");
  for (const char* strategy : {"one_device()", "mirrored(replicas = 2)"}) {
    const std::vector<double> joined = run({"epochs=2", "Fashion.batch=100", "gradients={ accumulate = 2 }"}, strategy);
    REQUIRE(joined.size() == large.size());
    for (size_t i = 0; i < large.size(); ++i) CHECK(std::abs(joined[i] - large[i]) <= 1e-9 * std::abs(large[i]) + 1e-12);
  }
}

TEST_CASE("convolutional programs train on two replicas as on one device, augmentation and batch norm included") {
  const test::TemporaryFolder checkpoints("programs_checkpoints");
  check_equivalence({"tests/programs/fashion_cnn.dtl", few_images({"epochs=1", "width=4", "Fashion.batch=96",
                                                                   "checkpoint={ directory = \"" + checkpoints.path() + "/cnn\" }"})});
  check_equivalence({"examples/resnet20/resnet20.dtl", few_images({"epochs=1", "blocks=2", "width=4", "Fashion.batch=96"})});
}

TEST_CASE("the examples of an autoencoder, of factors and of a recurrent network train on two replicas as on one device") {
  check_equivalence({"examples/vae/vae.dtl", few_images({"epochs=1"})});
  check_equivalence(
      {"examples/factorisation/factorisation.dtl",
       {"epochs=1", "users=60", "items=40",
        "Ratings.train=synthetic(600, fields = { user = integers(0, users, []), item = integers(0, items, []), luck = normal([]) })",
        "Ratings.test=synthetic(50, fields = { user = integers(0, users, []), item = integers(0, items, []), luck = normal([]) })"}});
  check_equivalence({"examples/lstm/lstm.dtl", few_images({"epochs=1", "units=8"})});
}

TEST_CASE("the example of a graph of neighbours trains on two replicas as on one device") {
  check_equivalence({"examples/neighbours/neighbours.dtl", {"epochs=3", "Moons.batch=50"}, "examples/neighbours/prepare_moons"});
}

TEST_CASE("the example of a GAN trains on two replicas as on one device") {
  check_equivalence({"examples/gan/gan.dtl",
                     {"epochs=2", "Ring.train=synthetic(1_000, fields = { mode = integers(0, modes, []), offset = normal([2]) })"}});
}
