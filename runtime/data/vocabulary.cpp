// Pieces of text, their counts and their numbers.
#include "runtime/data/vocabulary.h"

#include <algorithm>
#include <cassert>

#include "runtime/data/bytes.h"

namespace dtl::data {
namespace {

/// The first line of a file, by unit.
constexpr std::string_view kTitles[] = {"dtl vocabulary 1 characters", "dtl vocabulary 1 words", "dtl vocabulary 1 categories",
                                        "dtl vocabulary 1 open categories"};

struct CodeRange {
  char32_t first, last;
};

/// From U+00C0 on: what is no part of a word.
constexpr CodeRange kNoLetters[] = {
    {0x00d7, 0x00d7},    {0x00f7, 0x00f7},                                        // × ÷
    {0x2000, 0x2bff},                                                             // punctuation, signs, arrows, mathematics, boxes, symbols
    {0x3000, 0x303f},                                                             // punctuation of Chinese, Japanese and Korean
    {0xe000, 0xf8ff},                                                             // private use
    {0xfe10, 0xfe1f},    {0xfe30, 0xfe6f},                                        // vertical and small forms
    {0xff00, 0xff0f},    {0xff1a, 0xff20},                                        // full-width punctuation
    {0xff3b, 0xff40},    {0xff5b, 0xff65}, {0xffe0, 0xffff}, {0x1f000, 0x1faff},  // pictures
    {0xe0000, 0x10ffff},
};

bool is_letter(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  if (c < 0xc0) return c == 0xaa || c == 0xb5 || c == 0xba;  // ª µ º
  return std::none_of(std::begin(kNoLetters), std::end(kNoLetters), [c](const CodeRange& r) { return c >= r.first && c <= r.last; });
}

char32_t lower(char32_t c) {
  const auto within = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  if (c < 0x80) return within('A', 'Z') ? c + 32 : c;
  if (within(0xc0, 0xde) && c != 0xd7) return c + 32;
  if (within(0x100, 0x137) || within(0x14a, 0x177)) return c == 0x130 || c == 0x131 ? (c == 0x130 ? U'i' : c) : c | 1;
  if (within(0x139, 0x148) || within(0x179, 0x17e)) return c % 2 == 1 ? c + 1 : c;
  if (c == 0x178) return 0xff;
  if (c == 0x386) return 0x3ac;
  if (within(0x388, 0x38a)) return c + 37;
  if (c == 0x38c) return 0x3cc;
  if (within(0x38e, 0x38f)) return c + 63;
  if (within(0x391, 0x3ab) && c != 0x3a2) return c + 32;
  if (within(0x400, 0x40f)) return c + 80;
  if (within(0x410, 0x42f)) return c + 32;
  if (within(0x460, 0x481) || within(0x48a, 0x4bf) || within(0x4d0, 0x52f)) return c | 1;
  return c;
}

/// Calls `piece` with each piece of `text` until it gives false. Words stand in `buffer`.
template <class Piece>
void for_each_piece(TextUnit unit, std::string_view text, std::string& buffer, const Piece& piece) {
  size_t at = 0;
  if (is_categories(unit)) {
    if (!text.empty()) piece(text);
    return;
  }
  if (unit == TextUnit::characters) {
    while (at < text.size()) {
      const size_t begin = at;
      next_code_point(text, at);
      if (!piece(text.substr(begin, at - begin))) return;
    }
    return;
  }
  buffer.clear();
  while (at < text.size()) {
    const char32_t code = next_code_point(text, at);
    if (is_letter(code)) {
      append_utf8(buffer, lower(code));
      continue;
    }
    // don't: one word.
    if ((code == U'\'' || code == 0x2019) && !buffer.empty() && at < text.size()) {
      size_t after = at;
      if (is_letter(next_code_point(text, after))) {
        buffer += '\'';
        continue;
      }
    }
    if (buffer.empty()) continue;
    if (!piece(buffer)) return;
    buffer.clear();
  }
  if (!buffer.empty()) piece(buffer);
}

}  // namespace

Vocabulary::Vocabulary(TextUnit unit, std::vector<std::string> entries)
    : unit_(unit), entries_(std::move(entries)), ascii_(128, unknown()) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    const auto number = static_cast<int32_t>(i) + first();
    numbers_.emplace(entries_[i], number);
    if (unit_ == TextUnit::characters && entries_[i].size() == 1) ascii_[static_cast<size_t>(entries_[i][0]) & 127] = number;
  }
}

