// Reading IDX files through zlib, which passes plain files through.
#include "runtime/data/idx.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/plan/fault.h"

namespace dtl::data {
namespace {

namespace fs = std::filesystem;

/// A byte of compressed input gives at most 1032 of output (zlib's technical notes, "maximum compression factor").
constexpr int64_t kDeflateFactor = 1032;
constexpr int64_t kChunk = 1 << 20;

struct Element {
  DType dtype;
  const char* refused;  ///< what it is where no dtype holds it
};

std::optional<Element> element_of(int code) {
  switch (code) {
    case 0x08:
      return Element{DType::u8, nullptr};
    case 0x09:
      return Element{DType::i8, nullptr};
    case 0x0B:
      return Element{DType::i32, "16-bit integers"};
    case 0x0C:
      return Element{DType::i32, nullptr};
    case 0x0D:
      return Element{DType::f32, nullptr};
    case 0x0E:
      return Element{DType::f64, nullptr};
  }
  return std::nullopt;
}

/// Elements are big-endian in the file; this is for the little-endian machines that dslc runs on.
template <class Word>
void swap_bytes(std::byte* data, int64_t bytes) {
  for (size_t at = 0; at + sizeof(Word) <= static_cast<size_t>(bytes); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, &data[at], sizeof word);
    word =
        sizeof word == 4 ? static_cast<Word>(__builtin_bswap32(static_cast<uint32_t>(word))) : static_cast<Word>(__builtin_bswap64(word));
    std::memcpy(&data[at], &word, sizeof word);
  }
}

}  // namespace

struct IdxFile::Reader {
  explicit Reader(const std::string& path_) : path(path_) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (error || !fs::exists(status)) throw Fault(5001, {path, std::strerror(error ? error.value() : ENOENT)});
    if (!fs::is_regular_file(status)) throw Fault(5001, {path, "not a regular file"});
    size = static_cast<int64_t>(fs::file_size(path, error));
    if (error) throw Fault(5001, {path, std::strerror(error.value())});
    errno = 0;
    file = gzopen(path.c_str(), "rb");
    if (!file) throw Fault(5001, {path, std::strerror(errno ? errno : ENOMEM)});
    gzbuffer(file, 1 << 18);
  }
  ~Reader() { gzclose(file); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Bytes read: fewer than asked for only at the end, or where a compressed file breaks off.
  int64_t read(void* to, int64_t bytes) {
    const int n = gzread(file, to, static_cast<unsigned>(bytes));
    int code = Z_OK;
    const char* text = gzerror(file, &code);
    if (code == Z_ERRNO) throw Fault(5001, {path, std::strerror(errno)});
    if (code != Z_OK && code != Z_BUF_ERROR) {
      // zlib puts the file's name before its text.
      const std::string whole = text, prefix = path + ": ";
      throw Fault(5008, {path, whole.starts_with(prefix) ? whole.substr(prefix.size()) : whole});
    }
    return std::max(n, 0);
  }
  bool broken_off() {
    int code = Z_OK;
    gzerror(file, &code);
    return code == Z_BUF_ERROR;
  }
  bool plain() { return gzdirect(file) != 0; }

  std::string path;
  gzFile file = nullptr;
  int64_t size = 0;  ///< of the file as it lies on the disk
};

IdxFile::IdxFile(std::string path, Decoding decoding, IdxPlaces places) : path_(std::move(path)), places_(std::move(places)) {
  auto reader = std::make_shared<Reader>(path_);
  std::array<unsigned char, 4> magic{};
  const int64_t got = reader->read(magic.data(), 4);
  if (got < 4) throw Fault(5003, {path_, fmt::format("it holds {} bytes", got)});
  if (magic[0] != 0 || magic[1] != 0 || !element_of(magic[2])) {
    throw Fault(5003, {path_, fmt::format("it starts with the bytes {:02x} {:02x} {:02x} {:02x}", magic[0], magic[1], magic[2], magic[3])});
  }
  if (magic[3] == 0) throw Fault(5003, {path_, "it has no dimensions"});
  const Element element = *element_of(magic[2]);
  if (element.refused) throw Fault(5004, {path_, element.refused});

  field_.dtype = element.dtype;
  bytes_ = size_of(element.dtype);
  // What the file can hold bounds what is believed, so that no size is too large to multiply or to allocate. A dimension
  // of 0 counts as 1 here: the sizes beside it are multiplied by others later.
  const int64_t most = reader->plain() ? reader->size : reader->size * kDeflateFactor;
  int64_t bound = bytes_;
  for (int i = 0; i < magic[3]; ++i) {
    std::array<unsigned char, 4> b{};
    if (reader->read(b.data(), 4) < 4) throw Fault(5003, {path_, "it ends inside its header"});
    const int64_t dim = (int64_t{b[0]} << 24) | (b[1] << 16) | (b[2] << 8) | b[3];
    i == 0 ? void(examples_ = dim) : field_.shape.push_back(dim);
    if (bound > most / std::max<int64_t>(dim, 1)) throw Fault(5005, {path_, std::to_string(reader->size)});
    bound *= std::max<int64_t>(dim, 1);
    bytes_ *= dim;
  }
  decoded_ =
      std::async(decoding == Decoding::at_once ? std::launch::async : std::launch::deferred, [this, reader] { decode(*reader); }).share();
}

