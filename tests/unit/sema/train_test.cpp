// Train blocks, settings and data: what they need, and what is built of them.
#include <fstream>

#include "source_dir.h"
#include "tests/unit/sema/support.h"

using namespace dtl::test;
using dtl::sema::StatementKind;

namespace {

std::string example(const std::string& name) {
  std::ifstream in(std::string(DTL_SOURCE_DIR) + "/examples/" + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

int count(const dtl::sema::Body& body, StatementKind kind, const std::string& op = {}) {
  int n = 0;
  for (const auto& statement : body.statements) n += statement.kind == kind && (op.empty() || statement.op == op) ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE("fashion_mlp checks") {
  const auto checked = check(example("fashion_mlp.dtl"));
  INFO(checked->rendered());
  REQUIRE(checked->program);
  const dtl::sema::Program& program = *checked->program;
  std::vector<std::string> paths;
  for (const auto& weight : program.weights) paths.push_back(weight.path + " " + weight.type.str());
  CHECK(paths == std::vector<std::string>{"Classifier/dense.0/kernel f32[784, 256]", "Classifier/dense.0/bias f32[256]",
                                          "Classifier/dense.1/kernel f32[256, 10]", "Classifier/dense.1/bias f32[10]"});
  CHECK(program.optimizer_states.size() == 8);
  CHECK(program.optimizer_states[0].path == "Classifier/dense.0/kernel:adam.m");
  CHECK(program.epochs == 5);
  CHECK(program.seed == 42);
  CHECK(program.strategy.mesh.axes[0].size == 2);
  CHECK(program.data.splits.size() == 3);
  CHECK(program.data.splits[1].info.examples == 5'000);
  CHECK(program.data.shuffle == -1);
  // Dropout is for training only.
  CHECK(count(program.train_step, StatementKind::op, "uniform") == 1);
  REQUIRE(program.eval_step);
  CHECK(count(*program.eval_step, StatementKind::op, "uniform") == 0);
  CHECK(count(program.train_step, StatementKind::minimize) == 1);
  CHECK(count(program.train_step, StatementKind::report) == 2);
  CHECK(count(*program.eval_step, StatementKind::report) == 2);
}

TEST_CASE("resnet20 has the paper's weights, and a projection only where the shape changes") {
  const auto count_weights = [](const std::vector<std::pair<std::string, std::string>>& sets) {
    const auto checked = check(example("resnet20/resnet20.dtl"), {.sets = sets, .strategy = {}});
    INFO(checked->rendered());
    REQUIRE(checked->program);
    int64_t numbers = 0, projections = 0;
    for (const auto& weight : checked->program->weights) {
      int64_t size = 1;
      for (const auto& dim : weight.type.dims) size *= dim.constant().value_or(0);
      numbers += size;
      projections += weight.path.find("/conv_norm.2/conv2d.0/kernel") != std::string::npos;
    }
    CHECK(projections == 2);
    return numbers;
  };
  // Kernels of 3 × 3, projections, scales and offsets of 7 norms a stage, and 650 for the classes.
  CHECK(count_weights({}) ==
        9 * (16 + 6 * 256 + 16 * 32 + 5 * 1024 + 32 * 64 + 5 * 4096) + 16 * 32 + 32 * 64 + 2 * (7 * 16 + 7 * 32 + 7 * 64) + 650);
  CHECK(count_weights({{"blocks", "9"}}) > 850'000);  // ResNet-56
}

TEST_CASE("custom_step checks, and has no evaluation") {
  const auto checked = check(example("custom_step.dtl"));
  INFO(checked->rendered());
  REQUIRE(checked->program);
  CHECK_FALSE(checked->program->eval_step);
  CHECK(count(checked->program->train_step, StatementKind::report) == 3);
  CHECK(count(checked->program->train_step, StatementKind::op, "reduce_varying") == 2);
}

TEST_CASE("what the command line sets wins, and is checked") {
  const auto checked =
      check(example("fashion_mlp.dtl"), {.sets = {{"epochs", "1"}, {"Fashion.batch", "64"}, {"seed", "7"}}, .strategy = "Alone"});
  INFO(checked->rendered());
  REQUIRE(checked->program);
  CHECK(checked->program->epochs == 1);
  CHECK(checked->program->data.batch == 64);
  CHECK(checked->program->seed == 7);
  CHECK(checked->program->strategy.name == "Alone");
  CHECK(check(example("fashion_mlp.dtl"), {.sets = {{"epochs", "1.5"}}})->symbols() == "type_mismatch");
  const auto steps = check(example("fashion_mlp.dtl"), {.sets = {{"steps", "3"}}, .strategy = "mirrored"});
  REQUIRE(steps->program);
  CHECK(steps->program->steps == 3);
  CHECK(steps->program->epochs == 0);
  CHECK(steps->program->strategy.mesh.axes[0].size == 4);
}

TEST_CASE("a train block needs its parts") {
  CHECK(check("model Net (x: f32[batch, 4]) -> f32[batch, 4] { x }")->symbols() == "no_train");
  CHECK(check(program_of({}) + program_of({}).substr(program_of({}).find("train {")))->symbols() == "many_trains");
  CHECK(check(program_of({.settings = "steps = 4"}))->symbols() == "epochs_and_steps");
  CHECK(check("train { epochs = 1 }")->symbols() == "nothing_to_minimize");
  CHECK(check("train { loss = 1 }")->symbols() == "missing_setting missing_setting missing_setting missing_setting");
  CHECK(check(step_of("report(a = sum(x))"))->symbols() == "nothing_to_minimize");
  CHECK(check(program_of({.loss = "sparse_cross_entropy(prediction, y)"}))->symbols() == "not_a_scalar");
  CHECK(check(program_of({.optimizer = "sgd"}))->symbols() == "setting_type");
  CHECK(check(program_of({.settings = "reproducible = true"}))->symbols() == "not_supported_yet");
}

TEST_CASE("minimize and report") {
  CHECK(check(step_of("let loss = mean(x)\n minimize(loss, over = Net, using = sgd(0.1))"))->symbols() == "no_weights");
  CHECK(check(step_of(kMinimize + "report(a = x)"))->symbols() == "not_a_scalar");
  CHECK(check(step_of(kMinimize + "report(a = mean(x), a = mean(x))"))->symbols() == "set_twice");
  CHECK(check(step_of(kMinimize + "report(a = mean(square(x - mean(x))))"))->symbols() == "nested_reduction");
  CHECK(check(step_of(kMinimize + "report(a = mean(per_replica { sum(x) }))"))->symbols() == "local_as_global");
  CHECK(check(step_of("minimize(mean(x), over = 3, using = 4)"))->symbols() == "setting_type setting_type");
  CHECK(check(program_of({.model = "report(a = mean(x))\n x |> dense(3)"}))->symbols() == "misplaced");
}

TEST_CASE("values of replicas") {
  const auto step = [](const std::string& body) { return check(step_of(kMinimize + "let share = per_replica { sum(x) }\n" + body)); };
  const auto clash = step("let twice = share * 2");
  CHECK(clash->symbols() == "local_as_global");
  REQUIRE_FALSE(clash->first().helps.empty());
  for (const char* way : {"`reduce(", "`all_reduce(", "`all_gather("}) CHECK(clash->first().helps[0].find(way) != std::string::npos);
  CHECK(step("report(a = reduce(sum, mean(x)))")->symbols() == "reduce_of_global");
  CHECK(step("report(a = reduce(sum, share), b = reduce(max, share), c = reduce(mean, share))")->symbols().empty());
  CHECK(step("report(a = reduce(mean, per_replica { mean(x) }))")->symbols() == "mean_of_means");
  CHECK(step("let rest = per_replica { sum(x) - all_reduce(sum, sum(x)) }\n let all = reduce(sum, rest)")->symbols().empty());
  CHECK(step("report(a = reduce(sum, per_replica { sum(x) - all_reduce(sum, sum(x)) }))")->symbols() == "nested_reduction");
  CHECK(step("report(a = reduce(sum, per_replica { reduce(sum, sum(x)) }))")->symbols() == "misplaced");
  CHECK(step("report(a = reduce(sum, per_replica { sum(transpose(x)) }))")->symbols().empty());
  CHECK(step("let t = transpose(x)\n report(a = reduce(sum, per_replica { sum(t) }))")->symbols() == "batch_not_first");
  CHECK(step("report(a = reduce(total, share))")->symbols() == "unknown_name");
}

TEST_CASE("strategies") {
  const auto strategy = [](const std::string& fields, const std::string& more = {}) {
    return check(program_of({.before = "strategy Own () {\n" + fields + "\n}\n", .settings = "strategy = Own()" + more}))->symbols();
  };
  CHECK(strategy("mesh = { data = 2 }\n batch = split(data)").empty());
  CHECK(strategy("mesh = { data = 0 }\n batch = split(data)") == "no_devices");
  CHECK(strategy("mesh = { data = 5_000 }\n batch = split(data)") == "too_many_devices");
  CHECK(strategy("mesh = { data = 2 }\n batch = split(date)") == "not_an_axis");
  CHECK(strategy("mesh = { data = 2 }\n batch = broadcst") == "not_a_placement");
  CHECK(strategy("mesh = { data = 2 }") == "missing_setting");
  CHECK(strategy("mesh = { data = 2 }\n batch = split(data)\n weigths = broadcast") == "unknown_setting");
  CHECK(strategy("mesh = { data = 2 }\n batch = split(data)\n optimizer = local").empty());  // checked, and not placed
  CHECK(strategy("mesh = { data = 2 }\n batch = split(data)\n weights = partitioned(server)") == "not_an_axis");
  CHECK(strategy("mesh = { data = 2 }\n batch = split(data)\n communication = { bucket = 3 }") == "setting_type");
  const auto zero = check(program_of({.before = "param n: int = 0\n", .settings = "strategy = mirrored(replicas = n)"}));
  CHECK(zero->symbols() == "no_devices");
  CHECK(zero->at(zero->first().range) == "mirrored(replicas = n)");
  // What is not chosen need not be followed.
  CHECK(check("strategy Later () {\n mesh = { data = 2 }\n batch = split(data)\n optimizer = local\n}\n" + program_of({}))
            ->symbols()
            .empty());
}

TEST_CASE("datasets") {
  const auto with = [](const std::string& body) {
    return check("dataset D {\n" + body + "\n}\nmodel M (x: f32[batch, 4]) -> f32[batch, 4] { x |> dense(4) }\n" +
                 "train {\n model = M\n data = D\n loss = mean(prediction)\n optimizer = sgd(0.1)\n epochs = 1\n}\n");
  };
  const std::string source = "train = synthetic(10, fields = { x = normal([4]) })\n";
  CHECK(with(source + "batch = 2")->symbols().empty());
  CHECK(with(source)->symbols() == "missing_setting");
  CHECK(with(source + "batch = 0")->symbols() == "too_small");
  CHECK(with("batch = 2")->symbols() == "missing_setting");
  CHECK(with(source + "validaton = synthetic(10, fields = { x = normal([4]) })\n batch = 2")->symbols() == "unknown_setting");
  CHECK(with(source + "test = synthetic(10, fields = { z = normal([4]) })\n batch = 2")->symbols() == "splits_differ");
  CHECK(with("train = 3\n batch = 2")->symbols() == "not_a_source");
  CHECK(with("train = parquet(\"a.parquet\")\n batch = 2")->symbols() == "not_supported_yet");
  CHECK(with("train = synthetic(10, fields = { x = norml([4]) })\n batch = 2")->symbols() == "not_a_generator");
  CHECK(with("train = take(3)\n batch = 2")->symbols() == "misplaced");
  CHECK(with(source + "batch = 2\n example (z: f32[4]) {\n x = z\n }")->symbols() == "no_such_field");
  CHECK(with(source + "batch = 2\n example (x: f32[5]) {\n x = x\n }")->symbols() == "type_mismatch");
  CHECK(with(source + "batch = 2\n example (x: f32[4]) {\n let y = x\n }")->symbols() == "example_without_outputs");
  CHECK(with(source + "batch = 2\n example (x: f32[4]) {\n z = x\n }")->symbols() == "no_such_example_field");
  CHECK(with("train = idx(images = \"i\", labels = \"l\")\n batch = 2")->symbols() == "example_needed");
  CHECK(with("train = idx(images = \"i\", labels = \"l\")\n batch = 2\n example (a: u8[28, 28], b: u8, c: u8) {\n x = a\n }")->symbols() ==
        "too_many_fields");
}

TEST_CASE("settings are compile-time values") {
  const auto param = [](const std::string& type, const std::string& value) {
    return check("param p: " + type + " = " + value + "\n" + program_of({}))->symbols();
  };
  CHECK(param("int", "7 / 2") == "not_exact_division");
  CHECK(param("int", "9_000_000_000_000_000_000 + 9_000_000_000_000_000_000") == "integer_overflow");
  CHECK(param("int", "sum(iota([3]))") == "misplaced");
  CHECK(param("duration", "25MB") == "type_mismatch");
  CHECK(param("same | valid", "same").empty());
  CHECK(param("same | valid", "sam") == "unknown_name");
  CHECK(param("int?", "none").empty());
  CHECK(param("[int]", "[1, 2.5]") == "type_mismatch");
  CHECK(param("inte", "1") == "unknown_type");
  CHECK(check(program_of({.model = "require 1 > 2 else \"never\"\n x |> dense(3)"}))->symbols() == "requirement_failed");
  CHECK(check(program_of({.model = "let y = if sum(x) > 0 { x } else { x }\n y |> dense(3)"}))->symbols() == "compile_time_needed");
  CHECK(check(program_of({.model = "for i in 0 .. 200_000 { let a = i }\n x |> dense(3)"}))->symbols() == "loop_too_long");
}

TEST_CASE("what the train block does not use is checked all the same") {
  CHECK(check("model Other (x: f32[batch, 4]) -> f32[batch, 5] { x |> dense(6) }\n" + program_of({}))->symbols() == "type_mismatch");
  CHECK(check("dataset Other {\n train = 3\n batch = 0\n}\n" + program_of({}))->symbols() == "not_a_source too_small");
  CHECK(check("optimizer other () (w, g) { w <- sum(g) }\n" + program_of({}))->symbols() == "update_type");
  CHECK(check("strategy Other = mirrored(replicas = 0)\n" + program_of({}))->symbols() == "no_devices");
}
