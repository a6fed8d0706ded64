// dslc eval and dslc predict: against what training printed, and against the model computed by hand from its checkpoint.
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmath>
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runtime/data/npy.h"
#include "runtime/data/row_writer.h"
#include "tests/faults/checkpoint_testing.h"

namespace dtl::driver {
namespace {

using Rows = std::vector<std::vector<double>>;

/// Rows of numbers that nothing else in the program has.
Rows some_rows(size_t count, size_t width = 6) {
  Rows rows(count, std::vector<double>(width));
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < width; ++k) rows[i][k] = std::sin(static_cast<double>(i * width + k)) * 2;
  }
  return rows;
}

void write_csv(const std::string& path, const Rows& rows) {
  std::ofstream out(path);
  out << "id";
  for (size_t k = 0; k < 6; ++k) out << fmt::format(",x_{}", k);
  out << "\n";
  for (size_t i = 0; i < rows.size(); ++i) out << fmt::format("row {},{}\n", i, fmt::join(rows[i], ","));
}

/// An array of doubles, as NumPy makes them.
void write_npy(const std::string& path, const Rows& rows) {
  std::ofstream out(path, std::ios::binary);
  const auto writer = data::make_writer(data::RowFormat::npy, out);
  const auto width = static_cast<int64_t>(rows.empty() ? 6 : rows[0].size());
  writer->begin({{"x", DType::f64, {width}}}, static_cast<int64_t>(rows.size()));
  for (const auto& row : rows) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(row));
    writer->write(1, std::span(&bytes, 1));
  }
}

std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Rows read_csv_numbers(const std::string& text, std::string* header = nullptr) {
  std::istringstream in(text);
  std::string line, cell;
  std::getline(in, line);
  if (header) *header = line;
  Rows rows;
  while (std::getline(in, line)) {
    std::vector<double>& row = rows.emplace_back();
    std::istringstream cells(line);
    while (std::getline(cells, cell, ',')) row.push_back(static_cast<double>(std::stof(cell)));
  }
  return rows;
}

Rows read_npy_floats(const std::string& path) {
  const auto source = data::read_npy(path, true);
  REQUIRE(source->fields()[0].dtype == DType::f32);
  Rows rows;
  for (int64_t i = 0; i < source->examples(); ++i) {
    std::vector<float> row(static_cast<size_t>(source->fields()[0].elements()));
    source->gather(0, std::span(&i, 1), std::as_writable_bytes(std::span(row)).data());
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

/// x W + b with the weights of a layer of the checkpoint.
std::vector<double> dense(const std::map<std::string, std::vector<std::byte>>& tensors, const std::string& path,
                          const std::vector<double>& x) {
  const auto floats = [&](const std::string& name) {
    const std::vector<std::byte>& bytes = tensors.at(path + "/" + name);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  const std::vector<float> kernel = floats("kernel"), bias = floats("bias");
  std::vector<double> y(bias.begin(), bias.end());
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t k = 0; k < y.size(); ++k)
      y[k] += static_cast<double>(static_cast<float>(x[i])) * static_cast<double>(kernel[i * y.size() + k]);
  }
  return y;
}

/// kNet by hand, without its dropout: the hidden layer, and the outputs.
struct ByHand {
  Rows hidden, outputs;
  ByHand(const Job& job, const Rows& rows) {
    const auto tensors = tensors_of(job.run_folder());
    for (const auto& row : rows) {
      hidden.push_back(dense(tensors, "Net/dense.0", row));
      for (double& value : hidden.back()) value = std::max(value, 0.0);
      outputs.push_back(dense(tensors, "Net/dense.1", hidden.back()));
    }
  }
};

void check_close(const Rows& found, const Rows& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    REQUIRE(found[i].size() == expected[i].size());
    for (size_t k = 0; k < found[i].size(); ++k) {
      CAPTURE(i, k);
      CHECK(found[i][k] == Approx(expected[i][k]).margin(1e-5));
    }
  }
}

/// A program that was trained.
class Trained : public Job {
 public:
  Trained() {
    const Ran ran = run_command(command({"--json"}));
    REQUIRE(ran.status == 0);
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json event = nlohmann::json::parse(line);
      if (event["event"] == "evaluation") last_evaluation = event["reports"];
    }
  }
  Ran predict(std::vector<std::string> more) const { return run_command(command(std::move(more), "predict")); }
  nlohmann::json last_evaluation;
};

