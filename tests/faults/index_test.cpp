// Indices that a program computes and that are none: whoever uses them, whatever the command, nothing is computed with them.
#include "tests/faults/checkpoint_testing.h"

namespace dtl::driver {
namespace {

/// Rows whose class, raised by one, has a row in a table of `size`; `validation` has one that has none with a size of 3.
std::string program(const Job& job, int size) {
  return fmt::format(R"(
dataset Rows {{
  train      = csv("train.csv")
  validation = csv("validation.csv")
  batch      = 2
  example (x: float, y: int) {{
    x     = x
    label = y + 1
  }}
}}
model Net (x: f32[batch], label: i64[batch]) -> f32[batch] {{
  x * reshape(label |> embedding({}, width = 1), [batch])
}}
train {{
  model      = Net
  data       = Rows
  loss       = mean(squared_error(prediction, x))
  optimizer  = sgd(0.1)
  epochs     = 1
  checkpoint = {{ directory = "{}" }}
}}
)",
                     size, job.run_folder());
}

}  // namespace

TEST_CASE("a computed index without a row ends training, evaluation and prediction") {
  const Job job;
  job.write_file("train.csv", "x,y\n1,0\n2,1\n3,0\n");
  job.write_file("validation.csv", "x,y\n1,0\n2,2\n");
  job.write_file("job.dtl", program(job, 3));
  const auto fault = [&](const Ran& ran) {
    CHECK(ran.status == 2);
    CHECK(ran.err.find("error[DTL6007]: `embedding` at ") != std::string::npos);
    CHECK(ran.err.find("job.dtl:12:24 uses 3 as an index, and those from 0 to 2 are possible\n") != std::string::npos);
  };
  fault(run_command(job.command({"--quiet"})));
  fault(run_command(job.command({"--quiet", "--strategy", "mirrored(replicas = 3)"})));

  job.write_file("job.dtl", program(job, 4));
  const Ran trained = run_command(job.command({"--quiet"}));
  INFO(trained.err);
  REQUIRE(trained.status == 0);
  job.write_file("new.csv", "x,y\n1,0\n2,3\n");
  const Ran predicted = run_command(job.command({"--input", job.path("new.csv")}, "predict"));
  CHECK(predicted.status == 2);
  CHECK(predicted.err.find("uses 4 as an index, and those from 0 to 3 are possible\n") != std::string::npos);
  job.write_file("validation.csv", "x,y\n1,0\n2,-3\n");
  const Ran evaluated = run_command(job.command({}, "eval"));
  CHECK(evaluated.status == 2);
  CHECK(evaluated.err.find("uses -2 as an index, and those from 0 to 3 are possible\n") != std::string::npos);
}

}  // namespace dtl::driver
