// The effective program of a run: it holds every override, and repeats the run bit for bit.
#include <nlohmann/json.hpp>

#include "folder.h"

namespace dtl::test {
namespace {

using Words = std::vector<std::string>;

/// Works in a folder while it lives.
class Inside {
 public:
  explicit Inside(const Folder& folder) : before_(fs::current_path()) { fs::current_path(folder.str()); }
  ~Inside() { fs::current_path(before_); }

 private:
  fs::path before_;
};

const std::string kParts = R"(// parts
param width: int = 8

layer block (n: int) (x: f32[batch, w]) -> f32[batch, n] { x |> dense(n, activation = relu) }
optimizer plain (rate: schedule) (w, g) { w <- w - rate(updates) * g }
strategy own (n: devices = all) {
  mesh    = { data = n }
  batch   = split(data)
  weights = broadcast
}
dataset Points {
  train      = csv("points.csv") |> take(rows)
  validation = csv(file = path)
  batch      = 8
  shuffle    = all
  example (x: float, y: int) {
    x = reshape(x, [1])
    y = y
  }
}
param rows: int = 40
param path: string = "more/points.csv"
)";

const std::string kProgram = R"(import "parts/parts.dtl"

/// Of two layers.
model Net (x: f32[batch, 1]) -> f32[batch, 3] {
  x |> parts.block(parts.width) |> dropout(0.1) |> dense(3)   // head
}

train {
  model     = Net
  data      = parts.Points
  loss      = mean(sparse_cross_entropy(prediction, y))
  optimizer = adam(learning_rate = 0.01)
  epochs    = 2 }

train Quick {
  model     = Net
  data      = parts.Points
  loss      = mean(sparse_cross_entropy(prediction, y))
  optimizer = parts.plain(0.1)
  strategy  = mirrored()
  epochs    = 1   // few
}
)";

Folder& with_data(Folder& folder) {
  std::string rows = "x,y\n";
  for (int i = 0; i < 48; ++i) rows += std::to_string((i * 37 % 48) / 24.0 - 1) + "," + std::to_string(i % 3) + "\n";
  folder.write("points.csv", rows);
  folder.write("data/more/points.csv", rows);
  folder.write("parts/parts.dtl", kParts);
  folder.write("program.dtl", kProgram);
  return folder;
}

/// Every number that a run reports, exactly.
std::string numbers(const Words& words) {
  const Ran ran = dslc(words);
  INFO(ran.out << ran.err);
  REQUIRE(ran.status == 0);
  std::string text;
  std::istringstream lines(ran.out);
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line);
    if (object.contains("reports")) text += object["event"].dump() + " " + object["reports"].dump() + "\n";
    if (object["event"] == "start") text += "replicas " + object["replicas"].dump() + "\n";
  }
  return text;
}

Words together(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("the effective program repeats its run bit for bit, wherever it is run from") {
  Folder folder, elsewhere;
  with_data(folder);
  const std::vector<Words> cases = {
      {},
      {"--set", "epochs=3", "--set", "optimizer.learning_rate=cosine_decay(0.05, steps = 10)", "--set", "seed=7"},
      {"--set", "steps=7", "--set", "gradients.clip_norm=0.5", "--set", "parts.width=5", "--set", "parts.Points.batch=9"},
      {"--strategy", "parts.own", "--set", "evaluate_every=2 steps"},
      {"--strategy", "parts.own(2)", "--set", "strategy.n=3"},
      {"--train", "Quick"},
      {"--train", "Quick", "--set", "optimizer.rate=step => 0.5 / step", "--set", "Quick.steps=5", "--set", "parts.rows=30"},
      {"--set", "parts.path=\"points.csv\"", "--set", "precision=bf16", "--strategy", "mirrored"},
  };
  for (const Words& more : cases) {
    std::string shown;
    for (const std::string& word : more) shown += " " + word;
    INFO(shown);
    fs::remove_all(folder / "run");
    std::string first, second, record;
    {
      const Inside inside(folder);
      const Words words = {"train", "program.dtl", "--json", "--cache", "none", "--data", "data", "--threads", "3", "--run", "run"};
      first = numbers(together(words, more));
      record = folder / "run/program.dtl";
    }
    INFO(folder.read("run/program.dtl"));
    const Ran laid_out = dslc({"fmt", "--check", record, folder / "run/parts.dtl"});
    CHECK(laid_out.status == 0);
    CHECK(folder.read("run/program.dtl").find("// head") != std::string::npos);
    {
      const Inside inside(elsewhere);
      // On a machine of another number of cores, and without the command line's words.
      second = numbers({"train", record, "--json", "--cache", "none", "--threads", "5", "--run", folder / "run"});
    }
    CHECK(first == second);
    // It is its own effective program.
    CHECK(std::distance(fs::directory_iterator(folder / "run"), fs::directory_iterator()) == 2);
  }
}

TEST_CASE("a run's folder keeps each program once, and none is written over") {
  Folder folder;
  with_data(folder);
  const Inside inside(folder);
  const Words words = {"train", "program.dtl", "--json", "--cache", "none", "--data", "data", "--threads", "1"};
  const auto record_of = [&](const Words& more) {
    const Ran ran = dslc(together(words, more));
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    const auto start = nlohmann::json::parse(ran.out.substr(0, ran.out.find('\n')));
    return start.contains("record") ? start["record"].get<std::string>() : std::string();
  };
  CHECK(record_of({}) == "runs/program/program.dtl");
  CHECK(record_of({}) == "runs/program/program.dtl");
  CHECK(record_of({"--set", "epochs=1"}) == "runs/program/program-2.dtl");
  CHECK(record_of({}) == "runs/program/program.dtl");
  CHECK(record_of({"--set", "parts.width=3"}) == "runs/program/program-3.dtl");
  CHECK(folder.read("runs/program/program-3.dtl").find("import \"parts-2.dtl\" as parts") != std::string::npos);
  CHECK(record_of({"--run", "none"}).empty());
  // Checkpoints lie in the same folder.
  CHECK(record_of({"--set", "checkpoint.directory=\"kept\""}) == "kept/program.dtl");
  CHECK(folder.read("kept/program.dtl").find("directory = \"" + folder / "kept" + "\"") != std::string::npos);
}

TEST_CASE("config's lines are arguments of --set that change nothing") {
  Folder folder;
  with_data(folder);
  const Inside inside(folder);
  const auto config = [&](const Words& more) {
    const Ran ran = dslc(together({"config", "program.dtl", "--data", "data", "--train", "Quick"}, more));
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    Words lines;
    std::istringstream in(ran.out);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  };
  const Words lines = config({});
  REQUIRE(lines.size() > 20);
  // One at a time: a whole value after one of its parts would take its place.
  for (const std::string& line : lines) {
    const size_t equals = line.find(" = ");
    const std::string path = line.substr(0, equals);
    INFO(line);
    const Words again = config({"--set", path + "=" + line.substr(equals + 3)});
    CHECK(std::find(again.begin(), again.end(), line) != again.end());
  }
}

}  // namespace dtl::test
