// Simplify keeps every bit of f64 meaning, and a second run finds nothing.
#include <catch2/catch.hpp>

#include "passes_testing.h"

using namespace dtl;
using namespace dtl::transform::test;
using graph::Graph;

namespace {

/// The nodes left of a graph whose meaning stays exactly as it was.
size_t left_of(const std::string& text, int64_t batch = 5) {
  const Graph before = parsed(text), graph = after(before, {"simplify"});
  CAPTURE(graph::print(graph, ops::table()));
  CHECK(graph::print(after(graph, {"simplify"}), ops::table()) == graph::print(graph, ops::table()));
  const Sizes dims = {{"batch", batch}};
  const auto params = some_params(before, "f", dims);
  CHECK(difference(run(before, "f", params, dims), run(graph, "f", params, dims)) == 0);
  return graph.nodes.size();
}

}  // namespace

TEST_CASE("dead nodes and repetitions go, parameters and results stay") {
  CHECK(left_of(R"(
func f(%x: f64[3], %unused: f64[3]) {
  %a: f64[3] = exp(%x)
  %b: f64[3] = exp(%x)
  %dead: f64[3] = exp(%a)
  %c: f64[3] = multiply(%a, %b)
  return %c, %x
})") == 2);
}

TEST_CASE("a training step keeps its bits") {
  const Graph before = after(classifier_step(), {"gradient"}), graph = after(before, {"simplify"});
  const Sizes dims = {{"batch", 7}};
  const auto params = some_params(before, "train_step", dims);
  CHECK(difference(run(before, "train_step", params, dims), run(graph, "train_step", params, dims)) == 0);
  CHECK(graph.nodes.size() < before.nodes.size());
  CHECK(graph::print(after(graph, {"simplify"}), ops::table()) == graph::print(graph, ops::table()));
}

TEST_CASE("arithmetic that changes nothing") {
  CHECK(left_of(R"(
func f(%x: f64[3], %b: bool[3]) {
  %one: f64[] = constant() {value = 1.0, dtype = f64, shape = []}
  %ones: f64[3] = broadcast(%one) {shape = [3], dims = #[]}
  %zeros: f64[3] = constant() {value = 0.0, dtype = f64, shape = [3]}
  %a: f64[3] = multiply(%ones, %x)
  %c: f64[3] = add(%a, %zeros)
  %d: f64[3] = divide(%c, %ones)
  %e: f64[3] = subtract(%d, %zeros)
  %n: f64[3] = negate(%e)
  %m: f64[3] = negate(%n)
  %p: f64[3] = power(%m, %ones)
  %q: f64[3] = cast(%p) {to = f64}
  %r: f64[3] = maximum(%q, %q)
  %yes: bool[3] = equal(%ones, %ones)
  %s: f64[3] = select(%yes, %r, %n)
  %no: bool[3] = logical_not(%b)
  %again: bool[3] = logical_not(%no)
  %t: f64[3] = select(%again, %s, %s)
  %u: f64[3] = stop_gradient(%t)
  return %u
})") == 0);
}

TEST_CASE("arithmetic that is not exact stays") {
  CHECK(left_of(R"(
func f(%x: f64[3]) {
  %zeros: f64[3] = constant() {value = 0.0, dtype = f64, shape = [3]}
  %none: f64[3] = multiply(%x, %zeros)
  %gone: f64[3] = subtract(%x, %x)
  %same: f64[3] = divide(%x, %x)
  return %none, %gone, %same
})") == 4);
}

TEST_CASE("casts through a wider type are one cast, others are two") {
  CHECK(left_of(R"(
func f(%u: u8[4], %x: f32[4], %i: i64[4]) {
  %a: f32[4] = cast(%u) {to = f32}
  %b: f64[4] = cast(%a) {to = f64}
  %c: f64[4] = cast(%x) {to = f64}
  %d: f32[4] = cast(%c) {to = f32}
  %e: i8[4] = cast(%a) {to = i8}
  %g: i32[4] = cast(%i) {to = i32}
  %h: i64[4] = cast(%g) {to = i64}
  return %b, %d, %e, %h
})") == 5);
}

TEST_CASE("changes of shape are joined") {
  CHECK(left_of(R"(
func f(%x: f64[2, 6], %v: f64[3]) {
  %r: f64[12] = reshape(%x) {shape = [12]}
  %s: f64[3, 4] = reshape(%r) {shape = [3, 4]}
  %t: f64[4, 3] = transpose(%s) {permutation = #[1, 0]}
  %u: f64[3, 4] = transpose(%t) {permutation = #[1, 0]}
  %b: f64[4, 3] = broadcast(%v) {shape = [4, 3], dims = #[1]}
  %c: f64[2, 4, 3] = broadcast(%b) {shape = [2, 4, 3], dims = #[1, 2]}
  %q: f64[1, 3] = broadcast(%v) {shape = [1, 3], dims = #[1]}
  %o: f64[3] = reduce(%q) {op = sum, axes = #[0]}
  return %u, %c, %o
})") == 2);
}

TEST_CASE("transposes become flags of products") {
  CHECK(left_of(R"(
func f(%x: f64[4, 3], %y: f64[2, 4], %z: f64[2, 3, 5], %p: f64[2, 3, 4]) {
  %xt: f64[3, 4] = transpose(%x) {permutation = #[1, 0]}
  %yt: f64[4, 2] = transpose(%y) {permutation = #[1, 0]}
  %a: f64[3, 2] = matmul(%xt, %yt) {transpose_a = false, transpose_b = false}
  %b: f64[4, 2] = matmul(%xt, %a) {transpose_a = true, transpose_b = false}
  %zt: f64[2, 5, 3] = transpose(%z) {permutation = #[0, 2, 1]}
  %c: f64[2, 5, 4] = matmul(%zt, %p) {transpose_a = false, transpose_b = false}
  return %a, %b, %c
})") == 3);
}

TEST_CASE("reductions of what was repeated") {
  CHECK(left_of(R"(
func f(%v: f64[3], %x: f64[2, 3]) {
  %b: f64[batch, 3] = broadcast(%v) {shape = [batch, 3], dims = #[1]}
  %max: f64[3] = reduce(%b) {op = max, axes = #[0]}
  %inner: f64[batch] = reduce(%b) {op = sum, axes = #[1]}
  %twice: f64[3] = reduce(%x) {op = min, axes = #[0]}
  %all: f64[] = reduce(%twice) {op = min, axes = #[0]}
  %ones: f64[batch, 3] = constant() {value = 1.0, dtype = f64, shape = [batch, 3]}
  %n: f64[3] = reduce(%ones) {op = sum, axes = #[0]}
  return %max, %inner, %all, %n
})") == 5);
}

TEST_CASE("sums over repetitions and sums of sums stay") {
  CHECK(left_of(R"(
func f(%v: f64[3], %x: f64[2, 3]) {
  %b: f64[batch, 3] = broadcast(%v) {shape = [batch, 3], dims = #[1]}
  %sum: f64[3] = reduce(%b) {op = sum, axes = #[0]}
  %once: f64[3] = reduce(%x) {op = sum, axes = #[0]}
  %twice: f64[] = reduce(%once) {op = sum, axes = #[0]}
  return %sum, %twice
})") == 4);
}

TEST_CASE("elementwise ops of broadcasts are done before") {
  CHECK(left_of(R"(
func f(%v: f64[3], %w: f64[3], %s: f64[]) {
  %a: f64[batch, 3] = broadcast(%v) {shape = [batch, 3], dims = #[1]}
  %b: f64[batch, 3] = broadcast(%w) {shape = [batch, 3], dims = #[1]}
  %c: f64[batch, 3] = constant() {value = 2.5, dtype = f64, shape = [batch, 3]}
  %d: f64[batch, 3] = multiply(%a, %b)
  %e: f64[batch, 3] = add(%d, %c)
  return %e
})") == 4);
}

TEST_CASE("random numbers of different streams are different") {
  CHECK(left_of(R"(
func f(%seed: i64[], %step: i64[]) {
  %a: f64[3] = uniform(%seed, %step) {shape = [3], stream = 1, dtype = f64}
  %b: f64[3] = uniform(%seed, %step) {shape = [3], stream = 2, dtype = f64}
  %c: f64[3] = uniform(%seed, %step) {shape = [3], stream = 1, dtype = f64}
  %d: f64[3] = add(%a, %b)
  %e: f64[3] = add(%d, %c)
  return %e
})") == 4);
}
