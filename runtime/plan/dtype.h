// Element types of tensors, shared by the compiler and the runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dtl {

enum class DType : uint8_t { f64, f32, bf16, f16, i64, i32, i8, u8, boolean };

/// The name in programs and in every printed stage: `f32`, `bool`.
std::string_view name_of(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

/// Bytes of one element; a bool takes one byte holding 0 or 1.
int64_t size_of(DType dtype);

bool is_float(DType dtype);
/// bf16 and f16: computed in f32, rounded after each operation.
bool is_narrow(DType dtype);
/// Signed and unsigned integers; bool is neither integer nor float.
bool is_integer(DType dtype);

/// How values are combined by reductions, partial placements and collectives.
enum class ReduceOp : uint8_t { sum, max, min, product };

std::string_view name_of(ReduceOp op);
std::optional<ReduceOp> parse_reduce_op(std::string_view name);
/// The neutral element as f64 (max: −inf, min: +inf).
double identity_of(ReduceOp op);
/// The identity, as near as an element type comes to it: the largest integer for a minimum.
double start_of(ReduceOp op, DType dtype);
/// The one whose identity it is.
ReduceOp reduction_from(double identity);
double combine(ReduceOp op, double a, double b);

}  // namespace dtl
