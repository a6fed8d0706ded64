// Imported files: found beside the file that imports them, read once each, refused where they import themselves.
#include <filesystem>

#include "compiler/driver/pipeline.h"
#include "compiler/syntax/parse.h"
#include "runtime/plan/fault.h"

namespace dtl::driver {
namespace {

namespace fs = std::filesystem;

class Importer {
 public:
  Importer(Compilation& compilation, std::vector<std::unique_ptr<syntax::Ast>>& imported, sema::Imports& imports)
      : compilation_(compilation), imported_(imported), imports_(imports) {}

  void run(syntax::Ast& main) {
    const std::string& name = compilation_.sources.file(main.file).name;
    known_.emplace(identity(name), &main);
    read_imports(main);
  }

 private:
  /// One file has one, however it is written.
  static std::string identity(const fs::path& path) {
    std::error_code error;
    const fs::path canonical = fs::weakly_canonical(path, error);
    return error ? path.lexically_normal().string() : canonical.string();
  }

  void read_imports(const syntax::Ast& ast) {
    path_.push_back(&ast);
    for (const syntax::Decl* decl : ast.decls) {
      if (decl->kind != syntax::DeclKind::import_file) continue;
      const fs::path importer = compilation_.sources.file(decl->range.file).name;
      read(*decl, (importer.parent_path() / decl->path).lexically_normal().string());
    }
    path_.pop_back();
  }

  void read(const syntax::Decl& import, const std::string& name) {
    const std::string key = identity(name);
    if (const auto known = known_.find(key); known != known_.end()) {
      imports_[&import] = known->second;
      const auto at = std::find(path_.begin(), path_.end(), known->second);
      if (at != path_.end()) cycle(import, name, at);
      return;
    }
    std::string text;
    try {
      text = read_file(name);
    } catch (const Fault& fault) {
      compilation_.sink.report(import.range, diag::cannot_import, import.path, fault.arguments().back())
          .help("a path is looked up from the folder of the file that imports it");
      return;
    }
    const source::FileId id = compilation_.sources.add(name, std::move(text));
    std::unique_ptr<syntax::Ast> ast = syntax::parse(compilation_.sources, id, compilation_.sink);
    if (!ast) return;
    syntax::Ast& read = *imported_.emplace_back(std::move(ast));
    imports_[&import] = &read;
    known_.emplace(key, &read);
    by_import_[&read] = &import;
    read_imports(read);
  }

  void cycle(const syntax::Decl& import, const std::string& name, std::vector<const syntax::Ast*>::const_iterator from) {
    std::string chain;
    for (auto it = from; it != path_.end(); ++it) chain += "`" + compilation_.sources.file((*it)->file).name + "` imports ";
    auto reported = compilation_.sink.report(import.range, diag::import_cycle, name, chain + "`" + name + "`");
    for (auto it = from + 1; it != path_.end(); ++it) reported.note(by_import_[*it]->range, "it is imported here");
  }

  Compilation& compilation_;
  std::vector<std::unique_ptr<syntax::Ast>>& imported_;
  sema::Imports& imports_;
  std::map<std::string, syntax::Ast*> known_;
  std::map<const syntax::Ast*, const syntax::Decl*> by_import_;
  std::vector<const syntax::Ast*> path_;  ///< the files being read, the main one first
};

}  // namespace

bool Compilation::read_imports() {
  const int errors = sink.errors();
  Importer(*this, imported_, imports).run(*ast);
  return sink.errors() == errors;
}

}  // namespace dtl::driver
