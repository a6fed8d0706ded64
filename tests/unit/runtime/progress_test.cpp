// What progress prints.
#include "runtime/report/progress.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/report/format.h"
#include "runtime/report/throughput.h"

namespace dtl::report {
namespace {

Position position_at(double seconds) {
  Position position;
  position.epoch = 2;
  position.epochs = 5;
  position.step = 10;
  position.steps = 40;
  position.total_step = 50;
  position.total_steps = 200;
  position.seconds = seconds;
  position.examples_per_second = 81234;
  position.seconds_left = 75;
  return position;
}

const std::vector<Value> kValues = {{"loss", 0.43125}, {"accuracy", 0.875}};

void run_all(Progress& progress) {
  Start start;
  start.program = "mlp.dtl";
  start.strategy = "Local";
  start.precision = "bf16";
  start.replicas = 2;
  start.batch = 128;
  start.splits = {{"train", 55000}, {"test", 10000}};
  start.epochs = 5;
  start.kernels_compiled = 3;
  start.kernels_from_cache = 1;
  start.seconds = 0.25;
  progress.start(start);
  if (progress.due(6)) progress.step(position_at(6), kValues);
  progress.epoch(position_at(7), kValues);
  progress.evaluation("validation", position_at(8), kValues);
  progress.message("a word");
  End end;
  end.epochs = 5;
  end.steps = 200;
  end.seconds = 12;
  end.examples_per_second = 81234;
  end.values = {{"train/loss", 0.5}, {"train/accuracy", 0.25}, {"test/loss", 0.125}};
  progress.end(end);
}

TEST_CASE("progress: plain lines") {
  std::ostringstream out;
  run_all(*make_plain(out));
  CHECK(out.str() ==
        "mlp.dtl: strategy Local, 2 replicas × 1 thread, precision bf16, batch 128, 5 epochs (train 55000, test 10000 examples), 1 kernel "
        "from the cache and 3 compiled in 0.2 s\n"
        "  epoch 2/5, step 10/40: loss 0.4313, accuracy 0.8750, 81.2k examples/s, 1:15 left\n"
        "epoch 2/5: loss 0.4313, accuracy 0.8750, 81.2k examples/s\n"
        "  validation: loss 0.4313, accuracy 0.8750\n"
        "a word\n"
        "done after 5 epochs (200 steps) in 12 s: 81.2k examples/s\n");
}

TEST_CASE("progress: a plain line every 5 seconds") {
  std::ostringstream out;
  const auto progress = make_plain(out);
  CHECK_FALSE(progress->due(4.9));
  CHECK(progress->due(5.1));
  progress->step(position_at(5.1), kValues);
  CHECK_FALSE(progress->due(10));
  CHECK(progress->due(10.2));
}

TEST_CASE("progress: the live line is rewritten, fits, and gives way to others") {
  std::ostringstream out;
  int width = 100;
  const auto progress = make_live(out, [&] { return width; });
  CHECK(progress->due(0));
  progress->step(position_at(1), kValues);
  CHECK(out.str() == "\repoch 2/5  step 10/40  loss 0.4313  accuracy 0.8750  81.2k ex/s  1:15 left\x1b[K");
  CHECK_FALSE(progress->due(1.05));
  CHECK(progress->due(1.11));

  for (width = 0; width < 100; ++width) {
    out.str("");
    progress->step(position_at(2), kValues);
    const std::string text = out.str().substr(1, out.str().size() - 4);
    INFO(text);
    CHECK(static_cast<int>(text.size()) <= std::max(width - 1, 0));
  }
  out.str("");
  progress->epoch(position_at(3), kValues);
  CHECK(out.str() == "\r\x1b[Kepoch 2/5: loss 0.4313, accuracy 0.8750, 81.2k examples/s\n");
  out.str("");
  progress->message("a word");
  CHECK(out.str() == "a word\n");
}

TEST_CASE("progress: with limited steps the count is of all steps") {
  std::ostringstream out;
  Position position = position_at(1);
  position.epochs = 0;
  make_live(out, [] { return 30; })->step(position, {});
  CHECK(out.str() == "\repoch 2  step 50/200\x1b[K");
}

TEST_CASE("progress: quiet prints the last values of each split") {
  std::ostringstream out;
  run_all(*make_quiet(out));
  CHECK(out.str() == "train: loss 0.5000, accuracy 0.2500\ntest: loss 0.1250\n");
}

TEST_CASE("progress: JSON is an object a line") {
  std::ostringstream out;
  run_all(*make_json(out));
  std::vector<nlohmann::json> events;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) events.push_back(nlohmann::json::parse(line));
  REQUIRE(events.size() == 6);
  const std::vector<std::string> names = {"start", "step", "epoch", "evaluation", "message", "end"};
  for (size_t i = 0; i < names.size(); ++i) CHECK(events[i]["event"] == names[i]);
  CHECK(events[0]["splits"]["train"] == 55000);
  CHECK(events[0]["epochs"] == 5);
  CHECK_FALSE(events[0].contains("steps"));
  CHECK(events[1]["reports"]["loss"] == 0.43125);
  CHECK(events[1]["total_step"] == 50);
  CHECK(events[3]["split"] == "validation");
  CHECK(events[5]["reports"]["test/loss"] == 0.125);
  CHECK(events[5]["interrupted"] == false);
}

TEST_CASE("progress: numbers for people") {
  CHECK(value_text(0) == "0");
  CHECK(value_text(-12.5) == "-12.50");
  CHECK(value_text(0.00012345) == "1.234e-04");
  CHECK(value_text(123456) == "123456");
  CHECK(value_text(16777217) == "16777217");
  CHECK(value_text(-3) == "-3");
  CHECK(value_text(0x1p53) == "9007199254740992");
  CHECK(value_text(0x1p53 * 2) == "1.801e+16");
  CHECK(value_text(1234567.5) == "1.235e+06");
  CHECK(value_text(std::nan("")) == "nan");
  CHECK(rate_text(0.52) == "0.5");
  CHECK(rate_text(812) == "812");
  CHECK(rate_text(1.25e6) == "1.25M");
  CHECK(duration_text(0.31) == "0.3 s");
  CHECK(duration_text(59.4) == "59 s");
  CHECK(duration_text(59.7) == "1:00");
  CHECK(duration_text(7207) == "2:00:07");
}

TEST_CASE("throughput: the last two seconds count") {
  Throughput throughput;
  CHECK(throughput.examples_per_second() == 0);
  throughput.add(0.1, 50);
  CHECK(throughput.examples_per_second() == Approx(500));
  // A slow second, then ten fast ones.
  int64_t examples = 50;
  double seconds = 1;
  for (int i = 0; i < 1000; ++i) throughput.add(seconds += 0.01, examples += 20);
  CHECK(throughput.examples_per_second() == Approx(2000));
  // One step may take longer than the window.
  for (int i = 0; i < 20; ++i) throughput.add(seconds += 4, examples += 4);
  CHECK(throughput.examples_per_second() == Approx(1));
}

}  // namespace
}  // namespace dtl::report
