// A setting that is a closed record, `gradients = { clip_norm = 1.0 }`: its entries, each written there or set by `--set`.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compiler/sema/evaluate.h"
#include "compiler/sema/settings.h"

namespace dtl::sema {

/// Reads the entries that `record_fields(field)` names; reports others, and what is no record. Either is a literal or a value
/// (a `let`, a `param`); words (`mode = min`) and paths (`validation.loss`) can be said only in a literal.
class RecordSetting {
 public:
  RecordSetting(Evaluator& evaluator, const Settings& settings, const syntax::Decl& decl, std::string field, Scope* scope);

  struct Entry {
    const syntax::Expr* expr = nullptr;  ///< null where the record is a value
    Value value;
    source::Range range, name_range;
  };
  /// Whether the setting, or one of its entries, is there at all.
  bool given() const { return given_; }
  source::Range range() const { return range_; }
  /// Null where it is not set.
  const Entry* find(std::string_view name) const;

  /// Reports what is missing or of another kind, as "`patience`".
  std::optional<int64_t> integer(std::string_view name, int64_t least);
  std::optional<double> number(std::string_view name);
  std::optional<bool> boolean(std::string_view name);
  std::optional<std::string> word(std::string_view name, std::span<const std::string_view> words);

 private:
  void add(const std::string& name, source::Range name_range, Entry entry);
  Value evaluated(const Entry& entry);
  static std::string shown(std::string_view name) { return "`" + std::string(name) + "`"; }

  Evaluator& evaluator_;
  const std::string field_;
  Scope* scope_;
  bool given_ = false;
  source::Range range_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace dtl::sema
