// Tensors as text for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/plan/dtype.h"

namespace dtl::driver {

/// Row-major `bytes` as nested brackets, a row a line. More than 1000 elements: three at each end of every long dimension.
std::string show_tensor(DType dtype, const std::vector<int64_t>& shape, std::span<const std::byte> bytes);

}  // namespace dtl::driver
