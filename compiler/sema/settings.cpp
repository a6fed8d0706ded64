// Which settings exist, and which value wins.
#include "compiler/sema/settings.h"

#include "compiler/sema/builtins.h"

namespace dtl::sema {

using syntax::Decl;
using syntax::DeclKind;
using syntax::ItemKind;

const std::vector<std::string>& train_fields() {
  static const std::vector<std::string> fields = {"model", "data", "loss",      "metrics",   "optimizer",  "strategy",      "epochs",
                                                  "steps", "seed", "precision", "gradients", "stop_early", "evaluate_every"};
  return fields;
}
const std::vector<std::string>& later_train_fields() {
  static const std::vector<std::string> fields = {"checkpoint", "reproducible", "report", "profile"};
  return fields;
}
const std::vector<std::string>& dataset_fields() {
  static const std::vector<std::string> fields = {"train", "validation", "test", "batch", "shuffle", "example"};
  return fields;
}
const std::vector<std::string>& later_dataset_fields() {
  static const std::vector<std::string> fields = {"augment", "prefetch", "cache", "vocabulary"};
  return fields;
}

const std::vector<std::string>& record_fields(const std::string& setting) {
  static const std::map<std::string, std::vector<std::string>> fields = {
      {"gradients", {"accumulate", "clip_norm", "clip_value"}},
      {"stop_early", {"watch", "patience", "minimum_change", "mode", "restore_best"}},
  };
  static const std::vector<std::string> none;
  const auto known = fields.find(setting);
  return known == fields.end() ? none : known->second;
}

Settings::Settings(Evaluator& evaluator, const syntax::Ast& file, const Decl* train) {
  Reporter& reporter = evaluator.reporter();
  for (const Override& override : evaluator.options().overrides) {
    std::vector<std::string> path;
    for (const std::string_view part : split_words(override.path, '.')) path.emplace_back(part);
    const auto unknown = [&](const std::string& wrong, const std::vector<std::string>& known, const std::string& prefix) {
      auto reported = reporter.report(override.range, diag::unknown_override, override.path);
      if (auto near = nearest(wrong, known)) {
        reported.help("did you mean `" + prefix + *near + "`?");
      } else {
        std::vector<std::string> full;
        for (const std::string& name : known) full.push_back(prefix + name);
        reported.help("what can be set: " + enumerate(full));
      }
    };
    if (path.empty()) {
      unknown("", {}, "");
      continue;
    }
    const Decl* target = nullptr;
    std::vector<std::string> firsts = train_fields();
    for (const Decl* decl : file.decls) {
      if (decl->kind == DeclKind::param || decl->kind == DeclKind::dataset) {
        firsts.push_back(decl->name.text);
        if (decl->name.text == path[0] && !target) target = decl;
      }
    }
    if (target && target->kind == DeclKind::param) {
      if (path.size() == 1) {
        evaluator.param_overrides[target] = &override;
      } else {
        reporter.report(override.range, diag::unknown_override, override.path).help("`" + path[0] + "` is a param: set it whole");
      }
      continue;
    }
    if (target) {
      std::vector<std::string> fields;
      for (const std::string& field : dataset_fields()) {
        if (field != "example") fields.push_back(field);
      }
      if (path.size() == 2 && std::find(fields.begin(), fields.end(), path[1]) != fields.end()) {
        overrides_[{target, path[1]}] = &override;
      } else {
        unknown(path.size() > 1 ? path[1] : "", fields, path[0] + ".");
      }
      continue;
    }
    const bool is_field = std::find(train_fields().begin(), train_fields().end(), path[0]) != train_fields().end();
    if (is_field && path.size() == 1) {
      // Without a train block that is told elsewhere.
      if (train) overrides_[{train, path[0]}] = &override;
    } else if (is_field && path.size() == 2 && !record_fields(path[0]).empty()) {
      const std::vector<std::string>& entries = record_fields(path[0]);
      if (std::find(entries.begin(), entries.end(), path[1]) == entries.end()) {
        unknown(path[1], entries, path[0] + ".");
      } else if (train) {
        overrides_[{train, override.path}] = &override;
      }
    } else if (std::find(later_train_fields().begin(), later_train_fields().end(), path[0]) != later_train_fields().end()) {
      reporter.report(override.range, diag::not_supported_yet, "`" + path[0] + "`");
    } else {
      unknown(path[0], firsts, "");
    }
  }
}

const syntax::Expr* Settings::find(const Decl& decl, const std::string& field) const {
  if (const auto it = overrides_.find({&decl, field}); it != overrides_.end()) return it->second->value;
  for (const syntax::Item* item : decl.body->items) {
    if (item->kind == ItemKind::assign && item->names[0].text == field) return item->value;
  }
  return nullptr;
}

bool Settings::overridden(const Decl& decl, const std::string& field) const { return overrides_.contains({&decl, field}); }

}  // namespace dtl::sema
