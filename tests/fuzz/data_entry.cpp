// Files of data and of checkpoints. They lie in memory, under a name as readers want one.
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/driver/fault_text.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/data/idx.h"
#include "runtime/data/npy.h"
#include "runtime/data/text.h"
#include "runtime/plan/fault.h"
#include "tests/fuzz/entries.h"

namespace dtl::fuzz {
namespace {

class FileInMemory {
 public:
  explicit FileInMemory(std::string_view bytes) : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    promise(file_ >= 0 && write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "no file in memory");
  }
  ~FileInMemory() { close(file_); }
  FileInMemory(const FileInMemory&) = delete;
  FileInMemory& operator=(const FileInMemory&) = delete;
  std::string path() const { return fmt::format("/proc/self/fd/{}", file_); }

 private:
  int file_;
};

/// A Fault is how a broken file is told; its text must be there.
template <class Read>
void told(Read read) {
  try {
    read();
  } catch (const Fault& fault) {
    promise(!driver::fault_message(fault).empty(), "a fault without a text: {}", fault.code());
  }
}

/// The first rows, the last, and where they come from.
void look_at(const data::Source& source) {
  source.finish();
  if (source.examples() == 0) return;
  const std::vector<int64_t> rows = {0, source.examples() - 1, source.examples() / 2};
  for (size_t i = 0; i < source.fields().size(); ++i) {
    const data::Field& field = source.fields()[i];
    if (field.text) {
      for (const int64_t row : rows) promise(data::first_not_utf8(source.text(i, row)) < 0, "text that is no UTF-8");
      continue;
    }
    promise(field.bytes() >= 0, "a field of {} bytes", field.bytes());
    if (field.bytes() > 1'000'000) continue;
    std::vector<std::byte> elements(rows.size() * static_cast<size_t>(field.bytes()));
    source.gather(i, rows, elements.data());
  }
  for (const int64_t row : rows) source.place(row);
}

}  // namespace

void idx(std::string_view input) {
  const FileInMemory file(input);
  told([&] {
    data::IdxFiles files(data::Decoding::late);
    look_at(*data::idx(files, file.path(), file.path()));
  });
  told([&] { data::IdxFile(file.path(), data::Decoding::at_once).finish(); });
}

void csv(std::string_view input) {
  const FileInMemory file(input);
  data::CsvOptions all, strict, lenient;
  strict.columns = {{"a", data::CsvType::i64}, {"b", data::CsvType::f32}, {"c", data::CsvType::u8}, {"d", data::CsvType::boolean}};
  lenient.delimiter = ';';
  lenient.header = false;
  lenient.missing = {"NA", "?"};
  lenient.fill = -1.0;
  lenient.finite = false;
  lenient.skip_limit = 3;
  for (const data::CsvOptions& options : {all, strict, lenient}) told([&] { look_at(*data::read_csv(file.path(), options, {})); });
  told([&] { data::count_vocabulary(file.path(), "a", all, data::TextUnit::words, 5, {}); });
}

void npy(std::string_view input) {
  const FileInMemory file(input);
  for (const bool finite : {true, false}) {
    told([&] { look_at(*data::read_npy(file.path(), finite)); });
    told([&] { look_at(*data::read_npz(file.path(), finite, {})); });
  }
}

void text(std::string_view input) {
  const FileInMemory file(input);
  for (const auto& [begin, end] : {std::pair(0.0, 1.0), std::pair(0.0, 0.3), std::pair(0.3, 0.31), std::pair(0.9, 1.0)})
    told([&, begin = begin, end = end] { look_at(*data::read_text(file.path(), begin, end, {})); });
  told([&] {
    for (const data::TextUnit unit : {data::TextUnit::characters, data::TextUnit::words}) {
      const auto vocabulary = data::count_vocabulary(file.path(), std::nullopt, {}, unit, 0, {});
      const auto whole = data::read_text(file.path(), 0, 1, {});
      look_at(*data::encode_all(*whole, *vocabulary, {}, "key"));
      std::vector<int32_t> numbers(input.size() + 1);
      if (whole->examples() == 1) {
        const int64_t count = vocabulary->encode(whole->text(0, 0), static_cast<int64_t>(input.size()), numbers.data());
        for (int64_t i = 0; i < count; ++i) {
          const int32_t number = numbers[static_cast<size_t>(i)];
          promise(number >= vocabulary->first() && number < vocabulary->size(), "a piece of the text has the number {}", number);
          promise(vocabulary->find(vocabulary->entry(number)) == number, "entry {} is found as another", number);
        }
      }
      const std::string kept = vocabulary->to_text();
      const auto again = data::Vocabulary::from_text(kept);
      promise(again && again->entries() == vocabulary->entries(), "a vocabulary is read otherwise than written:\n{}", kept);
    }
  });
}

void gzip(std::string_view input) {
  const FileInMemory file(input);
  told([&] { data::read_unzipped(file.path(), {}); });
  told([&] { look_at(*data::read_text(file.path(), 0, 1, {})); });
  told([&] { data::IdxFile(file.path(), data::Decoding::at_once).finish(); });
}

void vocabulary(std::string_view input) {
  const auto read = data::Vocabulary::from_text(input);
  if (!read) return;
  const auto again = data::Vocabulary::from_text(read->to_text());
  promise(again && again->entries() == read->entries() && again->unit() == read->unit(), "a vocabulary is read otherwise than written");
  std::vector<int32_t> numbers(64);
  if (data::first_not_utf8(input) < 0) read->encode(input, 64, numbers.data());
}

void safetensors(std::string_view input) {
  const auto size = static_cast<int64_t>(input.size());
  for (const int64_t file_bytes : {size, size + 1'000}) {
    told([&] {
      if (checkpoint::safetensors_header_bytes("file", input, file_bytes) > size) return;
      for (const checkpoint::StoredTensor& tensor : checkpoint::parse_safetensors("file", input, file_bytes)) {
        promise(tensor.begin >= 0 && tensor.begin <= tensor.end && tensor.end <= file_bytes, "`{}` lies at [{}, {}) of {}",
                tensor.type.name, tensor.begin, tensor.end, file_bytes);
        promise(tensor.end - tensor.begin == tensor.type.bytes(), "`{}` of another size", tensor.type.str());
      }
    });
  }
}

void manifest(std::string_view input) {
  std::string text(input);
  told([&] { checkpoint::parse_manifest("file", text); });
  // With the checksum that it should have, the rest is reached.
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return;
  json.erase("crc32");
  const std::string rest = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(rest.data()), static_cast<uInt>(rest.size()));
  json["crc32"] = fmt::format("{:08x}", crc);
  text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  told([&] {
    const std::string printed = checkpoint::print(checkpoint::parse_manifest("file", text));
    promise(checkpoint::print(checkpoint::parse_manifest("file", printed)) == printed, "a manifest is read otherwise than written");
  });
}

}  // namespace dtl::fuzz
