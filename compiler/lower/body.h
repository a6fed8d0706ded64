// Lowering of one typed body into the function that a Builder writes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/builder.h"
#include "compiler/sema/program.h"

namespace dtl::lower {

/// What a body sees of its surroundings.
struct Surroundings {
  /// Values of the body that stand for values of the function: an update's weight and gradient.
  std::map<int32_t, graph::ValueId> given;
  /// The value of `input`, `read_weight`, `read_state`, `read_updates`, `read_seed`.
  std::function<graph::ValueId(const sema::Statement&)> read;
  /// What `write_state`, `minimize` and `report` do with their operands.
  std::function<void(const sema::Statement&, std::span<const graph::ValueId>)> effect;
  /// Scope of statements outside any instance.
  std::string scope;
};

/// Emits the body; the function's value for each of the body's, by index. Types must be those that sema found.
std::vector<std::optional<graph::ValueId>> lower_body(graph::Builder& builder, const sema::Body& body, const Surroundings& surroundings);

}  // namespace dtl::lower
