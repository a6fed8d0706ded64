// Reading tables in two passes: the first finds the columns' types and the room they need, the second fills them.
#include "runtime/data/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>

#include "runtime/data/csv_scanner.h"
#include "runtime/plan/fault.h"

namespace dtl::data {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool parse_whole(std::string_view text, int64_t& value) {
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_number(std::string_view text, double& value) {
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  if (text.empty()) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return false;
  // Too large or too small for a double: infinite or 0, as strtod has it.
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(text).c_str(), nullptr);
  return error != std::errc::invalid_argument;
}

bool parse_boolean(std::string_view text, bool& value) {
  text = trimmed(text);
  std::string lower;
  for (const char c : text.substr(0, 6)) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (lower == "true" || lower == "false") {
    value = lower == "true";
    return true;
  }
  return false;
}

/// Names that cannot stand for a value; lint compares them with the grammar's.
constexpr std::string_view kReserved[] = {"import",  "let",         "if",   "else",  "for", "in", "with",
                                          "require", "per_replica", "true", "false", "and", "or", "not"};

/// A column while it is read.
struct Reading {
  std::string name;
  size_t at = 0;  ///< among the cells of a row
  CsvType type = CsvType::inferred;
  bool whole = true, number = true, boolean = true, missing = false;
  bool any = false;       ///< a value that is not missing
  int64_t numbers = 0;    ///< 1 once a value was a number
  std::string first_odd;  ///< the first that is none
  int64_t text_bytes = 0;
};

DType dtype_of(CsvType type) {
  switch (type) {
    case CsvType::inferred:
    case CsvType::text:
      break;
    case CsvType::boolean:
      return DType::boolean;
    case CsvType::f64:
      return DType::f64;
    case CsvType::f32:
      return DType::f32;
    case CsvType::i64:
      return DType::i64;
    case CsvType::i32:
      return DType::i32;
    case CsvType::i8:
      return DType::i8;
    case CsvType::u8:
      return DType::u8;
  }
  return DType::u8;
}

template <class T>
std::string put_whole(int64_t value, std::byte* to) {
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
    return fmt::format("{} is not in {} … {}", value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  }
  const T narrow = static_cast<T>(value);
  std::memcpy(to, &narrow, sizeof narrow);
  return {};
}

std::string put_number(double value, CsvType type, bool finite, std::string_view cell, std::byte* to) {
  const bool single = type == CsvType::f32;
  const double most = single ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const std::string_view bare = trimmed(cell);
  // `inf` is a value that may be meant, 1e999 is one that does not fit.
  const bool digits = std::any_of(bare.begin(), bare.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (std::abs(value) > most && digits) return fmt::format("{} is too large for {}", shown(cell), single ? "f32" : "f64");
  if (finite && !std::isfinite(value)) return fmt::format("{} is not finite", shown(cell));
  if (single) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(to, &narrow, 4);
  } else {
    std::memcpy(to, &value, 8);
  }
  return {};
}

class Reader {
 public:
  Reader(const std::string& path, const CsvOptions& options, const Cache& cache)
      : path_(path), options_(options), cache_(cache), bytes_(read_unzipped(path, cache.folder())) {}

  std::shared_ptr<const Table> read(const std::string& keep_as, const std::string& key) {
    CsvScanner first(bytes_.text(), options_.delimiter);
    read_header(first);
    look(first);
    return fill(keep_as, key);
  }

 private:
  void read_header(CsvScanner& scanner) {
    const std::string_view text = bytes_.text();
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
      throw Fault(5010, {path_, "0", "1", "the file is UTF-16; saved as UTF-8 it can be read"});
    const size_t ending = text.find('\r');
    if (ending != std::string_view::npos && ending + 1 < text.size() && text.find('\n') == std::string_view::npos)
      throw Fault(5010, {path_, "0", "1", "its lines end with a carriage return alone; saved with line feeds it can be read"});
    if (!scanner.next()) throw Fault(5023, {path_});
    if (!scanner.fault.empty()) throw Fault(5010, {path_, "1", std::to_string(scanner.line), scanner.fault});
    std::vector<std::string> names;
    for (size_t i = 0; i < scanner.cells.size(); ++i)
      names.push_back(options_.header ? std::string(trimmed(scanner.cells[i])) : fmt::format("column_{}", i + 1));
    if (options_.header && first_not_utf8(fmt::format("{}", fmt::join(names, ""))) >= 0)
      throw Fault(5010, {path_, "0", std::to_string(scanner.line), "the header is not UTF-8"});
    width_ = names.size();
    const std::vector<std::string> headings = names;
    if (options_.header) notes_.headings.assign(names.begin(), names.begin() + static_cast<int64_t>(std::min<size_t>(names.size(), 16)));
    std::map<std::string, std::vector<size_t>> places;
    for (size_t i = 0; i < names.size(); ++i) {
      names[i] = field_name(headings[i]);
      if (names[i].empty() && !headings[i].empty()) names[i] = fmt::format("column_{}", i + 1);
      places[names[i]].push_back(i);
    }
    const auto take = [&](const std::string& name, CsvType type) {
      const auto place = places.find(name);
      if (place == places.end()) return;
      for (const size_t other : place->second) {
        const std::string& first = headings[place->second[0]];
        if (other == place->second[0]) continue;
        throw headings[other] == first ? Fault(5024, {path_, first}) : Fault(5025, {path_, first, headings[other], name});
      }
      Reading reading;
      reading.name = name;
      reading.at = place->second[0];
      reading.type = type;
      columns_.push_back(std::move(reading));
    };
    if (options_.columns) {
      for (const CsvColumn& column : *options_.columns) take(column.name, column.type);
    } else {
      for (const std::string& name : names) {
        if (!name.empty()) take(name, CsvType::inferred);
      }
    }
    for (const auto& [column, value] : options_.fill_of) {
      if (!places.contains(column)) throw Fault(5012, {path_, column});
    }
    std::sort(columns_.begin(), columns_.end(), [](const Reading& a, const Reading& b) { return a.at < b.at; });
    size_t next = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      if (next < columns_.size() && columns_[next].at == i) {
        ++next;
      } else if (!names[i].empty() && notes_.unread.size() < 1000) {
        notes_.unread.push_back(names[i]);
      }
    }
  }

