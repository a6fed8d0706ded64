// The scanner: one pass, cells are views of the text wherever they stand there as they are.
#include "runtime/data/csv_scanner.h"

#include <cstring>

namespace dtl::data {

CsvScanner::CsvScanner(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
}

void CsvScanner::skip_line() {
  const size_t end = text_.find('\n', at_);
  at_ = end == std::string_view::npos ? text_.size() : end + 1;
  ++next_line_;
}

/// At an opening quote. Stops behind the closing one.
std::string_view CsvScanner::quoted() {
  const size_t begin = ++at_;
  bool doubled = false;
  for (;;) {
    const size_t quote = text_.find('"', at_);
    if (quote == std::string_view::npos) {
      at_ = begin;
      fault = "a quoted cell is not closed";
      return {};
    }
    at_ = quote + 1;
    if (at_ < text_.size() && text_[at_] == '"') {
      doubled = true;
      ++at_;
      continue;
    }
    const std::string_view inner = text_.substr(begin, quote - begin);
    for (const char c : inner) next_line_ += c == '\n';
    if (!doubled) return inner;
    std::string& whole = unescaped_.emplace_back();
    for (size_t i = 0; i < inner.size(); ++i) {
      whole += inner[i];
      if (inner[i] == '"') ++i;
    }
    return whole;
  }
}

bool CsvScanner::next() {
  cells.clear();
  fault.clear();
  unescaped_.clear();
  while (at_ < text_.size() && (text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n")) skip_line();
  if (at_ >= text_.size()) return false;
  line = next_line_;
  const char stops[] = {delimiter_, '\n', '\0'};
  for (;;) {
    if (at_ < text_.size() && text_[at_] == '"') {
      cells.push_back(quoted());
      if (!fault.empty()) {
        skip_line();
        return true;
      }
      if (text_.substr(at_, 2) == "\r\n") ++at_;
      if (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n') {
        fault = "text follows the closing quote of a cell";
        skip_line();
        return true;
      }
    } else {
      size_t end = text_.find_first_of(std::string_view(stops, 3), at_);
      if (end == std::string_view::npos) end = text_.size();
      if (end < text_.size() && text_[end] == '\0') {
        fault = "it holds a byte 0";
        skip_line();
        return true;
      }
      std::string_view cell = text_.substr(at_, end - at_);
      if ((end == text_.size() || text_[end] == '\n') && cell.ends_with('\r')) cell.remove_suffix(1);
      cells.push_back(cell);
      at_ = end;
    }
    if (at_ >= text_.size()) return true;
    if (text_[at_++] == '\n') {
      ++next_line_;
      return true;
    }
  }
}

}  // namespace dtl::data
