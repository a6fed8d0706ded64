// The session: texts kept by the parent, everything that could go wrong done in a child.
#include "compiler/driver/repl_session.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ostream>

#include "compiler/driver/fault_text.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/repl_child.h"
#include "compiler/sema/builtins.h"
#include "compiler/source/check.h"
#include "compiler/syntax/parse.h"
#include "runtime/plan/fault.h"

namespace dtl::driver {
namespace {

const std::vector<std::string>& declaration_words() {
  static const std::vector<std::string> words = {"param", "dataset", "layer", "model", "fn", "optimizer", "strategy", "train", "import"};
  return words;
}

/// Whether a text begins as a declaration does: a declaration's word, then a name, a string or a brace.
bool is_declaration(std::string_view text) {
  while (true) {
    const size_t start = text.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos) return false;
    text.remove_prefix(start);
    if (!text.starts_with("//")) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  size_t end = 0;
  while (end < text.size() && letter(text[end])) ++end;
  const std::vector<std::string>& words = declaration_words();
  if (std::find(words.begin(), words.end(), text.substr(0, end)) == words.end()) return false;
  const size_t next = text.find_first_not_of(" \t", end);
  if (next == std::string_view::npos) return end < text.size();
  return text[next] == '{' || text[next] == '"' || (next > end && letter(text[next]));
}

/// What a read-only look at a text gives.
struct Looked {
  source::SourceSet sources;
  source::Sink sink;
  std::unique_ptr<syntax::Ast> ast;
};

}  // namespace

ReplSession::ReplSession(const Options& options, std::ostream& out, std::ostream& err) : options_(options), out_(out), err_(err) {
  options_.file.clear();
  options_.json = false;
  options_.interactive = true;
}

ReplSession::~ReplSession() {
  std::error_code error;
  if (!checkpoints_.empty()) std::filesystem::remove_all(checkpoints_, error);
}

bool ReplSession::complete(const std::string& text) {
  source::SourceSet sources;
  source::Sink sink;
  const source::FileId file = sources.add("<input>", text);
  syntax::Ast into;
  if (is_declaration(text)) {
    syntax::parse(sources, file, sink);
  } else {
    syntax::parse_item(into, sources, file, sink);
  }
  const size_t last = text.find_last_not_of(" \t\r\n");
  for (const source::Diagnostic* diagnostic : sink.all()) {
    if (diagnostic->code == diag::unclosed_bracket.code) return false;
    const bool at_end = diagnostic->range.known() && (last == std::string::npos || diagnostic->range.end > static_cast<int32_t>(last));
    if (diagnostic->code == diag::unexpected_token.code && at_end && diagnostic->text.find("the end of") != std::string::npos) return false;
  }
  return true;
}

struct ReplSession::Child {
  ReplChildInput input;

  explicit Child(const ReplSession& session) {
    input.options = session.options_;
    for (const Text& text : session.declarations_) input.declarations.emplace_back(text.label, text.text);
    for (const Text& text : session.lets_) input.lets.emplace_back(text.label, text.text);
    input.held = session.held_;
    input.held_after = session.held_after_;
    input.checkpoints = session.checkpoints_;
    input.told = session.told_;
  }
};

std::optional<ReplChildOutput> ReplSession::run(const Child& child) {
  std::optional<ReplChildOutput> output = run_in_child(child.input, out_, err_);
  if (output) told_.insert(output->told.begin(), output->told.end());
  return output;
}

void ReplSession::forget_hidden(const std::vector<std::string>& hidden, const std::string& by) {
  for (const std::string& name : hidden) {
    const bool needed =
        mentions(by, name) || std::any_of(lets_.begin(), lets_.end(), [&](const Text& text) { return mentions(text.text, name); });
    if (!needed) held_.erase(name);
  }
  // Newest first: what a later one that stays speaks of, stays.
  for (size_t i = lets_.size(); i-- > 0;) {
    const Text& text = lets_[i];
    const auto speaks_of = [](const std::string& of, const std::vector<std::string>& names) {
      return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return mentions(of, name); });
    };
    const bool all_hidden = std::all_of(text.names.begin(), text.names.end(), [&](const std::string& name) {
      const auto later = [&](const Text& other) { return std::find(other.names.begin(), other.names.end(), name) != other.names.end(); };
      return std::find(hidden.begin(), hidden.end(), name) != hidden.end() ||
             std::any_of(lets_.begin() + static_cast<int64_t>(i) + 1, lets_.end(), later);
    });
    const bool needed = speaks_of(by, text.names) || std::any_of(lets_.begin() + static_cast<int64_t>(i) + 1, lets_.end(),
                                                                 [&](const Text& other) { return speaks_of(other.text, text.names); });
    if (!all_hidden || needed) continue;
    lets_.erase(lets_.begin() + static_cast<int64_t>(i));
    for (auto& [name, after] : held_after_) after -= after > i ? 1 : 0;
  }
}