TEST_CASE("eval: prints what training printed, to the last bit") {
  const Trained job;
  const Ran ran = run_command(job.command({"--json"}, "eval"));
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  const nlohmann::json event = nlohmann::json::parse(ran.out.substr(ran.out.find('\n') + 1));
  CHECK(event["event"] == "evaluation");
  CHECK(event["split"] == "validation");
  CHECK(event["reports"] == job.last_evaluation);
  CHECK(event["epoch"] == 3);
  const Ran plain = run_command(job.command({}, "eval"));
  CHECK(plain.out.starts_with(job.run_folder() + "/step-000063: epoch 3, step 21\n  validation: loss "));
  // An older one, under another number of replicas, of the training set.
  const std::string first = checkpoint::checkpoints_in(job.run_folder())[0].path;
  const Ran other =
      run_command(job.command({"--quiet", "--from", first, "--split", "train", "--strategy", "mirrored(replicas = 3)"}, "eval"));
  CHECK(other.status == 0);
  CHECK(other.out.starts_with("train: loss "));
}

TEST_CASE("eval: what cannot be evaluated is told") {
  const Trained job;
  const auto refused = [&](std::vector<std::string> more, int status, const std::string& text) {
    const Ran ran = run_command(job.command(std::move(more), "eval"));
    INFO(ran.err);
    CHECK(ran.status == status);
    CHECK(ran.err.find(text) != std::string::npos);
    CHECK(ran.out.empty());
  };
  refused({"--from", job.path("nowhere")}, 2, "error[DTL6102]: there is no checkpoint in");
  refused({"--split", "tset"}, 1, "error[DTL3084]: the data has no split `tset`");
  refused({"--set", "model=Other"}, 1, "error[DTL");
  job.write("model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(16) |> dense(3) |> dense(3) }");
  refused({}, 2, "it lacks `Net/dense.2/kernel` and 1 more, which the program has\n");
  job.write("model Net (x: f32[batch, 6]) -> f32[batch, 3] { x |> dense(8) |> dense(3, use_bias = false) }");
  refused({}, 2, "its `Net/dense.0/kernel` is f32[6, 16], the program's is f32[6, 8]; 2 more differ; it has `Net/dense.1/bias`, which");
}

TEST_CASE("predict: rows in the order of the input, each once, by any number of replicas and in any format") {
  const Trained job;
  const size_t count = GENERATE(0, 1, 24, 70);
  const std::string strategy = GENERATE("mirrored(replicas = 2)", "mirrored(replicas = 5)");
  CAPTURE(count, strategy);
  const Rows rows = some_rows(count);
  const ByHand expected(job, rows);
  write_csv(job.path("rows.csv"), rows);
  write_npy(job.path("rows.npy"), rows);
  for (const std::string input : {"rows.csv", "rows.npy"}) {
    const Ran ran = job.predict({"--strategy", strategy, "--input", job.path(input), "--output", job.path("out.npy")});
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    CHECK(ran.out.find(fmt::format("out.npy: {} rows by", count)) != std::string::npos);
    const Rows found = read_npy_floats(job.path("out.npy"));
    check_close(found, expected.outputs);
    REQUIRE(job.predict({"--strategy", strategy, "--input", job.path(input), "--output", job.path("out.csv")}).status == 0);
    std::string header;
    CHECK(read_csv_numbers(read_text(job.path("out.csv")), &header) == found);
    CHECK(header == "prediction_0,prediction_1,prediction_2");
    const Ran printed = job.predict({"--strategy", strategy, "--input", job.path(input)});
    CHECK(printed.out == read_text(job.path("out.csv")));
    REQUIRE(job.predict({"--strategy", strategy, "--input", job.path(input), "--output", job.path("out.jsonl")}).status == 0);
    std::istringstream lines(read_text(job.path("out.jsonl")));
    size_t at = 0;
    for (std::string line; std::getline(lines, line); ++at) {
      const nlohmann::json row = nlohmann::json::parse(line);
      REQUIRE(row["prediction"].size() == 3);
      for (size_t k = 0; k < 3; ++k) CHECK(row["prediction"][k].get<float>() == static_cast<float>(found[at][k]));
    }
    CHECK(at == count);
  }
}

TEST_CASE("predict: a layer's outputs are features") {
  const Trained job;
  const Rows rows = some_rows(50);
  write_npy(job.path("rows.npy"), rows);
  const ByHand expected(job, rows);
  for (const std::string name : {"dense.0", "Net/dense.0"}) {
    const Ran ran = job.predict({"--input", job.path("rows.npy"), "--layer", name, "--output", job.path("features.npy"), "--quiet"});
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    CHECK(ran.out.empty());
    check_close(read_npy_floats(job.path("features.npy")), expected.hidden);
  }
  const Ran wrong = job.predict({"--input", job.path("rows.npy"), "--layer", "dens.0"});
  CHECK(wrong.status == 1);
  CHECK(wrong.err.find("error[DTL3080]: the model has no layer `dens.0`") != std::string::npos);
  CHECK(wrong.err.find("did you mean `dense.0`?") != std::string::npos);
}

