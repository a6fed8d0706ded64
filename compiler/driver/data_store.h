// The data of one program: sources and vocabularies opened for sema, each once, and kept for training.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/driver/data_description.h"
#include "compiler/driver/options.h"
#include "compiler/sema/program.h"
#include "compiler/source/diagnostic.h"
#include "runtime/data/idx.h"
#include "runtime/data/lookup.h"
#include "runtime/data/table.h"
#include "runtime/data/vocabulary.h"
#include "runtime/plan/fault.h"

namespace dtl::driver {

constexpr const char* kSkipHelp = "`on_error = skip(limit = 100)` in the dataset leaves up to 100 such rows out, and says so";

class DataStore {
 public:
  DataStore(const Options& options, data::Decoding decoding);

  // For sema: faults become diagnostics at the stage that is to blame, the same fault of the same file once.
  std::optional<sema::SplitInfo> open(const sema::SourceSpec& spec, source::Sink& into);
  std::optional<int64_t> vocabulary(const sema::VocabularySpec& spec, source::Sink& into);

  /// What was opened; null where it was not.
  std::shared_ptr<const data::Source> source(const sema::SourceSpec& spec) const;
  /// The same with the fields that `example` makes of texts; `names` are those of its fields. Faults of reading it.
  std::shared_ptr<const data::Source> source(const sema::SourceSpec& spec, const std::vector<std::string>& names,
                                             const std::vector<sema::DerivedField>& derived);
  /// What is read of a file that is no part of the program.
  struct Input {
    std::vector<data::Field> fields;
    std::vector<sema::DerivedField> derived;  ///< made of texts among the fields
    std::vector<sema::IndexCheck> checks;
    int64_t skip_limit = -1;
  };
  /// Its rows, .npy, .npz, or comma-separated values as `like` reads them where it does. Faulty ones are left out up to the limit,
  /// and told. Faults: those of reading it, 5017, 5019, 6121, 6122.
  std::shared_ptr<const data::Source> open_input(const std::string& file, const sema::SourceSpec& like, const Input& wanted,
                                                 source::Sink& into);
  /// Whether all numbers of fields that are used as indices are some, after rows where they are not were left out, which are told.
  /// False after a report: there are more such rows, with the faulty ones of its file, than the dataset allows.
  bool check_ranges(const sema::SourceSpec& spec, const std::vector<std::string>& names, const sema::Dataset& dataset, source::Sink& into);
  /// Warns of texts that `example` compares with and that no row of the training data is. After it was read without a fault.
  void warn_of_absent(const sema::DataSplit& split, const std::vector<std::string>& names, const sema::Dataset& dataset,
                      source::Sink& into);
  /// Whether the last call of `check_ranges` left rows of this source out.
  bool leaves_out(const sema::SourceSpec& spec) const;
  /// Waits until all that was opened is read; false after reports.
  bool finish(source::Sink& into);
  /// The same of one source, and of what it is made of.
  bool finish(const sema::SourceSpec& spec, source::Sink& into);
  /// Whether the data of a source is there, and not only described by a checkpoint; false after a report of what is missing.
  bool require(const sema::SourceSpec& spec, source::Sink& into);

  /// Where the program names a file of data, and the file's absolute path.
  const std::vector<std::pair<source::Range, std::string>>& files() const { return named_; }

  /// Vocabularies in use, by name (`Corpus.vocabulary`): what a checkpoint keeps, by `Vocabulary::to_text`.
  const std::map<std::string, std::shared_ptr<const data::Vocabulary>>& vocabularies() const { return vocabularies_; }
  /// What sema was told of sources: what a checkpoint keeps besides.
  const DataDescription& description() const { return description_; }
  /// Sources whose files are not there are as a checkpoint describes them. Before sema asks for any.
  void use_description(DataDescription description) { described_ = std::move(description); }
  /// A vocabulary of a checkpoint is used in place of the one that the data would give. Before sema asks for it.
  void use_vocabulary(const std::string& name, std::shared_ptr<const data::Vocabulary> vocabulary) { saved_[name] = std::move(vocabulary); }

 private:
  using Shared = std::shared_ptr<const data::Source>;
  struct Opened {
    source::Range range;
    Shared source;
  };
  bool finish(const Opened& opened, source::Sink& into);
  std::optional<sema::SplitInfo> look_at(const sema::SourceSpec& spec, source::Sink& into);
  Shared open_stages(const sema::SourceSpec& spec, size_t count, source::Sink& into);
  Shared open_stage(const sema::SourceSpec& spec, size_t index, Shared before, std::vector<Shared> inner, source::Sink& into);
  struct Faulty {
    std::vector<int64_t> rows;  ///< in order
    std::string first;
  };
  static Faulty find_faulty(const data::Source& source, const std::vector<std::string>& names, const std::vector<sema::IndexCheck>& checks,
                            int64_t allowed, int64_t limit, const std::string& file);
  Shared derive(Shared source, const std::vector<std::string>& names, const std::vector<sema::DerivedField>& derived,
                const std::string& key);
  std::shared_ptr<const data::Vocabulary> find_vocabulary(const sema::VocabularySpec& spec);
  data::Places places() const;
  std::string path_of(const std::string& file) const;
  /// A file of one of the places whose name is near to that of one there is not.
  std::optional<std::string> near_file(const std::string& file) const;
  void note(const std::string& file, source::Range range);
  void note(const sema::SourceSpec& spec);
  /// The key of the first `count` stages; with `contents`, it changes with the files.
  std::string key_of(const sema::SourceSpec& spec, size_t count, bool contents) const;
  /// Nothing where it was told already.
  std::optional<source::Reported> report(source::Sink& into, source::Range range, const Fault& fault);
  /// A file of a source that is not there.
  struct Missing {
    source::Range range;
    Fault fault;
  };
  std::optional<Missing> find_missing(const sema::SourceSpec& spec) const;

  const Options* options_;
  data::Cache cache_;
  data::IdxFiles files_;
  std::vector<std::pair<source::Range, std::string>> named_;
  std::map<std::string, Opened> opened_;
  std::map<std::string, std::vector<int64_t>> left_out_;
  std::map<std::string, std::shared_ptr<const data::Vocabulary>> vocabularies_, saved_;
  std::set<std::string> told_;
  DataDescription description_;
  std::optional<DataDescription> described_;  ///< by hash
};

/// The folder of kernels and decoded data; empty: none.
std::string cache_directory(const Options& options);

}  // namespace dtl::driver