IdxFile::~IdxFile() {
  given_up_ = true;
  if (decoded_.valid()) decoded_.wait();
}

void IdxFile::decode(Reader& reader) {
  const bool large = bytes_ > places_.in_memory;
  if (large && reader.plain() && size_of(field_.dtype) == 1) return map(reader);
  // Grows with what is really there; a gzip file of images seldom holds more than a few times its size.
  auto storage = std::make_shared<Storage>(large ? places_.folder : std::string());
  int64_t have = 0;
  while (have < bytes_) {
    if (given_up_) return;
    if (have == storage->size()) storage->resize(std::min(bytes_, std::max(4 * reader.size, 2 * have)));
    const int64_t want = std::min(kChunk, storage->size() - have);
    const int64_t got = reader.read(storage->data() + have, want);
    have += got;
    if (got < want) throw Fault(5006, {path_, std::to_string(bytes_), std::to_string(have)});
  }
  // Reading on also lets zlib compare the checksum at the end.
  char more = 0;
  if (reader.read(&more, 1) != 0) throw Fault(5007, {path_, std::to_string(bytes_)});
  if (reader.broken_off()) throw Fault(5008, {path_, "it ends before its checksum"});
  if (size_of(field_.dtype) == 4) swap_bytes<uint32_t>(storage->data(), bytes_);
  if (size_of(field_.dtype) == 8) swap_bytes<uint64_t>(storage->data(), bytes_);
  data_ = Storage::freeze(std::move(storage));
}

/// The file's own bytes are the elements.
void IdxFile::map(const Reader& reader) {
  start_ = 4 + 4 * static_cast<int64_t>(field_.shape.size() + 1);
  if (reader.size < start_ + bytes_) throw Fault(5006, {path_, std::to_string(bytes_), std::to_string(reader.size - start_)});
  if (reader.size > start_ + bytes_) throw Fault(5007, {path_, std::to_string(bytes_)});
  data_ = read_bytes(path_);
  if (data_.size() != reader.size) throw Fault(5008, {path_, "it changed while it was read"});
}

std::shared_ptr<const IdxFile> IdxFiles::open(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(path, error);
  const std::lock_guard lock(mutex_);
  auto& file = files_[error ? path : whole.string()];
  if (!file) file = std::make_shared<IdxFile>(path, decoding_, places_);
  return file;
}

namespace {

class Idx : public Source {
 public:
  Idx(std::shared_ptr<const IdxFile> images, std::shared_ptr<const IdxFile> labels) : files_{std::move(images), std::move(labels)} {
    for (const auto& file : files_) fields_.push_back(file->field());
  }

  int64_t examples() const override { return files_[0]->examples(); }
  const std::vector<Field>& fields() const override { return fields_; }
  void finish() const override {
    for (const auto& file : files_) file->finish();
  }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    const int64_t bytes = fields_[field].bytes();
    if (bytes == 0) return;  // nor is there an address
    const std::byte* from = files_[field]->data();
    for (const int64_t row : rows) {
      assert(row >= 0 && row < examples());
      std::memcpy(to, from + row * bytes, static_cast<size_t>(bytes));
      to += bytes;
    }
  }

 private:
  std::array<std::shared_ptr<const IdxFile>, 2> files_;
  std::vector<Field> fields_;
};

}  // namespace

std::shared_ptr<Source> idx(IdxFiles& files, const std::string& images, const std::string& labels) {
  auto image_file = files.open(images), label_file = files.open(labels);
  if (image_file->examples() != label_file->examples()) {
    throw Fault(5009, {images, std::to_string(image_file->examples()), labels, std::to_string(label_file->examples())});
  }
  return std::make_shared<Idx>(std::move(image_file), std::move(label_file));
}

}  // namespace dtl::data
