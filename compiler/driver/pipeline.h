// The pipeline: one short function for each arrow of the architecture's picture, from a file's name to a Plan.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/driver/data_store.h"
#include "compiler/driver/options.h"
#include "compiler/graph/graph.h"
#include "compiler/lower/lower.h"
#include "compiler/sema/effective.h"
#include "compiler/sema/expression.h"
#include "compiler/sema/sema.h"
#include "compiler/source/diagnostic.h"
#include "compiler/syntax/ast.h"
#include "compiler/transform/pass.h"
#include "runtime/data/source.h"
#include "runtime/plan/plan.h"

namespace dtl::driver {

/// One program on its way. Each step needs the one before and gives false (or nothing) once the sink has errors.
class Compilation {
 public:
  /// With `at_once`, data files are decoded from their opening on, for a command that will read them.
  explicit Compilation(const Options& options, data::Decoding decoding = data::Decoding::late);

  bool parse();
  /// A text that is no file's; it is called as the file of the options.
  bool parse_text(std::string text);
  /// Several texts, each with the name that diagnostics call it by, as if they were one file.
  bool parse(const std::vector<std::pair<std::string, std::string>>& texts);
  /// Without `needs_train`, a file of declarations alone is no mistake.
  bool check(bool needs_train = true);
  /// Where the program saves its checkpoints, known without data and before `check`; nothing where that cannot be.
  std::optional<std::string> checkpoint_directory();
  /// What `--set` takes for a name that is a setting of this program, or was one of another library. After parse().
  std::vector<std::string> paths_called(const std::string& name);
  /// In place of `check`: one expression of an interactive session.
  bool check_expression(sema::ExpressionRequest request, sema::ExpressionResult& result);
  /// The graph after `stop_after`, a pass's name; empty: after all; `none`: as lowered. Needs check().
  std::optional<graph::Graph> graph(const std::string& stop_after = {}, lower::Purpose purpose = lower::Purpose::train);
  std::optional<plan::Plan> plan(lower::Purpose purpose = lower::Purpose::train);

  /// Prints what the sink holds, errors and warnings, in order of place. Warnings in `told` are left out, others are added to it.
  void print_diagnostics(std::ostream& err);
  std::set<std::string> told;
  /// The exit status of a compilation that failed: 2 where data files alone are at fault, else 1.
  int failure_status() const;

  source::SourceSet sources;
  source::Sink sink;
  std::unique_ptr<syntax::Ast> ast;
  std::optional<sema::Program> program;
  /// Sources and vocabularies, opened for sema and kept for training.
  DataStore data;
  /// The source of a split, with the fields that `example` makes of texts. A Fault where they cannot be made.
  std::shared_ptr<const data::Source> source(const sema::SourceSpec& spec);
  /// Where the dataset leaves faulty rows out: reads all data and, if some rows are faulty only by what the program does with them,
  /// checks it again by what is left. After check(), before plan(), for a command that reads the data; false after reports.
  bool leave_out_rows();
  /// With `contents`, waits until all data is read and checked, and reports what is broken behind its header; in any case
  /// reports splits without examples. Needs check().
  bool finish_data(bool contents);
  /// The same with the contents of one split alone.
  bool finish_split(const sema::DataSplit& split);

  source::FileId main_file;
  const std::vector<std::unique_ptr<syntax::Ast>>& library() const { return library_; }
  sema::Imports imports;
  sema::Effective effective;  ///< what the command line's overrides made of the texts
  int cores() const;

 private:
  bool read_imports();
  /// The library parsed, and imports read, the command line's values put in their places, all once; null after a report.
  const sema::Options* prepare();
  void cannot_place(const transform::PlaceError& error);
  /// What a fault of an index tells of where it is used.
  void name_users(plan::Plan& plan) const;

  /// What is known of a split's rows: reports one without examples and, where they are read, numbers that are out of range.
  bool check_split(const sema::DataSplit& split, bool contents);

  const Options* options_;
  std::optional<sema::Options> prepared_;
  std::vector<std::unique_ptr<syntax::Ast>> library_, imported_, parts_;
  std::unique_ptr<syntax::Ast> fragments_;  // --set values and --strategy
};

/// Reads a whole text. Fault 5001 where it cannot be read, is no regular file, or is larger than any program is.
std::string read_file(const std::string& path);
/// The same of the standard input to its end, which may be a pipe.
std::string read_input();

}  // namespace dtl::driver
