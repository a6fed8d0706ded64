// Mistakes of syntax in the user's words, each told once.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "compiler/source/diagnostic.h"
#include "compiler/syntax/derive.h"

namespace dtl::syntax {

/// Reports what parser and builder find, unless the token filter repaired something there: then it is a consequence.
class Mistakes {
 public:
  Mistakes(const source::SourceSet& sources, source::FileId file, const TokenList& list, source::Sink& sink);

  /// The parser's mistake. `fragment`: an expression of the command line, which has no file around it.
  void report(const Mistake& mistake, bool fragment);
  /// `expected …, found …` at the tokens first to last; null if it was not reported, else for notes and helps.
  std::optional<source::Reported> unexpected(const std::string& expected, int32_t first, int32_t last);
  /// Whether something may still be reported at the token; counts as a report if so.
  bool may_report(int32_t token);

  source::Range range(int32_t first, int32_t last) const;
  std::string_view text(int32_t token) const;
  source::Sink& sink() { return sink_; }

 private:
  std::string found(int32_t token, bool fragment) const;
  void locate_damages();
  void advise(source::Reported& reported, const Mistake& mistake) const;

  const source::SourceSet& sources_;
  source::FileId file_;
  const TokenList& list_;
  source::Sink& sink_;
  // Of each token; empty without damages. Numbers of the statement and the declaration that it is in, and which are damaged.
  std::vector<int32_t> statement_, declaration_;
  std::set<int32_t> damaged_statements_, damaged_declarations_;
  int reports_ = 0;
};

/// After that many mistakes in one file the rest is noise.
inline constexpr int kMaxMistakes = 50;

}  // namespace dtl::syntax