  bool is_missing(std::string_view cell) const {
    return cell.empty() || std::find(options_.missing.begin(), options_.missing.end(), cell) != options_.missing.end();
  }

  /// The first pass. What is wrong is told by the second.
  void look(CsvScanner& scanner) {
    bool have = !options_.header;  // then the first row is read already
    while (have || scanner.next()) {
      have = false;
      if (!scanner.fault.empty() || scanner.cells.size() != width_) continue;
      ++capacity_;
      for (Reading& column : columns_) {
        const std::string_view cell = scanner.cells[column.at];
        column.text_bytes += static_cast<int64_t>(cell.size());
        if (column.type != CsvType::inferred) continue;
        if (is_missing(cell)) {
          column.missing = true;
          continue;
        }
        column.any = true;
        int64_t whole = 0;
        double number = 0;
        bool boolean = false;
        if (column.whole && !parse_whole(cell, whole)) column.whole = false;
        if (column.boolean && !parse_boolean(cell, boolean)) column.boolean = false;
        if (column.number && !column.whole && !parse_number(cell, number)) {
          column.number = false;
          column.first_odd = fmt::format("row {} holds {}", capacity_, shown(cell));
        }
        if (column.numbers == 0) column.numbers += column.number || parse_number(cell, number);
      }
    }
    for (Reading& column : columns_) {
      std::string why;
      if (column.type == CsvType::inferred) {
        column.type = !column.any                         ? CsvType::text
                      : column.whole                      ? CsvType::i64
                      : column.number                     ? CsvType::f32
                      : column.boolean && !column.missing ? CsvType::boolean
                                                          : CsvType::text;
        if (column.type == CsvType::text && column.numbers > 0) why = column.first_odd;
      }
      notes_.why.push_back(std::move(why));
    }
  }

  std::shared_ptr<const Table> fill(const std::string& keep_as, const std::string& key) {
    TableWriter writer(cache_.folder());
    for (const Reading& column : columns_) {
      const bool text = column.type == CsvType::text;
      writer.add({column.name, dtype_of(column.type), {}, text}, capacity_, text ? column.text_bytes : 0);
    }
    writer.begin();
    CsvScanner scanner(bytes_.text(), options_.delimiter);
    if (options_.header) scanner.next();
    int64_t rows = 0, number = 0;
    while (scanner.next()) {
      ++number;
      std::string fault = scanner.fault, column_name;
      if (fault.empty() && scanner.cells.size() != width_)
        fault = fmt::format("{} cell{}, where there {} {} column{}", scanner.cells.size(), scanner.cells.size() == 1 ? "" : "s",
                            width_ == 1 ? "is" : "are", width_, width_ == 1 ? "" : "s");
      for (size_t i = 0; i < columns_.size() && fault.empty(); ++i) {
        fault = check(columns_[i], scanner.cells[columns_[i].at], columns_[i].type == CsvType::text ? nullptr : writer.cell(i, rows));
        if (!fault.empty()) column_name = columns_[i].name;
      }
      if (fault.empty()) {
        for (size_t i = 0; i < columns_.size(); ++i) {
          const std::string_view cell = scanner.cells[columns_[i].at];
          if (columns_[i].type == CsvType::text) writer.put_text(i, rows, is_missing(cell) ? std::string_view() : cell);
        }
        ++rows;
        continue;
      }
      const Fault what = column_name.empty()
                             ? Fault(5010, {path_, std::to_string(number), std::to_string(scanner.line), fault})
                             : Fault(5011, {path_, std::to_string(number), std::to_string(scanner.line), column_name, fault});
      if (options_.skip_limit < 0) throw what;
      notes_.skipped.push_back(number);
      if (notes_.skipped.size() == 1) {
        notes_.first_skipped = column_name.empty() ? fmt::format("row {}: {}", number, fault)
                                                   : fmt::format("row {}, column `{}`: {}", number, column_name, fault);
      }
      if (static_cast<int64_t>(notes_.skipped.size()) > options_.skip_limit)
        throw Fault(5017, {path_, std::to_string(options_.skip_limit), notes_.first_skipped});
    }
    notes_.file = std::filesystem::path(path_).filename().string();
    return writer.finish(rows, std::move(notes_), keep_as, key);
  }

