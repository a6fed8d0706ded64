// The header of a safetensors file, written and read. A file may come from anywhere: nothing in it is believed.
#include "runtime/checkpoint/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/plan/fault.h"

namespace dtl::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

using Json = nlohmann::ordered_json;

constexpr int64_t kLengthBytes = 8;
/// The format's own limit.
constexpr int64_t kMostHeaderBytes = 100'000'000;

struct Name {
  DType dtype;
  std::string_view name;
};
constexpr Name kNames[] = {{DType::f64, "F64"}, {DType::f32, "F32"}, {DType::bf16, "BF16"}, {DType::f16, "F16"},     {DType::i64, "I64"},
                           {DType::i32, "I32"}, {DType::i8, "I8"},   {DType::u8, "U8"},     {DType::boolean, "BOOL"}};

std::string_view format_name(DType dtype) {
  return std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& name) { return name.dtype == dtype; })->name;
}

/// Parsing of one header; every check ends in `fail`.
class Header {
 public:
  Header(const std::string& path, std::string_view text, int64_t data_bytes, int64_t data_begin)
      : path_(path), text_(text), data_bytes_(data_bytes), data_begin_(data_begin) {}

  std::vector<StoredTensor> read() {
    if (text_.empty() || text_[0] != '{') fail("its header is no JSON object");
    std::set<std::string> names;
    // The parser keeps the last of equal names; the format forbids them.
    const auto event = [&](int depth, Json::parse_event_t kind, Json& value) {
      if (depth > 3) fail("its header nests too deep");
      if (kind == Json::parse_event_t::key && depth == 1 && !names.insert(value.get<std::string>()).second)
        fail(fmt::format("`{}` is in it twice", value.get<std::string>()));
      return true;
    };
    Json header;
    try {
      header = Json::parse(text_, event);
    } catch (const Json::exception&) {
      fail("its header is no JSON");
    }
    std::vector<StoredTensor> tensors;
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        metadata(entry);
      } else {
        tensors.push_back(tensor(name, entry));
      }
    }
    std::stable_sort(tensors.begin(), tensors.end(),
                     [](const StoredTensor& a, const StoredTensor& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    int64_t at = 0;
    for (StoredTensor& stored : tensors) {
      if (stored.begin != at) fail(fmt::format("`{}` overlaps another tensor, or leaves a hole before it", stored.type.name));
      at = stored.end;
      stored.begin += data_begin_;
      stored.end += data_begin_;
    }
    if (at != data_bytes_) fail(fmt::format("its tensors take {} bytes, and it has {}", at, data_bytes_));
    return tensors;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Fault(6103, {path_, what}); }

  void metadata(const Json& entry) const {
    const auto is_text = [](const Json& value) { return value.is_string(); };
    if (!entry.is_object() || !std::all_of(entry.begin(), entry.end(), is_text)) fail("its `__metadata__` is more than texts by name");
  }

  /// A whole number from 0.
  int64_t number(const std::string& name, const Json& value) const {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      fail(fmt::format("a number of `{}` is none from 0 to 2^63 - 1", name));
    return value.get<int64_t>();
  }

  StoredTensor tensor(const std::string& name, const Json& entry) const {
    const auto broken = [&](const char* what) { fail(fmt::format("the entry of `{}` {}", name, what)); };
    if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
      broken("has other parts than `dtype`, `shape` and `data_offsets`");
    const Json &dtype = entry["dtype"], &shape = entry["shape"], &offsets = entry["data_offsets"];
    if (!dtype.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2) broken("has parts of other types");
    StoredTensor stored{{name, DType::f32, {}}, number(name, offsets[0]), number(name, offsets[1])};
    const auto known =
        std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& row) { return row.name == dtype.get<std::string>(); });
    if (known == std::end(kNames)) fail(fmt::format("`{}` has the unknown element type {}", name, dtype.dump()));
    stored.type.dtype = known->dtype;
    int64_t bytes = size_of(known->dtype);
    bool overflow = false;
    for (const Json& dim : shape) {
      stored.type.shape.push_back(number(name, dim));
      overflow = __builtin_mul_overflow(bytes, stored.type.shape.back(), &bytes) || overflow;
    }
    if (std::find(stored.type.shape.begin(), stored.type.shape.end(), 0) != stored.type.shape.end()) {
      bytes = 0;
      overflow = false;
    }
    if (overflow || stored.begin > stored.end || stored.end - stored.begin != bytes || stored.end > data_bytes_)
      broken("gives it a place that does not fit its shape or the file");
    return stored;
  }

  const std::string& path_;
  std::string_view text_;
  int64_t data_bytes_, data_begin_;
};

}  // namespace

int64_t TensorType::bytes() const {
  int64_t bytes = size_of(dtype);
  for (const int64_t dim : shape) bytes *= dim;
  return bytes;
}

std::string TensorType::str() const { return fmt::format("{}[{}]", name_of(dtype), fmt::join(shape, ", ")); }

std::string safetensors_header(const std::vector<TensorType>& tensors) {
  Json header = Json::object();
  int64_t at = 0;
  for (const TensorType& tensor : tensors) {
    header[tensor.name] = {{"dtype", format_name(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {at, at + tensor.bytes()}}};
    at += tensor.bytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  const uint64_t length = text.size();
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + text;
}

int64_t safetensors_header_bytes(const std::string& path, std::string_view start, int64_t file_bytes) {
  uint64_t length = 0;
  if (start.size() < sizeof length || file_bytes < kLengthBytes) throw Fault(6103, {path, "it ends before its header"});
  std::memcpy(&length, start.data(), sizeof length);
  if (length > static_cast<uint64_t>(std::min(kMostHeaderBytes, file_bytes - kLengthBytes)))
    throw Fault(6103, {path, fmt::format("its header would take {} bytes", length)});
  return kLengthBytes + static_cast<int64_t>(length);
}

std::vector<StoredTensor> parse_safetensors(const std::string& path, std::string_view start, int64_t file_bytes) {
  const int64_t begin = safetensors_header_bytes(path, start, file_bytes);
  return Header(path, start.substr(kLengthBytes, static_cast<size_t>(begin - kLengthBytes)), file_bytes - begin, begin).read();
}

}  // namespace dtl::checkpoint
