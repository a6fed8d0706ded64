// Settings of datasets and train blocks: which exist, and where they are found.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/sema/evaluate.h"

namespace dtl::sema {

/// The settings of one block, as they are once overrides are in place.
class Settings {
 public:
  /// What a field is set to; null where it is not.
  const syntax::Expr* find(const syntax::Decl& decl, const std::string& field) const;
};

/// Names that a train block, a dataset may set. `later`: known, and not supported yet.
const std::vector<std::string>& train_fields();
const std::vector<std::string>& later_train_fields();
const std::vector<std::string>& dataset_fields();
const std::vector<std::string>& later_dataset_fields();
/// The entries of a setting that is a closed record (record_setting.h); none for all others. `--set gradients.clip_norm=2`.
const std::vector<std::string>& record_fields(const std::string& setting);
/// All settings that a dataset, train block or strategy may have, those of a later version among them.
std::vector<std::string> known_fields(syntax::DeclKind kind);
/// Without those that are not supported yet: what is offered where a name is wrong.
std::vector<std::string> without_later(std::vector<std::string> fields);

}  // namespace dtl::sema
