// Fields of examples, and parts of a source.
#include "runtime/data/source.h"

#include <fmt/format.h>

#include <array>
#include <cassert>

#include "runtime/plan/fault.h"

namespace dtl::data {
namespace {

class Part : public Source {
 public:
  Part(std::shared_ptr<const Source> source, int64_t begin, int64_t count) : source_(std::move(source)), begin_(begin), count_(count) {}

  int64_t examples() const override { return count_; }
  const std::vector<Field>& fields() const override { return source_->fields(); }
  void finish() const override { source_->finish(); }
  std::string_view text(size_t field, int64_t row) const override { return source_->text(field, row + begin_); }
  std::string place(int64_t row) const override { return source_->place(row + begin_); }

  void gather(size_t field, std::span<const int64_t> rows, std::byte* to) const override {
    if (begin_ == 0) return source_->gather(field, rows, to);
    // Shifted in pieces on the stack: gather allocates nothing.
    std::array<int64_t, 128> shifted;
    const int64_t bytes = fields()[field].bytes();
    while (!rows.empty()) {
      const size_t n = std::min(rows.size(), shifted.size());
      for (size_t i = 0; i < n; ++i) shifted[i] = rows[i] + begin_;
      source_->gather(field, {shifted.data(), n}, to);
      rows = rows.subspan(n);
      to += static_cast<int64_t>(n) * bytes;
    }
  }

 private:
  std::shared_ptr<const Source> source_;
  int64_t begin_, count_;
};

void check_count(const Source& source, int64_t count, const char* stage) {
  assert(count >= 0);
  if (count > source.examples()) throw Fault(5109, {std::string(stage), std::to_string(count), std::to_string(source.examples())});
}

}  // namespace

int64_t Field::elements() const {
  int64_t n = 1;
  for (const int64_t dim : shape) n *= dim;
  return n;
}

std::string_view Source::text(size_t /*field*/, int64_t /*row*/) const {
  assert(false && "a source without texts");
  return {};
}

std::string Source::place(int64_t row) const { return fmt::format("example {}", row); }

std::shared_ptr<const Source> take(std::shared_ptr<const Source> source, int64_t count) {
  check_count(*source, count, "take");
  return std::make_shared<Part>(std::move(source), 0, count);
}

std::shared_ptr<const Source> skip(std::shared_ptr<const Source> source, int64_t count) {
  check_count(*source, count, "skip");
  const int64_t rest = source->examples() - count;
  return std::make_shared<Part>(std::move(source), count, rest);
}

}  // namespace dtl::data
