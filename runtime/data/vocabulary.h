// Vocabularies: which text has which number.
//
// Of characters and words 0 is padding and 1 stands for everything that is not in it. Categories are whole texts, numbered from 0 in order
// of their code points; where they are open, 0 stands for everything else, an empty text too, and the first one has the number 1.
//
// Characters are Unicode code points. Words are runs of letters and digits in lower case; an apostrophe between two letters
// belongs to its word, everything else parts words. Letters are those of ASCII, and every code point from U+00C0 on that is no sign,
// punctuation or blank by its block (list in vocabulary.cpp); lower case is that of ASCII, Latin-1, Latin Extended-A, Greek
// and Cyrillic. Entries are in order of how often they occur, those as often in order of their code points: the same on
// every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/data/source.h"

namespace dtl::data {

enum class TextUnit : uint8_t { characters, words, categories, open_categories };

constexpr bool is_categories(TextUnit unit) { return unit == TextUnit::categories || unit == TextUnit::open_categories; }

class Vocabulary {
 public:
  /// `entries` get the numbers from `first()` on.
  Vocabulary(TextUnit unit, std::vector<std::string> entries);

  TextUnit unit() const { return unit_; }
  int32_t first() const { return unit_ == TextUnit::categories ? 0 : unit_ == TextUnit::open_categories ? 1 : 2; }
  /// The number of a text that is not in it; −1: it has none.
  int32_t unknown() const { return first() - 1; }
  /// How many numbers there are, those below `first()` included.
  int64_t size() const { return first() + static_cast<int64_t>(entries_.size()); }
  const std::vector<std::string>& entries() const { return entries_; }
  int32_t find(std::string_view entry) const;
  /// The text of a number; empty for padding, U+FFFD for the unknown.
  std::string_view entry(int32_t number) const;

  /// Writes the numbers of the first `most` pieces of `text`, UTF-8, which is one piece for categories; gives how many it wrote.
  int64_t encode(std::string_view text, int64_t most, int32_t* to) const;

  /// As a file of a checkpoint: a line that says what it is, then a line for each entry, in which \n, \r and \\ are escaped.
  std::string to_text() const;
  /// Nothing where `text` is none of `to_text`'s.
  static std::shared_ptr<const Vocabulary> from_text(std::string_view text);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  TextUnit unit_;
  std::vector<std::string> entries_;
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> numbers_;
  std::vector<int32_t> ascii_;  ///< characters below 128
};

/// Counts pieces of texts, which are UTF-8.
class VocabularyCounter {
 public:
  explicit VocabularyCounter(TextUnit unit) : unit_(unit) {}
  void add(std::string_view text);
  /// `keep`: how many numbers at most, 0 and 1 included; 0: all, as for categories always.
  Vocabulary finish(int64_t keep) const;

 private:
  TextUnit unit_;
  std::unordered_map<std::string, int64_t> counts_;
};

}  // namespace dtl::data
