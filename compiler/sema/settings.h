// Settings of datasets and train blocks: which exist, and what `--set` puts in their place.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/sema/evaluate.h"

namespace dtl::sema {

/// Overrides by the declaration and field they are for.
class Settings {
 public:
  /// Sorts every `--set` to a param, a dataset's or the train block's field; reports those that name nothing.
  Settings(Evaluator& evaluator, const syntax::Ast& file, const syntax::Decl* train);

  /// What a field is set to: by `--set`, else in its block; null where it is not. `gradients.clip_norm` is an entry of a record,
  /// found here only where `--set` has it.
  const syntax::Expr* find(const syntax::Decl& decl, const std::string& field) const;
  /// Whether `--set` has it.
  bool overridden(const syntax::Decl& decl, const std::string& field) const;

 private:
  std::map<std::pair<const syntax::Decl*, std::string>, const Override*> overrides_;
};

/// Names that a train block, a dataset may set. `later`: known, and not supported yet.
const std::vector<std::string>& train_fields();
const std::vector<std::string>& later_train_fields();
const std::vector<std::string>& dataset_fields();
const std::vector<std::string>& later_dataset_fields();
/// The entries of a setting that is a closed record (record_setting.h); none for all others. `--set gradients.clip_norm=2`.
const std::vector<std::string>& record_fields(const std::string& setting);

}  // namespace dtl::sema
