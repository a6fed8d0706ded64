// A saved model without the data it was trained on: what it was compiled by comes with the checkpoint.
#include <nlohmann/json.hpp>

#include "runtime/data/row_writer.h"
#include "tests/faults/checkpoint_testing.h"

namespace dtl::driver {
namespace {

std::string rows(int first, int count) {
  std::string text = "id,split,text,size,weight,good\n";
  for (int i = first; i < first + count; ++i) {
    text += fmt::format("{},{},{} day {},{},{},{}\n", i, i % 4 == 0 ? "test" : "train", i % 3 == 0 ? "fine" : "sad", i % 5, i % 3, i * 0.5,
                        i % 3 == 0);
  }
  return text;
}

/// Vocabularies, columns whose types the file decides, a condition over rows: all that data tells a program.
std::string program(const std::string& directory, const std::string& more = {}) {
  return R"(
param folder: string = ")" +
         directory + R"("
dataset Days {
  vocabulary = words(of = "first.csv", column = "text")
  train      = csv("first.csv") |> where(row => row.split == "train")
  validation = csv("second.csv") |> where(row => row.split != "test") |> take(8)
  test       = csv("second.csv") |> where(row => row.split == "test") |> skip(20%)
  batch      = 4
  example (text: string, size: int, weight: float, good: bool) {
    words = encode(text, vocabulary, length = 3)
    size  = cast(size, i32)
    rest  = weight
    good  = cast(good, f32)
  }
}
model Judge (words: i32[batch, 3], size: i32[batch], rest: f32[batch]) -> f32[batch] {
  let seen = words |> embedding(size(Days.vocabulary), width = 4) |> flatten() |> dense(1) |> reshape([batch])
  seen + (size |> embedding(3, width = 1) |> reshape([batch])) + 0.1 * rest
}
train {
  model      = Judge
  data       = Days
  loss       = mean(sigmoid_cross_entropy(prediction, good))
  optimizer  = adam(1e-2)
  epochs     = 2
  checkpoint = { directory = folder }
)" + more +
         "}\n";
}

void fill(const Job& job) {
  job.write_file("job.dtl", program(job.run_folder()));
  job.write_file("first.csv", rows(0, 40));
  job.write_file("second.csv", rows(100, 20));
  job.write_file("new.csv", "weight,size,text\n1.5,2,a fine day\n2,0,unheard of\n");
  const Ran ran = run_command(job.command({"--quiet"}));
  INFO(ran.err);
  REQUIRE(ran.status == 0);
}

std::string reports_of(const Ran& ran) { return ran.out.substr(ran.out.find('\n') + 1); }

TEST_CASE("predict: the program, a checkpoint and the input are enough") {
  const Job job;
  fill(job);
  const auto predict = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--input", job.path("new.csv")});
    return run_command(job.command(std::move(more), "predict"));
  };
  const Ran before = predict({});
  INFO(before.err);
  REQUIRE(before.status == 0);
  fs::remove(job.path("first.csv"));
  fs::remove(job.path("second.csv"));
  for (const auto& more :
       std::vector<std::vector<std::string>>{{}, {"--from", job.run_folder()}, {"--strategy", "mirrored(replicas = 3)"}}) {
    const Ran after = predict(more);
    CHECK(after.err.empty());
    CHECK(after.out == before.out);
  }
  // The checkpoint moves, too.
  fs::rename(job.run_folder(), job.path("elsewhere"));
  CHECK(predict({"--from", job.path("elsewhere")}).out == before.out);
  CHECK(predict({"--set", "folder=\"" + job.path("elsewhere") + "\""}).out == before.out);
  CHECK(predict({}).err.find("error[DTL6102]") != std::string::npos);
}

TEST_CASE("eval: needs the splits that it evaluates, and no other") {
  const Job job;
  fill(job);
  const auto eval = [&](std::vector<std::string> more) { return run_command(job.command(std::move(more), "eval")); };
  const std::string all = reports_of(eval({})), test = reports_of(eval({"--split", "test"}));
  REQUIRE(all.find("test: loss") != std::string::npos);
  fs::remove(job.path("first.csv"));
  CHECK(reports_of(eval({})) == all);
  CHECK(reports_of(eval({"--split", "test"})) == test);
  const Ran train = eval({"--split", "train"});
  CHECK(train.status == 2);
  CHECK(train.err.find("error[DTL5002]: there is no data file `first.csv`") != std::string::npos);
  CHECK(run_command(job.command({"--split", "train"}, "predict")).err.find("error[DTL5002]") != std::string::npos);
  CHECK(run_command(job.command({"--split", "test"}, "predict")).status == 0);
  fs::remove(job.path("second.csv"));
  CHECK(eval({}).err.find("error[DTL5002]: there is no data file `second.csv`") != std::string::npos);
}

TEST_CASE("what is trained or described otherwise needs its data") {
  const Job job;
  fill(job);
  fs::remove(job.path("first.csv"));
  const Ran resumed = run_command(job.command({"--resume"}));
  CHECK(resumed.status == 2);
  CHECK(resumed.err.find("error[DTL5002]") != std::string::npos);
  const std::vector<std::string> input = {"--input", job.path("new.csv")};
  // Another condition: the checkpoint does not know what its rows would be like.
  std::string text = program(job.run_folder());
  text.replace(text.find("== \"train\""), 10, "!= \"test\" ");
  job.write_file("job.dtl", text);
  const Ran other = run_command(job.command(input, "predict"));
  CHECK(other.status == 2);
  CHECK(other.err.find("there is no data file `first.csv`") != std::string::npos);
  CHECK(other.err.find("keeps a description of it, and of the same source") != std::string::npos);
  // A mistake in the program is told, not that its data is missing.
  job.write_file("job.dtl", program(job.run_folder(), "  batches = 3\n"));
  const Ran wrong = run_command(job.command(input, "predict"));
  CHECK(wrong.status == 1);
  CHECK(wrong.err.find("`batches`") != std::string::npos);
  CHECK(wrong.err.find("DTL5002") == std::string::npos);
}

TEST_CASE("predict: pieces of a text that is not there") {
  const Job job;
  job.write_file("job.dtl", R"(
dataset Corpus {
  vocabulary = characters(of = "corpus.txt")
  train      = text("corpus.txt") |> encode(vocabulary) |> windows(5, stride = 4)
  batch      = 4
  example (tokens: i32[5]) {
    tokens = tokens[0 .. 4]
    next   = tokens[1 .. 5]
  }
}
model Next (tokens: i32[batch, time]) -> f32[batch, time, vocab] {
  let vocab = size(Corpus.vocabulary)
  tokens |> embedding(vocab, width = 4) |> dense(vocab)
}
train {
  model      = Next
  data       = Corpus
  loss       = mean(sparse_cross_entropy(prediction, next))
  optimizer  = adam(1e-2)
  epochs     = 1
  checkpoint = { directory = ")" +
                                job.run_folder() + R"(" }
}
)");
  job.write_file("corpus.txt", "so it is, and so it was, and so it will be\n");
  REQUIRE(run_command(job.command({"--quiet"})).err.empty());
  job.write_file("new.csv", "tokens_0,tokens_1,tokens_2,tokens_3,tokens_4\n2,3,4,5,6\n7,8,9,3,2\n");
  const auto predict = [&] { return run_command(job.command({"--input", job.path("new.csv")}, "predict")); };
  const Ran before = predict();
  INFO(before.err);
  REQUIRE(before.status == 0);
  fs::remove(job.path("corpus.txt"));
  CHECK(predict().out == before.out);
}

}  // namespace
}  // namespace dtl::driver
