// `on_error`: rows that no file is to blame for, but what the program does with their numbers; and rows without a prediction.
#include <sys/wait.h>

#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/faults/checkpoint_testing.h"

namespace dtl::driver {
namespace {

/// Two rows of class 3 of 3 (the 2nd and the 12th), and where `broken`, one more that cannot be read (the 5th).
std::string some_rows(bool broken) {
  std::string text = "x_a,x_b,kind,label\n";
  for (int i = 1; i <= 12; ++i) {
    text += broken && i == 5 ? "1,one,0,0\n" : fmt::format("{},{},{},{}\n", i * 0.25, 3 - i, i % 4, i == 2 || i == 12 ? 3 : i % 3);
  }
  return text;
}

std::string program(const Job& job, const std::string& on_error, const std::string& source = "csv(\"rows.csv\")") {
  return R"(
dataset Rows {
  train    = )" +
         source + R"(
  batch    = 4
  on_error = )" +
         on_error + R"(
  example (x_a: float, x_b: float, kind: int, label: int) {
    a     = x_a
    b     = x_b
    kind  = cast(kind, i32)
    label = cast(label, i32)
  }
}
model Net (a: f32[batch], b: f32[batch], kind: i32[batch]) -> f32[batch, 3] {
  (expand(a + b, axis = -1) |> dense(3)) + (kind |> embedding(4, width = 3))
}
train {
  model      = Net
  data       = Rows
  loss       = mean(sparse_cross_entropy(prediction, label))
  optimizer  = sgd(cosine_decay(0.1, steps = 2 * updates_per_epoch))
  epochs     = 2
  checkpoint = { directory = ")" +
         job.run_folder() + R"(" }
}
)";
}

Ran run_with(const Job& job, const std::string& on_error, bool broken, std::vector<std::string> more = {}) {
  job.write_file("rows.csv", some_rows(broken));
  job.write_file("job.dtl", program(job, on_error));
  more.emplace_back("--overwrite");
  return run_command(job.command(std::move(more)));
}

TEST_CASE("on_error: a label out of range is a faulty row") {
  const Job job;
  const Ran stopped = run_with(job, "stop", false);
  CHECK(stopped.status == 2);
  CHECK(stopped.err.find("error[DTL5019]: `rows.csv`, row 2: `label` is 3, and the program uses it as an index from 0 to 2") !=
        std::string::npos);
  CHECK(stopped.err.find("on_error = skip(") != std::string::npos);

  const Ran few = run_with(job, "skip(limit = 1)", false);
  CHECK(few.status == 2);
  CHECK(few.err.find("error[DTL5017]: `rows.csv`: more than 1 of its rows are faulty; the first is `rows.csv`, row 2: `label` is 3") !=
        std::string::npos);

  const Ran good = run_with(job, "skip(limit = 2)", false);
  INFO(good.err);
  REQUIRE(good.status == 0);
  CHECK(good.err.find("warning[DTL5114]: `rows.csv`: faulty rows left out: 2; the first is `rows.csv`, row 2: `label` is 3") !=
        std::string::npos);
  const checkpoint::Checkpoint saved = checkpoint::open(job.run_folder(), kNone);
  CHECK(saved.standing().examples == 10);
  // As if those rows had not been in the file: the schedule counts the same updates.
  const auto left_out = tensors_of(job.run_folder());
  std::string text;
  std::istringstream lines(some_rows(false));
  for (std::string line; std::getline(lines, line);) text += line.ends_with(",3") ? "" : line + "\n";
  job.write_file("rows.csv", text);
  job.write_file("job.dtl", program(job, "stop"));
  REQUIRE(run_command(job.command({"--overwrite"})).status == 0);
  CHECK(tensors_of(job.run_folder()) == left_out);
}

