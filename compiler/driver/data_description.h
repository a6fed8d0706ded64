// What the data of a run was like: the part of it that a program is compiled by. A checkpoint keeps it, so that a saved model
// predicts where its data is not.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/sema/data_catalogue.h"

namespace dtl::driver {

/// By the description of a source, as the program gives it: how many examples it has, and their fields.
using DataDescription = std::map<std::string, sema::SplitInfo>;

/// As a file of a checkpoint, in JSON. Descriptions of sources, which may hold whole records, are kept as hashes.
std::string description_text(const DataDescription& description);
/// By hash. Nothing where `text` is none of `description_text`'s.
std::optional<DataDescription> parse_description(std::string_view text);
/// 16 hexadecimal digits.
std::string hash_of_source(std::string_view description);

}  // namespace dtl::driver
