// Reading arrays of NumPy where they lie: rows are copied, and widened where no dtype of ours holds them, as they are gathered.
#include "runtime/data/npy.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>

#include "runtime/data/bytes.h"
#include "runtime/plan/fault.h"

namespace dtl::data {
namespace {

/// What an element is in the file, and what it becomes.
struct Element {
  const char* descr;
  DType dtype;
  int64_t bytes;
};

constexpr Element kElements[] = {{"f2", DType::f16, 2}, {"f4", DType::f32, 4}, {"f8", DType::f64, 8},    {"i1", DType::i8, 1},
                                 {"i2", DType::i32, 2}, {"i4", DType::i32, 4}, {"i8", DType::i64, 8},    {"u1", DType::u8, 1},
                                 {"u2", DType::i32, 2}, {"u4", DType::i64, 4}, {"b1", DType::boolean, 1}};

struct Array {
  Field field;
  const Element* element = nullptr;
  int64_t examples = 0;
  Bytes bytes;  ///< keeps `data` alive
  const std::byte* data = nullptr;
  std::optional<uint32_t> checksum;  ///< of `bytes`, where an archive says it
};

/// The dictionary of a header: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
class Header {
 public:
  Header(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  void read(Array& array) {
    bool described = false, ordered = false, shaped = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        descr(array);
        described = true;
      } else if (key == "fortran_order") {
        if (word() != "False") refuse("it is in Fortran order: numpy.ascontiguousarray makes a copy in C order");
        ordered = true;
      } else if (key == "shape") {
        shape(array);
        shaped = true;
      } else {
        refuse("its header is broken");
      }
      if (!accept(',') && !peek('}')) refuse("its header is broken");
    }
    if (!described || !ordered || !shaped) refuse("its header is broken");
  }

  [[noreturn]] void refuse(const std::string& why) const { throw Fault(5014, {path_, why}); }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\0')) ++at_;
  }
  bool peek(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool accept(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse("its header is broken");
  }
  std::string string() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') refuse("its elements are records, or its header is broken");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse("its header is broken");
    const std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(inner);
  }
  std::string word() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_]))) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  void descr(Array& array) {
    const std::string descr = string();
    const char order = descr.empty() ? '\0' : descr[0];
    if (order == '>') refuse("its elements are big-endian");
    for (const Element& element : kElements) {
      if (descr.size() == 3 && descr.substr(1) == element.descr && (order == '<' || order == '|' || order == '=')) array.element = &element;
    }
    if (!array.element) refuse(fmt::format("it holds elements of `{}`, for which there is no element type", descr.substr(0, 20)));
    array.field.dtype = array.element->dtype;
  }
  void shape(Array& array) {
    expect('(');
    bool first = true;
    while (!accept(')')) {
      skip();
      int64_t dim = 0;
      const size_t begin = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
        if (__builtin_mul_overflow(dim, 10, &dim) || __builtin_add_overflow(dim, text_[at_] - '0', &dim)) refuse("its shape is too large");
        ++at_;
      }
      if (at_ == begin) refuse("its header is broken");
      first ? void(array.examples = dim) : array.field.shape.push_back(dim);
      first = false;
      if (!accept(',') && !peek(')')) refuse("its header is broken");
    }
    if (first) refuse("it is one number: the first dimension counts examples");
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
};

