// Which settings exist, and which value wins.
#include "compiler/sema/settings.h"

#include "compiler/sema/strategy.h"

namespace dtl::sema {

using syntax::Decl;
using syntax::DeclKind;
using syntax::ItemKind;

const std::vector<std::string>& train_fields() {
  static const std::vector<std::string> fields = {"model", "data", "loss",      "metrics",   "optimizer",  "strategy",       "epochs",
                                                  "steps", "seed", "precision", "gradients", "stop_early", "evaluate_every", "checkpoint"};
  return fields;
}
const std::vector<std::string>& later_train_fields() {
  static const std::vector<std::string> fields = {"reproducible", "report", "profile"};
  return fields;
}
const std::vector<std::string>& dataset_fields() {
  static const std::vector<std::string> fields = {"train", "validation", "test", "batch", "shuffle", "on_error", "example", "augment"};
  return fields;
}
const std::vector<std::string>& later_dataset_fields() {
  static const std::vector<std::string> fields = {"prefetch", "cache"};
  return fields;
}

const std::vector<std::string>& record_fields(const std::string& setting) {
  static const std::map<std::string, std::vector<std::string>> fields = {
      {"checkpoint", {"directory", "every", "keep", "watch", "mode"}},
      {"gradients", {"accumulate", "clip_norm", "clip_value"}},
      {"stop_early", {"watch", "patience", "minimum_change", "mode", "restore_best"}},
  };
  static const std::vector<std::string> none;
  const auto known = fields.find(setting);
  return known == fields.end() ? none : known->second;
}

std::vector<std::string> known_fields(DeclKind kind) {
  if (kind == DeclKind::strategy) return strategy_fields();
  const bool dataset = kind == DeclKind::dataset;
  std::vector<std::string> fields;
  for (const std::string& field : dataset ? dataset_fields() : train_fields()) {
    if (field != "example" && field != "augment") fields.push_back(field);
  }
  for (const std::string& field : dataset ? later_dataset_fields() : later_train_fields()) fields.push_back(field);
  return fields;
}

std::vector<std::string> without_later(std::vector<std::string> fields) {
  std::erase_if(fields, [](const std::string& field) {
    const auto in = [&](const std::vector<std::string>& later) { return std::find(later.begin(), later.end(), field) != later.end(); };
    return in(later_train_fields()) || in(later_dataset_fields());
  });
  return fields;
}

const syntax::Expr* Settings::find(const Decl& decl, const std::string& field) const {
  if (!decl.body) return nullptr;
  for (const syntax::Item* item : decl.body->items) {
    if (item->kind == ItemKind::assign && item->names[0].text == field) return item->value;
  }
  return nullptr;
}

}  // namespace dtl::sema
