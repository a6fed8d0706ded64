// Diagnostics as text for people and as JSON for tools.
#pragma once

#include <string>

#include "compiler/source/diagnostic.h"

namespace dtl::source {

/// The diagnostic with its source line underlined, then notes and helps:
///
///     error[DTL2014]: inner dimensions of `matmul` differ: 784 and 512
///       --> mlp.dtl:8:25
///        8 │   image |> flatten() |> dense(128, kernel = k)
///          │                         ^^^^^
///       note: 512 is the first dimension of `k`, declared here
///       --> mlp.dtl:3:12
///        3 │ weight k: f32[512, 128] = zeros()
///          │           ^^^^^^^^^^^^^
///       help: declare `weight k: f32[784, 128]`
///
/// Ends in a newline. `color` adds ANSI colours.
std::string render(const Diagnostic& diagnostic, const SourceSet& sources, bool color);

/// One line without its end: {"code", "severity", "message", "file", "line", "column", "end_line", "end_column", "notes",
/// "helps", "fixes"}. Places are null where there is none; each note has a message and a place of its own; each fix has a
/// place and its "replacement".
std::string render_json(const Diagnostic& diagnostic, const SourceSet& sources);

}  // namespace dtl::source