Array read_array(Bytes bytes, const std::string& path) {
  const std::string_view text = bytes.text();
  const auto refuse = [&](const std::string& why) { throw Fault(5014, {path, why}); };
  if (!text.starts_with("\x93NUMPY") || text.size() < 10) refuse("it does not start as one does");
  const int major = text[6];
  if (major < 1 || major > 3) refuse(fmt::format("it is of version {}", major));
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(text[i])); };
  const size_t prefix = major == 1 ? 10 : 12;
  if (text.size() < prefix) refuse("it ends inside its header");
  const size_t length = major == 1 ? byte(8) | (byte(9) << 8) : byte(8) | (byte(9) << 8) | (byte(10) << 16) | (byte(11) << 24);
  if (length > text.size() - prefix) refuse("it ends inside its header");
  Array array;
  Header(text.substr(prefix, length), path).read(array);
  int64_t wanted = array.element->bytes, beside = array.element->bytes;
  bool overflow = __builtin_mul_overflow(wanted, array.examples, &wanted);
  for (const int64_t dim : array.field.shape) {
    overflow |= __builtin_mul_overflow(wanted, dim, &wanted);
    // A shape that a 0 makes small is multiplied without it by others later.
    overflow |= __builtin_mul_overflow(beside, std::max<int64_t>(dim, 1), &beside);
  }
  const auto there = static_cast<int64_t>(text.size() - prefix - length);
  if (overflow || wanted != there)
    refuse(overflow ? std::string("its shape is too large") : fmt::format("its shape takes {} bytes, there are {}", wanted, there));
  array.data = bytes.data() + prefix + length;
  array.bytes = std::move(bytes);
  return array;
}

template <class From, class To>
void widen(const std::byte* from, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i) {
    From narrow;
    std::memcpy(&narrow, from + i * static_cast<int64_t>(sizeof narrow), sizeof narrow);
    const To wide = static_cast<To>(narrow);
    std::memcpy(to + i * static_cast<int64_t>(sizeof wide), &wide, sizeof wide);
  }
}

class Arrays : public Source {
 public:
  Arrays(std::string path, std::vector<Array> arrays, bool finite) : path_(std::move(path)), arrays_(std::move(arrays)), finite_(finite) {
    for (const Array& array : arrays_) fields_.push_back(array.field);
  }

  int64_t examples() const override { return arrays_[0].examples; }
  const std::vector<Field>& fields() const override { return fields_; }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    const Array& array = arrays_[field];
    const int64_t elements = array.field.elements(), step = elements * array.element->bytes, made = array.field.bytes();
    const std::string_view descr = array.element->descr;
    for (const int64_t row : rows) {
      assert(row >= 0 && row < examples());
      const std::byte* from = array.data + row * step;
      if (descr == "i2") {
        widen<int16_t, int32_t>(from, elements, to);
      } else if (descr == "u2") {
        widen<uint16_t, int32_t>(from, elements, to);
      } else if (descr == "u4") {
        widen<uint32_t, int64_t>(from, elements, to);
      } else if (descr == "b1") {
        for (int64_t i = 0; i < elements; ++i) to[i] = std::byte{from[i] != std::byte{0}};
      } else if (step > 0) {
        std::memcpy(to, from, static_cast<size_t>(step));
      }
      to += made;
    }
  }
  void finish() const override {
    if (finished_.exchange(true)) return;
    for (const Array& array : arrays_) {
      if (array.checksum && *array.checksum != crc(array))
        throw Fault(5008, {path_, "the checksum of `" + array.field.name + "` is another"});
      if (!finite_) continue;
      if (array.field.dtype == DType::f32) look_for<uint32_t>(array, 0x7f800000);
      if (array.field.dtype == DType::f64) look_for<uint64_t>(array, 0x7ff0000000000000);
      if (array.field.dtype == DType::f16) look_for<uint16_t>(array, 0x7c00);
    }
  }
  std::string place(int64_t row) const override {
    return fmt::format("`{}`, example {}", std::filesystem::path(path_).filename().string(), row);
  }

 private:
  static uint32_t crc(const Array& array) {
    uLong sum = crc32(0, nullptr, 0);
    for (int64_t at = 0; at < array.bytes.size();) {
      const int64_t n = std::min<int64_t>(array.bytes.size() - at, 1 << 30);
      sum = crc32(sum, reinterpret_cast<const Bytef*>(array.bytes.data() + at), static_cast<uInt>(n));
      at += n;
    }
    return static_cast<uint32_t>(sum);
  }

  /// The exponent of an infinity or NaN is all ones.
  template <class Word>
  void look_for(const Array& array, Word exponent) const {
    const int64_t elements = array.field.elements();
    for (int64_t i = 0; i < array.examples * elements; ++i) {
      Word word;
      std::memcpy(&word, array.data + i * static_cast<int64_t>(sizeof word), sizeof word);
      if ((word & exponent) != exponent) continue;
      throw Fault(5020, {path_, std::to_string(i / elements), array.field.name.empty() ? "the array" : "`" + array.field.name + "`"});
    }
  }

  std::string path_;
  std::vector<Array> arrays_;
  std::vector<Field> fields_;
  bool finite_;
  mutable std::atomic<bool> finished_ = false;
};

