// IDX files, plain or gzip: the format of the MNIST family, described at http://yann.lecun.com/exdb/mnist/.
//
// Big-endian: two zero bytes, a byte for the element type, a byte for the rank (1 or more here), a 32-bit size for each
// dimension, then the elements in row-major order. The first dimension counts examples.
#pragma once

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/data/bytes.h"
#include "runtime/data/source.h"

namespace dtl::data {

/// When a file behind its header is decoded.
enum class Decoding : uint8_t {
  at_once,  ///< from opening on, by a thread of its own
  late,     ///< by `finish`
};

/// Where elements lie once they are decoded.
struct IdxPlaces {
  std::string folder = {};                 ///< for files of their own; empty: all in memory
  int64_t in_memory = int64_t{256} << 20;  ///< bytes of one file; beyond it the system pages them
};

/// One file. Opening reads and checks the header.
class IdxFile {
 public:
  /// Faults: 5001 unreadable, 5003 no IDX file, 5004 element type, 5005 header promises more than the file can hold.
  explicit IdxFile(std::string path, Decoding decoding = Decoding::at_once, IdxPlaces places = {});
  ~IdxFile();  ///< decoding that nobody waits for is given up
  IdxFile(const IdxFile&) = delete;
  IdxFile& operator=(const IdxFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t examples() const { return examples_; }
  const Field& field() const { return field_; }

  /// Waits until all is decoded. Faults: 5006 ends early, 5007 goes on after its end, 5008 damaged compression.
  void finish() const { decoded_.get(); }
  /// Elements in the machine's byte order. After `finish`.
  const std::byte* data() const { return data_.data() + start_; }

 private:
  struct Reader;
  void decode(Reader& reader);
  void map(const Reader& reader);

  std::string path_;
  IdxPlaces places_;
  Field field_;
  int64_t examples_ = 0, bytes_ = 0;
  Bytes data_;
  int64_t start_ = 0;  ///< of the elements in `data_`
  std::atomic<bool> given_up_ = false;
  std::shared_future<void> decoded_;
};

/// Opens each file once, however many splits read it. Callable from any thread.
class IdxFiles {
 public:
  explicit IdxFiles(Decoding decoding = Decoding::at_once, IdxPlaces places = {}) : decoding_(decoding), places_(std::move(places)) {}
  std::shared_ptr<const IdxFile> open(const std::string& path);

 private:
  Decoding decoding_;
  IdxPlaces places_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const IdxFile>> files_;
};

/// Two unnamed fields: images, then labels. Fault 5009 where the two files' counts differ.
std::shared_ptr<Source> idx(IdxFiles& files, const std::string& images, const std::string& labels);

}  // namespace dtl::data
