// The texts of an effective program: edits of what was written, so that names, comments and layout stay.
#include "compiler/driver/run_directory.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "compiler/driver/write_file.h"
#include "compiler/sema/settings.h"
#include "compiler/sema/value.h"
#include "compiler/source/check.h"
#include "compiler/syntax/format.h"
#include "compiler/syntax/parse.h"
#include "runtime/plan/fault.h"

namespace dtl::driver {
namespace {

namespace fs = std::filesystem;
using source::Range;
using syntax::Decl;
using syntax::DeclKind;

class Writer {
 public:
  Writer(Compilation& compilation, const Options& options, fs::path folder)
      : compilation_(compilation), options_(options), folder_(std::move(folder)), edits_(compilation.effective.edits) {}

  std::string write() {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) throw Fault(diag::cannot_write_run.code, {folder_.string(), error.message()});

    for (const auto& [range, path] : compilation_.data.files()) put(range, sema::quoted(path));
    for (const auto& [range, devices] : compilation_.program->devices_of_all) {
      if (own(range)) put(range, std::to_string(devices));
    }
    if (const auto& saved = compilation_.program->checkpoint; saved && own(saved->directory_range))
      put(saved->directory_range, sema::quoted(fs::absolute(saved->directory).lexically_normal().string()));
    choose();
    const std::string name = write_file(*compilation_.ast, fs::path(options_.file).stem().string());
    return (folder_ / name).string();
  }

 private:
  bool own(Range range) const { return range.known() && !compilation_.sources.file(range.file).name.starts_with("<stdlib>"); }

  void put(Range at, std::string text) {
    if (put_.insert({at.file.index, at.begin}).second) edits_.push_back({at, std::move(text), {}, ""});
  }

  /// Imported files first: what they are called here stands in the import. Gives the file's name.
  std::string write_file(const syntax::Ast& ast, const std::string& stem) {
    if (const auto known = names_.find(&ast); known != names_.end()) return known->second;
    for (const Decl* decl : ast.decls) {
      if (decl->kind != DeclKind::import_file) continue;
      const syntax::Ast& imported = *compilation_.imports.at(decl);
      const std::string name = write_file(imported, fs::path(compilation_.sources.file(imported.file).name).stem().string());
      put(decl->range, fmt::format("import {} as {}", sema::quoted(name), sema::alias_of(*decl)));
    }
    std::string text = sema::edited(compilation_.sources, ast.file, edits_);
    if (&ast == compilation_.ast.get()) text = pinned(text + chosen_);
    return names_[&ast] = keep(stem, laid_out(text));
  }

  /// The block without a name is the one that runs, so `--train` names it at the end, and another without a name gets one.
  void choose() {
    if (!options_.train) return;
    std::vector<const Decl*> trains;
    for (const Decl* decl : compilation_.ast->decls) {
      if (decl->kind == DeclKind::train) trains.push_back(decl);
    }
    if (trains.size() == 1) return;
    for (const Decl* decl : trains) {
      if (!decl->name.text.empty() && decl->name.range.known()) continue;
      const int32_t behind = decl->range.begin + static_cast<int32_t>(std::string_view("train").size());
      put({decl->range.file, behind, behind}, " " + free_name());
    }
    chosen_ = "\ntrain = " + *options_.train + "\n";
  }

  std::string free_name() {
    for (int i = 1;; ++i) {
      const std::string name = i == 1 ? "Unnamed" : fmt::format("Unnamed{}", i);
      const bool taken = std::any_of(compilation_.ast->decls.begin(), compilation_.ast->decls.end(), [&](const Decl* decl) {
        return (decl->kind == DeclKind::import_file ? sema::alias_of(*decl) : decl->name.text) == name;
      });
      if (!taken && given_names_.insert(name).second) return name;
    }
  }

