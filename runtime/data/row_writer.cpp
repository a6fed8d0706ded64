// Rows as text and as arrays.
#include "runtime/data/row_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <utility>

#include "runtime/data/stack.h"
#include "runtime/plan/fault.h"
#include "runtime/plan/half.h"

namespace dtl::data {
namespace {

using plan::Bf16;
using plan::F16;

template <class T>
T element(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The shortest text that is read back as the same number; with `json`, null where JSON has no such number.
template <class T>
std::string float_text(T value, bool json) {
  return json && !std::isfinite(value) ? "null" : fmt::format("{}", value);
}

std::string text_of(DType dtype, const std::byte* from, bool json) {
  switch (dtype) {
    case DType::f64:
      return float_text(element<double>(from), json);
    case DType::f32:
      return float_text(element<float>(from), json);
    case DType::bf16:
      return float_text(static_cast<float>(element<Bf16>(from)), json);
    case DType::f16:
      return float_text(static_cast<float>(element<F16>(from)), json);
    case DType::i64:
      return fmt::format("{}", element<int64_t>(from));
    case DType::i32:
      return fmt::format("{}", element<int32_t>(from));
    case DType::i8:
      return fmt::format("{}", int{element<int8_t>(from)});
    case DType::u8:
      return fmt::format("{}", int{element<uint8_t>(from)});
    case DType::boolean:
      return element<uint8_t>(from) ? "true" : "false";
  }
  __builtin_unreachable();
}

class Csv final : public RowWriter {
 public:
  explicit Csv(std::ostream& out) : out_(out) {}
  void begin(const std::vector<Field>& fields, int64_t) override {
    fields_ = fields;
    std::vector<std::string> names;
    for (const Field& field : fields) {
      for (std::string& name : column_names(field)) names.push_back(std::move(name));
    }
    out_ << fmt::format("{}\n", fmt::join(names, ","));
  }
  void write(int64_t rows, std::span<const std::span<const std::byte>> fields) override {
    for (int64_t row = 0; row < rows; ++row) {
      std::string line;
      bool first = true;
      for (size_t i = 0; i < fields_.size(); ++i) {
        const std::byte* at = fields[i].data() + row * fields_[i].bytes();
        for (int64_t k = 0; k < fields_[i].elements(); ++k, at += size_of(fields_[i].dtype)) {
          if (!std::exchange(first, false)) line += ',';
          line += text_of(fields_[i].dtype, at, false);
        }
      }
      out_ << line << "\n";
    }
  }

 private:
  std::ostream& out_;
  std::vector<Field> fields_;
};

class JsonLines final : public RowWriter {
 public:
  explicit JsonLines(std::ostream& out) : out_(out) {}
  void begin(const std::vector<Field>& fields, int64_t) override { fields_ = fields; }
  void write(int64_t rows, std::span<const std::span<const std::byte>> fields) override {
    for (int64_t row = 0; row < rows; ++row) {
      std::string line = "{";
      for (size_t i = 0; i < fields_.size(); ++i) {
        line += fmt::format("{}\"{}\": ", i > 0 ? ", " : "", fields_[i].name);  // names are words and digits
        const std::byte* at = fields[i].data() + row * fields_[i].bytes();
        add(fields_[i], 0, at, line);
      }
      out_ << line << "}\n";
    }
  }

 private:
  static void add(const Field& field, size_t dim, const std::byte*& at, std::string& to) {
    if (dim == field.shape.size()) {
      to += text_of(field.dtype, at, true);
      at += size_of(field.dtype);
      return;
    }
    to += '[';
    for (int64_t i = 0; i < field.shape[dim]; ++i) {
      if (i > 0) to += ", ";
      add(field, dim + 1, at, to);
    }
    to += ']';
  }

  std::ostream& out_;
  std::vector<Field> fields_;
};

/// As NumPy calls an element type; bf16, for which it has no name, is written as f32.
const char* descr_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "<f8";
    case DType::f32:
    case DType::bf16:
      return "<f4";
    case DType::f16:
      return "<f2";
    case DType::i64:
      return "<i8";
    case DType::i32:
      return "<i4";
    case DType::i8:
      return "|i1";
    case DType::u8:
      return "|u1";
    case DType::boolean:
      return "|b1";
  }
  __builtin_unreachable();
}

/// Format 1.0 of numpy.lib.format: the elements begin at a multiple of 64 bytes.
class Npy final : public RowWriter {
 public:
  explicit Npy(std::ostream& out) : out_(out) {}
  void begin(const std::vector<Field>& fields, int64_t rows) override {
    assert(fields.size() == 1);
    dtype_ = fields[0].dtype;
    std::string shape = fmt::format("{},", rows);
    for (size_t i = 0; i < fields[0].shape.size(); ++i) shape += fmt::format("{}{}", i == 0 ? " " : ", ", fields[0].shape[i]);
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(dtype_), shape);
    constexpr size_t kPrefix = 10, kLine = 64;
    header.append(kLine - (kPrefix + header.size() + 1) % kLine, ' ');
    header += '\n';
    out_ << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size() & 0xff) << static_cast<char>(header.size() >> 8)
         << header;
  }
  void write(int64_t, std::span<const std::span<const std::byte>> fields) override {
    const std::span<const std::byte> bytes = fields[0];
    if (dtype_ != DType::bf16) {
      out_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      return;
    }
    for (size_t at = 0; at < bytes.size(); at += sizeof(Bf16)) {
      const auto wide = static_cast<float>(element<Bf16>(&bytes[at]));
      out_.write(reinterpret_cast<const char*>(&wide), sizeof wide);
    }
  }

 private:
  std::ostream& out_;
  DType dtype_ = DType::f32;
};

}  // namespace

std::unique_ptr<RowWriter> make_writer(RowFormat format, std::ostream& out) {
  switch (format) {
    case RowFormat::csv:
      return std::make_unique<Csv>(out);
    case RowFormat::npy:
      return std::make_unique<Npy>(out);
    case RowFormat::jsonl:
      return std::make_unique<JsonLines>(out);
  }
  __builtin_unreachable();
}

NewFile::NewFile(std::string path) : path_(std::move(path)), partial_(path_ + ".partial") {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) throw Fault(6120, {path_, std::strerror(EISDIR)});
  errno = 0;
  out_.open(partial_, std::ios::binary | std::ios::trunc);
  if (!out_) fail();
}

NewFile::~NewFile() {
  std::error_code ignored;
  if (!partial_.empty() && out_.is_open()) std::filesystem::remove(partial_, ignored);
}

void NewFile::fail() const { throw Fault(6120, {path_, std::strerror(errno ? errno : EIO)}); }

void NewFile::check() {
  if (!out_) fail();
}

void NewFile::finish() {
  errno = 0;
  out_.flush();
  check();
  const int file = ::open(partial_.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && (::fsync(file) == 0 || errno == EINVAL);
  const int error = errno;
  if (file >= 0) ::close(file);
  errno = error;
  if (!synced || ::rename(partial_.c_str(), path_.c_str()) != 0) fail();
  partial_.clear();
}

}  // namespace dtl::data
