// Arithmetic, printing and parsing of symbolic dimensions.
#include "compiler/types/dim.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/source/check.h"
#include "compiler/types/scan.h"

namespace dtl::types {
namespace {

using Symbols = std::vector<std::string>;
using Polynomial = std::map<Symbols, int64_t>;

int64_t checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw DimOverflow{fmt::format("a dimension of {} + {}", a, b)};
  return sum;
}

int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw DimOverflow{fmt::format("a dimension of {} * {}", a, b)};
  return product;
}

std::vector<Dim::Term> normal(const Polynomial& polynomial) {
  std::vector<Dim::Term> terms;
  for (const auto& [symbols, coefficient] : polynomial) {
    if (coefficient != 0) terms.emplace_back(symbols, coefficient);
  }
  return terms;
}

Symbols product(const Symbols& a, const Symbols& b) {
  Symbols symbols;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(symbols));
  return symbols;
}

/// a / b as multisets, where b is contained in a.
std::optional<Symbols> quotient(const Symbols& a, const Symbols& b) {
  if (!std::includes(a.begin(), a.end(), b.begin(), b.end())) return std::nullopt;
  Symbols symbols;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(symbols));
  return symbols;
}

/// The leading term by degree, then by symbols: an order that multiplication keeps, as division needs.
const Dim::Term& leading(const std::vector<Dim::Term>& terms) {
  return *std::max_element(terms.begin(), terms.end(), [](const Dim::Term& a, const Dim::Term& b) {
    if (a.first.size() != b.first.size()) return a.first.size() < b.first.size();
    return a.first > b.first;
  });
}

bool is_symbol_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_symbol_part(char c) { return is_symbol_start(c) || (c >= '0' && c <= '9') || c == '/' || c == '.'; }
bool is_symbol(std::string_view text) {
  return !text.empty() && is_symbol_start(text[0]) && std::all_of(text.begin(), text.end(), is_symbol_part);
}

/// `3`, `n`, `2 * n * m`.
std::optional<Dim> parse_term(std::string_view text) {
  Dim dim(1);
  const auto factors = split_outside(text, '*');
  if (!factors || factors->empty()) return std::nullopt;
  for (const std::string_view factor : *factors) {
    if (is_symbol(factor)) {
      dim = dim * Dim::symbol(std::string(factor));
    } else if (const auto number = parse_integer(factor); number && *number >= 0) {
      dim = dim * Dim(*number);
    } else {
      return std::nullopt;
    }
  }
  return dim;
}

}  // namespace

Dim::Dim(int64_t constant) {
  if (constant != 0) terms_.emplace_back(Symbols{}, constant);
}

Dim Dim::symbol(std::string name) {
  Dim dim;
  dim.terms_.emplace_back(Symbols{std::move(name)}, 1);
  return dim;
}

bool Dim::is_constant() const { return terms_.empty() || (terms_.size() == 1 && terms_[0].first.empty()); }

std::optional<int64_t> Dim::constant() const {
  if (!is_constant()) return std::nullopt;
  return terms_.empty() ? 0 : terms_[0].second;
}

std::optional<std::string> Dim::as_symbol() const {
  if (terms_.size() != 1 || terms_[0].first.size() != 1 || terms_[0].second != 1) return std::nullopt;
  return terms_[0].first[0];
}

int64_t Dim::unit() const { return terms_.size() == 1 && !terms_[0].first.empty() && terms_[0].second > 0 ? terms_[0].second : 1; }