  std::optional<double> fill_of(const Reading& column) const {
    const auto own = options_.fill_of.find(column.name);
    return own == options_.fill_of.end() ? options_.fill : own->second;
  }

  /// Writes a number; what is wrong with the cell, or nothing.
  std::string check(const Reading& column, std::string_view cell, std::byte* to) const {
    switch (column.type) {
      case CsvType::inferred:
        break;
      case CsvType::text: {
        const int64_t bad = first_not_utf8(cell);
        if (bad >= 0) return fmt::format("{} is not UTF-8 at byte {}", shown(cell), bad);
        return cell.find('\0') == std::string_view::npos ? std::string() : "it holds a byte 0";
      }
      case CsvType::boolean: {
        bool value = false;
        const std::string_view bare = trimmed(cell);
        if (const auto fill = fill_of(column); fill && is_missing(cell)) {
          value = *fill != 0;
        } else if (is_missing(cell)) {
          return "the value is missing";
        } else if (bare == "0" || bare == "1") {
          value = bare == "1";
        } else if (!parse_boolean(cell, value)) {
          return fmt::format("{} is neither true nor false", shown(cell));
        }
        *to = static_cast<std::byte>(value);
        return {};
      }
      case CsvType::f64:
      case CsvType::f32: {
        double value = 0;
        if (is_missing(cell)) {
          const auto fill = fill_of(column);
          if (!fill) return "the number is missing";
          return put_number(*fill, column.type, false, "", to);
        }
        if (!parse_number(cell, value)) return fmt::format("{} is no number", shown(cell));
        return put_number(value, column.type, options_.finite, cell, to);
      }
      case CsvType::i64:
      case CsvType::i32:
      case CsvType::i8:
      case CsvType::u8: {
        int64_t value = 0;
        if (is_missing(cell)) {
          const auto fill = fill_of(column);
          if (!fill) return "the number is missing";
          if (std::abs(*fill) > 0x1p62 || std::trunc(*fill) != *fill) return "`fill` is no whole number";
          value = static_cast<int64_t>(*fill);
        } else if (!parse_whole(cell, value)) {
          return fmt::format("{} is no whole number{}", shown(cell), column.type == CsvType::i64 ? " of 64 bits" : "");
        }
        if (column.type == CsvType::i32) return put_whole<int32_t>(value, to);
        if (column.type == CsvType::i8) return put_whole<int8_t>(value, to);
        if (column.type == CsvType::u8) return put_whole<uint8_t>(value, to);
        return put_whole<int64_t>(value, to);
      }
    }
    assert(false && "every column has a type by now");
    return {};
  }

  std::string path_;
  const CsvOptions& options_;
  const Cache& cache_;
  Bytes bytes_;
  size_t width_ = 0;
  int64_t capacity_ = 0;
  std::vector<Reading> columns_;
  TableNotes notes_;
};

std::string key_of(const std::string& path, const CsvOptions& options) {
  std::string key = fmt::format("csv 2 {} delimiter {} header {} fill {} finite {} skip {} missing", identity_of(path),
                                static_cast<int>(options.delimiter), options.header,
                                options.fill ? fmt::format("{}", *options.fill) : "none", options.finite, options.skip_limit);
  for (const auto& [column, value] : options.fill_of) key += fmt::format(" {}:{} is {}", column.size(), column, value);
  for (const std::string& text : options.missing) key += fmt::format(" {}:{}", text.size(), text);
  key += options.columns ? " columns" : " all";
  if (options.columns) {
    for (const CsvColumn& column : *options.columns)
      key += fmt::format(" {}:{} {}", column.name.size(), column.name, static_cast<int>(column.type));
  }
  return key;
}

}  // namespace

std::string field_name(std::string_view heading) {
  std::string name;
  bool gap = false;
  for (const char c : heading) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!plain) {
      gap = true;
      continue;
    }
    if (name.empty() && c >= '0' && c <= '9') name += '_';
    if (gap && !name.empty() && name.back() != '_') name += '_';
    gap = false;
    name += c;
  }
  if (std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved)) name += '_';
  return name;
}

std::shared_ptr<const Table> read_csv(const std::string& path, const CsvOptions& options, const Cache& cache) {
  const std::string key = key_of(path, options);
  return cache.get(key, [&](const std::string& keep_as) { return Reader(path, options, cache).read(keep_as, key); });
}

}  // namespace dtl::data
