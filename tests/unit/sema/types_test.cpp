// Shapes and element types: what fits, what is converted, and what is said where two things clash.
#include "tests/unit/sema/support.h"

using namespace dtl::test;

namespace {

std::string symbols_of_model(const std::string& model) { return check(program_of({.model = model}))->symbols(); }
std::string symbols_of_step(const std::string& body) { return check(step_of(kMinimize + body))->symbols(); }

}  // namespace

TEST_CASE("a clash of shapes shows both places and names the dimensions") {
  const auto checked = check(program_of({.model = "let a = x |> dense(3)\n  let b = x |> dense(5)\n  a + b"}));
  CHECK(checked->symbols() == "shapes_differ");
  const dtl::source::Diagnostic& d = checked->first();
  CHECK(d.text.find("f32[batch, 3]") != std::string::npos);
  CHECK(d.text.find("f32[batch, 5]") != std::string::npos);
  CHECK(d.notes.size() == 2);
}

TEST_CASE("arguments, results and lets are checked against their types") {
  CHECK(symbols_of_model("x |> dense(4)") == "type_mismatch");
  CHECK(symbols_of_model("let h: f32[batch, 5] = x |> dense(4)\n  h |> dense(3)") == "type_mismatch");
  CHECK(check(program_of({.loss = "mean(sparse_cross_entropy(prediction, prediction))"}))->symbols() == "type_mismatch");
  CHECK(check("model Flat (x: f32[batch, 3]) -> f32[batch, 3] { x }\n" + program_of({.model = "Flat(x) |> dense(3)"}))->symbols() ==
        "type_mismatch");
  CHECK(symbols_of_model("matmul(x, full([5, 3], 1))") == "inner_dimensions_differ");
}

TEST_CASE("weak numbers take the other side's type; integers divide to floats; two floats need a cast") {
  const auto checked = check(step_of(kMinimize + "report(a = sum(y / 2), b = sum(y + 1), c = sum(y * 0.5))"));
  CHECK(checked->symbols().empty());
  CHECK(symbols_of_step("report(a = sum(cast(x, f64) + x))") == "two_float_types");
  CHECK(symbols_of_step("report(a = sum(x + (x > 0)))") == "needs_numbers");
  CHECK(symbols_of_step("report(a = sum(x and true))") == "needs_bool");
  CHECK(symbols_of_step("report(a = sum(x + \"a\"))") == "needs_tensor");
  CHECK(symbols_of_step("report(a = sum(cast(y, u8) == 300))") == "number_does_not_fit");
}

TEST_CASE("precision f64 reads every f32 as f64") {
  const auto checked = check(program_of({.settings = "precision = f64"}));
  CHECK(checked->symbols().empty());
  REQUIRE(checked->program);
  CHECK(checked->program->weights[0].type.dtype == dtl::DType::f64);
  CHECK(check(program_of({.settings = "precision = f8"}))->symbols() == "unknown_name");
}

TEST_CASE("precision bf16 and f16 leave the types of the program alone") {
  for (const std::string precision : {"bf16", "f16"}) {
    const auto checked = check(program_of({.settings = "precision = " + precision}));
    CHECK(checked->symbols().empty());
    REQUIRE(checked->program);
    CHECK(dtl::sema::name_of(checked->program->precision) == precision);
    CHECK(checked->program->weights[0].type.dtype == dtl::DType::f32);
  }
}

TEST_CASE("axes, indices and shapes out of range") {
  CHECK(symbols_of_model("sum(x, axis = 2) |> dense(3)") == "axis_out_of_range");
  CHECK(symbols_of_model("x[..., 4]") == "index_out_of_range");
  CHECK(symbols_of_model("x[..., 2 .. 6] |> dense(3)") == "slice_out_of_range");
  CHECK(symbols_of_model("x[0, 0, 0]") == "too_many_indices");
  CHECK(symbols_of_model("x[0 .. 2] |> dense(3)") == "index_not_constant");
  CHECK(symbols_of_model("reshape(x, [2, 3])") == "elements_differ");
  CHECK(symbols_of_model("squeeze(x, axis = 1)") == "not_one");
  CHECK(symbols_of_model("x |> dense([3, 4][5])") == "index_out_of_range");
  CHECK(symbols_of_model("x |> dense(3[0])") == "not_indexable");
  CHECK(symbols_of_model("x[..., 0 .. 3] |> dense(3)").empty());
  CHECK(symbols_of_model("reshape(x, [-1, 2, 2]) |> flatten() |> dense(3)").empty());
}

TEST_CASE("bodies end in a result and use what they compute") {
  CHECK(symbols_of_model("let y = x |> dense(3)") == "missing_result");
  CHECK(symbols_of_model("x * 2\n  x |> dense(3)") == "unused_value");
  CHECK(symbols_of_model("let a = minimize\n  x |> dense(3)").empty());
  CHECK(symbols_of_model("let (a, b) = (1, 2, 3)\n  x |> dense(3)") == "tuple_size");
  CHECK(symbols_of_model("y = x\n  x |> dense(3)") == "misplaced");
}

TEST_CASE("weights and states") {
  const auto layer = [](const std::string& body) {
    return check(program_of({.before = "layer own () (x: f32[batch, n]) -> f32[batch, n] {\n" + body + "\n}\n",
                             .model = "x |> own() |> dense(3)"}))
        ->symbols();
  };
  CHECK(layer("weight w: f32[n] = 1\n x * w").empty());
  CHECK(layer("weight w: f32[batch] = 1\n x * expand(w)") == "weight_depends_on_batch");
  CHECK(layer("weight w: f32[n] = 1\n x") == "unused_weight");
  CHECK(layer("weight w: f32[n] = full([3], 1)\n x * w") == "type_mismatch");
  CHECK(layer("weight w: f32[n] = 1\n w <- 2\n x * w") == "not_a_state");
  CHECK(layer("state s: f32[n] = 0\n s <- s + 1\n x + s").empty());
  CHECK(layer("state s: f32[n] = 0\n s <- mean(x)\n x + s") == "update_type");
  CHECK(layer("weight w: f32[m] = 1\n x * w") == "unknown_name");
  CHECK(layer("weight w: flot[n] = 1\n x * w") == "not_a_tensor_type");
  CHECK(check(program_of({.before = "fn f (x: f32[batch, n]) -> f32[batch, n] {\n weight w: f32[n] = 1\n x * w\n}\n",
                          .model = "f(x) |> dense(3)"}))
            ->symbols() == "misplaced");
}

TEST_CASE("a layer bound by a let shares its weights, and calls of one shape only") {
  const auto shared = check(program_of({.model = "let d = dense(4)\n  x |> d |> d |> dense(3)"}));
  CHECK(shared->symbols().empty());
  REQUIRE(shared->program);
  CHECK(shared->program->weights.size() == 4);
  CHECK(shared->program->weights[0].path == "Net/d/kernel");
  CHECK(symbols_of_model("let d = dense(5)\n  x |> d |> d |> dense(3)") == "shared_weight_differs");
}

TEST_CASE("optimizers") {
  const auto rule = [](const std::string& declaration) {
    return check(declaration + "\n" + program_of({.optimizer = "own()"}))->symbols();
  };
  CHECK(rule("optimizer own () (w, g) { w <- w - 0.1 * g }").empty());
  CHECK(rule("optimizer own () (w, g) { let a = w - g }") == "optimizer_without_update");
  CHECK(rule("optimizer own () (w) { w <- w }") == "optimizer_parameters");
  CHECK(rule("optimizer own () (w, g) { w <- sum(g) }") == "update_type");
}
