// What other libraries and languages call things that have a name of their own here: for "did you mean".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtl::source {

/// Without case and underscores: `Conv2D` and `conv2d` are spelt alike.
std::string plain_spelling(std::string_view name);

/// All rows of the table, in its order: the foreign name in plain spelling, and what it is here.
const std::vector<std::pair<std::string_view, std::string_view>>& foreign_names();
/// What a foreign name may mean here, the likeliest first; spelt with or without case and underscores. `lr` is `learning_rate`.
std::vector<std::string_view> counterparts(std::string_view foreign);

/// The first of them that is among `names`.
std::optional<std::string> counterpart(std::string_view foreign, const std::vector<std::string>& names);

}  // namespace dtl::source