int32_t Vocabulary::find(std::string_view entry) const {
  const auto at = numbers_.find(entry);
  return at == numbers_.end() ? unknown() : at->second;
}

std::string_view Vocabulary::entry(int32_t number) const {
  if (number == 0 && first() == 2) return "";
  if (number < first() || number >= size()) return "\xef\xbf\xbd";
  return entries_[static_cast<size_t>(number - first())];
}

int64_t Vocabulary::encode(std::string_view text, int64_t most, int32_t* to) const {
  int64_t count = 0;
  if (most <= 0) return 0;
  if (is_categories(unit_)) {
    *to = find(text);
    return 1;
  }
  std::string buffer;
  for_each_piece(unit_, text, buffer, [&](std::string_view piece) {
    const bool ascii = unit_ == TextUnit::characters && piece.size() == 1;
    to[count++] = ascii ? ascii_[static_cast<size_t>(piece[0]) & 127] : find(piece);
    return count < most;
  });
  return count;
}

std::string Vocabulary::to_text() const {
  std::string text(kTitles[static_cast<size_t>(unit_)]);
  text += '\n';
  for (const std::string& entry : entries_) {
    for (const char c : entry) {
      if (c == '\n') {
        text += "\\n";
      } else if (c == '\r') {
        text += "\\r";
      } else if (c == '\\') {
        text += "\\\\";
      } else {
        text += c;
      }
    }
    text += '\n';
  }
  return text;
}

std::shared_ptr<const Vocabulary> Vocabulary::from_text(std::string_view text) {
  if (first_not_utf8(text) >= 0 || !text.ends_with('\n')) return nullptr;
  std::vector<std::string> lines(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      lines.emplace_back();
    } else if (text[i] == '\\' && i + 1 < text.size()) {
      const char next = text[++i];
      if (next != 'n' && next != 'r' && next != '\\') return nullptr;
      lines.back() += next == 'n' ? '\n' : next == 'r' ? '\r' : '\\';
    } else {
      lines.back() += text[i];
    }
  }
  lines.pop_back();
  const auto* const title = std::find(std::begin(kTitles), std::end(kTitles), lines[0]);
  if (title == std::end(kTitles)) return nullptr;
  const auto unit = static_cast<TextUnit>(title - std::begin(kTitles));
  lines.erase(lines.begin());
  auto vocabulary = std::make_shared<Vocabulary>(unit, std::move(lines));
  // Each entry once, and none without text.
  const bool good = vocabulary->numbers_.size() == vocabulary->entries_.size() && !vocabulary->numbers_.contains(std::string());
  return good ? vocabulary : nullptr;
}

void VocabularyCounter::add(std::string_view text) {
  std::string buffer, key;
  for_each_piece(unit_, text, buffer, [&](std::string_view piece) {
    key.assign(piece);
    ++counts_[key];
    return true;
  });
}

Vocabulary VocabularyCounter::finish(int64_t keep) const {
  std::vector<const std::pair<const std::string, int64_t>*> order;
  order.reserve(counts_.size());
  for (const auto& entry : counts_) order.push_back(&entry);
  const bool often_first = !is_categories(unit_);
  std::sort(order.begin(), order.end(), [often_first](const auto* a, const auto* b) {
    return often_first && a->second != b->second ? a->second > b->second : a->first < b->first;
  });
  if (keep > 0 && often_first) order.resize(std::min(order.size(), static_cast<size_t>(std::max<int64_t>(keep - 2, 0))));
  std::vector<std::string> entries;
  for (const auto* entry : order) entries.push_back(entry->first);
  return Vocabulary(unit_, std::move(entries));
}

}  // namespace dtl::data
