// Synthetic data: fields of random numbers, each row a pure function of seed, field and index.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/data/source.h"

namespace dtl::data {

enum class Generator : uint8_t {
  normal,    ///< f32, mean 0, variance 1
  uniform,   ///< f32 in [0, 1)
  integers,  ///< i64 in [low, high)
};

struct SyntheticField {
  std::string name;
  Generator generator;
  int64_t low = 0, high = 1;   ///< integers only
  std::vector<int64_t> shape;  ///< of one example
};

/// Philox with key `seed` and a stream for each field's name: adding a field leaves the others as they are.
/// Fault 5110 where bounds of integers go beyond i32.
std::shared_ptr<Source> synthetic(int64_t examples, uint64_t seed, const std::vector<SyntheticField>& fields);

}  // namespace dtl::data
