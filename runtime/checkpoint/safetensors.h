// Safetensors files: named tensors behind a JSON header. The format is described at
// https://github.com/huggingface/safetensors#format.
//
// Little-endian: 8 bytes for the length of the header, the header (an object of `{dtype, shape, data_offsets}` by name),
// then the tensors' elements, row-major, without holes. Every reader of the format reads what is written here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/dtype.h"

namespace dtl::checkpoint {

/// A tensor's name and type.
struct TensorType {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;

  int64_t bytes() const;
  /// `f32[28, 28]`
  std::string str() const;
};

/// A tensor in a file: its elements are bytes [begin, end) of it.
struct StoredTensor {
  TensorType type;
  int64_t begin = 0, end = 0;
};

/// The bytes before the elements; the elements follow in the order of `tensors`. Wide elements first: all are aligned.
std::string safetensors_header(const std::vector<TensorType>& tensors);

/// The tensors of a file of `file_bytes` bytes that starts with `start`, in the order of their places. `start` must hold the
/// whole header: see safetensors_header_bytes. Fault 6103 (`path`, what is wrong): anything that the format does not allow,
/// and element types that have no DType. `path` is for the fault only.
std::vector<StoredTensor> parse_safetensors(const std::string& path, std::string_view start, int64_t file_bytes);

/// How many bytes come before the elements, from the first 8. Fault 6103 if the file cannot hold as many.
int64_t safetensors_header_bytes(const std::string& path, std::string_view start, int64_t file_bytes);

}  // namespace dtl::checkpoint
