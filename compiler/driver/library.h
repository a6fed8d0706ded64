// The standard library's pages: what the `///` comments of its declarations say, and the examples that they give.
//
// A comment is Markdown. Its last lines may be examples, each `Example: CODE`, ``Example: CODE is VALUE`` with the code and a type between
// backquotes. A comment that begins with "For the library:" is of a helper, which has no page.
#pragma once

#include <string>
#include <vector>

namespace dtl::driver {

struct LibraryExample {
  std::string code;    ///< an expression, a `weight …`, or a setting of a train block: `optimizer = …`, `metrics = …`
  std::string result;  ///< the type, or the number, that it gives; empty where nothing is said
};

struct LibraryEntry {
  std::string file;       ///< `layers.dtl`
  std::string name;       ///< `dense`
  std::string signature;  ///< as declared, up to its body
  std::string text;       ///< what the comment says, without its examples
  std::vector<LibraryExample> examples;
  bool helper = false;
};

/// The built-in functions, of the file `functions`, then every declaration, file by file in the order of their names, each file's in
/// its own order.
std::vector<LibraryEntry> library_entries();

}  // namespace dtl::driver