TEST_CASE("on_error: faulty rows of a file count together with those that cannot be read") {
  const Job job;
  CHECK(run_with(job, "skip(limit = 2)", true).err.find("error[DTL5017]: `rows.csv`: more than 2 of its rows are faulty") != std::string::npos);
  const Ran good = run_with(job, "skip(limit = 3)", true);
  INFO(good.err);
  REQUIRE(good.status == 0);
  CHECK(good.err.find("left out: 1; the first is row 5, column `x_b`") != std::string::npos);
  CHECK(good.err.find("left out: 2; the first is `rows.csv`, row 2: `label`") != std::string::npos);
  CHECK(checkpoint::open(job.run_folder(), kNone).standing().examples == 9);
  const auto words = [&](const std::string& verb, std::vector<std::string> more) {
    more.insert(more.begin(), {verb, job.path("job.dtl")});
    return more;
  };
  const Ran read = run_command(words("check", {"--read-data"}));
  CHECK(read.status == 0);
  CHECK(read.out.find("Rows of 9 examples") != std::string::npos);
  // The 12th row is known by its number in the file.
  job.write_file("job.dtl", program(job, "skip(limit = 1)", "csv(\"rows.csv\") |> skip(5)"));
  const Ran late = run_command(words("check", {"--read-data"}));
  CHECK(late.err.find("the first is `rows.csv`, row 12: `label` is 3") != std::string::npos);
  // eval and predict read a split as training did.
  run_with(job, "skip(limit = 3)", true);
  const Ran eval = run_command(job.command({"--split", "train"}, "eval"));
  CHECK(eval.status == 0);
  CHECK(eval.err.find("left out: 2") != std::string::npos);
  const Ran predicted = run_command(job.command({"--split", "train"}, "predict"));
  CHECK(std::count(predicted.out.begin(), predicted.out.end(), '\n') == 10);
}

TEST_CASE("on_error: data without texts to blame") {
  const Job job;
  job.write_file("job.dtl", program(job, "skip(limit = 3)",
                                    "synthetic(12, fields = { x_a = normal([]), x_b = normal([]), kind = integers(0, 4, []), "
                                    "label = integers(0, 4, []) })"));
  const Ran ran = run_command(job.command({"--quiet"}));
  INFO(ran.err);
  const bool some = ran.err.find("warning[DTL5114]: `synthetic`: faulty rows left out: ") != std::string::npos;
  const bool more = ran.err.find("error[DTL5017]: `synthetic` has more than 3 faulty rows; the first is example ") != std::string::npos;
  CHECK((some || more));
}

TEST_CASE("predict: rows without a prediction are told by their numbers") {
  const Job job;
  REQUIRE(run_with(job, "skip(limit = 2)", false).status == 0);
  const auto predict = [&](const std::string& text, std::vector<std::string> more = {}) {
    job.write_file("new.csv", "kind,x_a,x_b\n" + text);
    more.insert(more.end(), {"--input", job.path("new.csv")});
    return run_command(job.command(std::move(more), "predict"));
  };
  const Ran good = predict("0,1,2\n3,0.5,1\n1,1,1\n");
  REQUIRE(good.status == 0);
  CHECK(good.err.empty());
  const Ran some = predict("0,1,2\n2,huge,1\n3,0.5,1\n4,1,1\n1,1,1\n");
  INFO(some.err);
  CHECK(some.status == 0);
  CHECK(some.out == good.out);
  CHECK(some.err.find("faulty rows left out: 2; the first is row 2, column `x_a`: `huge` is no number") != std::string::npos);
  CHECK(some.err.find("there is no prediction for rows 2, 4") != std::string::npos);
  const Ran many = predict("0,1,2\n-1,1,1\n7,1,1\n5,1,1\n");
  CHECK(many.status == 2);
  CHECK(many.out.empty());
  CHECK(many.err.find("error[DTL5017]: `" + job.path("new.csv") +
                      "`: more than 2 of its rows are faulty; the first is `new.csv`, row 2: `kind` is -1") != std::string::npos);
  const Ran stopped = predict("0,1,2\n9,1,1\n", {"--set", "Rows.on_error=stop"});
  CHECK(stopped.status != 0);
}

TEST_CASE("predict: a reader that goes away ends it quietly") {
  const Job job;
  REQUIRE(run_with(job, "skip(limit = 2)", false).status == 0);
  std::string text = "kind,x_a,x_b\n";
  for (int i = 0; i < 50'000; ++i) text += "1,2,3\n";
  job.write_file("new.csv", text);
  for (const std::string verb : {"predict", "check"}) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      std::signal(SIGPIPE, SIG_IGN);  // as `main` does
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      std::ostringstream err;
      std::vector<std::string> words = {verb, job.path("job.dtl")};
      if (verb == "predict") words = job.command({"--input", job.path("new.csv")}, verb);
      const int status = run(words, std::cout, err);
      std::cerr << err.str();
      _exit(err.str().empty() ? status : 1);
    }
    close(ends[0]);
    close(ends[1]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CAPTURE(verb);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGPIPE));
  }
}

}  // namespace
}  // namespace dtl::driver
