// dslc train with precision f16 where no scale of the loss helps.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/driver/options.h"

namespace dtl::driver {
namespace {

namespace fs = std::filesystem;

TEST_CASE("train: gradients that are not finite at any scale end the run with a fault") {
  const fs::path file = fs::temp_directory_path() / ("scale-" + std::to_string(getpid()) + ".dtl");
  // The slope of a root at 0 is infinite, and its product with 0 no number; the loss itself is finite.
  std::ofstream(file) << R"(
dataset Points {
  train = synthetic(64, seed = 1, fields = { x = normal([4]) })
  batch = 8
}
model Net (x: f32[batch, 4]) -> f32[batch, 2] { x |> dense(2) }
train {
  model     = Net
  data      = Points
  loss      = mean(sqrt(prediction * 0))
  optimizer = sgd(0.1)
  precision = f16
  steps     = 1_000
}
)";
  std::ostringstream out, err;
  const int status = run({"train", file.string(), "--threads", "2", "--run", "none", "--cache", "none", "--quiet"}, out, err);
  fs::remove(file);
  INFO(err.str());
  CHECK(status == 2);
  CHECK(err.str().find("error[DTL6030]: the loss scale has fallen to 4.768e-07 in epoch 5, step 5") != std::string::npos);
}

}  // namespace
}  // namespace dtl::driver