// ---- zip: APPNOTE.TXT of PKWARE, 6.3.10

uint64_t little(std::string_view text, size_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= uint64_t{static_cast<unsigned char>(text[at + i])} << (8 * i);
  return value;
}

struct Entry {
  std::string name;
  uint64_t method = 0, checksum = 0, packed = 0, size = 0, offset = 0;
};

class Archive {
 public:
  Archive(const std::string& path, const Cache& cache) : path_(path), cache_(cache), whole_(read_bytes(path)) {}

  std::vector<Entry> entries() const {
    const std::string_view text = whole_.text();
    const size_t end = text.rfind("PK\x05\x06");
    if (end == std::string_view::npos || text.size() - end < 22) refuse("it has no directory");
    uint64_t count = little(text, end + 10, 2), at = little(text, end + 16, 4);
    // Zip64: a record before the end says what 16 and 32 bits cannot.
    if ((count == 0xffff || at == 0xffffffff) && end >= 20 && text.substr(end - 20, 4) == "PK\x06\x07") {
      const uint64_t record = little(text, end - 12, 8);
      if (record > text.size() - 56 || text.substr(record, 4) != "PK\x06\x06") refuse("its directory is broken");
      count = little(text, record + 32, 8);
      at = little(text, record + 48, 8);
    }
    if (count > text.size() / 46) refuse("its directory is broken");
    std::vector<Entry> entries;
    for (uint64_t i = 0; i < count; ++i) {
      if (at > text.size() || text.size() - at < 46 || text.substr(at, 4) != "PK\x01\x02") refuse("its directory is broken");
      Entry entry;
      entry.method = little(text, at + 10, 2);
      entry.checksum = little(text, at + 16, 4);
      entry.packed = little(text, at + 20, 4);
      entry.size = little(text, at + 24, 4);
      entry.offset = little(text, at + 42, 4);
      if (little(text, at + 8, 2) & 1) refuse("it is encrypted");
      const uint64_t name = little(text, at + 28, 2), extra = little(text, at + 30, 2), comment = little(text, at + 32, 2);
      if (text.size() - at - 46 < name + extra) refuse("its directory is broken");
      entry.name = text.substr(at + 46, name);
      read_zip64(text.substr(at + 46 + name, extra), entry);
      entries.push_back(std::move(entry));
      at += 46 + name + extra + comment;
    }
    return entries;
  }

  Bytes read(const Entry& entry) const {
    const std::string_view text = whole_.text();
    if (entry.offset > text.size() || text.size() - entry.offset < 30 || text.substr(entry.offset, 4) != "PK\x03\x04")
      refuse("`" + entry.name + "` is not where its directory says");
    const uint64_t begin = entry.offset + 30 + little(text, entry.offset + 26, 2) + little(text, entry.offset + 28, 2);
    if (begin > text.size() || entry.packed > text.size() - begin) refuse("it ends inside `" + entry.name + "`");
    const std::byte* from = whole_.data() + begin;
    if (entry.method == 0) return {from, static_cast<int64_t>(entry.packed), std::make_shared<Bytes>(whole_)};
    if (entry.method != 8) refuse(fmt::format("`{}` is packed by method {}", entry.name, entry.method));
    if (entry.size / 1032 > entry.packed) refuse("`" + entry.name + "` promises more than it can hold");
    return inflate_entry(entry, from);
  }

