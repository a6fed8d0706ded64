// dslc fmt: programs in the standard layout, printed, compared or put in place.
#include "compiler/syntax/format.h"

#include <algorithm>
#include <ostream>

#include "compiler/driver/fault_text.h"
#include "compiler/driver/line_diff.h"
#include "compiler/driver/options.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/write_file.h"
#include "runtime/plan/fault.h"

namespace dtl::driver {
namespace {

/// Gives the file's exit status.
int format_one(const Options& options, std::ostream& out, std::ostream& err) {
  const bool piped = options.file == "-";
  Options named = options;
  if (piped) named.file = "<stdin>";
  Compilation compilation(named);
  const bool good = piped ? compilation.parse_text(read_input()) : compilation.parse();
  compilation.print_diagnostics(err);
  if (!good) return 1;

  const std::string& before = compilation.sources.file(compilation.main_file).text;
  const std::string after = syntax::format(*compilation.ast, compilation.sources);
  const bool differs = before != after;
  if (options.diff) out << line_diff(named.file, before, after);
  if (options.write) {
    if (differs) replace_file(options.file, after);
    return 0;
  }
  if (options.check_only) {
    if (differs && !options.diff) out << named.file << "\n";
    return differs ? 1 : 0;
  }
  if (!options.diff) out << after;
  return 0;
}

}  // namespace

int format(const Options& options, std::ostream& out, std::ostream& err) {
  if (options.write && std::find(options.files.begin(), options.files.end(), "-") != options.files.end()) {
    err << "dslc: the standard input cannot be written to: fmt --write takes files\n";
    return 1;
  }
  int status = 0;
  for (const std::string& file : options.files) {
    Options one = options;
    one.file = file;
    try {
      status = std::max(status, format_one(one, out, err));
    } catch (const Fault& fault) {
      err << fault_text(fault, options.json) << "\n";
      status = 2;
    }
  }
  return status;
}

}  // namespace dtl::driver
