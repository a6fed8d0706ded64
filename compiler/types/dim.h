// Symbolic dimensions: polynomials with integer coefficients over named symbols, such as `batch` or `2 * n + 1`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dtl::types {

/// Thrown where a dimension's numbers leave 64 bits: sizes come from programs, so it is a mistake of theirs.
struct DimOverflow {
  std::string text;  ///< `a dimension of 4 + 9223372036854775807`
};

/// Kept in normal form, so that == is equality of polynomials. Cheap to copy while constant. Arithmetic throws DimOverflow.
class Dim {
 public:
  Dim() : Dim(0) {}
  Dim(int64_t constant);  // NOLINT: a number is a dimension
  static Dim symbol(std::string name);

  bool is_constant() const;
  std::optional<int64_t> constant() const;
  /// The symbol's name if this is exactly one symbol, coefficient 1.
  std::optional<std::string> as_symbol() const;
  /// A dimension `c * n` divides in units of c, so that its parts are those of `n` in another shape; any other in units of 1.
  int64_t unit() const;
  /// Names that occur, sorted.
  std::vector<std::string> symbols() const;

  Dim operator+(const Dim& other) const;
  Dim operator-(const Dim& other) const;
  Dim operator*(const Dim& other) const;
  /// Exact division, or nothing where the quotient is no polynomial.
  std::optional<Dim> divided_by(const Dim& other) const;

  Dim substitute(const std::map<std::string, Dim>& values) const;
  /// All symbols must be given.
  int64_t evaluate(const std::map<std::string, int64_t>& values) const;

  bool operator==(const Dim& other) const = default;
  auto operator<=>(const Dim& other) const = default;
  std::string str() const;
  /// Reads what `str` prints; nothing if `text` is anything else.
  static std::optional<Dim> parse(std::string_view text);

  /// A product of symbols (sorted, repeated for powers) and its coefficient.
  using Term = std::pair<std::vector<std::string>, int64_t>;
  const std::vector<Term>& terms() const { return terms_; }

 private:
  std::vector<Term> terms_;  // sorted by symbols; no zero coefficients; the constant term has no symbols
};

/// The name of a replica's own share of dimension `name` inside `per_replica`.
std::string share_of(const std::string& name);

}  // namespace dtl::types