  [[noreturn]] void refuse(const std::string& why) const { throw Fault(5015, {path_, why}); }

 private:
  static void read_zip64(std::string_view extra, Entry& entry) {
    while (extra.size() >= 4) {
      const uint64_t id = little(extra, 0, 2), size = little(extra, 2, 2);
      if (size > extra.size() - 4) return;
      size_t at = 4;
      const auto next = [&](uint64_t& value) {
        if (value != 0xffffffff || at + 8 > 4 + size) return;
        value = little(extra, at, 8);
        at += 8;
      };
      if (id == 1) {
        next(entry.size);
        next(entry.packed);
        next(entry.offset);
      }
      extra.remove_prefix(4 + size);
    }
  }

  Bytes inflate_entry(const Entry& entry, const std::byte* from) const {
    auto storage = std::make_shared<Storage>(cache_.folder());
    storage->resize(static_cast<int64_t>(entry.size));
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw Fault(5001, {path_, std::strerror(ENOMEM)});
    const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, inflateEnd);
    uint64_t taken = 0, made = 0;
    constexpr uint64_t kPiece = uint64_t{1} << 28;
    int code = Z_OK;
    std::byte beyond{};
    while (code == Z_OK || code == Z_BUF_ERROR) {
      const uint64_t piece = std::min(kPiece, entry.packed - taken), room = std::min(kPiece, entry.size - made);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from + taken));
      stream.avail_in = static_cast<uInt>(piece);
      // Behind the end a byte of room tells an array that goes on.
      stream.next_out = reinterpret_cast<Bytef*>(room > 0 ? storage->data() + made : &beyond);
      const uInt given = static_cast<uInt>(std::max<uint64_t>(room, 1));
      stream.avail_out = given;
      code = inflate(&stream, Z_NO_FLUSH);
      taken += piece - stream.avail_in;
      const uint64_t got = given - stream.avail_out;
      if (room == 0 && got > 0) refuse("`" + entry.name + "` goes on after its end");
      made += got;
      if (got == 0 && piece - stream.avail_in == 0 && code != Z_STREAM_END) break;
    }
    if (code != Z_STREAM_END || made != entry.size) throw Fault(5008, {path_, "`" + entry.name + "` is cut short or broken"});
    return Storage::freeze(std::move(storage));
  }

  const std::string& path_;
  const Cache& cache_;
  Bytes whole_;
};

}  // namespace

std::shared_ptr<const Source> read_npy(const std::string& path, bool finite) {
  std::vector<Array> arrays;
  arrays.push_back(read_array(read_bytes(path), path));
  return std::make_shared<Arrays>(path, std::move(arrays), finite);
}

std::shared_ptr<const Source> read_npz(const std::string& path, bool finite, const Cache& cache) {
  const Archive archive(path, cache);
  std::vector<Array> arrays;
  for (const Entry& entry : archive.entries()) {
    if (!entry.name.ends_with(".npy")) continue;
    Array array = read_array(archive.read(entry), path + ":" + entry.name);
    array.field.name = entry.name.substr(0, entry.name.size() - 4);
    array.checksum = static_cast<uint32_t>(entry.checksum);
    for (const Array& other : arrays) {
      if (other.field.name == array.field.name) throw Fault(5024, {path, array.field.name});
    }
    if (!arrays.empty() && array.examples != arrays[0].examples) {
      throw Fault(5009, {path + ":" + arrays[0].field.name, std::to_string(arrays[0].examples), path + ":" + array.field.name,
                         std::to_string(array.examples)});
    }
    arrays.push_back(std::move(array));
  }
  if (arrays.empty()) archive.refuse("it holds no arrays");
  return std::make_shared<Arrays>(path, std::move(arrays), finite);
}

}  // namespace dtl::data
