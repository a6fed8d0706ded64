// Vocabularies: which text has which number. 0 is padding, 1 stands for everything that is not in it.
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

enum class TextUnit : uint8_t { characters, words };

class Vocabulary {
 public:
  static constexpr int32_t kPadding = 0, kUnknown = 1, kFirst = 2;

  /// `entries` get the numbers from 2 on.
  Vocabulary(TextUnit unit, std::vector<std::string> entries);

  TextUnit unit() const { return unit_; }
  /// How many numbers there are, 0 and 1 included.
  int64_t size() const { return kFirst + static_cast<int64_t>(entries_.size()); }
  const std::vector<std::string>& entries() const { return entries_; }
  int32_t find(std::string_view entry) const;
  /// The text of a number; empty for padding, U+FFFD for the unknown.
  std::string_view entry(int32_t number) const;

  /// Writes the numbers of the first `most` pieces of `text`, UTF-8; gives how many it wrote.
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
  /// `keep`: how many numbers at most, 0 and 1 included; 0: all.
  Vocabulary finish(int64_t keep) const;

 private:
  TextUnit unit_;
  std::unordered_map<std::string, int64_t> counts_;
};

}  // namespace dtl::data