  /// What the language or the library decides where nothing is said, said: as by `--set`.
  std::string pinned(const std::string& text) {
    const sema::Program& program = *compilation_.program;
    std::vector<std::string> settings;
    if (!program.seed_given) settings.emplace_back("seed=0");
    std::string remark;
    for (const auto& [range, devices] : program.devices_of_all) {
      if (own(range)) continue;
      const std::string setting = fmt::format("strategy.{}={}", hyperparameter_at(range), devices);
      if (std::find(settings.begin(), settings.end(), setting) != settings.end()) continue;
      if (with_settings(text, {setting})) {
        settings.push_back(setting);
      } else {  // a strategy that is computed has no place for it
        remark = fmt::format("// `all` was {0}: dslc train --threads {0}\n", devices);
      }
    }
    return remark + (settings.empty() ? text : with_settings(text, settings).value());
  }

  /// The library's parameter whose default stands there.
  std::string hyperparameter_at(Range range) const {
    for (const auto& ast : compilation_.library()) {
      for (const Decl* decl : ast->decls) {
        for (const syntax::Parameter& parameter : decl->hyper) {
          if (parameter.value && parameter.value->range == range) return parameter.name.text;
        }
      }
    }
    DTL_CHECK(false, "`all` stands in no default of the library");
    return {};
  }

  /// The text with settings of its train block; nothing where one of them has no place.
  std::optional<std::string> with_settings(const std::string& text, const std::vector<std::string>& settings) {
    const std::unique_ptr<syntax::Ast> ast = parsed(text);
    sema::Imports imports = compilation_.imports;
    for (const Decl* now : ast->decls) {
      if (now->kind != DeclKind::import_file) continue;
      for (const Decl* then : compilation_.ast->decls) {
        if (then->kind == DeclKind::import_file && sema::alias_of(*now) == sema::alias_of(*then))
          imports[now] = compilation_.imports.at(then);
      }
    }
    source::Sink sink;
    syntax::Ast fragments;
    sema::Overrides overrides;
    overrides.settings = settings;
    const sema::Effective effective =
        sema::make_effective(*ast, imports, compilation_.library(), compilation_.sources, fragments, overrides, sink);
    if (sink.has_errors()) return std::nullopt;
    return sema::edited(compilation_.sources, ast->file, effective.edits);
  }

  /// The Ast of a text that was valid before it was edited.
  std::unique_ptr<syntax::Ast> parsed(const std::string& text) {
    source::Sink sink;
    std::unique_ptr<syntax::Ast> ast = syntax::parse(compilation_.sources, compilation_.sources.add(options_.file, text), sink);
    DTL_CHECK(ast && !sink.has_errors(), "the effective program does not parse:\n{}", text);
    return ast;
  }
  std::string laid_out(const std::string& text) { return syntax::format(*parsed(text), compilation_.sources); }

  /// The name under which the text is in the folder.
  std::string keep(const std::string& stem, const std::string& text) const {
    for (int i = 1;; ++i) {
      const std::string name = (i == 1 ? stem : fmt::format("{}-{}", stem, i)) + ".dtl";
      const std::string path = (folder_ / name).string();
      if (create_file(path, text) || read_file(path) == text) return name;
    }
  }

  Compilation& compilation_;
  const Options& options_;
  const fs::path folder_;
  std::vector<sema::Edit> edits_;
  std::set<std::pair<int32_t, int32_t>> put_;
  std::set<std::string> given_names_;
  std::map<const syntax::Ast*, std::string> names_;  ///< of the files written
  std::string chosen_;
};

}  // namespace

std::string run_directory(const Options& options, const sema::Program& program) {
  if (options.run == "none") return {};
  if (!options.run.empty()) return options.run;
  if (program.checkpoint) return program.checkpoint->directory;
  return (fs::path("runs") / fs::path(options.file).stem()).string();
}

std::string write_effective_program(Compilation& compilation, const Options& options, const std::string& folder) {
  return folder.empty() ? std::string() : Writer(compilation, options, folder).write();
}

}  // namespace dtl::driver
