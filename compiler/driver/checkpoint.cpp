// Checkpoints and the command line.
#include "compiler/driver/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>
#include <string_view>
#include <vector>

#include "compiler/driver/fault_text.h"
#include "runtime/data/vocabulary.h"
#include "runtime/plan/fault.h"
#include "runtime/train/saver.h"

namespace dtl::driver {
namespace {

constexpr std::string_view kVocabulary = "vocabulary-", kText = ".txt";
constexpr const char* kDescription = "data.json";

checkpoint::Checkpoint open_checkpoint(const Options& options, const std::string& path, std::ostream& err) {
  return checkpoint::open(path, [&](const std::string& damaged, const Fault& why) {
    err << fault_text(Fault(6104, {damaged, why.arguments()[0], why.arguments()[1]}), options.json) << "\n";
  });
}

void use_vocabularies(DataStore& data, const checkpoint::Checkpoint& from) {
  for (const checkpoint::FileEntry& file : from.manifest().files) {
    if (!file.name.starts_with(kVocabulary) || !file.name.ends_with(kText)) continue;
    auto vocabulary = data::Vocabulary::from_text(*from.text(file.name));
    if (!vocabulary) throw Fault(6103, {from.path() + "/" + file.name, "it is no vocabulary"});
    data.use_vocabulary(file.name.substr(kVocabulary.size(), file.name.size() - kVocabulary.size() - kText.size()), std::move(vocabulary));
  }
}

void use_description(DataStore& data, const checkpoint::Checkpoint& from) {
  const auto text = from.text(kDescription);
  if (!text) return;  // saved before there were descriptions
  auto description = parse_description(*text);
  if (!description) throw Fault(6103, {from.path() + "/" + kDescription, "it is no description of data"});
  data.use_description(std::move(*description));
}

/// `a` and 3 more
std::string first_of(const std::vector<std::string>& names) {
  const size_t more = names.size() - 1;
  return fmt::format("`{}`{}", names[0], more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

std::map<std::string, std::string> data_files(const DataStore& data) {
  std::map<std::string, std::string> files;
  for (const auto& [name, vocabulary] : data.vocabularies()) files[fmt::format("{}{}{}", kVocabulary, name, kText)] = vocabulary->to_text();
  files[kDescription] = description_text(data.description());
  return files;
}

Restored check_restored(const Options& options, data::Decoding decoding, const std::optional<std::string>& from, bool described,
                        std::ostream& err) {
  Restored restored;
  if (from && !from->empty()) restored.from.emplace(open_checkpoint(options, *from, err));
  restored.compilation = std::make_unique<Compilation>(options, decoding);
  Compilation& compilation = *restored.compilation;
  if (!compilation.parse()) return restored;
  std::optional<Fault> none;  // a mistake in the program is told first
  if (from && from->empty()) {
    try {
      if (const auto directory = compilation.checkpoint_directory()) restored.from.emplace(open_checkpoint(options, *directory, err));
    } catch (const Fault& fault) {
      none = fault;
    }
  }
  if (restored.from) {
    use_vocabularies(compilation.data, *restored.from);
    if (described) use_description(compilation.data, *restored.from);
  }
  const bool good = compilation.check();
  // Data may be missing just because the checkpoint is.
  if (none && (good || compilation.failure_status() == 2)) throw Fault(*none);
  if (!good || !from || restored.from) return restored;
  if (!compilation.program->checkpoint) throw Fault(6113, {});
  // Where the program saves depends on its data.
  return check_restored(options, decoding, compilation.program->checkpoint->directory, described, err);
}

void check_fit(const plan::Plan& plan, const checkpoint::Checkpoint& checkpoint, bool training) {
  std::set<std::string> wanted;
  std::vector<std::string> lacking, differing, extra;
  Fault difference(6107, {});
  for (const plan::StateEntry& state : plan.states) {
    const auto saved = train::saved_state(plan, state);
    // Accumulators come and go with reports.
    if (!saved || state.role == plan::StateRole::metric || (saved->training && !training)) continue;
    wanted.insert(state.path);
    const checkpoint::TensorEntry* tensor = checkpoint.find(state.path);
    if (!tensor) {
      lacking.push_back(state.path);
    } else if (tensor->type.dtype != saved->type.dtype || tensor->type.shape != saved->type.shape) {
      if (differing.empty()) difference = Fault(6107, {checkpoint.path(), state.path, tensor->type.str(), saved->type.str()});
      differing.push_back(state.path);
    }
  }
  for (const checkpoint::TensorEntry& tensor : checkpoint.manifest().tensors) {
    const std::string& name = tensor.type.name;
    // Of the file of training only optimizer states are checked; their names hold a colon.
    const bool matters =
        tensor.file != checkpoint::kTrainingFile || (training && name.find(':') != std::string::npos && !name.starts_with("stop_early/"));
    if (matters && !wanted.contains(name)) extra.push_back(name);
  }
  // The first of each kind: a renamed layer is lacked under one name, and there under another.
  const std::string more = extra.empty() ? "" : fmt::format("; it has {}, which the program lacks", first_of(extra));
  if (!lacking.empty()) {
    std::string rest = more;
    if (!differing.empty()) {
      const auto& facts = difference.arguments();
      rest = fmt::format("; its `{}` is {}, the program's is {}{}", facts[1], facts[2], facts[3], more);
    }
    throw Fault(6106, {checkpoint.path(), first_of(lacking), rest});
  }
  if (!differing.empty()) {
    std::vector<std::string> facts = difference.arguments();
    facts.push_back((differing.size() > 1 ? fmt::format("; {} more differ", differing.size() - 1) : "") + more);
    throw Fault(6107, facts);
  }
  if (!extra.empty()) throw Fault(6108, {checkpoint.path(), first_of(extra)});
}

std::unique_ptr<checkpoint::DirectoryLock> prepare_directory(const Options& options, const std::string& directory,
                                                             const checkpoint::Size& size, const checkpoint::Checkpoint* resume) {
  checkpoint::Files& files = checkpoint::disk();
  checkpoint::make_directories(files, directory);
  auto lock = std::make_unique<checkpoint::DirectoryLock>(directory);
  checkpoint::prepare(files, directory, size);
  std::error_code ignored;
  const bool within =
      resume && std::filesystem::equivalent(std::filesystem::path(resume->path() + "/..").lexically_normal(), directory, ignored);
  for (const checkpoint::Found& found : checkpoint::checkpoints_in(directory)) {
    if (within && found.total_step <= resume->standing().total_step) continue;
    if (options.overwrite) {
      files.remove(found.path);
    } else if (within && options.resume_from.empty()) {
      files.remove(found.path + ".damaged");
      files.rename(found.path, found.path + ".damaged");
    } else if (within) {
      throw Fault(6112, {directory, resume->path()});
    } else {
      throw Fault(6109, {directory});
    }
  }
  if (options.overwrite && !within) files.remove(directory + "/best");
  return lock;
}

}  // namespace dtl::driver
