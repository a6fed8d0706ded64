// Names of a program made known, each in the file that declares it.
#include "compiler/sema/session.h"

#include <algorithm>
#include <cctype>

#include "compiler/sema/effective.h"

namespace dtl::sema {
namespace {

using syntax::Ast;
using syntax::Decl;
using syntax::DeclKind;

bool is_name(const std::string& text) {
  const auto letter = [](unsigned char c) { return std::isalpha(c) || c == '_'; };
  return letter(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [&](unsigned char c) { return letter(c) || std::isdigit(c); });
}

}  // namespace

Shared::Shared(const Library& files) {
  for (const auto& ast : files) {
    for (const Decl* decl : ast->decls) library.decls.emplace(decl->name.text, decl);
  }
  file.outer = &library;
}

Session::Session(const Library& library, Shared& shared, const graph::OpTable& ops, const Options& options, source::Sink& sink)
    : reporter(sink), emitter(ops, reporter), evaluator(emitter, reporter, program, shared, options), shared_(shared) {
  for (const auto& ast : library) reporter.add_library(ast->file);
}

std::vector<const Ast*> Session::declare_all(const Ast& file, const Options& options) {
  std::vector<const Ast*> files{&file};
  for (const auto& [import, ast] : options.imports) {
    if (std::find(files.begin(), files.end(), ast) == files.end()) files.push_back(ast);
  }
  // In the order in which they were read, not of addresses.
  std::sort(files.begin() + 1, files.end(), [](const Ast* a, const Ast* b) { return a->file.index < b->file.index; });
  for (const Ast* each : files) declare(*each, each == &file ? shared_.file : shared_.imported[each->file.index]);
  return files;
}

void Session::declare(const Ast& file, Globals& globals) {
  globals.outer = &shared_.library;
  for (const Decl* decl : file.decls) {
    const bool is_import = decl->kind == DeclKind::import_file;
    const std::string name = is_import ? alias_of(*decl) : decl->name.text;
    // A train block's name is for the command line only, yet one name should mean one thing.
    if (name.empty() || (decl->kind == DeclKind::train && !decl->name.range.known())) continue;
    const source::Range at = is_import && !decl->name.range.known() ? decl->range : decl->name.range;
    if (is_import && !is_name(name)) {
      reporter.report(decl->range, diag::import_without_name, decl->path).help("write `import \"" + decl->path + "\" as name`");
      continue;
    }
    const auto [known, fresh] = globals.decls.emplace(name, decl);
    if (!fresh) {
      const Decl& earlier = *known->second;
      reporter.report(at, diag::declared_twice, name)
          .note(earlier.name.range.known() ? earlier.name.range : earlier.range, "it is declared here already");
    }
  }
}

}  // namespace dtl::sema