std::vector<std::string> Dim::symbols() const {
  std::vector<std::string> names;
  for (const auto& [symbols, coefficient] : terms_) names.insert(names.end(), symbols.begin(), symbols.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Dim Dim::operator+(const Dim& other) const {
  Polynomial sum(terms_.begin(), terms_.end());
  for (const auto& [symbols, coefficient] : other.terms_) sum[symbols] = checked_add(sum[symbols], coefficient);
  Dim dim;
  dim.terms_ = normal(sum);
  return dim;
}

Dim Dim::operator-(const Dim& other) const { return *this + other * Dim(-1); }

Dim Dim::operator*(const Dim& other) const {
  // What is used is far smaller, and repeated squares of a name would take all memory.
  constexpr size_t kMostFactors = 64, kMostTerms = 1000;
  Polynomial polynomial;
  for (const auto& [a_symbols, a] : terms_) {
    for (const auto& [b_symbols, b] : other.terms_) {
      if (a_symbols.size() + b_symbols.size() > kMostFactors)
        throw DimOverflow{fmt::format("a dimension of more than {} factors", kMostFactors)};
      int64_t& coefficient = polynomial[product(a_symbols, b_symbols)];
      coefficient = checked_add(coefficient, checked_multiply(a, b));
      if (polynomial.size() > kMostTerms) throw DimOverflow{fmt::format("a dimension of more than {} terms", kMostTerms)};
    }
  }
  Dim dim;
  dim.terms_ = normal(polynomial);
  return dim;
}

std::optional<Dim> Dim::divided_by(const Dim& other) const {
  if (other.terms_.empty()) return std::nullopt;
  const Term divisor = leading(other.terms_);
  Dim rest = *this, result;
  // Each round removes the leading term of the rest, so this ends.
  while (!rest.terms_.empty()) {
    const Term head = leading(rest.terms_);
    const auto symbols = quotient(head.first, divisor.first);
    if (!symbols) return std::nullopt;
    if (divisor.second != -1 && head.second % divisor.second != 0) return std::nullopt;
    Dim part;
    part.terms_.emplace_back(*symbols, divisor.second == -1 ? checked_multiply(head.second, -1) : head.second / divisor.second);
    result = result + part;
    rest = rest - part * other;
  }
  return result;
}

Dim Dim::substitute(const std::map<std::string, Dim>& values) const {
  if (is_constant()) return *this;
  Dim result;
  for (const auto& [symbols, coefficient] : terms_) {
    Dim term(coefficient);
    for (const std::string& name : symbols) {
      const auto found = values.find(name);
      term = term * (found == values.end() ? Dim::symbol(name) : found->second);
    }
    result = result + term;
  }
  return result;
}

int64_t Dim::evaluate(const std::map<std::string, int64_t>& values) const {
  int64_t sum = 0;
  for (const auto& [symbols, coefficient] : terms_) {
    int64_t term = coefficient;
    for (const std::string& name : symbols) {
      const auto found = values.find(name);
      DTL_CHECK(found != values.end(), "dimension `{}` has no value in `{}`", name, str());
      term = checked_multiply(term, found->second);
    }
    sum = checked_add(sum, term);
  }
  return sum;
}

std::string Dim::str() const {
  if (terms_.empty()) return "0";
  std::vector<Term> order = terms_;
  // People write the constant last.
  if (order.front().first.empty()) std::rotate(order.begin(), order.begin() + 1, order.end());
  std::string text;
  for (const auto& [symbols, coefficient] : order) {
    const bool negative = coefficient < 0;
    if (text.empty()) {
      if (negative) text += "-";
    } else {
      text += negative ? " - " : " + ";
    }
    const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(coefficient) : static_cast<uint64_t>(coefficient);
    std::string term = symbols.empty() || magnitude != 1 ? fmt::format("{}", magnitude) : "";
    for (const std::string& name : symbols) term += (term.empty() ? "" : " * ") + name;
    text += term;
  }
  return text;
}

std::optional<Dim> Dim::parse(std::string_view text) {
  text = trim(text);
  Dim sum;
  bool negative = false;
  if (!text.empty() && text[0] == '-') {
    negative = true;
    text.remove_prefix(1);
  }
  while (true) {
    const size_t end = text.find_first_of("+-");
    const auto term = parse_term(text.substr(0, end));
    if (!term) return std::nullopt;
    sum = negative ? sum - *term : sum + *term;
    if (end == std::string_view::npos) return sum;
    negative = text[end] == '-';
    text.remove_prefix(end + 1);
  }
}

std::string share_of(const std::string& name) { return name + "/share"; }

}  // namespace dtl::types