TEST_CASE("predict: a record of outputs, and layers of one name") {
  const Job job;
  job.write_file("job.dtl", R"(
dataset Points {
  train = synthetic(100, seed = 1, fields = { x = normal([6]), label = integers(0, 3, []) })
  batch = 24
}
layer two (x: f32[batch, n]) -> f32[batch, 3] { x |> dense(4) |> dense(3) }
model Net (x: f32[batch, 6]) -> { a: f32[batch, 3], best: i64[batch], high: bool[batch, 3], norm: f32 } {
  let a = x |> two()
  let b = a |> two()
  { a = a, best = argmax(b), high = b > 0, norm = sum(b) }
}
train {
  model      = Net
  data       = Points
  loss       = mean(sparse_cross_entropy(prediction.a, cast(label, i32))) + 0.01 * prediction.norm
  optimizer  = sgd(0.1)
  epochs     = 1
  checkpoint = { directory = ")" +
                                job.run_folder() + R"(" }
}
)");
  REQUIRE(run_command(job.command({"--quiet"})).err.empty());
  write_npy(job.path("rows.npy"), some_rows(30));
  const auto predict = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--input", job.path("rows.npy")});
    return run_command(job.command(std::move(more), "predict"));
  };
  const Ran norm = predict({});
  CHECK(norm.status == 1);
  CHECK(norm.err.find("error[DTL3082]: the output `norm` is `f32[]`, which has no row for each example") != std::string::npos);
  // The same without it.
  std::string text = read_text(job.path("job.dtl"));
  text.replace(text.find(", norm = sum(b)"), 15, "");
  text.replace(text.find(" + 0.01 * prediction.norm"), 25, "");
  text.replace(text.find(", norm: f32"), 11, "");
  job.write_file("job.dtl", text);
  const Ran ran = predict({});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  CHECK(ran.out.starts_with("a_0,a_1,a_2,best,high_0,high_1,high_2\n"));
  CHECK(std::count(ran.out.begin(), ran.out.end(), '\n') == 31);
  const Ran json = predict({"--json"});
  const nlohmann::json row = nlohmann::json::parse(json.out.substr(0, json.out.find('\n')));
  CHECK(row["a"].size() == 3);
  CHECK(row["best"].is_number_integer());
  CHECK(row["high"][1].is_boolean());
  CHECK(predict({"--output", job.path("out.npy")}).err.find("error[DTL6124]") != std::string::npos);
  const Ran both = predict({"--layer", "dense.1"});
  CHECK(both.status == 1);
  CHECK(both.err.find("error[DTL3081]: `dense.1` is the end of `Net/two.0/dense.1` and `Net/two.1/dense.1`") != std::string::npos);
  const Ran first = predict({"--layer", "two.0/dense.1"});
  REQUIRE(first.status == 0);
  const Rows features = read_csv_numbers(first.out), outputs = [&] {
    Rows rows;
    std::istringstream lines(ran.out);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::vector<double>& numbers = rows.emplace_back();
      std::istringstream cells(line);
      std::string cell;
      for (int k = 0; k < 3 && std::getline(cells, cell, ','); ++k) numbers.push_back(static_cast<double>(std::stof(cell)));
    }
    return rows;
  }();
  CHECK(features == outputs);
}

TEST_CASE("predict: a split of the data, by its own example") {
  const Trained job;
  const Ran ran = job.predict({"--split", "validation", "--output", job.path("out.csv"), "--json"});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  CHECK(read_csv_numbers(read_text(job.path("out.csv"))).size() == 70);
  CHECK(job.predict({"--split", "tset"}).err.find("error[DTL3084]") != std::string::npos);
}

TEST_CASE("predict: what does not fit is told, and the output stays as it was") {
  const Trained job;
  write_csv(job.path("rows.csv"), some_rows(5));
  job.write_file("out.csv", "before\n");
  const auto refused = [&](std::vector<std::string> more, int status, const std::string& text) {
    const Ran ran = job.predict(std::move(more));
    INFO(ran.err);
    CHECK(ran.status == status);
    CHECK(ran.err.find(text) != std::string::npos);
    CHECK(read_text(job.path("out.csv")) == "before\n");
    CHECK_FALSE(fs::exists(job.path("out.csv.partial")));
  };
  const auto with = [&](const std::string& input, const std::string& text) {
    refused({"--input", job.path(input), "--output", job.path("out.csv")}, 2, text);
  };
  job.write_file("few.csv", "x_0,x_1,z\n1,2,3\n");
  with("few.csv", "lacks `x_2`, which the model needs; it has `x_0`, `x_1`, `z`");
  job.write_file("words.csv", "x_0,x_1,x_2,x_3,x_4,x_5\n1,2,3,4,5,6\n1,2,three,4,5,6\n");
  with("words.csv", "three");
  with("absent.csv", "absent.csv");
  write_npy(job.path("narrow.npy"), some_rows(3, 5));
  with("narrow.npy", "the field `x` of `" + job.path("narrow.npy") + "` is f64[5], and the model needs f32[6]");
  job.write_file("no.npy", "no array");
  with("no.npy", "no.npy");
  const std::string good = job.path("rows.csv");
  refused({"--input", good, "--output", job.path("nowhere/out.csv")}, 2,
          "error[DTL6120]: cannot write `" + job.path("nowhere/out.csv") + "`: No such file");
  refused({"--input", good, "--output", job.path("out.xls")}, 2, "error[DTL6123]");
  refused({"--input", good, "--output", good}, 2, "error[DTL6125]");
  refused({"--input", good, "--output", job.path("out.csv"), "--from", job.path("nowhere")}, 2, "error[DTL6102]");
  refused({"--output", job.path("out.csv")}, 1, "--input or --split");
  refused({"--input", good, "--split", "train"}, 1, "excludes");
  CHECK(job.predict({"--input", good, "--output", job.path("out.csv")}).status == 0);
  CHECK(read_csv_numbers(read_text(job.path("out.csv"))).size() == 5);
}