bool ReplSession::input(const std::string& text) {
  const std::string label = fmt::format("<input {}>", ++inputs_);
  if (is_declaration(text)) return declare(label, text);
  Child child(*this);
  child.input.item = {label, text};
  const std::optional<ReplChildOutput> output = run(child);
  if (!output || !output->good) return false;
  if (output->let_names.empty()) {
    if (output->tensors.contains("it")) {
      held_["it"] = output->tensors.at("it");
      held_after_["it"] = lets_.size();
    }
    return true;
  }
  // A name means its last `let`; a compile-time value is kept as text, a tensor as its bytes.
  bool all_held = true;
  for (const std::string& name : output->let_names) all_held &= output->tensors.contains(name);
  forget_hidden(output->let_names, all_held ? std::string() : text);
  if (all_held) {
    for (const std::string& name : output->let_names) {
      held_[name] = output->tensors.at(name);
      held_after_[name] = lets_.size();
    }
  } else {
    lets_.push_back({output->let_names, label, text});
  }
  return true;
}

bool ReplSession::ask(Ask what, const std::string& text) {
  Child child(*this);
  child.input.ask = what;
  if (!text.empty()) child.input.item = {fmt::format("<input {}>", ++inputs_), text};
  const std::optional<ReplChildOutput> output = run(child);
  return output && output->good;
}

bool ReplSession::declare(const std::string& label, const std::string& text) {
  Looked looked;
  const source::FileId file = looked.sources.add(label, text);
  looked.ast = syntax::parse(looked.sources, file, looked.sink);
  Child child(*this);
  child.input.checked = label;
  std::vector<Text> kept = declarations_;
  std::vector<std::string> names;
  if (looked.ast && !looked.sink.has_errors()) {
    for (const syntax::Decl* decl : looked.ast->decls) {
      // One train block without a name at a time, as if `train` were its name.
      const std::string name = !decl->name.text.empty() ? decl->name.text : decl->kind == syntax::DeclKind::train ? "train" : decl->path;
      names.push_back(name);
      std::erase_if(kept, [&](const Text& old) { return old.names == std::vector<std::string>{name}; });
    }
    child.input.declarations.clear();
    for (const Text& old : kept) child.input.declarations.emplace_back(old.label, old.text);
  }
  child.input.declarations.emplace_back(label, text);
  const std::optional<ReplChildOutput> output = run(child);
  if (!output || !output->good) return false;
  declarations_ = std::move(kept);
  for (size_t i = 0; i < names.size(); ++i) {
    const source::Range range = looked.ast->decls[i]->range;
    declarations_.push_back({{names[i]}, label, std::string(looked.sources.text(range))});
    forget_hidden({names[i]}, {});
  }
  return true;
}

bool ReplSession::load(const std::string& path) {
  try {
    const std::string text = read_file(path);
    const std::string file = std::exchange(options_.file, path);
    if (declare(path, text)) return true;
    options_.file = file;
  } catch (const Fault& fault) {
    err_ << fault_text(fault, false) << "\n";
  }
  return false;
}

bool ReplSession::set_strategy(const std::string& expression) {
  const std::optional<std::string> before = std::exchange(options_.strategy, expression);
  Child child(*this);
  child.input.ask = Ask::type;
  child.input.item = {"<:strategy>", "0"};
  child.input.quiet = true;
  const std::optional<ReplChildOutput> output = run(child);
  if (output && output->good) return true;
  options_.strategy = before;
  return false;
}

bool ReplSession::train(int64_t steps, bool anew) {
  if (checkpoints_.empty()) {
    std::error_code error;
    std::string folder = (std::filesystem::temp_directory_path(error) / "dslc-repl-XXXXXX").string();
    if (!mkdtemp(folder.data())) {
      err_ << fault_text(Fault(6101, {folder, std::strerror(errno)}), false) << "\n";
      return false;
    }
    checkpoints_ = folder;
  }
  if (anew) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(checkpoints_, error)) std::filesystem::remove_all(entry.path(), error);
  }
  Child child(*this);
  child.input.train_steps = steps;
  const std::optional<ReplChildOutput> output = run(child);
  return output && output->good;
}

std::vector<std::string> ReplSession::names() const {
  std::vector<std::string> names = sema::builtin_names();
  for (const std::string& word : declaration_words()) names.push_back(word);
  for (const char* word : {"let", "if", "else", "for", "in", "with", "require", "per_replica", "true", "false"}) names.emplace_back(word);
  for (const Text& text : declarations_) names.insert(names.end(), text.names.begin(), text.names.end());
  for (const Text& text : lets_) names.insert(names.end(), text.names.begin(), text.names.end());
  for (const auto& [name, tensor] : held_) names.push_back(name);
  static const std::vector<std::string> library = library_names();
  names.insert(names.end(), library.begin(), library.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void ReplSession::list() const {
  for (const Text& text : declarations_) out_ << text.text.substr(0, text.text.find('\n')) << "\n";
  for (const Text& text : lets_) out_ << text.text << "\n";
  for (const auto& [name, tensor] : held_) out_ << fmt::format("let {}: {}\n", name, tensor.type.str());
}

}  // namespace dtl::driver
