// Random rows by Philox: an example's field starts at a block of its own, each block gives four numbers.
#include "runtime/data/synthetic.h"

#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "runtime/plan/fault.h"
#include "runtime/plan/philox.h"

namespace dtl::data {
namespace {

/// FNV-1a.
uint64_t hash(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

/// In [0, 1), 24 bits: exact in f32.
float unit(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

class Synthetic : public Source {
 public:
  Synthetic(int64_t examples, uint64_t seed, const std::vector<SyntheticField>& fields) : examples_(examples), seed_(seed) {
    constexpr int64_t least = std::numeric_limits<int32_t>::min(), most = std::numeric_limits<int32_t>::max();
    for (const SyntheticField& field : fields) {
      const bool whole = field.generator == Generator::integers;
      if (whole && (field.low < least || field.high - 1 > most)) throw Fault(5110, {field.name});
      assert(!whole || field.low < field.high);
      fields_.push_back({field.name, whole ? DType::i64 : DType::f32, field.shape});
      streams_.push_back({field.generator, field.low, static_cast<uint64_t>(field.high - field.low), hash(field.name)});
    }
  }

  int64_t examples() const override { return examples_; }
  const std::vector<Field>& fields() const override { return fields_; }

  std::optional<std::pair<int64_t, int64_t>> bounds(size_t field) const override {
    const Stream& stream = streams_[field];
    if (stream.generator != Generator::integers) return std::nullopt;
    return std::pair(stream.low, stream.low + static_cast<int64_t>(stream.range) - 1);
  }
  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    const Stream& stream = streams_[field];
    const int64_t elements = fields_[field].elements(), blocks = (elements + 3) / 4;
    for (const int64_t row : rows) {
      assert(row >= 0 && row < examples_);
      for (int64_t b = 0; b < blocks; ++b) {
        const std::array<uint32_t, 4> made = block(stream, static_cast<uint64_t>(row * blocks + b));
        const auto count = static_cast<size_t>(std::min<int64_t>(4, elements - 4 * b));
        if (stream.generator == Generator::integers) {
          std::array<int64_t, 4> whole;
          for (size_t i = 0; i < 4; ++i) whole[i] = static_cast<int32_t>(made[i]);
          std::memcpy(to, whole.data(), count * 8);
          to += count * 8;
        } else {
          std::memcpy(to, made.data(), count * 4);
          to += count * 4;
        }
      }
    }
  }

 private:
  struct Stream {
    Generator generator;
    int64_t low;
    uint64_t range;
    uint64_t id;
  };

  /// The bits of four elements: f32, or i32 that becomes i64.
  std::array<uint32_t, 4> block(const Stream& stream, uint64_t index) const {
    std::array<uint32_t, 4> bits = philox({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                                           static_cast<uint32_t>(stream.id), static_cast<uint32_t>(stream.id >> 32)},
                                          {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    switch (stream.generator) {
      case Generator::integers:
        for (uint32_t& x : bits) x = static_cast<uint32_t>(stream.low + static_cast<int64_t>((x * stream.range) >> 32));
        break;
      case Generator::uniform:
        for (uint32_t& x : bits) x = std::bit_cast<uint32_t>(unit(x));
        break;
      case Generator::normal:
        // Box and Muller, 1958. 1 − u is never 0.
        for (size_t i = 0; i < 4; i += 2) {
          const float radius = std::sqrt(-2 * std::log(1 - unit(bits[i]))), angle = 2 * std::numbers::pi_v<float> * unit(bits[i + 1]);
          bits[i] = std::bit_cast<uint32_t>(radius * std::cos(angle));
          bits[i + 1] = std::bit_cast<uint32_t>(radius * std::sin(angle));
        }
        break;
    }
    return bits;
  }

  int64_t examples_;
  uint64_t seed_;
  std::vector<Field> fields_;
  std::vector<Stream> streams_;
};

}  // namespace

std::shared_ptr<Source> synthetic(int64_t examples, uint64_t seed, const std::vector<SyntheticField>& fields) {
  assert(examples >= 0);
  return std::make_shared<Synthetic>(examples, seed, fields);
}

}  // namespace dtl::data
