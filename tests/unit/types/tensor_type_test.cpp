// Tensor types: text and broadcasting.
#include "compiler/types/tensor_type.h"

#include <catch2/catch.hpp>

using dtl::DType;
using dtl::types::broadcast_dims;
using dtl::types::Dim;
using dtl::types::TensorType;
using Shape = std::vector<Dim>;

namespace {
const Dim kBatch = Dim::symbol("batch");
}

TEST_CASE("tensor types print and parse back") {
  const TensorType logits{DType::f32, {kBatch, 10}}, scalar{DType::i64, {}}, mask{DType::boolean, {kBatch * 2 + 1}};
  CHECK(logits.str() == "f32[batch, 10]");
  CHECK(scalar.str() == "i64[]");
  CHECK(mask.str() == "bool[2 * batch + 1]");
  for (const TensorType& type : {logits, scalar, mask}) CHECK(TensorType::parse(type.str()) == type);
  for (const char* text : {"f32", "f33[]", "f32[", "f32[]]", "f32[1,]", "[1]", ""}) {
    CAPTURE(text);
    CHECK_FALSE(TensorType::parse(text));
  }
}

TEST_CASE("elements multiply") {
  CHECK(TensorType{DType::f32, {kBatch, 28, 28}}.elements() == kBatch * 784);
  CHECK(TensorType{DType::f32, {}}.elements() == Dim(1));
  CHECK(TensorType{DType::f32, {3, 0}}.elements() == Dim(0));
}

TEST_CASE("broadcasting aligns from the right and stretches ones") {
  CHECK(broadcast_dims({kBatch, 10}, {10}) == Shape{kBatch, 10});
  CHECK(broadcast_dims({10}, {kBatch, 10}) == Shape{kBatch, 10});
  CHECK(broadcast_dims({kBatch, 1}, {1, 10}) == Shape{kBatch, 10});
  CHECK(broadcast_dims({}, {3}) == Shape{3});
  CHECK(broadcast_dims({}, {}) == Shape{});
  CHECK(broadcast_dims({1, 0}, {5, 1}) == Shape{5, 0});
  CHECK_FALSE(broadcast_dims({kBatch, 10}, {kBatch}));
  CHECK_FALSE(broadcast_dims({3}, {4}));
}
