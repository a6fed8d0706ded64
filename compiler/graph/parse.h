// Reading of graph text (see print.h): print(parse(print(graph))) == print(graph).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::graph {

/// Nothing, and why in `error` (`line 3: …`), if text is no graph or the verifier refuses it.
std::optional<Graph> parse(std::string_view text, const OpTable& ops, std::string* error = nullptr);

/// The same without the verifier: operands exist and ops are known, nothing else is promised.
std::optional<Graph> parse_unverified(std::string_view text, const OpTable& ops, std::string* error = nullptr);

}  // namespace dtl::graph
