// Arrays of NumPy: .npy files (format 1.0 to 3.0, numpy.lib.format) and .npz archives of them (zip, stored or deflated).
// The first dimension counts examples. Little-endian, in C order; i2 and u2 are read as i32, u4 as i64.
#pragma once

#include <string>

#include "runtime/data/table.h"

namespace dtl::data {

/// One unnamed field. Faults: 5001, 5014 no such file; `finish`: 5020 a number that is not finite, where `finite`.
std::shared_ptr<const Source> read_npy(const std::string& path, bool finite);

/// A field for each array, under its name, in the order of the archive.
/// Faults: those of read_npy, 5015 no archive, 5009 arrays of different numbers of examples; `finish`: 5008 damaged.
std::shared_ptr<const Source> read_npz(const std::string& path, bool finite, const Cache& cache);

}  // namespace dtl::data
