// Diagnostics: declared once in diagnostics.def, reported to a Sink, rendered by render.h.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "compiler/source/source_file.h"

namespace dtl::source {

enum class Severity : uint8_t { error, warning };

/// A catalogue row. `Args` are the types of the slots `{}` of its text, in order. The constructor refuses, at compile
/// time, a text that ends in a period, starts with an upper-case letter, holds a newline, or has another number of slots.
template <class... Args>
struct Diag {
  int code;
  std::string_view symbol;
  Severity severity;
  std::string_view text;

  consteval Diag(int code_, std::string_view symbol_, Severity severity_, std::string_view text_)
      : code(code_), symbol(symbol_), severity(severity_), text(text_) {
    size_t slots = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') throw "a diagnostic's text is one line";
      if (text[i] == '{' && i + 1 < text.size() && text[i + 1] == '}') ++slots;
    }
    if (text.empty() || text.back() == '.') throw "a diagnostic's text does not end in a period";
    if (text.front() >= 'A' && text.front() <= 'Z') throw "a diagnostic's text does not start upper-case";
    if (slots != sizeof...(Args)) throw "a diagnostic's text has one slot for each argument";
  }
};

struct Note {
  Range range;  ///< may be nowhere
  std::string text;
};

/// An edit that a tool may make: `range` becomes `replacement`.
struct Fix {
  Range range;
  std::string replacement;
};

struct Diagnostic {
  int code;
  std::string_view symbol;
  Severity severity;
  Range range;
  std::string text;
  std::vector<Note> notes;
  std::vector<std::string> helps;
  std::vector<Fix> fixes = {};
};

/// Adds notes and helps to the diagnostic just reported. Their texts follow the same wording rules, are free text.
class Reported {
 public:
  explicit Reported(Diagnostic& diagnostic) : diagnostic_(&diagnostic) {}
  Reported& note(Range range, std::string text);
  Reported& help(std::string text);
  /// The help "did you mean `name`?", and the edit that writes it in place of the diagnostic's range.
  Reported& meant(const std::string& name);

 private:
  Diagnostic* diagnostic_;
};

/// Collects the diagnostics of one compilation. Equal ones (code, range, text) are kept once.
class Sink {
 public:
  template <class... Args>
  Reported report(Range range, const Diag<Args...>& diag, const std::type_identity_t<Args>&... args) {
    return add({diag.code, diag.symbol, diag.severity, range, fmt::format(fmt::runtime(diag.text), args...), {}, {}});
  }
  Reported add(Diagnostic diagnostic);

  bool has_errors() const { return errors_ > 0; }
  int errors() const { return errors_; }
  /// Sorted by file and place on request; kept in order of report otherwise.
  const std::vector<Diagnostic*>& all() const { return order_; }
  void sort();

 private:
  std::deque<Diagnostic> store_, repeated_;
  std::set<std::tuple<int, int32_t, int32_t, int32_t, std::string>> seen_;
  std::vector<Diagnostic*> order_;
  int errors_ = 0;
};

/// One row of the catalogue, for `dslc explain-error`, tests and the texts of runtime faults.
struct CatalogueRow {
  int code;
  std::string_view symbol;
  Severity severity;
  std::string_view text;
};
const std::vector<CatalogueRow>& catalogue();

/// `DTL2014`.
std::string code_name(int code);

}  // namespace dtl::source

namespace dtl::diag {
// Rows name their argument types; these are the ones in use.
using Name = std::string;
using Text = std::string;
using Type = std::string;
using Int = int64_t;

#define ERROR(code, symbol, text, ...) inline constexpr source::Diag<__VA_ARGS__> symbol{code, #symbol, source::Severity::error, text};
#define WARNING(code, symbol, text, ...) inline constexpr source::Diag<__VA_ARGS__> symbol{code, #symbol, source::Severity::warning, text};
#include "compiler/source/diagnostics.def"
#undef ERROR
#undef WARNING
}  // namespace dtl::diag