TEST_CASE("predict: an output that finds no room leaves what was there") {
  const Trained job;
  write_npy(job.path("rows.npy"), some_rows(2000));
  job.write_file("out.csv", "before\n");
  REQUIRE(job.predict({"--input", job.path("rows.npy"), "--output", job.path("warm.csv")}).status == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit most{20000, 20000};
    if (setrlimit(RLIMIT_FSIZE, &most) != 0) _exit(77);
    const Ran ran = job.predict({"--input", job.path("rows.npy"), "--output", job.path("out.csv")});
    const bool told = ran.err == "error[DTL6120]: cannot write `" + job.path("out.csv") + "`: File too large\n";
    if (!told) std::cerr << ran.err;
    _exit(ran.status == 2 && told && ran.out.empty() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(read_text(job.path("out.csv")) == "before\n");
  CHECK_FALSE(fs::exists(job.path("out.csv.partial")));
}

TEST_CASE("predict: texts go by the checkpoint's vocabulary, and nobody asks for labels") {
  const Job job;
  job.write_file("job.dtl", R"(
dataset Letters {
  vocabulary = words(of = "letters.csv", column = "text")
  train      = csv("letters.csv")
  batch      = 4
  example (text: string, stars: int, good: bool) {
    words = encode(text, vocabulary, length = 3)
    stars = cast(stars, i32)
    good  = cast(good, f32)
  }
}
model Judge (words: i32[batch, 3], stars: i32[batch]) -> f32[batch] {
  let seen = words |> embedding(size(Letters.vocabulary), width = 4) |> flatten() |> dense(1) |> reshape([batch])
  seen + (stars |> embedding(5, width = 1) |> reshape([batch]))
}
train {
  model     = Judge
  data      = Letters
  loss      = mean(binary_cross_entropy(prediction, good))
  optimizer = adam(1e-2)
  epochs    = 2
  checkpoint = { directory = ")" +
                                job.run_folder() + R"(" }
}
)");
  const std::string letters = "text,stars,good\na fine day,4,true\na sad day,0,false\nfine and fine,3,true\nso sad,1,false\nwell,2,true\n";
  job.write_file("letters.csv", letters);
  REQUIRE(run_command(job.command({"--quiet"})).err.empty());
  job.write_file("new.csv", "stars,text\n4,a fine day\n1,so sad\n4,unheard of\n");
  const auto predict = [&](const std::string& input) { return run_command(job.command({"--input", job.path(input)}, "predict")); };
  const Ran before = predict("new.csv");
  INFO(before.err);
  REQUIRE(before.status == 0);
  std::string header;
  const Rows rows = read_csv_numbers(before.out, &header);
  CHECK(header == "prediction");
  REQUIRE(rows.size() == 3);
  const Ran train = run_command(job.command({"--split", "train"}, "predict"));
  const Rows trained = read_csv_numbers(train.out);
  CHECK(rows[0] == trained[0]);
  CHECK(rows[1] == trained[3]);
  // The text changes; what its words were numbered by does not.
  job.write_file("letters.csv", "text,stars,good\nunheard of unheard words,4,true\nsad,0,false\n");
  CHECK(predict("new.csv").out == before.out);
  job.write_file("far.csv", "stars,text\n4,a\n9,b\n");
  const Ran far = predict("far.csv");
  CHECK(far.status == 2);
  CHECK(far.err.starts_with("error[DTL5019]"));
  job.write_file("lacking.csv", "stars\n4\n");
  CHECK(predict("lacking.csv").err.find("lacks `text`") != std::string::npos);
}

}  // namespace
}  // namespace dtl::driver
